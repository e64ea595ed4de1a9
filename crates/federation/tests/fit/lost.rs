//! A home whose ledger is lost or old: it is never taken for a new one.

use super::table::{Owner, STUDY};
use super::{Notes, code, ledger};
use federation::fit::FitError;
use federation::log::{FILE, FolderView, Log, LogError};
use std::fs;
use std::path::{Path, PathBuf};

/// The home of an owner after a finished fit.
fn used(name: &str) -> Owner {
    let owner = Owner::new(name, STUDY);
    owner.fit("first", &()).unwrap();
    owner
}

fn log_of(home: &Path) -> PathBuf {
    home.join("ledger").join(FILE)
}

fn verified(home: &Path) -> Result<usize, LogError> {
    Log::view(FolderView::open(&home.join("ledger")).unwrap())?.check_snapshots()
}

/// What happens to a home.
type Loss = fn(&Path);

#[test]
fn a_home_whose_ledger_is_gone_or_empty_is_refused() {
    let losses: [(&str, Loss); 4] = [
        ("gone", |home| fs::remove_file(log_of(home)).unwrap()),
        ("empty", |home| fs::write(log_of(home), "").unwrap()),
        ("folder", |home| fs::remove_dir_all(home.join("ledger")).unwrap()),
        ("keys", |home| {
            fs::remove_dir_all(home.join("ledger")).unwrap();
            fs::remove_file(home.join("identity.key")).unwrap();
            fs::remove_file(home.join("noise.key")).unwrap();
        }),
    ];
    for (name, lose) in losses {
        let owner = used(name);
        lose(&owner.home());
        let refused = owner.fit("second", &()).unwrap_err();
        assert_eq!(code(&refused), "F125", "{name}: {refused}");
        assert!(!owner.folder.join("second").exists(), "{name}: something was published");
    }
}

/// What the site remembers in a run shows that the run was charged, also where nothing else is left of it.
#[test]
fn an_old_ledger_beside_what_later_runs_left_is_refused_by_fit_and_by_verify() {
    let owner = used("old");
    let old = fs::read(log_of(&owner.home())).unwrap();
    owner.fit("second", &()).unwrap();
    assert!(verified(&owner.home()).is_ok());
    let whole = fs::read(log_of(&owner.home())).unwrap();
    for ledger in [&old[..], &whole[..whole.len() - 300]] {
        fs::write(log_of(&owner.home()), ledger).unwrap();
        for _ in 0..2 {
            let refused = owner.fit("third", &()).unwrap_err();
            assert_eq!(code(&refused), "L006", "{refused}");
            assert!(matches!(verified(&owner.home()), Err(LogError::Memory { .. })));
        }
    }
    fs::write(log_of(&owner.home()), whole).unwrap();
    assert_eq!(owner.fit("third", &()).unwrap().results.lifetime.earlier_fits, 2);
}

/// A crash may leave any part of a home that is being made: no limits yet, and no record.
#[test]
fn a_home_that_was_not_made_to_its_end_is_made_anew() {
    let owner = Owner::new("half", STUDY);
    assert!(matches!(owner.fit("out", &Notes::stopping_at(0)), Err(FitError::Stopped)));
    let template = ledger(&owner.home());
    assert!(template.head.sequence > 0);
    for left in
        [&["ledger/ledger.log", "identity.key", "noise.key"][..], &["ledger/ledger.log", "noise.key"], &["ledger/lock"]]
    {
        let half = Owner::new(&format!("half-{}", left.len()), STUDY);
        super::table::copy(&owner.home(), &half.home());
        Log::open(federation::log::FolderDisk::open(&half.folder.join("empty")).unwrap()).unwrap();
        fs::remove_dir_all(half.home().join("ledger")).unwrap();
        fs::rename(half.folder.join("empty"), half.home().join("ledger")).unwrap();
        for file in ["ledger/ledger.log", "ledger/lock", "identity.key", "noise.key", "fit.toml", "unfinished.json"] {
            if !left.contains(&file) {
                let _ = fs::remove_file(half.home().join(file));
            }
        }
        assert_eq!(half.fit("out", &()).unwrap().results.lifetime.earlier_fits, 0, "{left:?}");
    }
}
