//! Which rows go to which client, in a simulation.
//!
//! Real federations have no partition: each site has its own file. A simulation deals the rows of one
//! table to clients, evenly, by a column such as a hospital, or with skewed sizes and classes as in the
//! papers. Dealing follows from the seed alone.
//! Where a table says whose its rows are, persons are dealt as a whole.

use crate::data::draw::{Purpose, shuffle, whole};
use crate::data::encode::is_missing;
use crate::data::nearest::nearest;
use crate::data::units::gathered;
use crate::{DataError, Encoded, RowKeys};
use std::collections::BTreeMap;

/// How training rows are dealt out to clients.
#[derive(Debug, Clone, PartialEq)]
pub enum Partition {
    /// Drawn by the seed; sizes differ by at most one.
    Even {
        /// M.
        clients: usize,
    },
    /// One client for each value of a column, in the order of their names.
    Column {
        /// The column.
        column: String,
        /// Training rows, or persons, that these clients have at most, drawn by the seed: what if a site were small?
        at_most: BTreeMap<String, usize>,
    },
    /// Half of the clients are small and half are large, and the classes are shared out unevenly.
    Skewed(Skew),
}

/// The scheme of Sharma et al. 2019 (arXiv:1911.10563, appendix C) and Heikkilä et al. 2022 (appendix B).
///
/// n_small = ⌊(1−ρ)n/M⌋ and n_large = ⌊(1+ρ)n/M⌋. A small client's share of the majority class is λ + (1−λ)κ, where λ is
/// that of all training rows; its number of such rows is rounded down. Large clients draw from what is left. The fewer
/// than M rows that the floors leave over belong to nobody, as in the papers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// M, an even number.
    pub clients: usize,
    /// ρ, from 0 (equal sizes) to under 1.
    pub rho: f64,
    /// κ: 0 keeps the shares of the classes, 1 leaves small clients with the majority class only, −λ/(1−λ) without it.
    pub kappa: f64,
}

/// What clients of a skewed partition with few rows are called.
const SMALL: &str = "small";

/// The same of those with many.
const LARGE: &str = "large";

/// The name of a client of an even partition, counted from 0.
fn even_name(client: usize) -> String {
    (client + 1).to_string()
}

/// The name of a client of a skewed partition, counted from 0 among those of its size.
fn skewed_name(size: &str, client: usize) -> String {
    format!("{size} {}", client + 1)
}

/// A client's name and its rows, in the order of the table.
pub type Dealt = (String, Vec<usize>);

impl Partition {
    /// The column that must be kept when the table is read.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Column { column, .. } => Some(column),
            Self::Even { .. } | Self::Skewed(_) => None,
        }
    }

    /// The names of the clients in their order, where these are no values of a column.
    pub fn names(&self) -> Option<Vec<String>> {
        match self {
            Self::Even { clients } => Some((0..*clients).map(even_name).collect()),
            Self::Column { .. } => None,
            Self::Skewed(skew) => {
                let of = |size| (0..skew.clients / 2).map(move |client| skewed_name(size, client));
                Some(of(SMALL).chain(of(LARGE)).collect())
            }
        }
    }

    /// How many of n training rows each client has, where that follows from their number.
    pub fn sizes(&self, n: usize) -> Option<Vec<usize>> {
        match self {
            Self::Even { clients } => Some(even_sizes(*clients, n).collect()),
            Self::Column { .. } => None,
            Self::Skewed(skew) => {
                let ((small, large), half) = (skew.each(n), skew.clients / 2);
                Some([vec![small; half], vec![large; half]].concat())
            }
        }
    }

    /// The clients of these rows of the table. No client is empty, and no row is at two clients.
    ///
    /// # Errors
    /// More clients than rows, a row that does not say whose it is, a value of `at_most` that no row has, and
    /// shares of classes that the rows do not allow; the hint says which are possible.
    pub fn clients(&self, table: &Encoded, train: &[usize], seed: u64) -> Result<Vec<Dealt>, DataError> {
        match self {
            Self::Even { clients } => even(*clients, &gathered(&table.keys, train), seed),
            Self::Column { column, at_most } => {
                let mut clients = by_value(column, table, train)?;
                cut(&mut clients, &table.keys, column, at_most, seed)?;
                Ok(clients)
            }
            Self::Skewed(_) if gathered(&table.keys, train).len() < train.len() => {
                let what = "a skewed partition deals single rows by their class, and persons have several".to_owned();
                Err(DataError::Partition { what, hint: "partition evenly or by a column".into() })
            }
            Self::Skewed(skew) => skew.clients(table.rows.outcomes(), train, seed),
        }
    }

    /// For each client the places of its own rows in a list of held-out rows, where a column says whose they are.
    pub fn homes(&self, table: &Encoded, held_out: &[usize]) -> Result<BTreeMap<String, Vec<usize>>, DataError> {
        let mut homes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        if let Self::Column { column, .. } = self {
            let values = table.column(column)?;
            for (place, row) in held_out.iter().enumerate() {
                homes.entry(values[*row].clone()).or_default().push(place);
            }
        }
        Ok(homes)
    }
}

