//! A federation in one process leaves what a federation of machines leaves, and a site that refuses ends it.

use posterity::federation::loopback::{self, LoopbackError};
use posterity::{Folders, Posterior, Study};
use std::path::{Path, PathBuf};

/// Two sites with half of the heart data each.
fn study(epsilon: f64, more: &str) -> Study {
    let text = format!(
        r#"
schema = 1
study = {{ name = "loopback", seeds = [1] }}
data = {{ source = "heart", split = {{ test = 0.2 }} }}
partition = {{ kind = "even", clients = 2 }}
federation = {{ sites = [{{ name = "north", rows = 368 }}, {{ name = "south", rows = 368 }}] }}
model = {{ kind = "logistic" }}
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 3
privacy = {{ unit = "example", adjacency = "substitute", epsilon = {epsilon}, delta = 1e-4, clip = 2.5{more} }}
"#
    );
    Study::read("loopback.toml", &text).unwrap()
}

/// An empty folder of this name, which goes when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-loopback-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(study: &Study, folder: &Path) -> Result<loopback::LoopbackRun, LoopbackError> {
    loopback::run(study, &Folders::default(), None, folder)
}

#[test]
fn a_run_leaves_a_posterior_and_charged_ledgers_at_both_sites() {
    let (study, folder) = (study(3.0, ""), Folder::new("complete"));
    let ended = run(&study, &folder.0).unwrap();
    assert_eq!((ended.outcome.word(), ended.rounds), ("complete", 3));
    let text = std::fs::read_to_string(ended.results.join("results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sites = results["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2);
    for (site, home) in sites.iter().zip(&ended.homes) {
        assert_eq!(site["answers"], 3);
        let spent = site["spent_epsilon"].as_f64().unwrap();
        assert!(spent > 2.9 && spent <= 3.0, "{spent}");
        let ledger: Vec<_> = std::fs::read_dir(home.join("ledger")).unwrap().flatten().collect();
        let bytes: u64 = ledger.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!(bytes > 500, "{bytes} bytes of ledger in {}", home.display());
        assert!(home.join("noise.key").exists() && home.join("chain.pem").exists());
    }
    assert!(Posterior::open(&ended.results, None).is_ok());
    // The folder of a federation is not used for another one.
    assert!(matches!(run(&study, &folder.0), Err(LoopbackError::Authority(_))));
}

/// Data, sites, model and ε are enough for a server and two agents: each derives the method from the declared rows.
#[test]
fn a_short_study_is_served() {
    let text = "data = { source = 'heart' }\npartition = { clients = 2 }\nmodel = { kind = 'logistic' }\nprivacy = { epsilon = 3.0 }\n\
                federation = { sites = [{ name = 'north', rows = 368 }, { name = 'south', rows = 368 }] }\n";
    let (study, folder) = (Study::read("short.toml", text).unwrap(), Folder::new("short"));
    let ended = run(&study, &folder.0).unwrap();
    assert_eq!((ended.outcome.word(), ended.rounds), ("complete", 13));
    let text = std::fs::read_to_string(ended.results.join("results.json")).unwrap();
    assert!(text.contains("1e-5") || text.contains("0.00001"), "{text}");
    assert!(Posterior::open(&ended.results, None).is_ok());
}

#[test]
fn two_runs_of_one_study_have_other_noise() {
    let (study, folders) = (study(3.0, ""), [Folder::new("first"), Folder::new("second")]);
    let means = folders.each_ref().map(|folder| {
        let ended = run(&study, &folder.0).unwrap();
        Posterior::open(&ended.results, None).unwrap().posterior.mean
    });
    // A coordinate of which noise leaves nothing is served at the prior's mean in both.
    let told = |(a, b): (&f64, &f64)| a != b || *a == 0.0;
    assert_ne!(means[0], means[1], "noise of the operating system is not repeated");
    assert!(means[0].iter().zip(&means[1]).all(told), "{means:?}");
}

#[test]
fn a_site_whose_policy_refuses_ends_the_federation() {
    let folder = Folder::new("refused");
    let error = run(&study(7.0, ""), &folder.0).unwrap_err();
    assert!(matches!(error, LoopbackError::Site { .. }), "{error}");
    assert!(error.to_string().contains("max_epsilon"), "{error}");
    assert!(!folder.0.join("results").exists());
}

#[test]
fn a_curator_is_refused_before_anything_is_created() {
    let folder = Folder::new("curator");
    assert!(run(&study(3.0, ", aggregator = \"curator\""), &folder.0).is_err());
    assert!(!folder.0.exists());
}
