//! The frame of a run with a simulator that counts: nothing is run twice, nothing is half there.

use super::super::observer::Piece;
use super::super::posterior::Marginals;
use super::*;
use inference::Score;
use inference::public::{PublicNumbers, RowCounts};
use inference::results::{ClientSummary, CurvePoint, DataSummary};
use inference::warning::{Code, Warning};
use inference::{InputLayout, Observer, Record};

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const STUDY: &str = include_str!("../../studies/adult-c.toml");

/// Remembers what it was asked, and fails at one piece of work.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<(String, u64)>>,
    fails_at: Option<(&'static str, u64)>,
    digest: &'static str,
}

impl Engine for Fake {
    fn data_digest(&self) -> String {
        self.digest.to_owned()
    }

    fn summary(&self) -> Result<DataSummary, StudyError> {
        let clients = vec![ClientSummary { name: "0".into(), rows: 9, test_rows: 1, persons: None }];
        Ok(DataSummary {
            source: "fake".into(),
            outcome: None,
            inputs: vec!["a".into()],
            train_rows: 9,
            test_rows: 1,
            clients,
            encoded_scores: false,
            made_up: None,
        })
    }

    fn public(&self) -> Result<PublicNumbers, StudyError> {
        let inputs = InputLayout::new(1, 1).map_err(|error| StudyError::data("fake", error))?;
        Ok(PublicNumbers::new(vec![9], RowCounts::Counted, inputs))
    }

    fn data_schema(&self) -> Option<String> {
        Some("outcome = 'y'".to_owned())
    }

    fn record(&self, _: Work<'_>, _: u64, _: &mut dyn Observer) -> Result<Record, StudyError> {
        Err(StudyError::usage("nothing is drawn here", "use run"))
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, StudyError> {
        self.asked.lock().unwrap().push((work.name().to_owned(), seed));
        if self.fails_at == Some((work.name(), seed)) {
            return Err(StudyError::usage("the power went out", "try again"));
        }
        let scores = |accuracy: f64| {
            [("accuracy", accuracy), ("log_likelihood", -0.4)]
                .map(|(name, value)| (Score::named(name).unwrap(), value))
                .into_iter()
                .collect()
        };
        let point = CurvePoint {
            round: 1,
            messages: 10,
            epsilon: None,
            scores: scores(0.8),
            kl: None,
            natural: None,
            mean_error: None,
            variance_error: None,
        };
        observer.round(&point, 1, 1.0);
        Ok(Finished {
            seed,
            rounds: 1,
            messages: 10,
            bytes: 80,
            cpu_seconds: 0.5,
            scores: scores(0.8 + seed as f64 / 100.0),
            kl: None,
            parameter: None,
            sites: Vec::new(),
            curve: vec![point],
            outcome_variance: None,
            chain: None,
            posterior: Marginals { mean: vec![1.5], deviation: vec![0.1], precision: None, ..Marginals::default() },
            calibration: Vec::new(),
            checks: None,
            noise_multiplier: None,
            clip: None,
            spending: Vec::new(),
            fit: None,
            last_moves: Vec::new(),
            warnings: vec![Warning { code: Code::LargeEpsilon, what: "said once".into(), hint: String::new() }],
            recovery: None,
        })
    }
}

fn study() -> Study {
    Study::read("adult-c.toml", STUDY).unwrap()
}

/// Runs the study with nobody looking on.
fn run(study: &Study, engine: &Fake, out: &Path) -> Result<Results, StudyError> {
    let made = Made { date: "2026-01-31T12:00:00Z".into(), commit: "0123456789".into() };
    into(study, engine, out, Some(&made), &())
}

/// An empty directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("posterity-run-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_stopped_run_goes_on_where_it_stopped_and_writes_no_results_before_its_end() {
    let (out, study) = (directory("resume"), study());
    let broken = Fake { fails_at: Some(("local only", 3)), ..Fake::default() };
    assert!(run(&study, &broken, &out).is_err());
    assert!(!out.join("results.json").exists());
    let kept = std::fs::read_dir(out.join("state")).unwrap().count();

    let working = Fake::default();
    run(&study, &working, &out).unwrap();
    let asked = working.asked.lock().unwrap();
    let all = 5 * (study.methods.len() + 3);
    assert_eq!(asked.len(), all - kept, "what was finished is not run again");
    assert!(asked.contains(&("local only".to_owned(), 3)) && kept >= 2 * all / 5, "seeds 1 and 2 came before it");

    let results: Results = serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap();
    let names: Vec<&str> = results.methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names[names.len() - 3..], ["majority class", "local only", "non-private"]);
    assert_eq!(results.methods[0].scores.get("accuracy").unwrap().per_seed.len(), 5);
    let said: Vec<&str> = results.methods[0].warnings.iter().map(|warning| warning.what.as_str()).collect();
    assert_eq!(said, ["said once"]);
    assert!(results.outside_epsilon.contains("are not covered by ε; in a federation only the posterior is released"));
    for file in std::iter::once(out.join("results.json")).chain(posteriors(&out)) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("This is a simulation: its noise follows from the published seed"), "{}", file.display());
    }
    assert!(results.methods[0].privacy.is_some() && results.methods.last().unwrap().privacy.is_none());

    let again = Fake::default();
    run(&study, &again, &out).unwrap();
    assert!(again.asked.lock().unwrap().is_empty(), "a finished study runs nothing");
    let other = Fake { digest: "other rows", ..Fake::default() };
    run(&study, &other, &out).unwrap();
    assert_eq!(other.asked.lock().unwrap().len(), 5 * names.len(), "other data, other results");
    std::fs::remove_dir_all(out).unwrap();
}

