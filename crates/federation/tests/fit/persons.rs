//! Fits that protect persons: planned, charged and published by persons, whatever number of rows they have.

use super::table::{self, Owner, files};
use super::{Notes, code, digest, ledger};
use federation::fit::{FitError, FitNote, FitObserver, FitRequest, NOT_FOR_PUBLICATION};
use inference::warning::{Code, Warning};
use serde_json::Value;
use std::cell::RefCell;
use std::fmt::Write;

const SCHEMA: &str = r#"outcome = { column = "ill", levels = ["no", "yes"] }
person_id = "patient"
column = [
  { name = "age", kind = "numeric", centre = 50.0, scale = 20.0, bounds = [10.0, 90.0] },
  { name = "dose", kind = "numeric", centre = 0.5, scale = 0.5, bounds = [0.0, 1.0] },
]
"#;

/// A whole study: the default method of the model, by persons.
const SHORT: &str = r#"[data]
source = "csv:rows.csv"
declared_persons = 40
[model]
kind = "logistic"
[privacy]
epsilon = 1.0
unit = "person"
"#;

/// Patients with so many visits each, in turn, visit after visit. Another seed, other visits.
fn visits(patients: usize, each: &[usize], seed: u64) -> String {
    let counts: Vec<usize> = (0..patients).map(|patient| each[patient % each.len()]).collect();
    let all = table::rows(counts.iter().sum::<usize>() as u64, seed);
    let most = counts.iter().copied().max().unwrap_or(0);
    let whose = (0..most).flat_map(|visit| (0..patients).map(move |patient| (visit, patient)));
    let whose = whose.filter(|(visit, patient)| *visit < counts[*patient]);
    let mut text = "patient,age,dose,ill\n".to_owned();
    for ((_, patient), line) in whose.zip(all.lines().skip(1)) {
        writeln!(text, "p{patient},{line}").unwrap();
    }
    text
}

fn owner(name: &str, study: &str, rows: &str) -> Owner {
    let owner = Owner::new(name, study);
    std::fs::write(owner.folder.join("rows.csv"), rows).unwrap();
    std::fs::write(owner.folder.join("rows.toml"), SCHEMA).unwrap();
    owner
}

/// The study of the other tests, by persons.
fn by_person() -> String {
    table::STUDY.replace("unit = \"example\"", "unit = \"person\"").replace("split =", "declared_persons = 40\nsplit =")
}

/// An owner of forty patients with three visits each, and the study of the other tests by persons.
#[cfg(all(unix, feature = "rehearsal"))]
pub(crate) fn owner_of_visits(name: &str) -> Owner {
    owner(name, &by_person(), &visits(40, &[3], 1))
}

#[test]
fn three_rows_a_patient_are_charged_and_published_by_persons() {
    let owner = owner("persons", SHORT, &visits(40, &[3], 1));
    let fitted = owner.fit("out", &()).unwrap();
    let results = &fitted.results;
    assert_eq!((results.rows, results.persons, results.algorithm.as_str()), (None, Some(40), "noise-aware-levels"));
    assert_eq!((results.privacy.unit.as_str(), results.privacy.delta, results.privacy.charges), ("person", 1e-5, 13));
    assert!(results.privacy.spent_epsilon <= 1.0);
    let page = std::fs::read_to_string(fitted.out.join("report.html")).unwrap();
    for words in ["a table of 40 persons", "protects every person", "per person (replace all their rows"] {
        assert!(page.contains(words), "{words}");
    }
    let text = std::fs::read_to_string(fitted.out.join("results.json")).unwrap();
    assert!(!page.contains("120 rows") && !text.contains("\"rows\""), "the number of rows is published");
    let limits = std::fs::read_to_string(owner.home().join("fit.toml")).unwrap();
    assert!(limits.contains("unit = \"person\""), "{limits}");
    let account = ledger(&owner.home());
    let [run] = &account.runs[..] else { panic!("{account:?}") };
    run.replay().unwrap().unwrap();
}

/// What everybody may know of a fit: its results without what was released and the names of this run.
fn public(owner: &Owner) -> Value {
    let fitted = owner.fit("out", &()).unwrap();
    let mut value = serde_json::to_value(&fitted.results).unwrap();
    let results = value.as_object_mut().unwrap();
    let released = ["run", "manifest", "posterior", "effects", "warnings"].map(|key| (key, results.remove(key)));
    let coefficients = released[2].1.as_ref().unwrap().as_array().unwrap().len();
    let names: Vec<String> = files(&fitted.out).into_keys().collect();
    results.insert("counts".into(), serde_json::json!([coefficients, names]));
    value
}

/// Neighbours differ in all rows of a person, and in their number: rounds, charges, noise, clip, δ and every count are the same.
#[test]
fn public_constants_do_not_follow_from_the_number_of_rows() {
    for study in [SHORT.to_owned(), by_person()] {
        let few = owner("few-rows", &study, &visits(40, &[1], 1));
        let many = owner("many-rows", &study, &visits(40, &[7, 1, 2], 2));
        assert_eq!(public(&few), public(&many));
    }
}

