//! Sites with their rows, and the rows held out: what a simulated study starts from.

use crate::{DataError, Encoded, Partition, Rows, Shard, Split};

/// One site.
#[derive(Debug)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub shard: Shard,
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
    /// A row keeps its keys: its place in the file, and its record's id.
    pub fn new(table: &Encoded, split: &Split, partition: &Partition, seed: u64) -> Result<Self, DataError> {
        let (train, test) = split.rows(table, seed)?;
        let clients = partition.clients(table, &train, seed)?;
        let site = |(name, rows): (String, Vec<usize>)| {
            Ok(Site { name, shard: Shard::new(table.rows.select(&rows), table.keys.select(&rows))? })
        };
        let sites = clients.into_iter().map(site).collect::<Result<_, DataError>>()?;
        Ok(Self { sites, test: table.rows.select(&test) })
    }
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
    }
}
