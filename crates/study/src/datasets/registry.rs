//! The data sets that the program knows by name: where they come from, and what makes a file the right one.

/// One data set.
#[derive(Debug)]
pub struct Set {
    /// Its name in a study.
    pub name: &'static str,
    /// What is predicted from what.
    pub about: &'static str,
    /// Rows of the file, or those of them that the schema chooses.
    pub rows: u64,
    /// The outcome's column.
    pub outcome: &'static str,
    /// A column that may name clients or held-out rows, with the rows of each of its values.
    pub levels: Option<Levels>,
    /// SHA-256 of the clean, gzipped file.
    pub sha256: &'static str,
    /// Licence of the data.
    pub licence: &'static str,
    /// Whom to cite.
    pub citation: &'static str,
    /// The official address.
    pub address: &'static str,
    /// The schema, in TOML.
    pub schema: &'static str,
    /// Where the rows are.
    pub rows_from: KnownRows,
}

/// A column, and the rows of each of its values, in the order of their names.
pub type Levels = (&'static str, &'static [(&'static str, u64)]);

/// Where the rows of a data set are.
#[derive(Debug)]
pub enum KnownRows {
    /// In the program.
    Bundled(&'static [u8]),
    /// To be fetched: the licence is unclear, or the data are their owner's to hand out.
    Fetched {
        /// SHA-256 of the clean text, before gzip.
        text_sha256: &'static str,
        /// Columns of the clean file, in order.
        columns: &'static [&'static str],
        /// The file to download, if there is one that needs no other program.
        download: Option<&'static str>,
        /// How to get the official file by hand.
        by_hand: &'static str,
    },
}

impl Set {
    /// True if the rows are in the program.
    pub fn is_bundled(&self) -> bool {
        matches!(self.rows_from, KnownRows::Bundled(_))
    }

    /// The rows of each value of this column, where they are known.
    pub fn levels_of(&self, column: &str) -> Option<&'static [(&'static str, u64)]> {
        self.levels.filter(|(name, _)| *name == column).map(|(_, levels)| levels)
    }
}

/// The data set of this name.
pub fn find(name: &str) -> Option<&'static Set> {
    SETS.iter().find(|set| set.name == name)
}

/// The schema and the rows of a bundled set; its rows may be another's, seen by a schema of its own.
macro_rules! bundled {
    ($name:literal) => {
        bundled!($name, $name)
    };
    ($name:literal, $rows:literal) => {
        (
            include_str!(concat!("../../data/", $name, ".toml")),
            KnownRows::Bundled(include_bytes!(concat!("../../data/", $rows, ".csv.gz"))),
        )
    };
}