/// The taint test with another number of rows: after its last answer a fit is taken up with a table of the same persons with
/// other rows, and more of them. It is the same run, and every published byte is the same.
#[test]
fn what_is_published_of_persons_follows_from_releases_alone() {
    for (study, rounds) in [(SHORT.to_owned(), 13), (by_person(), 6)] {
        let own = owner("persons-own", &study, &visits(40, &[3], 1));
        assert!(matches!(own.fit("out", &Notes::stopping_at(rounds)), Err(FitError::Stopped)));
        let rows = visits(40, &[1, 9], 99);
        let other = owner("persons-other", &study, &rows);
        table::copy(&own.home(), &other.home());
        let digest: String = digest(rows.as_bytes(), SCHEMA).iter().map(|byte| format!("{byte:02x}")).collect();
        let unfinished = other.home().join("unfinished.json");
        let mut kept: Value = serde_json::from_slice(&std::fs::read(&unfinished).unwrap()).unwrap();
        kept["data"] = digest.into();
        std::fs::write(&unfinished, kept.to_string()).unwrap();
        let published = |owner: &Owner| {
            let (request, notes) = (owner.request("out"), Notes::default());
            let fitted = federation::fit::fit(&FitRequest { baselines: true, ..request.of() }, &notes).unwrap();
            assert_eq!(notes.notes.take(), [FitNote::Resumed { rounds }], "another manifest");
            let mut found = files(&fitted.out);
            let private = found.remove(NOT_FOR_PUBLICATION).unwrap();
            (found, String::from_utf8(private).unwrap())
        };
        let ((ours, own_view), (theirs, other_view)) = (published(&own), published(&other));
        assert!(own_view.contains("\"rows\": 120") && other_view.contains("\"rows\": 200"), "{own_view}\n{other_view}");
        assert!(ours.keys().eq(theirs.keys()));
        for (name, bytes) in &ours {
            assert!(theirs[name] == *bytes, "{name} depends on rows");
        }
    }
}

#[test]
fn persons_must_be_declared_and_where_their_number_is_public_it_must_be_theirs() {
    let undeclared = SHORT.replace("declared_persons = 40\n", "");
    let stated = undeclared.replace("unit =", "delta = 1e-5\nunit =");
    let come_and_go = |study: &str| study.replace("unit =", "adjacency = \"add-remove\"\nunit =");
    let other = SHORT.replace("= 40", "= 41");
    for (study, words) in [
        (undeclared.clone(), "does not declare how many"),
        (stated, "does not declare how many"),
        (come_and_go(&undeclared), "does not declare how many"),
        (undeclared.replace("[model]", "declared_rows = 120\n[model]"), "does not declare how many"),
        (other.clone(), "has 40 persons, and the study declares 41"),
    ] {
        let owner = owner("undeclared", &study, &visits(40, &[3], 1));
        let refused = owner.fit("out", &()).unwrap_err();
        assert_eq!(code(&refused), "F123", "{refused}");
        assert!(refused.to_string().contains(words), "{refused}");
        assert!(!owner.home().exists(), "a home was made");
    }
    // Where persons come and go their number is private: it is never compared with what was found.
    let private = owner("come-and-go", &come_and_go(&other), &visits(40, &[3], 1));
    assert_eq!(private.fit("out", &()).unwrap().results.persons, Some(41));
    let nobody = owner("nobody", SHORT, &visits(40, &[3], 1));
    let schema =
        SCHEMA.replace("person_id = \"patient\"\ncolumn = [", "column = [{ name = \"patient\", kind = \"ignore\" },");
    std::fs::write(nobody.folder.join("rows.toml"), schema).unwrap();
    assert_eq!(code(&nobody.fit("out", &()).unwrap_err()), "S015");
    assert!(!nobody.home().exists());
}

/// A declared number of a study with clients and a held-out share is that of the table, not of the clients of a simulation.
#[test]
fn settings_of_a_fit_are_derived_for_the_table_and_not_for_a_simulation() {
    let simulated = SHORT.replace("[model]", "split = { test = 0.5 }\n[partition]\nclients = 4\n[model]");
    let rows = visits(40, &[3], 1);
    let [plain, simulated] = [SHORT, &simulated].map(|study| {
        let owner = owner("settings", study, &rows);
        let results = owner.fit("out", &()).unwrap().results;
        (results.privacy, results.persons)
    });
    assert_eq!(plain, simulated);
}

/// Keeps the warnings for the owner's eyes.
#[derive(Default)]
struct Warned(RefCell<Vec<Code>>);

impl FitObserver for Warned {
    fn warn(&self, warning: &Warning) {
        self.0.borrow_mut().push(warning.code);
    }
}

/// Several rows of a person under a promise to rows: the owner is told, and nobody else.
#[test]
fn repeated_ids_under_a_promise_to_rows_are_told_to_the_owner_alone() {
    let study = SHORT.replace("unit = \"person\"", "unit = \"example\"");
    for (each, unit, expected) in [(3, &study[..], &[Code::RepeatedPersons][..]), (1, &study, &[]), (3, SHORT, &[])] {
        let (owner, warned) = (owner("repeated", unit, &visits(40, &[each], 1)), Warned::default());
        let fitted = owner.fit("out", &warned).unwrap();
        assert_eq!(warned.0.take(), expected);
        assert!(fitted.results.warnings.iter().all(|warning| warning.code != Code::RepeatedPersons));
        let page = std::fs::read_to_string(fitted.out.join("report.html")).unwrap();
        assert!(!page.contains("several rows"), "a count of rows is published");
    }
}
