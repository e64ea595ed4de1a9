//! Studies whose rows are drawn from the schema: the ordinary path, and what is refused before anything is drawn.

use super::*;
use crate::load::Folders;
use crate::{Posterior, StudyError};
use std::path::PathBuf;

const SCHEMA: &str = r#"
outcome = { column = "ill", levels = ["no", "yes"] }
column = [
  { name = "clinic", kind = "ignore" },
  { name = "age", kind = "numeric", centre = 50, scale = 15, bounds = [18, 100], per = 10 },
  { name = "smoker", kind = "category", levels = ["no", "yes"] },
  { name = "pressure", kind = "numeric", centre = 130, scale = 20, bounds = [60, 260], missing = "flag" },
]
"#;

const STUDY: &str = r#"
study = { name = "planned", seeds = [1, 2] }
data = { source = "schema", schema = "schema.toml", drawn = { rows = { east = 300, west = 200 }, effects = { age = 0.6, smoker = { yes = -0.8 }, pressure = { missing = 0.3 } }, intercept = -0.5, missing = 0.1 } }
partition = { column = "clinic" }
model = { kind = "logistic" }
privacy = { epsilon = 8.0 }
"#;

/// A folder with a schema, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, schema: &str) -> Self {
        let path = std::env::temp_dir().join(format!("schema-rows-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("schema.toml"), schema).unwrap();
        Self(path)
    }

    fn folders(&self) -> Folders {
        Folders { study: self.0.clone(), data: None }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What checking a study with this schema refuses: code, message and hint.
fn refused(name: &str, study: &str, schema: &str) -> (String, String) {
    let folder = Folder::new(name, schema);
    let error = match Study::read("s.toml", study) {
        Err(faults) => StudyError::from(faults.first().clone()),
        Ok(study) => study.check(&folder.folders()).expect_err("refused"),
    };
    // A simulation refuses the same.
    if let Ok(study) = Study::read("s.toml", study) {
        let opened = study.load(&folder.folders()).expect_err("refused");
        assert_eq!(opened.to_string(), error.to_string());
    }
    (error.to_string(), error.hint())
}

#[test]
fn a_study_without_a_table_is_checked_planned_simulated_and_predicts() {
    let folder = Folder::new("whole", SCHEMA);
    let study = Study::read("planned.toml", STUDY).unwrap();
    assert!(study.knows_coefficients() && study.is_made_up());
    let words: Vec<String> = study.check(&folder.folders()).unwrap().rows().iter().map(|row| row.1.clone()).collect();
    assert!(words.iter().any(|text| text.contains("500 rows drawn from the schema (schema.toml)")), "{words:?}");
    let plan = study.plan(&folder.folders()).unwrap();
    assert!(plan[0].json().contains("\"rows\":[240,160]"), "{}", plan[0].json());
    let out = folder.0.join("out");
    let results = study.load(&folder.folders()).unwrap().simulate(&out, &()).unwrap();
    assert_eq!(results.data.source, "rows drawn from the schema (schema.toml)");
    assert!(results.data.made_up.as_deref().unwrap().contains("made up"));
    let sites: Vec<&str> = results.data.clients.iter().map(|client| client.name.as_str()).collect();
    assert_eq!((sites, results.data.train_rows, results.data.test_rows), (vec!["east", "west"], 400, 100));
    let method = &results.methods[0];
    assert_eq!(method.recovery.as_ref().unwrap().root_squared_error.per_seed.len(), 2);
    let per_seed = &method.recovery.as_ref().unwrap().root_squared_error.per_seed;
    assert_ne!(per_seed[0], per_seed[1], "each seed draws its own rows");
    // The effects that readers are told have those that were stated.
    let told = method.effects.as_ref().unwrap();
    for (told, stated) in told.effects.iter().zip([0.6, -0.8, 0.0, 0.3]) {
        let off = (told.mean - stated) / told.deviation;
        assert!(off.abs() < 4.0, "{}: {} ± {}, stated {stated}", told.words(), told.mean, told.deviation);
    }
    let predicted = Posterior::open(&out, None).unwrap().at(None).unwrap().predict(b"age,smoker,pressure\n70,no,150\n");
    assert_eq!(predicted.unwrap().rows.len(), 1);
}

#[test]
fn the_same_seed_draws_the_same_rows_and_a_stated_one_draws_for_all() {
    let folder = Folder::new("seeds", SCHEMA);
    let digest = |text: &str| {
        let engine = SchemaEngine::open(&Study::read("s.toml", text).unwrap(), &folder.folders(), &Default::default());
        let (engine, seeds) = (engine.unwrap(), [1, 2]);
        seeds.map(|seed| crate::engine::Engine::data_digest(engine.table(seed).unwrap().as_ref()))
    };
    let [one, two] = digest(STUDY);
    assert_eq!(digest(STUDY), [one.clone(), two.clone()]);
    assert_ne!(one, two);
    let [first, second] = digest(&STUDY.replace("missing = 0.1", "missing = 0.1, seed = 1"));
    assert_eq!((&first, &second), (&one, &one));
}

#[test]
fn rows_of_sites_follow_the_partition() {
    let sites = |rows: &str, partition: &str, schema: &str| {
        let text = STUDY.replace("{ east = 300, west = 200 }", rows).replace("{ column = \"clinic\" }", partition);
        let study = Study::read("s.toml", &text).unwrap();
        let schema = Schema::from_toml(schema).unwrap();
        let drawn = study.data.drawn.as_ref().unwrap();
        drawn.sites(&study, &schema).map_err(|fault| format!("{fault}; {}", fault.hint))
    };
    let named =
        |sites: &[(&str, usize)]| sites.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect::<Vec<_>>();
    let levels =
        SCHEMA.replace("\"clinic\", kind = \"ignore\"", "\"clinic\", kind = \"category\", levels = [\"w\", \"e\"]");
    assert_eq!(sites("[30, 20]", "{ column = \"clinic\" }", SCHEMA), Ok(named(&[("site 1", 30), ("site 2", 20)])));
    assert_eq!(sites("501", "{ clients = 4 }", SCHEMA), Ok(named(&[("", 501)])));
    assert_eq!(sites("501", "{ column = \"clinic\" }", &levels), Ok(named(&[("e", 250), ("w", 251)])));
    assert_eq!(sites("[30, 20]", "{ column = \"clinic\" }", &levels), Ok(named(&[("e", 20), ("w", 30)])));
    let refused = |rows: &str, partition: &str, schema: &str| sites(rows, partition, schema).unwrap_err();
    assert!(refused("[30, 20]", "{ clients = 2 }", SCHEMA).contains("column = \"clinic\""));
    assert!(refused("500", "{ column = \"clinic\" }", SCHEMA).contains("rows = { north"));
    assert!(refused("[1, 2, 3]", "{ column = \"clinic\" }", &levels).contains("2 levels"));
    assert!(refused("{ west = 3 }", "{ column = \"clinic\" }", &levels).contains("no level of `clinic`"));
    assert!(refused("500", "{ column = \"clinik\" }", SCHEMA).contains("did you mean `clinic`?"));
    assert!(refused("500", "{ column = \"age\" }", SCHEMA).contains("cannot name sites"));
}

#[test]
fn what_does_not_fit_the_schema_is_refused_with_its_place() {
    let cases = [
        ("age = 0.6", "agee = 0.6", "`agee` is no input of the schema", "did you mean `age`?"),
        ("{ yes = -0.8 }", "{ yess = -0.8 }", "`yess` is no level of `smoker`", "did you mean `yes`?"),
        ("{ yes = -0.8 }", "{ no = -0.8 }", "`no` is the reference of `smoker`", "levels are yes"),
        ("{ yes = -0.8 }", "0.3", "is a category", "smoker = { \"yes\" = 0.5 }"),
        ("age = 0.6", "age = { old = 0.6 }", "`old` is no level of `age`", "age = 0.3"),
        ("missing = 0.1", "shares = { smokr = { no = 1.0 } }", "no category", "did you mean `smoker`?"),
        ("missing = 0.1", "shares = { smoker = { never = 1.0 } }", "no level of `smoker`", "levels are no, yes"),
        ("missing = 0.1", "noise_deviation = 1.0", "has levels", "leave it out"),
        ("kind = \"logistic\"", "kind = \"logistic\", bias = false", "the model has none", "leave it out"),
        ("schema = \"schema.toml\", ", "", "the study names none", "schema = \"schema.toml\""),
        ("missing = 0.1 } }", "missing = 0.1 }, declared_rows = 9 }", "declared_rows has no meaning", "leave it out"),
        (
            "missing = 0.1 } }",
            "missing = 0.1 }, split = { column = \"clinic\" } }",
            "split.column has no meaning",
            "test = 0.2",
        ),
        ("source = \"schema\"", "source = \"heart\"", "drawn goes with", "leave it out"),
        ("partition = { column = \"clinic\" }", "", "no [partition]", "clients = 5"),
    ];
    for (at, (from, to, message, hint)) in cases.into_iter().enumerate() {
        // Without an intercept the default method has no meaning; another case is what is tested.
        let text = STUDY.replace(from, to).replace("privacy = {", if to.contains("bias") { "method = [{ name = \"p\", algorithm = \"pvi\", solver = \"perturb\", rounds = 1, local = { optimiser = \"natural\" }, privacy = { clip = 1.0 } }]\nprivacy = {" } else { "privacy = {" });
        let (found, advice) = refused(&format!("case{at}"), &text, SCHEMA);
        assert!(found.contains(message) && found.contains("s.toml:"), "{to}: {found}");
        assert!(advice.contains(hint), "{to}: {advice}");
    }
}

#[test]
fn a_schema_that_cannot_be_drawn_from_is_refused() {
    let (found, hint) = refused("unbounded", STUDY, &SCHEMA.replace("bounds = [18, 100], ", ""));
    assert!(found.contains("`age` has no bounds") && hint.contains("bounds = [low, high]"), "{found}; {hint}");
    let levels = "levels = [\"no\", \"yes\", \"dead\"]";
    let three = SCHEMA.replace("column = \"ill\", levels = [\"no\", \"yes\"]", &format!("column = \"ill\", {levels}"));
    let softmax = STUDY.replace("privacy = { epsilon = 8.0 }", "").replace("logistic", "softmax")
        + "[[method]]\nname = \"c\"\nalgorithm = \"pvi\"\nsolver = \"clear\"\nrounds = 1\nlocal = { steps = 1, batch = \"all\", optimiser = \"adam\", learning_rate = 0.1 }\n";
    let (found, hint) = refused("three", &softmax, &three);
    assert!(found.contains("two levels or a number, and `ill` has 3") && hint.contains("combine"), "{found}; {hint}");
    let number = SCHEMA.replace("column = \"ill\", levels = [\"no\", \"yes\"]", "column = \"ill\", bounds = [0, 9]");
    let linear = softmax.replace("softmax", "linear");
    let (found, hint) = refused("number", &linear, &number);
    assert!(found.contains("`ill` is a number") && hint.contains("noise_deviation"), "{found}; {hint}");
    let stated = linear.replace("missing = 0.1", "missing = 0.1, noise_deviation = 2.0");
    let folder = Folder::new("linear", &number);
    assert!(Study::read("s.toml", &stated).unwrap().load(&folder.folders()).is_ok());
}
