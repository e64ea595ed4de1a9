//! Every store obeys the same laws, and each has its own.

use crate::store_changes;

use crate::postgres::Postgres;
use crate::store_changes::{StoreRandom, accepted, header, row, saved};
use federation::coordinator::Change;
use federation::message::Attempt;
use federation::store::{self, CommitFailure, MemoryStore, PostgresStore, ServerStore, SqliteStore, StoreError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

macro_rules! laws {
    ($($law:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $law() {
                let store = super::MemoryStore::new();
                crate::laws::$law(&|| Box::new(store.clone()));
            })*
        }
        mod sqlite {
            $(#[test] fn $law() {
                let file = super::TemporaryFile::new();
                crate::laws::$law(&|| Box::new(super::SqliteStore::open(&file.0).unwrap()));
            })*
        }
        #[test]
        fn postgresql_obeys_every_law() {
            let Some(server) = Postgres::or_skip() else { return };
            $({
                println!(stringify!($law));
                let url = server.database(stringify!($law));
                crate::laws::$law(&|| Box::new(PostgresStore::open(&url).unwrap()));
            })*
        }
    };
}

laws! {
    what_is_created_is_loaded,
    a_commit_does_what_the_change_says,
    an_answer_waits_until_it_has_a_receipt,
    a_stale_version_is_refused_and_nothing_is_kept,
    what_is_there_already_is_refused_whole,
    of_two_commits_on_one_version_exactly_one_is_kept,
    letters_are_posted_delivered_and_cleared_in_this_order,
    an_invitation_is_good_for_one_request,
    of_two_requests_for_one_invitation_exactly_one_is_good,
    a_party_is_enrolled_in_the_place_of_the_one_before,
    a_revoked_key_stays_revoked,
    a_head_only_moves_forward,
    history_is_in_order,
    ten_thousand_numbers_are_kept_exactly,
    everything_is_found_again,
}

/// A file that is gone, with what is beside it, when the test ends.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder.join("server.db"))
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

const RUN: [u8; 16] = [1; 16];

/// A change with an answer in it, on top of this version.
fn answer(store: &dyn ServerStore, version: u64) -> Result<u64, StoreError> {
    let mut random = StoreRandom(version);
    let accepted = vec![accepted(0, Attempt { round: version, attempt: 0 }, 4, &mut random)];
    let change = Change { dirty: true, accepted, ..Change::default() };
    store.commit(&RUN, version, &header(&mut random), &change)
}

fn kept_answers(store: &dyn ServerStore) -> usize {
    store.history(&RUN).unwrap().accepted.len()
}

#[test]
fn a_failure_of_memory_says_the_same_whether_the_commit_was_kept_or_not() {
    let store = MemoryStore::new();
    store.create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    store.fail_next(CommitFailure::Before);
    let before = answer(&store, 0).unwrap_err();
    assert_eq!((store.version(&RUN), kept_answers(&store)), (Ok(0), 0));
    store.fail_next(CommitFailure::After);
    assert_eq!(answer(&store, 0).unwrap_err(), before);
    assert!(matches!(before, StoreError::Failed { .. }));
    assert_eq!((store.version(&RUN), kept_answers(&store)), (Ok(1), 1));
    assert_eq!(answer(&store, 1), Ok(2));
}

#[test]
fn only_a_forgetful_memory_loses_the_last_commit_in_a_crash() {
    for (store, left) in [(MemoryStore::new(), 2), (MemoryStore::forgetful(), 1)] {
        store.create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
        answer(&store, 0).unwrap();
        answer(&store, 1).unwrap();
        store.crash();
        store.crash();
        assert_eq!((store.version(&RUN), kept_answers(&store)), (Ok(left), left as usize));
    }
}

#[test]
fn a_second_server_on_one_file_is_refused_by_name() {
    let file = TemporaryFile::new();
    let server = store::serve(file.text()).unwrap();
    server.create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    let error = store::serve(file.text()).err().unwrap();
    let StoreError::Locked { why } = error else { panic!("{error}") };
    assert!(why.contains(file.text()) && why.contains(&format!("process {}", std::process::id())), "{why}");
    let beside = store::open(file.text()).unwrap();
    beside.invite(&store_changes::invite(1, 100)).unwrap();
    assert!(matches!(server.redeem(&[1; 32], &[1; 32], 50), Ok(store::Redemption::Good(_))));
    drop(server);
    store::serve(file.text()).unwrap();
}