/// Counts what it is told, and wants the run to stop after some pieces.
#[derive(Default)]
struct Impatient {
    pieces: AtomicUsize,
    rounds: AtomicUsize,
    finished: AtomicUsize,
    kept: AtomicUsize,
    ended: AtomicUsize,
    patience: usize,
}

impl RunObserver for Impatient {
    fn begins(&self, pieces: usize) {
        self.pieces.store(pieces, Ordering::SeqCst);
    }

    fn round(&self, _: Piece<'_>, _: &CurvePoint, _: u64) {
        self.rounds.fetch_add(1, Ordering::SeqCst);
    }

    fn finished(&self, _: Piece<'_>, _: Option<f64>, kept: bool) {
        self.finished.fetch_add(1, Ordering::SeqCst);
        self.kept.fetch_add(usize::from(kept), Ordering::SeqCst);
    }

    fn ends(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    fn stops(&self) -> bool {
        self.finished.load(Ordering::SeqCst) >= self.patience
    }
}

#[test]
fn an_observer_is_told_of_every_piece_and_can_stop_a_run_that_then_goes_on() {
    let (out, study) = (directory("observed"), study());
    let made = Made { date: String::new(), commit: String::new() };
    let all = 5 * (study.methods.len() + 3);
    let first = Impatient { patience: 3, ..Impatient::default() };
    assert!(matches!(into(&study, &Fake::default(), &out, Some(&made), &first), Err(StudyError::Stopped)));
    let done = first.finished.load(Ordering::SeqCst);
    assert!((3..all).contains(&done) && first.ended.load(Ordering::SeqCst) == 1, "{done} of {all}");
    assert_eq!(first.rounds.load(Ordering::SeqCst), done, "each has one round");
    assert!(!out.join("results.json").exists());
    let second = Impatient { patience: usize::MAX, ..Impatient::default() };
    into(&study, &Fake::default(), &out, Some(&made), &second).unwrap();
    assert_eq!(second.pieces.load(Ordering::SeqCst), all);
    assert_eq!(second.finished.load(Ordering::SeqCst), all);
    assert_eq!(second.kept.load(Ordering::SeqCst), done, "what was finished is not run again");
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn provenance_says_when_by_what_and_of_which_rows_and_resuming_and_comparing_leave_it_out() {
    let (out, study) = (directory("provenance"), study());
    let fake = || Fake { digest: "ab12", ..Fake::default() };
    let read =
        || -> serde_json::Value { serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap() };
    run(&study, &fake(), &out).unwrap();
    let mut first = read();
    let made = first["provenance"].clone();
    assert!(made["date"].as_str().unwrap().ends_with('Z'), "{made}");
    assert_eq!((&made["version"], &made["data_digest"]), (&env!("CARGO_PKG_VERSION").into(), &"ab12".into()));
    assert!(!made["commit"].as_str().unwrap().is_empty(), "{made}");
    // Written at another time by another commit: the work is found again, and nothing else differs.
    first["provenance"]["date"] = "2001-01-01T00:00:00Z".into();
    first["provenance"]["commit"] = "another".into();
    std::fs::write(out.join("results.json"), first.to_string()).unwrap();
    let again = fake();
    run(&study, &again, &out).unwrap();
    assert!(again.asked.lock().unwrap().is_empty(), "what is finished does not go by its provenance");
    let mut second = read();
    assert_ne!(second["provenance"], first["provenance"]);
    for results in [&mut first, &mut second] {
        results.as_object_mut().unwrap().remove("provenance");
    }
    assert_eq!(first, second);
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn a_state_file_that_was_cut_off_is_run_again() {
    let (out, study) = (directory("cut"), study());
    run(&study, &Fake::default(), &out).unwrap();
    let one = std::fs::read_dir(out.join("state")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&one).unwrap();
    std::fs::write(&one, &text[..text.len() / 2]).unwrap();
    let fake = Fake::default();
    run(&study, &fake, &out).unwrap();
    assert_eq!(fake.asked.lock().unwrap().len(), 1);
    let unfinished = std::fs::read_dir(out.join("state")).unwrap().filter_map(Result::ok);
    assert!(unfinished.into_iter().all(|e| e.path().extension().is_some_and(|x| x == "json")));
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn other_peoples_directories_are_left_alone() {
    let out = directory("taken");
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("thesis.txt"), "mine").unwrap();
    let refused = run(&study(), &Fake::default(), &out).unwrap_err();
    assert_eq!(refused.code(), "S013");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
    std::fs::remove_dir_all(out).unwrap();
}

/// The files of all posteriors, of which there are some.
fn posteriors(out: &Path) -> Vec<PathBuf> {
    let files: Vec<PathBuf> =
        std::fs::read_dir(out.join("posterior")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    files
}
