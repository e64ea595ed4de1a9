//! A small table, the study of it, and the folder of their owner.

use federation::fit::{FitError, FitObserver, FitRequest, Fitted, fit};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use study::{Folders, Made, Study};

pub(crate) const STUDY: &str = r#"schema = 1
[study]
name = "ill"
seeds = [1]
[data]
source = "csv:rows.csv"
split = { test = 0.2 }
[partition]
kind = "even"
clients = 1
[model]
kind = "logistic"
bias = true
prior = { precision = 1.0 }
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 6
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-4, clip = 2.0 }
"#;

pub(crate) const SCHEMA: &str = r#"outcome = { column = "ill", levels = ["no", "yes"] }
column = [
  { name = "age", kind = "numeric", centre = 50.0, scale = 20.0, bounds = [10.0, 90.0] },
  { name = "dose", kind = "numeric", centre = 0.5, scale = 0.5, bounds = [0.0, 1.0] },
]
"#;

/// So many rows; older people are ill more often. Another seed, other rows.
pub(crate) fn rows(count: u64, seed: u64) -> String {
    let mut text = "age,dose,ill\n".to_owned();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for _ in 0..count {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (age, dose) = (20.0 + 60.0 * next(), next());
        let ill = if next() < 1.0 / (1.0 + (-(age - 50.0) / 8.0).exp()) { "yes" } else { "no" };
        writeln!(text, "{age:.1},{dose:.2},{ill}").unwrap();
    }
    text
}

/// An owner's folder with a table, its schema and a home. It is removed when a test ends well.
pub(crate) struct Owner {
    pub(crate) folder: PathBuf,
    study: String,
    kept: bool,
}

impl Owner {
    pub(crate) fn new(name: &str, study: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fit-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("rows.csv"), rows(60, 1)).unwrap();
        std::fs::write(folder.join("rows.toml"), SCHEMA).unwrap();
        std::fs::write(folder.join("study.toml"), study).unwrap();
        Self { folder, study: study.to_owned(), kept: false }
    }

    /// The owner of a folder that is another's to remove.
    pub(crate) fn at(folder: &Path, study: &str) -> Self {
        Self { folder: folder.to_owned(), study: study.to_owned(), kept: true }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(crate) fn request(&self, out: &str) -> OwnedRequest {
        OwnedRequest {
            study: Study::read("s.toml", &self.study).unwrap(),
            folders: Folders { study: self.folder.clone(), data: None },
            home: self.home(),
            out: self.folder.join(out),
            made: Made { date: "2026-01-31T12:00:00Z".into(), commit: "unknown".into() },
        }
    }

    pub(crate) fn fit(&self, out: &str, observer: &dyn FitObserver) -> Result<Fitted, FitError> {
        fit(&self.request(out).of(), observer)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.kept && !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// What a request refers to.
pub(crate) struct OwnedRequest {
    study: Study,
    folders: Folders,
    home: PathBuf,
    out: PathBuf,
    made: Made,
}

impl OwnedRequest {
    pub(crate) fn of(&self) -> FitRequest<'_> {
        let Self { study, folders, home, out, made } = self;
        FitRequest { study, folders, table: None, home, out, method: None, made, baselines: false }
    }
}

/// All files below a folder, by their names.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Copies a home with its permissions.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