/// A bundled set.
const fn uci(
    (name, about): (&'static str, &'static str),
    (rows, outcome, levels): (u64, &'static str, Option<Levels>),
    sha256: &'static str,
    (citation, address): (&'static str, &'static str),
    (schema, rows_from): (&'static str, KnownRows),
) -> Set {
    Set { name, about, rows, outcome, levels, sha256, licence: "CC BY 4.0", citation, address, schema, rows_from }
}

const WINE: &str = "15ecd108edc3cf3741088a5f9cc30c3aee82d6db538c8c4a19fbe501f500afd1";
const WINE_ORIGIN: (&str, &str) = (
    "Cortez, Cerdeira, Almeida, Matos and Reis 2009, doi 10.24432/C56S3T",
    "https://archive.ics.uci.edu/dataset/186/wine+quality",
);
const ABALONE: &str = "58cdf3277b7db342e6225ba4c585208a40929332d7a99da22f4c0391c6db34a2";
const ABALONE_ORIGIN: (&str, &str) = (
    "Nash, Sellers, Talbot, Cawthorn and Ford 1994, doi 10.24432/C55C7W",
    "https://archive.ics.uci.edu/dataset/1/abalone",
);
const HOSPITALS: [(&str, u64); 4] =
    [("cleveland", 303), ("hungary", 294), ("switzerland", 123), ("va_long_beach", 200)];
const SUPPORT2_BY_HAND: &str =
    "download https://hbiostat.org/data/repo/support2csv.zip and name it by `from`; the unzipped file is fine too";
const FLCHAIN_BY_HAND: &str =
    "in R: write.csv(survival::flchain, \"flchain.csv\", row.names = FALSE), and name that file by `from`";

/// All data sets, bundled ones first.
pub const SETS: &[Set] = &[
    uci(
        ("adult", "income over 50,000 dollars, 1994 US census"),
        (48_842, "income", Some(("split", &[("test", 16_281), ("train", 32_561)]))),
        "7d561274040c7ebc88c04383564a6671c2ac197d0daacdbfa3edaa7838ad4c8a",
        ("Becker and Kohavi 1996, doi 10.24432/C5XW20", "https://archive.ics.uci.edu/dataset/2/adult"),
        bundled!("adult"),
    ),
    uci(
        ("heart", "heart disease at four hospitals"),
        (920, "disease", Some(("hospital", &HOSPITALS))),
        "a3843f25426e385ae288ba657a7b0176f3fded32ae3ba16c6184a68dec193d3b",
        (
            "Janosi, Steinbrunn, Pfisterer and Detrano 1989, doi 10.24432/C52P4X",
            "https://archive.ics.uci.edu/dataset/45/heart+disease",
        ),
        bundled!("heart"),
    ),
    uci(
        ("wine", "quality of red and white wine"),
        (6_497, "quality", Some(("colour", &[("red", 1_599), ("white", 4_898)]))),
        WINE,
        WINE_ORIGIN,
        bundled!("wine"),
    ),
    uci(
        ("wine-red", "quality of red wine, ranges of length 10"),
        (1_599, "quality", None),
        WINE,
        WINE_ORIGIN,
        bundled!("wine-red", "wine"),
    ),
    uci(
        ("wine-white", "quality of white wine, ranges of length 10"),
        (4_898, "quality", None),
        WINE,
        WINE_ORIGIN,
        bundled!("wine-white", "wine"),
    ),
    uci(("abalone", "rings of a sea snail"), (4_177, "rings", None), ABALONE, ABALONE_ORIGIN, bundled!("abalone")),
    uci(
        ("abalone-scaled", "rings of a sea snail, ranges of length 10"),
        (4_177, "rings", None),
        ABALONE,
        ABALONE_ORIGIN,
        bundled!("abalone-scaled", "abalone"),
    ),
    uci(
        ("digits", "handwritten digits of 8 by 8 pixels"),
        (1_797, "digit", None),
        "f7ff07ef4cf9dc07d381b4e71388d7745a78fd5642accd1aaf78224099936e17",
        (
            "Alpaydin and Kaynak 1998, doi 10.24432/C50P49",
            "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
        ),
        bundled!("digits"),
    ),
    Set {
        name: "support2",
        about: "death in hospital of seriously ill patients",
        rows: 9_105,
        outcome: "hospdead",
        levels: None,
        sha256: "c99527e36fdc35581b3378d5ceffb57d25cac882769386e61029d494fbb759bc",
        licence: "none stated",
        citation: "Knaus et al. 1995, Annals of Internal Medicine 122",
        address: "https://hbiostat.org/data/repo/support2csv.zip",
        schema: include_str!("../../data/support2.toml"),
        rows_from: KnownRows::Fetched {
            text_sha256: "fb04a20292f726a9f05637e8cb738653b1ef43b9f8982b9000fb91d6f9fe6076",
            columns: &[
                "id", "age", "sex", "race", "edu", "income", "dzgroup", "dzclass", "num_co", "diabetes", "dementia",
                "ca", "scoma", "hday", "meanbp", "wblc", "hrt", "resp", "temp", "pafi", "alb", "bili", "crea", "sod",
                "ph", "glucose", "bun", "urine", "adlp", "adls", "adlsc", "hospdead", "death", "d_time", "slos",
            ],
            download: Some("https://hbiostat.org/data/repo/support2csv.zip"),
            by_hand: SUPPORT2_BY_HAND,
        },
    },
    Set {
        name: "flchain",
        about: "death within five years of a blood test",
        rows: 7_874,
        outcome: "death5y",
        levels: None,
        sha256: "bdc9445127479ecbd315c7a26c9dbd38c75a1faf25deeb2f570b474d25556655",
        licence: "none of its own; in the R package survival",
        citation: "Dispenzieri et al. 2012, Mayo Clinic Proceedings 87",
        address: "https://cran.r-project.org/package=survival",
        schema: include_str!("../../data/flchain.toml"),
        rows_from: KnownRows::Fetched {
            text_sha256: "03c0e2dc754b0b6eb022f9d8bee990d9eefe219c680109e2ec044b5199e77d6d",
            columns: &[
                "age",
                "sex",
                "sample_yr",
                "kappa",
                "lambda",
                "flc_grp",
                "creatinine",
                "mgus",
                "futime",
                "death",
                "chapter",
                "death5y",
            ],
            download: None,
            by_hand: FLCHAIN_BY_HAND,
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::fetch::digest;
    use inference::{Federation, Partition, RowReading, Schema, Split, read};

    fn bundled(set: &Set) -> Option<&'static [u8]> {
        match set.rows_from {
            KnownRows::Bundled(bytes) => Some(bytes),
            KnownRows::Fetched { .. } => None,
        }
    }

    #[test]
    fn every_bundled_file_is_the_one_named_and_fits_its_schema() {
        for set in SETS {
            let schema = Schema::from_toml(set.schema).unwrap();
            assert_eq!(schema.outcome().column, set.outcome);
            let Some(bytes) = bundled(set) else { continue };
            assert_eq!(digest(bytes), set.sha256, "{}", set.name);
            let keep: Vec<&str> = set.levels.iter().map(|(column, _)| *column).collect();
            let table = read(bytes, &schema, true, &keep, RowReading::Strict).unwrap();
            if let Some((column, levels)) = set.levels {
                let values = table.column(column).unwrap();
                let count = |name: &str| values.iter().filter(|value| *value == name).count() as u64;
                assert!(levels.iter().all(|(name, rows)| count(name) == *rows), "{}", set.name);
                assert_eq!(levels.iter().map(|(_, rows)| rows).sum::<u64>(), set.rows, "{}", set.name);
                assert!(levels.is_sorted(), "{}", set.name);
            }
            assert_eq!(table.rows.len() as u64, set.rows, "{}", set.name);
            assert!(table.rows.iter().all(|row| row.numbers.iter().all(|x| x.abs() < 60.0)), "{}", set.name);
        }
    }

    #[test]
    fn scaled_sets_have_ranges_of_length_10_about_their_published_means() {
        for (name, inputs) in [("wine-red", 11), ("wine-white", 11), ("abalone-scaled", 7)] {
            let set = find(name).unwrap();
            let schema = Schema::from_toml(set.schema).unwrap();
            let table = read(bundled(set).unwrap(), &schema, false, &[], RowReading::Strict).unwrap();
            assert_eq!((table.rows.width(), table.rows.dense()), (inputs, inputs));
            let n = table.rows.len() as f64;
            let columns = (0..inputs).map(|j| table.rows.iter().map(|row| row.numbers[j]).collect::<Vec<f64>>());
            for (at, column) in columns.chain([table.rows.outcomes().to_vec()]).enumerate() {
                let (low, high) =
                    (column.iter().copied().fold(f64::MAX, f64::min), column.iter().copied().fold(f64::MIN, f64::max));
                assert!((9.5..10.25).contains(&(high - low)), "{name} {at}: {low} to {high}");
                assert!(
                    (column.iter().sum::<f64>() / n).abs() < 0.85,
                    "{name} {at}: printed means are rounded, not others"
                );
            }
        }
    }

    #[test]
    fn schemas_of_fetched_sets_name_the_columns_of_their_files() {
        for set in SETS {
            let KnownRows::Fetched { columns, .. } = &set.rows_from else { continue };
            let schema = Schema::from_toml(set.schema).unwrap();
            let mut named: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
            named.push(&schema.outcome().column);
            named.sort_unstable();
            let mut columns = columns.to_vec();
            columns.sort_unstable();
            assert_eq!(named, columns, "{}", set.name);
        }
    }

    #[test]
    fn adult_has_108_inputs_of_which_14_are_stored() {
        let set = find("adult").unwrap();
        let schema = Schema::from_toml(set.schema).unwrap();
        let table = read(bundled(set).unwrap(), &schema, false, &["split"], RowReading::Strict).unwrap();
        assert_eq!((table.rows.len(), table.rows.width(), table.rows.dense()), (48_842, 108, 6));
        assert_eq!(schema.inputs(true).len(), 109);
        assert!(table.rows.iter().all(|row| row.entries().count() == 14));
        for (prefix, levels) in [
            ("workclass", 9),
            ("education", 16),
            ("marital_status", 7),
            ("occupation", 15),
            ("relationship", 6),
            ("race", 5),
            ("sex", 2),
            ("native_country", 42),
        ] {
            let prefix = format!("{prefix}=");
            assert_eq!(table.inputs.iter().filter(|name| name.starts_with(&prefix)).count(), levels, "{prefix}");
        }
        assert_eq!(table.rows.outcomes().iter().sum::<f64>(), 11_687.0);
        let official = Split::Column { column: "split".into(), test_level: "test".into() };
        let (train, test) = official.rows(&table, 0).unwrap();
        assert_eq!((train.len(), test.len()), (32_561, 16_281));
        // Public constants that are close to the data's own keep every input near unit scale.
        for j in 0..6 {
            let mean = table.rows.iter().map(|row| row.numbers[j]).sum::<f64>() / 48_842.0;
            let square = table.rows.iter().map(|row| row.numbers[j] * row.numbers[j]).sum::<f64>() / 48_842.0;
            assert!(mean.abs() < 0.02 && (square - 1.0).abs() < 0.02, "input {j}: {mean} {square}");
        }
    }

    #[test]
    fn heart_has_its_four_hospitals() {
        let set = find("heart").unwrap();
        let schema = Schema::from_toml(set.schema).unwrap();
        let table = read(bundled(set).unwrap(), &schema, true, &["hospital"], RowReading::Strict).unwrap();
        let partition = Partition::Column { column: "hospital".into(), at_most: Default::default() };
        let all: Vec<usize> = (0..table.rows.len()).collect();
        let clients = partition.clients(&table, &all, 0).unwrap();
        let sizes: Vec<(&str, usize)> = clients.iter().map(|(name, rows)| (name.as_str(), rows.len())).collect();
        assert_eq!(sizes, HOSPITALS.map(|(name, rows)| (name, rows as usize)));
        let federation = Federation::new(&table, &Split::Fraction { test: 0.2 }, &partition, 1).unwrap();
        assert_eq!((federation.sites.len(), federation.test.len()), (4, 184));
        assert!(table.inputs.iter().any(|name| name == "chol missing"));
    }
}
