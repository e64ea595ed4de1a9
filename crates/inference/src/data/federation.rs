//! Sites with their rows, and the rows held out: what a simulated study starts from.

use crate::{DataError, Encoded, Partition, Rows, Shard, Split};
use privacy::PrivacyError;
use std::collections::BTreeMap;

/// One site.
#[derive(Debug)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub shard: Shard,
    /// Places of its own rows among those held out; none where held-out rows belong to no site.
    pub own: Vec<usize>,
}

/// Sites, and held-out rows that belong to none of them.
#[derive(Debug)]
pub struct Federation {
    /// The sites, in the order of the partition.
    pub sites: Vec<Site>,
    /// Held-out rows.
    pub test: Rows,
}

impl Federation {
    /// Splits a table and deals out its training rows. A function of its arguments alone.
    ///
    /// A row keeps its keys: its place in the file, and its record's id. A simulated site without rows is refused: nobody
    /// meant it.
    ///
    /// # Errors
    /// A column that was not kept, a split with an empty side, a partition that the rows do not allow, and a
    /// site without rows.
    pub fn new(table: &Encoded, split: &Split, partition: &Partition, seed: u64) -> Result<Self, DataError> {
        Self::of_split(table, (split, seed), partition, seed)
    }

    /// The same with a seed of its own for the split, so that runs with other seeds hold out the same rows.
    pub fn of_split(
        table: &Encoded,
        (split, split_seed): (&Split, u64),
        partition: &Partition,
        seed: u64,
    ) -> Result<Self, DataError> {
        let (train, test) = split.rows(table, split_seed)?;
        let clients = partition.clients(table, &train, seed)?;
        let homes = partition.homes(table, &test)?;
        let site = |(name, rows): (String, Vec<usize>)| {
            if rows.is_empty() {
                return Err(DataError::EmptyClient);
            }
            let own = homes.get(&name).cloned().unwrap_or_default();
            Ok(Site { name, shard: Shard::new(table.rows.select(&rows), table.keys.select(&rows))?, own })
        };
        let sites = clients.into_iter().map(site).collect::<Result<_, DataError>>()?;
        Ok(Self { sites, test: table.rows.select(&test) })
    }

    /// The same federation with one more input, the last, that is 1 in every row: what an intercept of each site's own is the
    /// coefficient of.
    pub fn with_own_input(&self) -> Self {
        let site =
            |site: &Site| Site { name: site.name.clone(), shard: site.shard.with_a_one(), own: site.own.clone() };
        Self { sites: self.sites.iter().map(site).collect(), test: self.test.with_a_one() }
    }
}

/// Refuses persons who have rows at two sites: each site bounds what it holds of them, and nobody their sum.
pub fn persons_at_one_site(sites: &[Site]) -> Result<(), PrivacyError> {
    let mut homes: BTreeMap<u64, usize> = BTreeMap::new();
    for (home, site) in sites.iter().enumerate() {
        for person in site.shard.keys().known_persons()? {
            if *homes.entry(person.slot).or_insert(home) != home {
                return Err(PrivacyError::NoTheorem {
                    what: "a promise to persons of whom one has rows at two sites".into(),
                    why: "each site clips the rows that it holds of a person, and nothing bounds what two of them send",
                    hint: "partition by a column that is the same in all rows of a person",
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::table;

    #[test]
    fn sites_and_held_out_rows_are_apart_and_one_row_makes_a_site() {
        let table = table(20, 5);
        let federation = |clients, seed| {
            Federation::new(&table, &Split::Fraction { test: 0.25 }, &Partition::Even { clients }, seed).unwrap()
        };
        let lone = federation(15, 3);
        assert_eq!((lone.sites.len(), lone.test.len()), (15, 5));
        assert!(lone.sites.iter().all(|site| site.shard.len() == 1));
        let (first, again) = (federation(4, 3), federation(4, 3));
        for (one, other) in first.sites.iter().zip(&again.sites) {
            assert_eq!((&one.name, one.shard.rows()), (&other.name, other.shard.rows()));
        }
        let sizes: Vec<usize> = first.sites.iter().map(|site| site.shard.len()).collect();
        assert_eq!(sizes, [4, 4, 4, 3]);
        assert!(
            first.sites.iter().all(|site| site.own.is_empty()),
            "nobody owns the held-out rows of an even partition"
        );
    }

    #[test]
    fn a_seed_of_the_splits_own_holds_out_the_same_rows_whatever_deals_the_others() {
        let (table, split, partition) = (table(40, 5), Split::Half, Partition::Even { clients: 3 });
        let federation = |seed| Federation::of_split(&table, (&split, 7), &partition, seed).unwrap();
        let (one, other) = (federation(1), federation(2));
        assert_eq!(one.test, other.test);
        assert_ne!(one.sites[0].shard.rows(), other.sites[0].shard.rows());
        assert_ne!(one.test, Federation::new(&table, &split, &partition, 1).unwrap().test);
    }

    #[test]
    fn held_out_rows_stay_with_the_site_of_their_column() {
        let table = table(30, 5);
        let partition = Partition::Column { column: "site".into(), at_most: Default::default() };
        let federation = Federation::new(&table, &Split::Fraction { test: 0.3 }, &partition, 4).unwrap();
        let mut all: Vec<usize> = Vec::new();
        for (place, site) in federation.sites.iter().enumerate() {
            // The one input of a row is its place in the table, and row i is of site i mod 3.
            assert!(site.own.iter().all(|row| federation.test.row(*row).numbers[0] as usize % 3 == place), "{site:?}");
            all.extend(&site.own);
        }
        all.sort_unstable();
        assert_eq!(all, (0..9).collect::<Vec<_>>());
    }
}