#[test]
fn a_file_of_another_version_or_program_is_refused_and_left_alone() {
    let file = TemporaryFile::new();
    drop(SqliteStore::open(&file.0).unwrap());
    let set = |sql: &str| rusqlite::Connection::open(&file.0).unwrap().execute_batch(sql).unwrap();
    let refused = || match SqliteStore::open(&file.0).err().unwrap() {
        StoreError::Unreadable { why } => why,
        other => panic!("{other}"),
    };
    set("PRAGMA user_version = 2");
    assert!(refused().contains("newer version"), "{}", refused());
    set("PRAGMA user_version = 0");
    assert!(refused().contains("another program"), "{}", refused());
    std::fs::write(&file.0, vec![7; 8192]).unwrap();
    assert!(refused().contains(file.text()), "{}", refused());
    assert_eq!(std::fs::read(&file.0).unwrap(), vec![7; 8192]);
}

#[test]
fn a_place_that_cannot_be_a_file_is_named() {
    let file = TemporaryFile::new();
    for place in [file.text().replace("server.db", "missing/server.db"), file.text().replace("/server.db", "")] {
        let error = store::open(&place).err().unwrap();
        assert!(error.to_string().contains(&place), "{error}");
    }
}

#[test]
fn only_a_server_makes_a_store_and_a_strange_scheme_is_no_file() {
    let file = TemporaryFile::new();
    let missing = store::open(file.text()).err().unwrap();
    assert_eq!(missing, StoreError::Missing { place: file.text().to_owned() });
    assert!(!file.0.exists(), "nothing was made");
    for open in [store::open, store::serve] {
        let strange = open("mysql://me:ZQCANARYQZ@localhost/x").err().unwrap();
        assert!(matches!(strange, StoreError::Place { .. }), "{strange}");
        let words = format!("{strange} {}", strange.hint());
        assert!(
            words.contains("mysql://") && !words.contains("ZQCANARYQZ") && words.contains("postgres://"),
            "{words}"
        );
    }
    drop(store::serve(file.text()).unwrap());
    store::open(file.text()).unwrap();
}

