//! `fit`: one owner's table, a ledger that remembers every fit, and files that say nothing but what was released.

mod cells;
#[cfg(all(unix, feature = "rehearsal"))]
mod kill;
mod lost;
mod persons;
mod table;

use federation::fit::{FitError, FitNote, FitObserver, Fitted, NOT_FOR_PUBLICATION};
use federation::log::{Account, FolderView, Log, LogError, RunStanding};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::path::Path;
use study::{FitResults, Posterior};
use table::{Owner, SCHEMA, STUDY, files};

fn ledger(home: &Path) -> Account {
    Account::of(&Log::view(FolderView::open(&home.join("ledger")).unwrap()).unwrap()).unwrap()
}

fn code(error: &FitError) -> &'static str {
    match error {
        FitError::Study(error) => error.code(),
        FitError::Policy(error) => error.code(),
        FitError::Log(LogError::Memory { .. }) => "L006",
        other => panic!("{other}"),
    }
}

/// Writes down what it is told, and stops the fit after so many rounds.
#[derive(Default)]
struct Notes {
    notes: RefCell<Vec<FitNote>>,
    rounds: Cell<u64>,
    stops_at: Option<u64>,
}

impl FitObserver for Notes {
    fn note(&self, note: FitNote) {
        self.notes.borrow_mut().push(note);
    }
    fn round(&self, round: u64, _: u64) {
        self.rounds.set(round);
    }
    fn stops(&self) -> bool {
        self.stops_at.is_some_and(|at| self.rounds.get() >= at)
    }
}

impl Notes {
    fn stopping_at(round: u64) -> Self {
        Self { stops_at: Some(round), ..Self::default() }
    }
}

#[test]
fn a_fit_is_charged_published_and_read_again() {
    let owner = Owner::new("published", STUDY);
    let Fitted { results, out, not_for_publication } = owner.fit("out", &()).unwrap();
    assert_eq!(not_for_publication, None);
    assert_eq!((results.rows, results.rounds, results.planned_rounds), (Some(60), 6, 6));
    assert!(results.privacy.spent_epsilon <= 1.0 && results.privacy.burnt == 0 && results.privacy.charges == 6);
    let account = ledger(&owner.home());
    let [run] = &account.runs[..] else { panic!("{account:?}") };
    assert_eq!((run.charges, run.settled, run.standing), (6, 6, RunStanding::Closed));
    run.replay().unwrap().unwrap();
    assert!(!owner.home().join("unfinished.json").exists());
    let posterior = Posterior::open(&out, None).unwrap();
    assert_eq!(posterior.predict(b"age,dose\n50,0.5\n").unwrap().rows.len(), 1);
    assert_eq!(FitResults::open(&out).unwrap().unwrap(), results);
    let names: Vec<String> = files(&out).into_keys().filter(|name| !name.starts_with("draws")).collect();
    let stored = format!("posterior/{}.json", study::file_name("noise-aware"));
    assert_eq!(names, [&stored, "report.html", "results.json", "schema.toml", "study.toml"]);
    assert!(study::read_results(&out).unwrap_err().to_string().contains("of a fit"));
}

/// An answer without a receipt was sent again without end.
#[test]
fn chains_and_global_descents_end_and_are_charged_once_for_each_answer() {
    let (before, after) =
        STUDY.split_once("algorithm = \"noise-aware\"\nschedule = \"synchronous\"\nrounds = 6\n").unwrap();
    let chain = |settings: &str| format!("algorithm = \"chain\"\nchain = {{ {settings}, iterations = 8 }}\n");
    let (penalty, langevin) = ("sampler = \"penalty\", step = 0.01", "sampler = \"langevin\", step = 0.002");
    let descent = "algorithm = \"global-vi\"\nrounds = 4\n".to_owned();
    for (name, algorithm) in [("penalty", chain(penalty)), ("langevin", chain(langevin)), ("descent", descent)] {
        // The bound of log-ratios follows from the noise.
        let after = if name == "penalty" { after.replace(", clip = 2.0", "") } else { after.to_owned() };
        let owner = Owner::new(name, &format!("{before}{algorithm}{after}"));
        let results = owner.fit("out", &()).unwrap().results;
        assert!(results.rounds >= 4 && results.rounds == results.planned_rounds, "{name}: {results:?}");
        let account = ledger(&owner.home());
        let [run] = &account.runs[..] else { panic!("{account:?}") };
        assert_eq!((run.charges, run.settled, run.burnt), (results.rounds, results.rounds, 0), "{name}");
    }
}