/// Rows in a drawn order, those of a person together, cut into pieces whose sizes differ by at most one person.
fn even(clients: usize, train: &[Vec<usize>], seed: u64) -> Result<Vec<Dealt>, DataError> {
    if clients == 0 || clients > train.len() {
        return Err(too_many(clients, train.len()));
    }
    let mut order: Vec<&Vec<usize>> = train.iter().collect();
    shuffle(&mut order, seed, Purpose::Partition);
    let mut rest = order.as_slice();
    let deal = |(client, size): (usize, usize)| {
        let (own, after) = rest.split_at(size);
        rest = after;
        let rows: Vec<usize> = own.iter().flat_map(|unit| unit.iter().copied()).collect();
        (even_name(client), sorted(&rows))
    };
    Ok(even_sizes(clients, train.len()).enumerate().map(deal).collect())
}

/// n rows over so many clients; the first ones have one more where it does not come out even.
fn even_sizes(clients: usize, n: usize) -> impl Iterator<Item = usize> {
    (0..clients).map(move |client| n / clients + usize::from(client < n % clients))
}

/// More clients than rows.
fn too_many(clients: usize, rows: usize) -> DataError {
    let what = format!("{clients} clients for {rows} training rows: a client would have none");
    DataError::Partition { what, hint: format!("take between 1 and {rows} clients") }
}

/// One client for each value in the whole table, so that one whose rows are all held out is noticed.
///
/// A row that does not say whose it is belongs to nobody: it is an error, not a client of its own.
fn by_value(column: &str, table: &Encoded, train: &[usize]) -> Result<Vec<Dealt>, DataError> {
    let values = table.column(column)?;
    if let Some(row) = values.iter().position(|value| is_missing(value)) {
        return Err(DataError::Cell {
            line: table.line(row),
            column: column.to_owned(),
            found: values[row].clone(),
            expected: "the name of the client that the row belongs to".to_owned(),
            hint: "fill in the cell, or take the row out of the file".to_owned(),
        });
    }
    let mut clients: BTreeMap<&str, Vec<usize>> = values.iter().map(|value| (value.as_str(), Vec::new())).collect();
    for row in train {
        clients.entry(&values[*row]).or_default().push(*row);
    }
    if let Some((name, _)) = clients.iter().find(|(_, rows)| rows.is_empty()) {
        let what = format!("client `{name}` of column `{column}` has no training rows: all of its rows are held out");
        return Err(DataError::Partition { what, hint: "hold out fewer rows, or leave this client out".into() });
    }
    Ok(clients.into_iter().map(|(name, rows)| (name.to_owned(), rows)).collect())
}