#[test]
fn no_message_of_a_store_has_its_hint_inside() {
    let file = TemporaryFile::new();
    let _server = store::serve(file.text()).unwrap();
    for place in [file.text(), "postgres://db.example.org/x", "postgresql:///x", "mysql://x"] {
        let error = store::serve(place).err().unwrap();
        assert!(!error.to_string().contains("hint") && !error.hint().is_empty(), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_and_what_is_beside_it_are_for_nobody_else() {
    use std::os::unix::fs::PermissionsExt;
    let file = TemporaryFile::new();
    let store = SqliteStore::serve(&file.0).unwrap();
    store.create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    let names: Vec<_> = std::fs::read_dir(file.0.parent().unwrap()).unwrap().map(Result::unwrap).collect();
    assert_eq!(names.len(), 4);
    for entry in names {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn a_remote_postgresql_without_tls_is_refused_without_its_password() {
    for (url, why) in [
        ("postgres://a:ZQCANARYQZ@db.example.org/x", "db.example.org"),
        ("postgres://a:ZQCANARYQZ@10.0.0.7/x", "10.0.0.7"),
        ("postgres://a:ZQCANARYQZ@localhost,db.example.org/x", "db.example.org"),
        ("postgres://a:ZQCANARYQZ@localhost/x?hostaddr=10.0.0.7", "10.0.0.7"),
        ("postgres://a:ZQCANARYQZ@localhost/x?sslmode=require", "TLS"),
        ("postgres://a:ZQCANARYQZ@localhost/x?colour=red", "cannot be used"),
        ("postgresql:///x", "no host"),
        ("postgres://a:ZQCANARYQZ@127.0.0.1:1/x?connect_timeout=1", "connecting"),
    ] {
        let error = store::serve(url).err().unwrap().to_string();
        assert!(error.contains(why) && !error.contains("ZQCANARYQZ"), "{error}");
    }
}

#[test]
fn a_postgresql_that_was_killed_has_every_commit_that_it_confirmed() {
    let Some(mut server) = Postgres::or_skip() else { return };
    let store = store::serve(&server.url()).unwrap();
    store.create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    for version in 0..5 {
        answer(&*store, version).unwrap();
    }
    server.kill9();
    // The process that serves our connection ends when it notices, and may confirm a commit before that.
    let mut confirmed = 5;
    let error = loop {
        match answer(&*store, confirmed) {
            Ok(version) => confirmed = version,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
    assert!(matches!(store.version(&RUN), Err(StoreError::Failed { .. })));
    server.restart().unwrap();
    // Of the commit that failed it is unknown whether it was kept.
    let found = store.version(&RUN).unwrap();
    assert!((confirmed..=confirmed + 1).contains(&found), "{found} after {confirmed} were confirmed");
    assert_eq!(kept_answers(&*store) as u64, found);
    assert_eq!(answer(&*store, found), Ok(found + 1));
}

#[test]
fn a_connection_that_broke_costs_one_failed_call() {
    let Some(server) = Postgres::or_skip() else { return };
    let store = store::serve(&server.url()).unwrap();
    store.create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    std::thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| (0..20).for_each(|_| drop(store.load(&RUN).unwrap())))));
    });
    let mut other = ::postgres::Client::connect(&server.url(), ::postgres::NoTls).unwrap();
    let mine = "FROM pg_stat_activity WHERE application_name = 'posterity'";
    let open: i64 = other.query_one(&format!("SELECT COUNT(*) {mine}"), &[]).unwrap().get(0);
    assert!((1..=4).contains(&open), "{open} connections");
    other.execute(&format!("SELECT pg_terminate_backend(pid, 10000) {mine}"), &[]).unwrap();
    assert!(matches!(answer(&*store, 0), Err(StoreError::Failed { .. })));
    for version in 0..5 {
        assert_eq!(answer(&*store, version), Ok(version + 1));
    }
}

#[test]
fn a_postgresql_that_does_not_sync_or_has_newer_tables_is_refused() {
    let Some(server) = Postgres::start_on_loopback().inspect_err(|why| println!("skipped: PostgreSQL ({why})")).ok()
    else {
        return;
    };
    assert!(server.url().contains("@127.0.0.1:"));
    let missing = store::open(&server.url()).err().unwrap();
    assert!(matches!(missing, StoreError::Missing { .. }), "{missing}");
    drop(store::serve(&server.url()).unwrap());
    let mut other = ::postgres::Client::connect(&server.url(), ::postgres::NoTls).unwrap();
    other.batch_execute("ALTER DATABASE postgres SET synchronous_commit TO off").unwrap();
    store::open(&server.url()).unwrap().create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    other.batch_execute("INSERT INTO posterity.tables VALUES (2)").unwrap();
    let error = store::open(&server.url()).err().unwrap().to_string();
    assert!(error.contains("newer version"), "{error}");
    other.batch_execute("ALTER SYSTEM SET fsync TO off").unwrap();
    other.batch_execute("SELECT pg_reload_conf()").unwrap();
    // The server takes up its settings when it gets to it.
    let mut refused = String::new();
    for _ in 0..200 {
        refused = store::open(&server.url()).err().unwrap().to_string();
        if refused.contains("fsync = off") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{refused}");
}

#[test]
fn servers_that_start_at_once_on_an_empty_database_make_its_tables_once() {
    let Some(server) = Postgres::or_skip() else { return };
    let stores: Vec<_> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..4).map(|_| scope.spawn(|| store::serve(&server.url()).unwrap())).collect();
        opening.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    stores[0].create(&row(1, 5), &saved(&mut StoreRandom(1))).unwrap();
    assert!(stores.iter().all(|store| store.version(&RUN) == Ok(0)));
}