#[test]
fn the_page_says_what_was_learnt_and_promised_and_has_no_scores() {
    let owner = Owner::new("page", STUDY);
    let page = owner.fit("out", &()).map(|fitted| std::fs::read_to_string(fitted.out.join("report.html"))).unwrap();
    let page = page.unwrap();
    let first = page.split("<p>").nth(1).unwrap().split("</p>").next().unwrap();
    for words in [
        "a table of 60 rows says about the outcome “ill = yes”",
        "most pronounced of 2 comparisons",
        "How sure these are is not known",
        "more than 2.719 times",
        "(1, 1e-4)-DP per row (replace-one)",
    ] {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert!(
        page.contains("Odds ratios of ill = yes") && page.contains("id=\"learnt\""),
        "effects in the reader's units"
    );
    for words in ["log-likelihood", "accuracy", "alibration", "id=\"checks\"", "held out</", "non-private"] {
        assert!(!page.contains(words), "{words}");
    }
}

#[test]
fn fits_of_one_home_add_up_until_its_limits_refuse_one() {
    let owner = Owner::new("limits", STUDY);
    let fit = |out: &str, number: u32| {
        let lifetime = owner.fit(out, &()).unwrap().results.lifetime;
        assert_eq!(lifetime.earlier_fits, u64::from(number));
        assert_eq!((lifetime.earlier_epsilon, lifetime.epsilon), (f64::from(number), f64::from(number) + 1.0));
        assert!(lifetime.delta >= f64::from(number + 1) * 1e-4);
    };
    fit("a", 0);
    let limits = owner.home().join("fit.toml");
    let text = std::fs::read_to_string(&limits).unwrap();
    assert!(text.contains("max_epsilon = 3.0") && text.contains("table of one owner"), "{text}");
    let lowered = text.replace("max_epsilon = 3.0", "max_epsilon = 1.5");
    std::fs::write(&limits, &lowered).unwrap();
    fit("b", 1);
    let refused = owner.fit("c", &()).unwrap_err();
    assert_eq!(code(&refused), "F111", "{refused}");
    assert!(refused.to_string().contains("for all runs together"), "{refused}");
    assert_eq!(ledger(&owner.home()).runs.len(), 2, "nothing is charged for a fit that is refused");
    std::fs::write(&limits, &text).unwrap();
    fit("c", 2);
    let cap = ledger(&owner.home()).cap.unwrap();
    assert_eq!(cap.epsilon.get(), 3.0, "the limits in force are on record");
}

#[test]
fn a_folder_with_other_results_is_refused_before_anything_is_charged() {
    let owner = Owner::new("folder", STUDY);
    owner.fit("out", &()).unwrap();
    assert_eq!(code(&owner.fit("out", &()).unwrap_err()), "S013");
    assert_eq!(ledger(&owner.home()).runs.len(), 1);
}

#[test]
fn a_home_inside_the_results_or_around_them_is_refused() {
    for (home, out) in [("out/home", "out"), ("home", "home/out"), ("home", "home"), ("out/../out/home", "out")] {
        let owner = Owner::new("apart", STUDY);
        std::fs::create_dir_all(owner.folder.join("out")).unwrap();
        let (home, request) = (owner.folder.join(home), owner.request(out));
        let asked = federation::fit::FitRequest { home: &home, ..request.of() };
        let refused = federation::fit::fit(&asked, &()).unwrap_err();
        assert_eq!(code(&refused), "F126", "{refused}");
        assert!(!home.exists(), "a home was made");
    }
}

#[test]
fn what_one_owner_cannot_release_is_refused() {
    let promised = "epsilon = 1.0, delta = 1e-4, clip = 2.0 }";
    let open = STUDY.split("privacy = ").next().unwrap().to_owned();
    for (text, expected) in [
        (STUDY.replace("epsilon = 1.0", "epsilon = [1.0, 2.0]"), "F121"),
        (open, "F121"),
        (STUDY.replace(promised, "epsilon = 1.0, delta = 1e-4, clip = 2.0, aggregator = \"curator\" }"), "F121"),
        (STUDY.replace("substitute", "add-remove"), "F123"),
        (STUDY.replace("csv:rows.csv", "csv:missing.csv"), "C003"),
    ] {
        let owner = Owner::new("refused", &text);
        if expected == "C003" {
            std::fs::copy(owner.folder.join("rows.toml"), owner.folder.join("missing.toml")).unwrap();
        }
        let refused = owner.fit("out", &()).unwrap_err();
        assert_eq!(code(&refused), expected, "{refused}");
        assert!(!owner.home().exists(), "{expected}: a home was made");
    }
    let owner = Owner::new("site", STUDY);
    federation::identity::Home::create(&owner.home(), federation::identity::PartyRole::Site).unwrap();
    assert_eq!(code(&owner.fit("out", &()).unwrap_err()), "F122");
}

/// Under add-remove the number of rows is private: what is published has the declared one.
#[test]
fn a_private_number_of_rows_is_declared_and_never_counted() {
    let text = STUDY.replace("substitute", "add-remove").replace("split =", "declared_rows = 70\nsplit =");
    let owner = Owner::new("declared", &text);
    let request = owner.request("out");
    let fitted = federation::fit::fit(&federation::fit::FitRequest { baselines: true, ..request.of() }, &()).unwrap();
    assert_eq!(fitted.results.rows, Some(70));
    let private = std::fs::read_to_string(fitted.not_for_publication.unwrap()).unwrap();
    assert!(private.contains("\"rows\": 60") && private.contains("70 rows are declared"), "{private}");
}

#[test]
fn scores_and_baselines_are_in_a_file_that_says_that_it_is_private() {
    let owner = Owner::new("baselines", STUDY);
    let request = owner.request("out");
    let fitted = federation::fit::fit(&federation::fit::FitRequest { baselines: true, ..request.of() }, &()).unwrap();
    let path = fitted.not_for_publication.unwrap();
    assert!(path.ends_with(NOT_FOR_PUBLICATION));
    let text = std::fs::read_to_string(path).unwrap();
    let second = text.lines().nth(1).unwrap();
    assert!(second.contains("not_for_publication") && second.contains("Not for publication"), "{second}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(fitted.out.join(NOT_FOR_PUBLICATION)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let view: Value = serde_json::from_str(&text).unwrap();
    let score = |of: &str| view[of]["log_likelihood"].as_f64().unwrap();
    assert!(score("non_private") > score("constant"), "{view}");
    assert_eq!(view["non_private_posterior"].as_array().unwrap().len(), fitted.results.posterior.len());
    // It does not stay beside what a later fit publishes in the same folder.
    std::fs::remove_file(fitted.out.join("results.json")).unwrap();
    owner.fit("out", &()).unwrap();
    assert!(!fitted.out.join(NOT_FOR_PUBLICATION).exists());
}

#[test]
fn a_fit_that_was_stopped_goes_on_and_is_not_charged_again() {
    let owner = Owner::new("stopped", STUDY);
    for round in [0, 2, 5] {
        assert!(matches!(owner.fit("out", &Notes::stopping_at(round)), Err(FitError::Stopped)));
    }
    let notes = Notes::default();
    let results = owner.fit("out", &notes).unwrap().results;
    assert_eq!(notes.notes.take(), [FitNote::Resumed { rounds: 5 }]);
    assert_eq!((results.rounds, results.privacy.charges, results.privacy.burnt), (6, 6, 0));
    assert_eq!(results.lifetime.earlier_fits, 0);
}

#[test]
fn an_unfinished_fit_of_another_table_or_study_is_given_up_and_stays_counted() {
    let owner = Owner::new("given-up", STUDY);
    assert!(matches!(owner.fit("out", &Notes::stopping_at(2)), Err(FitError::Stopped)));
    std::fs::write(owner.folder.join("rows.csv"), table::rows(60, 2)).unwrap();
    let notes = Notes::stopping_at(1);
    assert!(matches!(owner.fit("out", &notes), Err(FitError::Stopped)));
    assert_eq!(notes.notes.borrow()[0], FitNote::GivenUp);
    let other = Owner::at(&owner.folder, &STUDY.replace("rounds = 6", "rounds = 5"));
    let notes = Notes::default();
    let results = other.fit("out", &notes).unwrap().results;
    assert_eq!(notes.notes.borrow()[0], FitNote::GivenUp);
    assert_eq!((results.lifetime.earlier_fits, results.lifetime.epsilon, results.privacy.charges), (2, 3.0, 5));
    assert!(ledger(&owner.home()).runs.iter().all(|run| run.standing == RunStanding::Closed));
}

/// The taint test: after its last answer a fit is taken up with other rows in the place of its own. Every byte that is published is
/// the same, so nothing in it depends on the rows but by what was released.
#[test]
fn what_is_published_follows_from_releases_alone() {
    let own = Owner::new("taint-own", STUDY);
    assert!(matches!(own.fit("out", &Notes::stopping_at(6)), Err(FitError::Stopped)));
    let other = Owner::new("taint-other", STUDY);
    table::copy(&own.home(), &other.home());
    let rows = table::rows(60, 99);
    std::fs::write(other.folder.join("rows.csv"), &rows).unwrap();
    let digest: String = digest(rows.as_bytes(), SCHEMA).iter().map(|byte| format!("{byte:02x}")).collect();
    let unfinished = other.home().join("unfinished.json");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&unfinished).unwrap()).unwrap();
    kept["data"] = digest.into();
    std::fs::write(&unfinished, kept.to_string()).unwrap();
    let published = |owner: &Owner| {
        let request = owner.request("out");
        let notes = Notes::default();
        let fitted = federation::fit::fit(&federation::fit::FitRequest { baselines: true, ..request.of() }, &notes);
        assert_eq!(notes.notes.take(), [FitNote::Resumed { rounds: 6 }]);
        let mut found = files(&fitted.unwrap().out);
        let private = found.remove(NOT_FOR_PUBLICATION).unwrap();
        (found, private)
    };
    let ((ours, own_view), (theirs, other_view)) = (published(&own), published(&other));
    assert_ne!(own_view, other_view, "the rows are the same");
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, bytes) in &ours {
        assert!(theirs[name] == *bytes, "{name} depends on rows");
    }
}

/// SHA-256 of a table and its schema, each with its length before it.
fn digest(rows: &[u8], schema: &str) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [rows, schema.as_bytes()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}