/// Leaves these clients at most so many of their rows. A name that no client has is an error, and so is a client left
/// without rows.
fn cut(
    clients: &mut [Dealt],
    keys: &RowKeys,
    column: &str,
    at_most: &BTreeMap<String, usize>,
    seed: u64,
) -> Result<(), DataError> {
    for (name, &most) in at_most {
        let names: Vec<String> = clients.iter().map(|(name, _)| name.clone()).collect();
        let Some((_, rows)) = clients.iter_mut().find(|(client, _)| client == name) else {
            let what = format!("at_most names `{name}`, which is no value of column `{column}`");
            let hint = match nearest(name, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its values are {}", names.join(", ")),
            };
            return Err(DataError::Partition { what, hint });
        };
        if most == 0 {
            let what = format!("at_most leaves client `{name}` without training rows");
            return Err(DataError::Partition { what, hint: "leave it at least one".into() });
        }
        let mut units = gathered(keys, rows);
        shuffle(&mut units, seed, Purpose::Rest);
        units.truncate(most);
        *rows = sorted(&units.concat());
    }
    Ok(())
}

/// Rows in the order of the table.
fn sorted(rows: &[usize]) -> Vec<usize> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

/// The numbers of a skewed partition.
struct Sizes {
    /// Clients of each kind.
    half: usize,
    /// Rows of a small client.
    small: usize,
    /// Rows of a large client.
    large: usize,
    /// Rows of the majority class at a small client.
    majority: usize,
}

impl Skew {
    /// Deals the rows: small clients first, from the front of each class's order; then large ones from what
    /// is left, in an order of its own.
    fn clients(&self, outcomes: &[f64], train: &[usize], seed: u64) -> Result<Vec<Dealt>, DataError> {
        if train.iter().any(|row| outcomes[*row] != 0.0 && outcomes[*row] != 1.0) {
            let what = "a skewed partition needs two classes, and the outcome has others".to_owned();
            let hint = "partition evenly or by a column; or give the outcome two levels in the schema";
            return Err(DataError::Partition { what, hint: hint.into() });
        }
        let mut order = train.to_vec();
        shuffle(&mut order, seed, Purpose::Partition);
        let (ones, zeros): (Vec<usize>, Vec<usize>) = order.iter().partition(|row| outcomes[**row] == 1.0);
        let (majority, minority) = if ones.len() > zeros.len() { (ones, zeros) } else { (zeros, ones) };
        let sizes = self.sizes(majority.len(), minority.len())?;
        let minor = sizes.small - sizes.majority;
        let small = (0..sizes.half).map(|client| {
            let first = &majority[client * sizes.majority..(client + 1) * sizes.majority];
            let second = &minority[client * minor..(client + 1) * minor];
            (skewed_name(SMALL, client), sorted(&[first, second].concat()))
        });
        let mut clients: Vec<Dealt> = small.collect();
        let mut taken: Vec<usize> = clients.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
        taken.sort_unstable();
        order.retain(|row| taken.binary_search(row).is_err());
        // The small clients took one class from the front of this order, so what is left needs an order of its own.
        shuffle(&mut order, seed, Purpose::Rest);
        let large = order.chunks_exact(sizes.large).take(sizes.half).enumerate();
        clients.extend(large.map(|(client, rows)| (skewed_name(LARGE, client), sorted(rows))));
        Ok(clients)
    }

    /// n_small and n_large.
    fn each(&self, n: usize) -> (usize, usize) {
        let per_client = n as f64 / self.clients as f64;
        (whole(per_client * (1.0 - self.rho)), whole(per_client * (1.0 + self.rho)))
    }

