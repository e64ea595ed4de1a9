//! Studies as a person meets them: what `check` and `plan` say of a sound one, and how a bad one is refused.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sample() -> String {
    std::fs::read_to_string(root().join("studies/adult-c.toml")).unwrap()
}

fn posterity(words: &[&str]) -> Output {
    Command::cargo_bin("posterity").unwrap().current_dir(root()).args(words).output().unwrap()
}

fn answer(words: &[&str]) -> String {
    let output = posterity(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file of this test's own, gone when it goes.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-study-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The sample study with one text replaced; the replaced text must be there.
fn changed(from: &str, to: &str) -> String {
    let text = sample();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// The line on which a text stands, from one.
fn line_of(text: &str, part: &str) -> usize {
    text[..text.find(part).unwrap_or_else(|| panic!("{part}"))].matches('\n').count() + 1
}

/// Checks that a study is refused with this code, at the line of `at`, with these words in message or hint, by all
/// commands that read it, and that nothing is written.
fn refused(name: &str, text: &str, code: &str, at: &str, words: &str) {
    let file = Temporary::new(name, text);
    let out = std::env::temp_dir().join(format!("posterity-study-{}-{name}-out", std::process::id()));
    let run = ["simulate", file.path(), "--out", out.to_str().unwrap()];
    for command in [&["check", file.path()] as &[&str], &["plan", file.path()], &run] {
        let output = posterity(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(output.stdout.is_empty() && !out.exists(), "{name}");
        assert!(said.starts_with(&format!("error[{code}]: ")), "{name}: {said}");
        let place = format!("{}:{}:", file.path(), line_of(text, at));
        assert!(said.contains(&place), "{name}: expected {place} in {said}");
        assert!(said.contains(words) && said.contains("\nhint: "), "{name}: expected {words} in {said}");
    }
    let error: Value = serde_json::from_slice(&posterity(&["check", file.path(), "--json"]).stderr).unwrap();
    assert_eq!(error["error"]["code"], code, "{name}");
}

/// Checks that this command refuses a study, with this code and these words.
fn refused_by(command: &str, name: &str, text: &str, code: &str, words: &str) {
    let file = Temporary::new(name, text);
    let output = posterity(&[command, file.path()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{name}: {said}");
    assert!(said.starts_with(&format!("error[{code}]: ")) && said.contains(words), "{name}: {said}");
}

#[test]
fn everything_that_is_wrong_with_a_study_is_told_at_once() {
    let text = sample()
        .replacen("seeds =", "sedes =", 1)
        .replacen("kind = \"logistic\"", "kind = \"logistik\"", 1)
        .replacen("epsilon = 1.0", "epsilon = -1.0", 1);
    let file = Temporary::new("three-faults", &text);
    let output = posterity(&["check", file.path()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let expected = [
        ("S002", "sedes =", "sedes", "seeds"),
        ("S002", "kind = \"logistik\"", "logistik", "logistic"),
        ("S004", "epsilon = -1.0", "-1", "0"),
    ];
    let lines: Vec<&str> = said.lines().collect();
    for (code, at, message, hint) in expected {
        let place = format!("error[{code}]: {}:{}:", file.path(), line_of(&text, at));
        let found = lines.iter().position(|line| line.starts_with(&place) && line.contains(message));
        let found = found.unwrap_or_else(|| panic!("expected {place} … {message} in\n{said}"));
        assert!(lines[found + 1].starts_with("hint: ") && lines[found + 1].contains(hint), "{said}");
    }
    let output = posterity(&["check", file.path(), "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let object: Value = serde_json::from_slice(&output.stderr).unwrap();
    let errors = object["errors"].as_array().unwrap();
    assert_eq!(errors.len(), said.matches("error[").count(), "{object}");
    for (code, at, message, hint) in expected {
        let place = format!("{}:{}:", file.path(), line_of(&text, at));
        let fits = |error: &&Value| {
            let has = |key: &str, words: &str| error[key].as_str().is_some_and(|text| text.contains(words));
            error["code"] == code && has("place", &place) && has("message", message) && has("hint", hint)
        };
        assert!(errors.iter().any(|error| fits(&error)), "{place} {message}: {object}");
    }
    let first = format!("{}: {}", errors[0]["place"].as_str().unwrap(), errors[0]["message"].as_str().unwrap());
    assert_eq!((&object["error"]["code"], &object["error"]["message"]), (&errors[0]["code"], &first.into()));
}

#[test]
fn check_says_in_words_what_would_run() {
    let expected = "\
study       adult-c is sound
data        adult, 0.2 of the rows held out
columns     16 in the header, all in the schema, 108 inputs and the intercept; no row was read
clients     10, skewed (rho 0.7, kappa -3)
model       logistic, with intercept, prior precision 1
seeds       1, 2, 3, 4, 5
method      DP optimisation
            pvi, dp-optimisation, sequential, 20 rounds, damping 0.1
            10 steps of Adam with learning rate 0.05, each row with probability 0.05
            (1, 1e-5)-DP per row (replace-one); no trusted party
            clipped to 2, noise calibrated to the budget, certified accountant
method      PVI
            pvi, clear, sequential, 10 rounds, damping 0.4
            50 steps of Adam with learning rate 0.02, 100 rows without replacement
            no privacy, for comparison only
always      for comparison: a constant answer, local only (each client by itself), non-private
";
    assert_eq!(answer(&["check", "studies/adult-c.toml"]), expected);
    let object: Value = serde_json::from_str(&answer(&["check", "studies/adult-c.toml", "--json"])).unwrap();
    assert_eq!((&object["study"], &object["methods"][1]["private"]), (&"adult-c".into(), &false.into()));
}

#[test]
fn a_plan_suggests_what_is_best_for_its_model() {
    let study = std::fs::read_to_string(root().join("studies/adult-c.toml")).unwrap();
    let suggested = |kind: &str, clip: &str| {
        let text = study.replace("kind = \"logistic\"", kind).replace("clip = 2.0", clip);
        let name = format!("suggested-{}.toml", kind.len() + clip.len());
        let path = std::env::temp_dir().join(format!("posterity-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let told = answer(&["plan", path.to_str().unwrap(), "--json"]);
        std::fs::remove_file(path).unwrap();
        serde_json::from_str::<Value>(&told).unwrap()["guidance"]["algorithm"].clone()
    };
    assert_eq!(suggested("kind = \"logistic\"", "clip = 2.0"), "noise-aware");
    assert_eq!(suggested("kind = \"network\"", "clip = 2.0"), "pvi");
}

#[test]
fn plan_says_what_each_client_pays() {
    let expected = "\
study       adult-c
clients     10 with 1172 to 6642 training rows each, 39070 together
model       logistic, with intercept, prior precision 1: 109 parameters

method      DP optimisation
does        pvi, dp-optimisation, sequential, 20 rounds, damping 0.1
promise     (1, 1e-5)-DP per row (replace-one); no trusted party
noise       multiplier 2.63683 (calibrated) on sums clipped at 2
updates     20 per client, 10 releases per update on 0.05 of the rows
cost        ε at most 1, certified; δ 1e-5
messages    at most 200 of 1744 bytes

method      PVI
does        pvi, clear, sequential, 10 rounds, damping 0.4
messages    100 of 1744 bytes

suggested   algorithm = \"noise-aware\", schedule = \"synchronous\", rounds = 15, clip = 3.9 (√15: each row has 15 non-zero inputs); an \
aggregator if there is one
literature  dp-optimisation, because a typical client has 1172 training rows, enough for DP optimisation to do well, \
whatever the model and the number of clients
            (Heikkilä et al. 2022, section 5)
";
    assert_eq!(answer(&["plan", "studies/adult-c.toml"]), expected);
    let object: Value = serde_json::from_str(&answer(&["plan", "studies/adult-c.toml", "--json"])).unwrap();
    let client = &object["methods"][0]["privacy"]["clients"][9];
    assert_eq!((client["rows"].as_u64(), client["updates"].as_u64()), (Some(6642), Some(20)));
    assert!((2.0 * client["noise_multiplier"].as_f64().unwrap() - 5.274).abs() < 1e-3, "{client}");
    assert!(client["epsilon_certified"].as_f64().unwrap() <= 1.0);
    assert!(object["methods"][1]["privacy"].is_null());
}

#[test]
fn unknown_keys_and_words_are_answered_with_the_nearest() {
    refused("key", &changed("epsilon = 1.0", "epsilom = 1.0"), "S002", "privacy =", "did you mean `epsilon`?");
    refused("table", &changed("[partition]", "[partitoin]"), "S002", "[partitoin]", "did you mean `partition`?");
    refused(
        "word",
        &changed("\"dp-optimisation\"", "\"dp-optimization\""),
        "S002",
        "solver =",
        "called \"dp-optimisation\"",
    );
    refused("optimiser", &changed("\"adam\"", "\"adm\""), "S002", "\"adm\"", "did you mean \"adam\"?");
    refused("toml", &changed("clients = 10", "clients = = 10"), "S001", "clients =", "hint");
    refused("loose", &changed("epsilon = 1.0", "epsilon = \"1\""), "S001", "privacy =", "for example epsilon = 1.0");
    refused("kind", &changed("rounds = 20", "rounds = \"many\""), "S001", "rounds =", "until-spent");
    refused("missing", &changed("epsilon = 1.0, ", ""), "S001", "privacy =", "epsilon");
}

#[test]
fn who_is_protected_is_not_guessed_from_letters() {
    let text = changed("unit = \"example\"", "unit = \"patient\"");
    refused("patient", &text, "S002", "unit = ", "one row, all rows of a person");
    let file = Temporary::new("unit", &text);
    let said = String::from_utf8(posterity(&["check", file.path()]).stderr).unwrap();
    assert!(!said.contains("did you mean"), "{said}");
}

#[test]
fn numbers_outside_their_range_are_refused_at_their_line() {
    for (name, from, to, at, words) in [
        ("epsilon", "epsilon = 1.0", "epsilon = 0.0", "privacy =", "epsilon is 0"),
        ("negative", "epsilon = 1.0", "epsilon = -1.0", "privacy =", "epsilon is -1"),
        ("delta", "delta = 1e-5", "delta = 0.0", "privacy =", "delta is 0"),
        ("rounds", "rounds = 20", "rounds = 0", "rounds = 0", "rounds is 0"),
        ("damping", "damping = 0.1", "damping = 1.5", "damping = 1.5", "damping is 1.5"),
        ("no damping", "damping = 0.1", "damping = 0.0", "damping = 0.0", "damping is 0"),
        ("rate", "rate = 0.05", "rate = 1.5", "local =", "rate is 1.5"),
        ("steps", "steps = 10", "steps = 0", "local =", "steps is 0"),
        ("clip", "clip = 2.0", "clip = 0.0", "privacy =", "clip is 0"),
        ("rho", "rho = 0.7", "rho = 1.0", "rho =", "rho is 1"),
        ("clients", "clients = 10", "clients = 9", "clients =", "an even number"),
        ("test", "test = 0.2", "test = 1.0", "split =", "test is 1"),
        ("prior", "precision = 1.0", "precision = 0.0", "prior =", "precision is 0"),
    ] {
        refused(name, &changed(from, to), "S004", at, words);
    }
}

#[test]
fn names_seeds_and_versions_are_checked() {
    refused("version", &changed("schema = 1", "schema = 2"), "S003", "schema = 2", "expected 1");
    refused("no seeds", &changed("[1, 2, 3, 4, 5]", "[]"), "S004", "seeds", "a list of one or more");
    refused("seeds", &changed("[1, 2, 3, 4, 5]", "[1, 2, 1]"), "S005", "seeds", "seed 1 is there twice");
    refused(
        "names",
        &changed("\"PVI\"", "\"DP optimisation\""),
        "S005",
        "name = \"DP optimisation\"\nalgorithm = \"pvi\"\nsolver = \"clear\"",
        "two methods",
    );
    refused("path", &changed("\"adult-c\"", "\"../adult\""), "S005", "name = \"..", "directory");
}

#[test]
fn privacy_and_noise_go_together() {
    let promise = "privacy = { unit = \"example\"";
    let text = sample();
    let line = text.lines().find(|line| line.starts_with(promise)).unwrap();
    refused("unpromised", &changed(line, ""), "S006", "solver =", "no privacy is promised");
    let clear = changed("\"dp-optimisation\"", "\"clear\"");
    refused("clear", &clear, "S006", "privacy =", "cannot promise privacy");
    let spent = changed("rounds = 10", "rounds = \"until-spent\"");
    refused("until spent", &spent, "S006", "rounds = \"until", "no budget to spend");
    let uncalibrated = changed("rounds = 20", "rounds = \"until-spent\"");
    refused("uncalibrated", &uncalibrated, "S009", "rounds = \"until", "noise_multiplier");
}

#[test]
fn what_an_aggregator_cannot_do_is_said() {
    let curated = changed("aggregator = \"none\"", "aggregator = \"curator\"");
    refused("curator", &curated, "S007", "privacy =", "releases every local step at the client");
    let drawn = curated.replace("\"dp-optimisation\"", "\"perturb\"");
    refused("drawn", &drawn, "S011", "local =", "this solver uses all rows in every step");
    let changes = drawn.replacen("rate = 0.05, ", "", 1);
    refused("sequential", &changes, "S007", "schedule =", "all clients at once");
    let secure = "aggregator = \"secure-sum\", noise = \"skellam\", colluders = 1, dropouts = 1";
    let shares = changed("aggregator = \"none\"", secure)
        .replacen("\"pvi\"", "\"global-vi\"", 1)
        .replacen("\"sequential\"", "\"synchronous\"", 1)
        .replacen("damping = 0.1\n", "", 1)
        .replace("steps = 10, ", "");
    refused("shares", &shares, "S007", "local =", "no amplification");
    let of = |keys: &str| shares.replace(secure, keys);
    for (name, keys, code, words) in [
        ("alone", "aggregator = \"secure-sum\", nodes = 1", "S004", "one alone would see"),
        ("crowd", "aggregator = \"secure-sum\", nodes = 257", "S004", "to 256"),
        ("stray", "aggregator = \"curator\", nodes = 3", "S011", "belongs to a secure sum"),
        ("telling", "aggregator = \"secure-sum\", colluders = 1", "S011", "here the nodes add it"),
    ] {
        refused(name, &of(keys), code, "privacy =", words);
    }
}

/// A study of sufficient statistics with other keys of one, or of the method.
fn regression(statistics: &str, others: &str) -> String {
    format!(
        "schema = 1\n[study]\nname = \"regression\"\nseeds = [1]\n[data]\nsource = \"wine-red\"\nsplit = {{ test = 0.2 }}\n\
         [model]\nkind = \"linear\"\n[partition]\nkind = \"even\"\nclients = 4\n[[method]]\nname = \"m\"\n\
         algorithm = \"statistics\"\nstatistics = {{ {statistics} }}\n{others}\n"
    )
}

const ROWS: &str = "privacy = { unit = \"example\", adjacency = \"substitute\", epsilon = 1.0, delta = 1e-4 }";

#[test]
fn what_sufficient_statistics_cannot_have_is_said() {
    for (name, statistics, others, code, at, words) in [
        ("zero", "bound = 7.5, radius = 0.0", ROWS, "S004", "statistics =", "over 0"),
        ("share", "bound = 7.5, share = 2.0", ROWS, "S004", "statistics =", "over 0 and under 1"),
        ("radius", "rule = \"plain\", bound = 7.5, radius = 1.0", ROWS, "S011", "statistics =", "no meaning"),
        (
            "reading",
            "rule = \"plain\", bound = 7.5, reading = \"noise-aware\"",
            ROWS,
            "S009",
            "statistics =",
            "row-norm",
        ),
        ("promise", "bound = 7.5", "", "S006", "algorithm =", "no privacy is promised"),
        ("rounds", "bound = 7.5", "rounds = 3\n", "S011", "rounds =", "no meaning"),
        ("readout", "bound = 7.5", "readout = { average = 3 }\n", "S011", "readout =", "no meaning"),
    ] {
        let others = if others.is_empty() || others == ROWS { others.to_owned() } else { format!("{others}{ROWS}") };
        refused(name, &regression(statistics, &others), code, at, words);
    }
    let clipped = ROWS.replace("delta = 1e-4", "delta = 1e-4, clip = 1.0");
    refused("clipped", &regression("bound = 7.5", &clipped), "S011", "privacy =", "follows from other settings");
    let client = ROWS.replace("example", "client");
    refused("by-client", &regression("bound = 7.5", &client), "S008", "privacy =", "what a row does");
    let added = regression("rule = \"inputs\", bound = 7.5", &ROWS.replace("substitute", "add-remove"));
    refused("added", &added, "S008", "privacy =", "how many rows");
}

#[test]
fn choices_that_exclude_each_other_are_refused() {
    let client = changed("unit = \"example\"", "unit = \"client\"");
    refused("client", &client, "S008", "privacy =", "does not bound their sum");
    let leaving = client
        .replace("\"dp-optimisation\"", "\"perturb\"")
        .replace("\"substitute\"", "\"add-remove\"")
        .replacen("rate = 0.05, ", "", 1);
    refused("leaving", &leaving, "S008", "privacy =", "missing message");
    refused("natural", &changed("\"adam\"", "\"natural\""), "S009", "local =", "natural steps");
    let full = changed("damping = 0.1", "damping = 0.1\ncovariance = \"full\"");
    refused("full", &full, "S009", "covariance", "full covariance");
    let aligned = changed("learning_rate = 0.05", "learning_rate = 0.05, gradients = \"aligned\"");
    refused("aligned", &aligned, "S009", "local =", "aligned gradients need a model");
    let global = aligned.replacen("\"pvi\"", "\"global-vi\"", 1).replace("kind = \"logistic\"", "kind = \"network\"");
    let global = global.replacen("damping = 0.1\n", "", 1).replacen("steps = 10, ", "", 1);
    refused("aligned-global", &global, "S009", "local =", "local steps of DP optimisation");
    let first = "algorithm = \"pvi\"\nsolver = \"dp-optimisation\"\n";
    let steps = "local = { steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }\n";
    let curved = changed(first, "algorithm = \"noise-aware\"\n").replacen(steps, "", 1);
    let curved = curved.replace("kind = \"logistic\"", "kind = \"network\"");
    refused("second moments", &curved, "S009", "algorithm = \"noise-aware\"", "linear and logistic models");
    let step = "steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05";
    let analytic = changed("\"dp-optimisation\"", "\"analytic\"").replacen(step, "optimiser = \"natural\"", 1);
    refused("analytic", &analytic, "S009", "solver =", "needs a model that has a Gaussian likelihood");
    refused("committee", &changed("\"pvi\"", "\"committee\""), "S004", "rounds = 20", "one round");
    let members = analytic.replacen("\"pvi\"", "\"committee\"", 1).replacen("damping = 0.1\n", "", 1).replacen(
        "rounds = 20\n",
        "",
        1,
    );
    refused("members", &members, "S009", "solver =", "use algorithm = \"pvi\"");
    let moments = changed("aggregator = \"none\"", "accountant = \"moments\"");
    refused("moments", &moments, "S009", "privacy =", "accountant = \"certified\"");
    let fixed = changed("rate = 0.05", "batch = { rows = 50, without_replacement = true }")
        .replace("\"substitute\"", "\"add-remove\"");
    refused("fixed", &fixed, "S009", "local =", "fixed size");
}

#[test]
fn what_comes_later_and_what_has_no_meaning_is_said() {
    let encoded = changed("[data]\n", "[data]\nscores_in = \"encoded\"\n");
    refused("scores", &encoded, "S011", "scores_in", "an outcome that is a number");
    let hidden = changed("\"logistic\"", "\"network\"\nhidden = [50, 0]");
    refused("hidden", &hidden, "S004", "hidden = [50, 0]", "from 1 to 10000");
    let layers = changed("\"logistic\"", "\"logistic\"\nhidden = [50]");
    refused("layers", &layers, "S011", "hidden = [50]", "no meaning");
    refused("mcmc", &changed("\"pvi\"", "\"dp-mcmc\""), "S002", "algorithm =", "called \"chain\"");
    refused(
        "hybrid",
        &changed("\"dp-optimisation\"", "\"hybrid\""),
        "S001",
        "solver =",
        "`opening` (the analytic updates that come first) is missing",
    );
    refused("parts", &changed("damping = 0.1", "parts = 7"), "S011", "parts = 7", "\"average\" and \"virtual\"");
    refused("rates", &changed("damping = 0.1", "rates = \"equal\""), "S011", "rates =", "asynchronous");
    refused(
        "two batches",
        &changed("rate = 0.05", "rate = 0.05, batch = \"all\""),
        "S011",
        "local =",
        "rate and batch",
    );
    refused("even", &changed("\"skewed\"", "\"even\""), "S011", "rho =", "no meaning");
    refused("split", &changed("{ test = 0.2 }", "{ test = 0.2, half = true }"), "S011", "split =", "four forms");
}

#[test]
fn a_loose_delta_is_a_warning_and_not_an_error() {
    let file = Temporary::new("loose", &changed("delta = 1e-5", "delta = 1e-3"));
    for command in ["check", "plan"] {
        let text = answer(&[command, file.path()]);
        assert!(text.contains("warning     S014: DP optimisation: δ = 0.001 is not under 1 / 1172"), "{text}");
    }
    // Loose for the large clients only.
    let file = Temporary::new("loose for some", &changed("delta = 1e-5", "delta = 5e-4"));
    for command in ["check", "plan"] {
        let text = answer(&[command, file.path()]);
        assert!(text.contains("warning     S014: DP optimisation: δ = 5e-4 is not under 1 / 6642"), "{text}");
    }
}

#[test]
fn a_plan_of_unknown_rows_says_so_or_asks_for_them() {
    let csv = changed("source = \"adult\"", "source = \"csv:mine.csv\"");
    let file = Temporary::new("csv", &csv);
    let text = answer(&["plan", file.path()]);
    assert!(text.contains("10, rows not declared") && text.contains("multiplier 2.63683"), "{text}");
    assert!(text.contains("warning     rows of each client are not declared"), "{text}");

    let by_rows = Temporary::new("by-rows", &csv.replace("delta = 1e-5", "delta = \"power-of-ten\""));
    let output = posterity(&["plan", by_rows.path()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.starts_with("error[S012]"), "{said}");
    let declared =
        csv.replace("delta = 1e-5", "delta = \"power-of-ten\"").replace("[data]", "[data]\ndeclared_rows = 30000");
    let declared = Temporary::new("declared", &declared);
    let text = answer(&["plan", declared.path()]);
    assert!(text.contains("; δ up to 0.001") && text.contains("about 24000 together, as declared"), "{text}");
    let listed = csv.replace("[data]", "[data]\ndeclared_rows = [500, 600]");
    refused_by("plan", "listed", &listed, "S012", "one number for each of 10 clients");
}

#[test]
fn heart_by_hospital_is_planned_from_public_numbers() {
    let text = changed("source = \"adult\"", "source = \"heart\"").replace(
        "kind = \"skewed\"\nclients = 10\nrho = 0.7\nkappa = -3.0",
        "kind = \"column\"\ncolumn = \"hospital\"",
    );
    let file = Temporary::new("heart", &text);
    let text = answer(&["plan", file.path()]);
    assert!(text.contains("4 with about 99 to 243 training rows each, about 738 together"), "{text}");
    assert!(text.contains("virtual with an aggregator"), "{text}");
}

#[test]
fn predict_asks_for_a_finished_run() {
    let output = posterity(&["predict", "studies", "--data", "studies/adult-c.toml"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.starts_with("error[S013]: studies: no posteriors here"), "{said}");
}

#[test]
fn rates_by_private_rows_are_told() {
    let text = changed("rate = 0.05", "batch = { fraction = 0.02, at_least = 20 }")
        .replace("\"substitute\"", "\"add-remove\"")
        .replace("aggregator = \"none\"", "accountant = \"moments\"");
    let file = Temporary::new("private-rows", &text);
    for command in ["check", "plan"] {
        let text = answer(&[command, file.path()]);
        assert!(text.contains("warning     DP optimisation: under add-remove the number of rows is private"), "{text}");
    }
    assert!(answer(&["plan", file.path()]).contains(" by moments; "));
}

#[test]
fn weights_by_private_rows_are_told() {
    let text = changed("aggregator = \"none\"", "aggregator = \"curator\"")
        .replace("\"substitute\"", "\"add-remove\"")
        .replacen("\"dp-optimisation\"", "\"perturb\"", 1)
        .replacen("rate = 0.05, ", "", 1)
        .replacen("\"sequential\"", "\"synchronous\"", 1);
    let file = Temporary::new("private-weights", &text);
    for command in ["check", "plan"] {
        let text = answer(&[command, file.path()]);
        assert!(text.contains("rates, weights or δ depend on it"), "{text}");
    }
}
