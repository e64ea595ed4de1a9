//! From a study to a manifest, its parts, the rows of its sites and what a run leaves.

mod prior;
mod short;

use super::builder::Studies;
use super::deal::{SiteFiles, deal};
use super::error::StudyRunError;
use super::outcome::EndedRun;
use super::propose::{self, MemberKeys};
use super::run_parts::choose;
use super::spent::{SpentCache, epsilon_after};
use crate::identity::{PartyName, PartyRole, PublicKey};
use crate::manifest::{Manifest, RunParts};
use crate::store::{PartyRow, RunRow};
use inference::describe::{Descriptor, Limits, Registry};
use inference::message::Direct;
use inference::warning::{Code, PublicWarnings, Warning};
use inference::{Expectation, LogisticSettings, ModelSettings, Predictive};
use inference::{RowReading, Schema, Simulation, Site, Summing, read, read_inputs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use study::{Folders, Made, Posterior, Served, Study, read_results};

const STUDY: &str = include_str!("../../../../studies/heart-federation.toml");
const SCHEMA: &str = include_str!("../../../../data/heart.toml");

fn study(text: &str) -> Study {
    Studies::default().read("s.toml", text).unwrap()
}

/// A folder of one test's own, gone when it goes.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-federation-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Keys for everybody whom the study names, and for one more.
fn members(study: &Study) -> MemberKeys {
    let nobody = Served { sites: Vec::new(), by_person: false, nodes: Vec::new(), quorum: None, deadline: None };
    let served = study.served.as_ref().unwrap_or(&nobody);
    let mut sites: Vec<_> =
        served.sites.iter().zip(1..).map(|(site, key)| (site.name.clone(), PublicKey([key; 32]))).collect();
    sites.push((PartyName::new("somebody-else").unwrap(), PublicKey([90; 32])));
    let nodes = served.nodes.iter().zip(100..).map(|(name, key)| (name.clone(), PublicKey([key; 32]), [key; 32]));
    MemberKeys { sites, nodes: nodes.collect(), server: PublicKey([200; 32]) }
}

fn proposed(study: &Study, method: Option<&str>) -> Result<(Manifest, RunParts), StudyRunError> {
    let parts = propose::parts(study, SCHEMA, method)?;
    Ok((propose::manifest(study, SCHEMA, &parts, &members(study), [7; 16])?, parts))
}

#[test]
fn what_is_proposed_is_what_every_party_builds_for_itself() {
    let study = study(STUDY);
    let (manifest, parts) = proposed(&study, None).unwrap();
    assert_eq!((manifest.pace.rounds, manifest.pace.quorum, manifest.pace.deadline), (15, 3, Some(60)));
    assert_eq!((manifest.sites.len(), manifest.nodes.len()), (4, 2));
    assert_eq!(manifest.method, "noise-aware, secure sum, ε 3");
    let again = Manifest::read(&manifest.bytes()).unwrap();
    let checked = again.check(&Studies::default()).unwrap();
    let built = &checked.built;
    assert_eq!(built.terms, parts.built.terms);
    assert!(matches!(built.summing, Summing::Secure { nodes: 2, .. }));
    assert_eq!(built.problem.family.dimension(), Schema::from_toml(SCHEMA).unwrap().inputs(true).len());
}

/// A model that is not shipped, as a registry of one's own has it.
static MINE: Descriptor<dyn ModelSettings> = Descriptor {
    name: "two-levels",
    also: &[],
    about: "An outcome with two levels.",
    keys: &[],
    limits: Limits::NONE,
    read: |_| Ok(Arc::new(LogisticSettings { expectation: Expectation::Mixture, predictive: Predictive::Mixture })),
};

#[test]
fn parties_with_a_registry_of_their_own_run_what_others_refuse() {
    let text = STUDY.replace("kind = \"logistic\"", "kind = \"two-levels\"");
    let refused = Studies::default().read("s.toml", &text).unwrap_err();
    assert!(refused.to_string().contains("there is no model \"two-levels\""), "{refused}");
    let own = Studies::new(Registry::standard().with(&MINE));
    let (manifest, parts) = proposed(&own.read("s.toml", &text).unwrap(), None).unwrap();
    let refused = manifest.check(&Studies::default()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("two-levels"), "{refused}");
    assert_eq!(manifest.check(&own).unwrap().built.terms, parts.built.terms);
    let (_folder, dealt) = dealt("registry");
    assert!(Studies::default().open_rows(&dealt.sites[0].path, &manifest, &parts, 0).is_err());
    let rows = own.open_rows(&dealt.sites[0].path, &manifest, &parts, 0).unwrap();
    assert_eq!(rows.shard.len() as u64, manifest.sites[0].rows);
}

#[test]
fn a_manifest_that_says_other_than_its_study_is_refused() {
    let (manifest, _) = proposed(&study(STUDY), None).unwrap();
    type ManifestEdit = fn(&mut Manifest);
    let changes: [(&str, ManifestEdit); 5] = [
        ("sites or declared rows of the manifest differ", |m| m.sites[0].rows += 1),
        ("sites or declared rows of the manifest differ", |m| m.sites.swap(0, 1)),
        ("compute nodes of the manifest differ", |m| m.nodes.swap(0, 1)),
        ("there is no method \"noise\"", |m| m.method = "noise".into()),
        ("outcome of two levels", |m| {
            m.schema = m.schema.replace("[\"0\", \"1\"] }\ncolumn", "[\"0\", \"1\", \"2\"] }\ncolumn")
        }),
    ];
    for (words, change) in changes {
        let mut other = manifest.clone();
        change(&mut other);
        assert_ne!(other, manifest, "{words}");
        let refused = other.check(&Studies::default()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(words), "{refused}");
    }
    let mut louder = manifest.clone();
    louder.study = louder.study.replace("epsilon = 3.0", "epsilon = 4.0");
    assert!(louder.check(&Studies::default()).is_err(), "another cost than is agreed");
}

/// The study with another aggregator in its method, and what that does not go with left out.
fn with_privacy(privacy: &str) -> String {
    let (head, tail) = STUDY.split_once(", aggregator").unwrap();
    let rest = tail.split_once('}').unwrap().1;
    let text = format!("{head}{privacy} }}{rest}");
    if privacy.contains("secure-sum") { text } else { text.replace("nodes = [\"alice\", \"bob\"]\n", "") }
}

#[test]
fn what_cannot_be_served_is_refused_with_a_reason() {
    let refused = |text: &str, method: Option<&str>| {
        let failure =
            Studies::default().read("s.toml", text).and_then(|study| proposed(&study, method).map(|_| ())).unwrap_err();
        assert!(!failure.hint().is_empty());
        (failure.code(), failure.to_string())
    };
    let clear = "\n[[method]]\nname = \"clear\"\nalgorithm = \"pvi\"\nsolver = \"clear\"\nschedule = \"sequential\"\nrounds = 2\n\
                 local = { steps = 1, rate = 0.2, optimiser = \"adam\", learning_rate = 0.05 }\n";
    let both = format!("{STUDY}{clear}");
    let list = STUDY.replace("epsilon = 3.0", "epsilon = [1.0, 3.0]");
    let table = |rest: &str| format!("schema = 1\n[study]\nname = 's'\nseeds = [1]\n{rest}");
    let federation = STUDY.split("\n[federation]\n").nth(1).unwrap().split("[model]").next().unwrap();
    let cases = [
        (with_privacy(", aggregator = \"curator\""), None, "trusts a curator"),
        (both.clone(), Some("clear"), "is non-private"),
        (both.clone(), Some("noise-aware, secure sum"), "there is no method"),
        (list, None, "several private methods"),
        (
            format!(
                "{}{clear}",
                STUDY.split("# Two compute").next().unwrap().replace("nodes = [\"alice\", \"bob\"]\n", "")
            ),
            None,
            "no method of the study is private",
        ),
        (STUDY.replace(&format!("[federation]\n{federation}"), ""), None, "has no [federation]"),
        (table("[histogram]\n"), None, "is a histogram"),
        (table("[[curves]]\n"), None, "accounting figure"),
    ];
    for (text, method, words) in cases {
        let (code, message) = refused(&text, method);
        assert!(code == "F101" && message.contains(words), "{code} {message}");
    }
    assert_eq!(choose(&study(&both), None).unwrap().name, "noise-aware, secure sum, ε 3", "the only private one");
    let columns = include_str!("../../../../studies/heart-sites.toml");
    assert!(Studies::default().read("s.toml", columns).unwrap_err().to_string().contains("several columns"));
    let made = include_str!("../../../../studies/paper2-chains.toml");
    assert!(Studies::default().read("s.toml", made).unwrap_err().to_string().contains("generated rows"));
}

#[test]
fn a_party_without_a_certificate_is_missed() {
    let study = study(STUDY);
    let parts = propose::parts(&study, SCHEMA, None).unwrap();
    for party in ["hungary", "bob"] {
        let mut members = members(&study);
        members.sites.retain(|(name, _)| name.as_str() != party);
        members.nodes.retain(|(name, ..)| name.as_str() != party);
        let failure = propose::manifest(&study, SCHEMA, &parts, &members, [0; 16]).map(|_| ()).unwrap_err();
        assert!(failure.code() == "F103" && failure.to_string().contains(party), "{failure}");
    }
}

#[test]
fn a_quorum_that_is_not_named_is_all_sites_but_those_that_may_drop_out() {
    let quorum = |text: &str| proposed(&study(text), None).unwrap().0.pace.quorum;
    let unnamed = |text: &str| text.replace("quorum = 3\n", "").replace("deadline = 60\n", "");
    assert_eq!(quorum(&unnamed(STUDY)), 3);
    let alone = unnamed(&with_privacy(""));
    assert_eq!(quorum(&alone), 4);
    assert_eq!(proposed(&study(&alone), None).unwrap().0.nodes, [], "nobody opens a sum");
}

fn dealt(name: &str) -> (TestFolder, SiteFiles) {
    let folder = TestFolder::new(name);
    let dealt = deal(&study(STUDY), &Folders::default(), &folder.0).unwrap();
    (folder, dealt)
}

#[test]
fn the_files_of_the_sites_are_the_rows_that_a_simulation_deals() {
    let (_folder, dealt) = dealt("deal");
    let study = study(STUDY);
    let declared: Vec<(String, u64)> =
        study.served.as_ref().unwrap().sites.iter().map(|site| (site.name.to_string(), site.rows)).collect();
    let found: Vec<(String, u64)> = dealt.sites.iter().map(|site| (site.name.clone(), site.rows)).collect();
    assert_eq!(found, declared);
    let source = study::datasets::open("heart", None, &Folders::default()).unwrap();
    let table = source.read(true, &["hospital"]).unwrap();
    let (train, test) = study.data.split.rows(&table, 1).unwrap();
    for (site, (name, rows)) in dealt.sites.iter().zip(study.partition.clients(&table, &train, 1).unwrap()) {
        let file = std::fs::read(&site.path).unwrap();
        let strict = read(&file[..], &source.schema, true, &["hospital"], RowReading::Strict).unwrap();
        let lenient = read(&file[..], &source.schema, true, &[], RowReading::Lenient).unwrap();
        assert_eq!((&strict.rows, &lenient.rows), (&table.rows.select(&rows), &table.rows.select(&rows)), "{name}");
        assert!(strict.columns["hospital"].iter().all(|hospital| *hospital == name));
    }
    let held_out = std::fs::read(&dealt.held_out).unwrap();
    assert_eq!(read_inputs(&held_out[..], &source.schema, true).unwrap().rows.len(), test.len());
}

#[test]
fn rows_that_are_no_rows_of_a_study_are_not_dealt() {
    let folder = TestFolder::new("only");
    let csv = "site,x,kind,y\na,1,red,yes\n\na,2,blue,no\nb,3,red,\nb,4,red,no\na,5,red,no\nb,6,red,yes\n";
    std::fs::write(folder.0.join("rows.csv"), csv).unwrap();
    let schema = "outcome = { column = 'y', levels = ['no', 'yes'], missing = 'drop' }\nonly = { kind = 'red' }\ncolumn = [\n\
                  { name = 'site', kind = 'ignore' }, { name = 'kind', kind = 'ignore' },\n\
                  { name = 'x', kind = 'numeric', centre = 0, scale = 1 }]\n";
    std::fs::write(folder.0.join("rows.toml"), schema).unwrap();
    let small = STUDY
        .replace("\"heart\"\nsplit", "\"csv:rows.csv\"\nsplit")
        .replace("{ test = 0.2, seed = 1 }", "{ test_rows = 1, seed = 1 }")
        .replace("\"hospital\"", "\"site\"");
    let (head, tail) = small.split_once("sites = [").unwrap();
    let tail = tail.split_once("]\nnodes").unwrap().1;
    let text = |a: u64, b: u64| {
        format!("{head}sites = [{{ name = 'b', rows = {b} }}, {{ name = 'a', rows = {a} }}]\nnodes{tail}")
            .replace("quorum = 3", "quorum = 2")
            .replace(", dropouts = 1", "")
    };
    let (out, folders) = (folder.0.join("out"), Folders { study: folder.0.clone(), data: None });
    let one = deal(&study(&text(1, 2)), &folders, &out).or_else(|_| deal(&study(&text(2, 1)), &folders, &out)).unwrap();
    assert_eq!(one.sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    let schema = Schema::from_toml(schema).unwrap();
    let mut lines = 0;
    for site in &one.sites {
        let file = std::fs::read(&site.path).unwrap();
        let count = |reading| read(&file[..], &schema, true, &[], reading).unwrap().rows.len() as u64;
        assert_eq!((count(RowReading::Strict), count(RowReading::Lenient)), (site.rows, site.rows));
        lines += site.rows;
    }
    assert_eq!(lines, 3, "four rows, of which one is held out");
    let refused = deal(&study(&text(7, 1)), &folders, &out).unwrap_err();
    assert_eq!(refused.code(), "F106");
}

#[test]
fn an_agent_reads_its_file_and_signs_for_no_other_number_of_rows() {
    let (folder, dealt) = dealt("rows");
    let (manifest, parts) = proposed(&study(STUDY), None).unwrap();
    let first = Studies::default().open_rows(&dealt.sites[0].path, &manifest, &parts, 0).unwrap();
    assert_eq!(first.shard.len() as u64, manifest.sites[0].rows);
    let refused =
        |path: &Path, site| Studies::default().open_rows(path, &manifest, &parts, site).map(|_| ()).unwrap_err().code();
    assert_eq!(refused(&dealt.sites[0].path, 2), "F105");
    let longer = folder.0.join("longer.csv");
    std::fs::write(&longer, [&std::fs::read(&dealt.sites[0].path).unwrap()[..], b"\n"].concat()).unwrap();
    assert_eq!(refused(&longer, 0), "F105", "a blank line is a row");
    std::fs::write(&longer, "age,disease\n50,1\n").unwrap();
    assert_eq!(refused(&longer, 0), "D004");
    // Where rows come and go, nobody compares.
    let private = study(&STUDY.replace("adjacency = \"substitute\"", "adjacency = \"add-remove\""));
    let (manifest, parts) = proposed(&private, None).unwrap();
    assert!(Studies::default().open_rows(&dealt.sites[0].path, &manifest, &parts, 2).is_ok());
}

const OF_PERSONS: &str = r#"
schema = 1
[study]
name = "visits"
seeds = [1]
[data]
source = "csv:visits.csv"
[model]
kind = "logistic"
[federation]
sites = [{ name = "north", persons = 2 }, { name = "south", persons = 3 }]
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 3
privacy = { unit = "person", adjacency = "substitute", epsilon = 1.0, delta = 1e-3, clip = 1.0 }
"#;

const VISITS: &str = r#"
outcome = { column = "ill", levels = ["no", "yes"] }
person_id = "patient"
column = [{ name = "age", kind = "numeric", centre = 50, scale = 10 }]
"#;

#[test]
fn an_agent_signs_for_the_declared_persons_whatever_number_of_rows_they_have() {
    let folder = TestFolder::new("persons");
    let path = folder.0.join("visits.csv");
    let opened = |study: &str, lines: &str| {
        let study = self::study(study);
        let parts = propose::parts(&study, VISITS, None).unwrap();
        let manifest = propose::manifest(&study, VISITS, &parts, &members(&study), [7; 16]).unwrap();
        assert_eq!(manifest.sites.iter().map(|site| site.rows).collect::<Vec<_>>(), [2, 3]);
        std::fs::write(&path, format!("patient,age,ill\n{lines}")).unwrap();
        let rows = Studies::default().open_rows(&path, &manifest, &parts, 0);
        rows.map(|rows| rows.shard.len()).map_err(|error| error.to_string())
    };
    assert_eq!(opened(OF_PERSONS, "a,50,no\nb,60,yes\n"), Ok(2));
    assert_eq!(opened(OF_PERSONS, "a,50,no\nb,60,yes\na,51,no\na,52,yes\nb,61,no\n"), Ok(5));
    let other = opened(OF_PERSONS, "a,50,no\nb,60,yes\na,51,no\n,52,yes\n").unwrap_err();
    assert!(other.contains("the file has 3 persons, but the manifest declares 2"), "{other}");
    // Where persons come and go, nobody compares.
    let private = OF_PERSONS.replace("\"substitute\"", "\"add-remove\"");
    assert_eq!(opened(&private, "a,50,no\n"), Ok(1));
}

#[test]
fn a_federation_declares_what_its_methods_protect() {
    let refused = |text: &str| Studies::default().read("s.toml", text).unwrap_err();
    let cases = [
        (OF_PERSONS.replace("persons =", "rows ="), "declares rows, and method \"noise-aware\" has unit = \"person\""),
        (OF_PERSONS.replace("unit = \"person\"", "unit = \"example\""), "declares persons, and method"),
        (OF_PERSONS.replace("persons = 2", "persons = 2, rows = 9"), "both rows and persons"),
        (OF_PERSONS.replace(", persons = 2", ""), "neither rows nor persons"),
        (OF_PERSONS.replace("persons = 2", "rows = 2"), "some sites declare rows and others persons"),
    ];
    for (text, words) in cases {
        let error = refused(&text);
        assert!(error.code() == "F102" && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_version_of_the_data_goes_by_the_file_and_the_schema() {
    let (folder, dealt) = dealt("version");
    let (manifest, parts) = proposed(&study(STUDY), None).unwrap();
    let version = |path: &Path, manifest: &Manifest| {
        Studies::default().open_rows(path, manifest, &parts, 0).unwrap().data_version
    };
    let file = &dealt.sites[0].path;
    let first = version(file, &manifest);
    let other = Manifest { schema: manifest.schema.replace("centre = 55", "centre = 56"), ..manifest.clone() };
    assert_ne!(first, version(file, &other));
    let edited = folder.0.join("edited.csv");
    std::fs::write(&edited, String::from_utf8(std::fs::read(file).unwrap()).unwrap().replacen("63,1", "64,1", 1))
        .unwrap();
    assert!(first == version(file, &manifest) && first != version(&edited, &manifest));
}

#[test]
fn a_sites_own_intercept_has_an_input_of_its_own() {
    let text = with_privacy("").replace("rounds = 15", "rounds = 15\nsite_intercept = { precision = 1.0 }");
    let (manifest, parts) = proposed(&study(&text), None).unwrap();
    let (_folder, dealt) = dealt("own");
    let own = Studies::default().open_rows(&dealt.sites[2].path, &manifest, &parts, 2).unwrap();
    let inputs = Schema::from_toml(SCHEMA).unwrap().inputs(true).len();
    assert_eq!(format!("{:?}", own.shard), format!("Shard({} inputs)", inputs + 1));
}

#[test]
fn what_was_spent_grows_from_nothing_to_what_was_granted() {
    let (_, parts) = proposed(&study(STUDY), None).unwrap();
    let (built, spent) = (&parts.built, SpentCache::default());
    let after = |site, answers| spent.after(built, site, answers).unwrap();
    assert_eq!(after(0, 0), 0.0);
    assert!(after(0, 1) < after(0, 7) && after(0, 7) < after(0, 15));
    assert!(after(3, 15) <= 3.0 && after(3, 15) > 2.9, "{}", after(3, 15));
    assert_eq!(after(3, 15), epsilon_after(built, 0, 15).unwrap(), "sites on equal terms");
    assert!(spent.after(built, 4, 1).is_err());
}

/// Runs the study's method in this process on the dealt files, and gives the last state.
fn simulated(study: &Study, parts: &RunParts, manifest: &Manifest, dealt: &SiteFiles) -> (Vec<u8>, u64) {
    let site = |(m, site): (usize, &super::deal::SiteFile)| {
        let shard = Studies::default().open_rows(&site.path, manifest, parts, m).unwrap().shard;
        Site { name: site.name.clone(), shard, own: Vec::new() }
    };
    let sites: Vec<Site> = dealt.sites.iter().enumerate().map(site).collect();
    let schema = Schema::from_toml(SCHEMA).unwrap();
    let test = read(&std::fs::read(&dealt.held_out).unwrap()[..], &schema, true, &[], RowReading::Strict).unwrap().rows;
    let simulation = Simulation {
        method: &parts.method,
        sites: &sites,
        test: &test,
        model: parts.built.problem.model.clone(),
        prior: study.model.prior.precision.into(),
        seed: 1,
        data: [0; 32],
        costs: Arc::default(),
    };
    let mut drive = simulation.start(&parts.built, &Direct, None).unwrap();
    for _ in 0..15 {
        drive.round().unwrap();
    }
    (drive.state().to_vec(), drive.rounds())
}

/// What is served of chains that hardly moved: no numbers, and the code; and no warning that was read from rows.
fn no_posterior_of_few_draws(ended: &EndedRun<'_>, out: &Path) {
    let warning = |code| Warning { code, what: "found".into(), hint: "mend".into() };
    let warnings = PublicWarnings::of([warning(Code::FewDraws), warning(Code::SmallSite)]);
    let path = Studies::default()
        .write_results(out, &EndedRun { warnings: &warnings, ..*ended }, &SpentCache::default())
        .unwrap();
    let results: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(results["posterior"], serde_json::json!([]));
    let told = serde_json::json!([{ "code": "W003", "source": "public", "what": "found", "hint": "mend" }]);
    assert_eq!(results["warnings"], told, "a warning from rows has no place here");
    assert_eq!(Posterior::open(out, None).unwrap_err().code(), "W003");
    Studies::default().write_results(out, ended, &SpentCache::default()).unwrap();
}

#[test]
fn predictions_are_made_from_what_a_run_leaves() {
    let (folder, dealt) = dealt("outcome");
    let study = study(STUDY);
    let (manifest, parts) = proposed(&study, None).unwrap();
    let (state, rounds) = simulated(&study, &parts, &manifest, &dealt);
    let outcome = Some(crate::message::RunOutcome::Complete);
    let made = &Made { date: "2026-01-31T12:00:00Z".into(), commit: "0123456789".into() };
    let (answers, warnings) = (&[15, 15, 14, 0], &PublicWarnings::default());
    let ended =
        EndedRun { manifest: &manifest, parts: &parts, state: &state, rounds, outcome, answers, made, warnings };
    let out = folder.0.join("run");
    let path = Studies::default().write_results(&out, &ended, &SpentCache::default()).unwrap();
    let results: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let sites = results["sites"].as_array().unwrap();
    let spent: Vec<f64> = sites.iter().map(|site| site["spent_epsilon"].as_f64().unwrap()).collect();
    assert!(spent[0] > spent[2] && spent[2] > spent[3] && spent[3] == 0.0, "{spent:?}");
    assert_eq!((&results["kind"], &results["rounds"]), (&"federation".into(), &15.into()));
    assert_eq!(results["posterior"].as_array().unwrap().len(), Schema::from_toml(SCHEMA).unwrap().inputs(true).len());
    Studies::default().write_results(&out, &ended, &SpentCache::default()).unwrap();
    let posterior = Posterior::open(&out, None).unwrap().at(None).unwrap();
    let told = posterior.predict(&std::fs::read(&dealt.held_out).unwrap()).unwrap().json(&posterior, None);
    let rows = told["predictions"].as_array().unwrap();
    let text = std::fs::read_to_string(&dealt.held_out).unwrap();
    let ill: Vec<bool> = text.lines().skip(1).map(|line| line.ends_with(",1")).collect();
    let right =
        rows.iter().zip(&ill).filter(|(row, ill)| (row["probability"].as_f64().unwrap() > 0.5) == **ill).count();
    assert_eq!(rows.len(), ill.len());
    assert!(right as f64 > 0.65 * ill.len() as f64, "{right} of {}", ill.len());
    no_posterior_of_few_draws(&ended, &out);
    let refused = read_results(&out).unwrap_err();
    assert!(refused.to_string().contains("of a federation"), "{refused}");
    let other = Manifest { nonce: [8; 16], ..manifest.clone() };
    let refused = Studies::default()
        .write_results(&out, &EndedRun { manifest: &other, ..ended }, &SpentCache::default())
        .unwrap_err();
    assert_eq!(refused.code(), "S013");
}

fn enrolled(name: &str, key: u8, expires: u64) -> PartyRow {
    let (name, key) = (PartyName::new(name).unwrap(), PublicKey([key; 32]));
    PartyRow { role: PartyRole::Site, name, key, sealing: None, expires, revoked: None }
}

#[test]
fn two_servers_on_one_store_propose_the_same_run() {
    let (north, south) = (enrolled("north", 1, 50), enrolled("south", 2, 51));
    let first = propose::nonce(&[north.clone(), south.clone()], &[]);
    assert_eq!(first, propose::nonce(&[south, north], &[]));
}

#[test]
fn another_run_and_another_store_have_another_nonce() {
    let parties = [enrolled("north", 1, 50), enrolled("south", 2, 51)];
    let first = propose::nonce(&parties, &[]);
    let before = RunRow { run: [1; 16], manifest: Vec::new(), created: 7 };
    assert_ne!(first, propose::nonce(&parties, &[before]), "a second run of the same parties");
    let rejoined = [enrolled("north", 1, 90), enrolled("south", 2, 91)];
    assert_ne!(first, propose::nonce(&rejoined, &[]), "the same keys, joined anew at an empty store");
}