    /// Checks the scheme against the two classes' rows.
    fn sizes(&self, majority: usize, minority: usize) -> Result<Sizes, DataError> {
        let n = majority + minority;
        let refuse = |what: String, hint: String| Err(DataError::Partition { what, hint });
        if self.clients < 2 || !self.clients.is_multiple_of(2) {
            let what = format!("{} clients cannot be half small and half large", self.clients);
            return refuse(what, "take an even number of clients, at least 2".into());
        }
        if !(0.0..1.0).contains(&self.rho) || !self.kappa.is_finite() {
            let what = format!("ρ = {} and κ = {}", self.rho, self.kappa);
            return refuse(what, "ρ is at least 0 and under 1, κ a number".into());
        }
        let (small, large) = self.each(n);
        if small == 0 {
            let what = format!("with ρ = {} a small client has none of {n} rows", self.rho);
            let most = 1.0 - self.clients as f64 / n as f64;
            let hint = if most < 0.0 { "take fewer clients".into() } else { format!("ρ is at most {}", down(most)) };
            return refuse(what, hint);
        }
        let lambda = majority as f64 / n as f64;
        let share = lambda + (1.0 - lambda) * self.kappa;
        let half = self.clients / 2;
        let fewest = small.saturating_sub(minority / half);
        let most = small.min(majority / half);
        let wanted = (share * small as f64 + 1e-9).floor();
        if share > 1.0 + 1e-9 || wanted < fewest as f64 || wanted > most as f64 {
            let what = format!(
                "κ = {} asks for {:.1} % of the majority class at small clients of {small} rows, and these data do not allow it",
                self.kappa,
                100.0 * share
            );
            return refuse(what, possible(lambda, small, fewest, most));
        }
        Ok(Sizes { half, small, large, majority: wanted as usize })
    }
}

/// The κ that are possible: those between `fewest` and `most` rows of the majority class at a small client.
fn possible(lambda: f64, small: usize, fewest: usize, most: usize) -> String {
    let kappa = |rows: usize| (rows as f64 / small as f64 - lambda) / (1.0 - lambda);
    if fewest > most || lambda == 1.0 {
        return "no κ is possible with this ρ: take a larger ρ, or fewer clients".into();
    }
    format!("with this ρ, κ between {} and {} is possible", -down(-kappa(fewest)), down(kappa(most)))
}

/// Three digits, rounded down.
fn down(x: f64) -> f64 {
    (x * 1000.0).floor() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::table;
    use proptest::prelude::*;

    fn skewed(clients: usize, rho: f64, kappa: f64) -> Partition {
        Partition::Skewed(Skew { clients, rho, kappa })
    }

    fn shares(table: &Encoded, clients: &[Dealt], kind: &str) -> Vec<(usize, usize)> {
        let ones = |rows: &[usize]| rows.iter().filter(|row| table.rows.outcomes()[**row] == 1.0).count();
        clients.iter().filter(|(name, _)| name.starts_with(kind)).map(|(_, rows)| (rows.len(), ones(rows))).collect()
    }

    /// Table 1 of the workshop paper: 39,074 training rows of which 9,350 are positive, ten clients.
    #[test]
    fn the_papers_table_comes_out() {
        let table = table(39_074, 9_350);
        let train: Vec<usize> = (0..39_074).collect();
        for (rho, kappa, small, positive, large, rest) in [
            (0.0, 0.0, 3907, 0.24, 3907, 0.24),
            (0.9, 0.95, 390, 0.013, 7424, 0.25),
            (0.7, -3.0, 1172, 0.96, 6642, 0.11),
            (0.6, -1.5, 1562, 0.60, 6251, 0.15),
        ] {
            let clients = skewed(10, rho, kappa).clients(&table, &train, 1).unwrap();
            let sizes: Vec<usize> = clients.iter().map(|(_, rows)| rows.len()).collect();
            assert_eq!(skewed(10, rho, kappa).sizes(39_074), Some(sizes));
            for (n, ones) in shares(&table, &clients, "small") {
                assert_eq!(n, small);
                assert!((ones as f64 / n as f64 - positive).abs() < 0.006, "{rho} {kappa}: {ones} of {n}");
            }
            for (n, ones) in shares(&table, &clients, "large") {
                assert_eq!(n, large);
                assert!((ones as f64 / n as f64 - rest).abs() < 0.03, "{rho} {kappa}: {ones} of {n}");
            }
        }
    }

    #[test]
    fn impossible_skews_say_what_is_possible() {
        let table = table(1000, 240);
        let train: Vec<usize> = (0..1000).collect();
        let refused = |partition: Partition| {
            let error = partition.clients(&table, &train, 0).unwrap_err();
            assert_eq!(error.code(), "D008");
            error.hint().to_owned()
        };
        assert!(refused(skewed(7, 0.5, 0.0)).contains("even number"));
        assert!(refused(skewed(10, 1.0, 0.0)).contains("under 1"));
        assert!(refused(skewed(10, 0.999, 0.0)).contains("at most 0.99"));
        assert!(refused(skewed(2000, 0.5, 0.0)).contains("fewer clients"));
        assert!(refused(skewed(10, f64::NAN, 0.0)).contains("ρ"));
        assert!(refused(skewed(10, 0.5, 1.2)).contains("κ between"));
        // 240 positive rows at five small clients of 100: at most 48 each.
        let hint = refused(skewed(10, 0.0, -3.0));
        assert!(hint.contains("κ between -1 and 1 is possible"), "{hint}");
        assert!(skewed(10, 0.0, -1.0).clients(&table, &train, 0).is_ok());
        assert!(skewed(10, 0.0, 1.0).clients(&table, &train, 0).is_ok());
        assert!(refused(Partition::Even { clients: 1001 }).contains("1000"));
        assert!(refused(Partition::Even { clients: 0 }).contains("between 1"));
    }

    #[test]
    fn a_column_names_the_clients_and_a_lone_row_is_enough() {
        let table = table(7, 2);
        let by_site = Partition::Column { column: "site".into(), at_most: BTreeMap::new() };
        let clients = by_site.clients(&table, &[0, 1, 3, 5, 6], 0).unwrap();
        let expected = [("s0", vec![0, 3, 6]), ("s1", vec![1]), ("s2", vec![5])];
        assert_eq!(clients, expected.map(|(name, rows)| (name.to_owned(), rows)));
        let error = by_site.clients(&table, &[0, 1, 3, 4, 6], 0).unwrap_err();
        assert!(error.to_string().contains("client `s2`"), "{error}");
        for (cell, found) in [("", "an empty cell"), ("?", "`?`")] {
            let mut unnamed = table.clone();
            unnamed.columns.get_mut("site").unwrap()[4] = cell.to_owned();
            let error = by_site.clients(&unnamed, &[0, 1, 3, 5, 6], 0).unwrap_err();
            assert!(error.to_string().starts_with(&format!("line 6, column `site`: found {found}")), "{error}");
        }
        assert_eq!(Partition::Even { clients: 7 }.clients(&table, &[0, 1, 2, 3, 4, 5, 6], 0).unwrap().len(), 7);
    }

    #[test]
    fn a_client_may_be_left_with_few_of_its_rows() {
        let (table, train) = (table(60, 2), (0..60).collect::<Vec<_>>());
        let by_site = |name: &str, most| Partition::Column {
            column: "site".into(),
            at_most: BTreeMap::from([(name.to_owned(), most)]),
        };
        let of = |seed| by_site("s1", 4).clients(&table, &train, seed).unwrap();
        let sizes: Vec<usize> = of(1).iter().map(|(_, rows)| rows.len()).collect();
        assert_eq!(sizes, [20, 4, 20]);
        assert!(of(1)[1].1.iter().all(|row| row % 3 == 1) && of(1)[1].1.is_sorted());
        assert_ne!(of(1)[1], of(2)[1]);
        assert_eq!(by_site("s1", 400).clients(&table, &train, 1).unwrap()[1].1.len(), 20);
        let unknown = by_site("s_1", 4).clients(&table, &train, 1).unwrap_err();
        assert_eq!(unknown.hint(), "did you mean `s1`?");
        assert!(by_site("s1", 0).clients(&table, &train, 1).is_err());
    }

    #[test]
    fn persons_are_dealt_as_a_whole() {
        let mut table = table(90, 30);
        table.keys = crate::data::tests::of_persons(90, 3);
        let train: Vec<usize> = (0..90).collect();
        let whole = |rows: &[usize]| rows.iter().all(|row| (0..3).all(|k| rows.contains(&(row / 3 * 3 + k))));
        let dealt = Partition::Even { clients: 4 }.clients(&table, &train, 5).unwrap();
        assert_eq!(dealt.iter().map(|(_, rows)| rows.len() / 3).collect::<Vec<_>>(), [8, 8, 7, 7]);
        assert!(dealt.iter().all(|(_, rows)| whole(rows)));
        let at_most = [("s1".to_owned(), 4)].into();
        table.columns.insert("site".into(), (0..90).map(|row| format!("s{}", row / 3 % 3)).collect());
        let cut = Partition::Column { column: "site".into(), at_most }.clients(&table, &train, 5).unwrap();
        assert_eq!(cut[1].1.len(), 12, "four persons");
        assert!(whole(&cut[1].1));
        let skewed = Partition::Skewed(Skew { clients: 2, rho: 0.0, kappa: 0.0 });
        assert!(skewed.clients(&table, &train, 5).unwrap_err().to_string().contains("persons have several"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(4), ..ProptestConfig::with_cases(300) })]

        #[test]
        fn an_even_partition_deals_out_every_row_once(n in 1_usize..300, clients in 1_usize..40, seed: u64) {
            prop_assume!(clients <= n);
            let train: Vec<usize> = (0..n).map(|row| row * 2).collect();
            let units: Vec<Vec<usize>> = train.iter().map(|row| vec![*row]).collect();
            let dealt = even(clients, &units, seed).unwrap();
            let sizes: Vec<usize> = dealt.iter().map(|(_, rows)| rows.len()).collect();
            prop_assert_eq!(Partition::Even { clients }.sizes(n), Some(sizes));
            prop_assert!(dealt.iter().all(|(_, rows)| rows.len() == n / clients || rows.len() == n / clients + 1));
            let mut all: Vec<usize> = dealt.into_iter().flat_map(|(_, rows)| rows).collect();
            all.sort_unstable();
            prop_assert_eq!(all, train);
        }

        #[test]
        fn a_skewed_partition_keeps_its_formula(
            n in 20_usize..400, ones in 0.05_f64..0.95, half in 1_usize..8, rho in 0.0_f64..0.95, kappa in -3.0_f64..1.0, seed: u64,
        ) {
            let ones = (n as f64 * ones) as usize;
            let (table, m) = (table(n, ones), 2 * half);
            let train: Vec<usize> = (0..n).collect();
            let Ok(clients) = skewed(m, rho, kappa).clients(&table, &train, seed) else { return Ok(()) };
            let (small, large) = (shares(&table, &clients, "small"), shares(&table, &clients, "large"));
            prop_assert_eq!((small.len(), large.len()), (half, half));
            let size = |sign: f64| (n as f64 / m as f64 * (1.0 + sign * rho) + 1e-9).floor() as usize;
            prop_assert!(small.iter().all(|(rows, _)| *rows == size(-1.0)));
            prop_assert!(large.iter().all(|(rows, _)| *rows == size(1.0)));
            let majority = ones.max(n - ones);
            let lambda = majority as f64 / n as f64;
            for (rows, positive) in small {
                let of_majority = if ones > n - ones { positive } else { rows - positive } as f64;
                let wanted = (lambda + (1.0 - lambda) * kappa) * rows as f64;
                prop_assert!(of_majority <= wanted + 1e-6 && of_majority > wanted - 1.0 - 1e-6);
            }
            let mut all: Vec<usize> = clients.into_iter().flat_map(|(_, rows)| rows).collect();
            let placed = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), placed, "a row is at two clients");
            prop_assert!(n - placed < m, "{} rows are at no client", n - placed);
        }
    }
}
