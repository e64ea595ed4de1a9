//! The command `posterity account` as a person or a program meets it: keys, words, codes, hints and exit codes.

use crate::common::{SAMPLED, SUM, answer, number, object, piped, posterity, refused, refused_with, succeeded};
use serde_json::Value;

#[test]
fn json_has_the_keys_of_the_contract() {
    let keys = [
        "epsilon",
        "epsilon_lower",
        "delta",
        "delta_lower",
        "noise_multiplier",
        "steps",
        "accountant",
        "adjacency",
        "sampling",
        "unit",
    ];
    for question in [
        format!("epsilon --delta 1e-5 --steps 10 {SUM}"),
        format!("delta --epsilon 2 --steps 10 {SUM}"),
        "calibrate --epsilon 2 --delta 1e-5 --steps 10 --mechanism gaussian --adjacency substitute".into(),
        format!("steps --epsilon 20 --delta 1e-5 {SUM}"),
    ] {
        let found = object(&format!("account {question}"));
        for key in keys {
            assert!(found.get(key).is_some_and(|value| !value.is_null()), "{key} of {question}: {found}");
        }
        assert_eq!(found["accountant"], "pld", "the default");
        assert_eq!(
            (&found["adjacency"], &found["sampling"], &found["unit"]),
            (&"substitute".into(), &"none".into(), &"example".into())
        );
        assert!(number(&found, "epsilon_lower") <= number(&found, "epsilon"), "{found}");
        assert!(number(&found, "delta_lower") <= number(&found, "delta"), "{found}");
    }
}

/// ε of one Gaussian release with multiplier 1 at δ = 1e-5 is 4.3771780956812245 (mpmath, 40 digits).
#[test]
fn a_known_epsilon_is_enclosed() {
    let found = object(
        "account epsilon --delta 1e-5 --mechanism gaussian --noise-multiplier 1 --steps 1 --adjacency add-remove",
    );
    let exact = 4.377_178_095_681_224_5;
    assert!(number(&found, "epsilon_lower") <= exact && exact <= number(&found, "epsilon"), "{found}");
    assert!(number(&found, "epsilon") - number(&found, "epsilon_lower") < 1e-6, "{found}");
    assert_eq!(found["certified"], "two-sided");
}

#[test]
fn the_table_names_relation_unit_sampling_and_convention() {
    let table = answer(&format!("account epsilon --delta 1e-5 {SAMPLED}"));
    for words in [
        "δ = 1e-5",
        "certified: the true ε lies in [",
        "noise deviation / sensitivity",
        "add-remove: one example more or less",
        "moves a sum of examples clipped to C by C",
        "example: one row",
        "poisson: each row",
        "probability 0.01",
        "10000 times",
        "pld",
    ] {
        assert!(table.contains(words), "{words} in\n{table}");
    }
    let table = answer(&format!("account epsilon --delta 1e-5 --steps 3 --accountant rdp --unit client {SUM}"));
    for words in [
        "upper bound only (rdp)",
        "clipped to C by 2C",
        "noise deviation is 2.2 C",
        "all rows of one client",
        "substitute",
    ] {
        assert!(table.contains(words), "{words} in\n{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
}

#[test]
fn what_the_table_shows_is_rounded_outwards() {
    let words = format!("account epsilon --delta 1e-5 --steps 7 {SUM}");
    let (table, exact) = (answer(&words), object(&words));
    let (_, rest) = table.split_once("lies in [").unwrap();
    let (low, high) = rest.split_once(']').unwrap().0.split_once(", ").unwrap();
    assert!(low.parse::<f64>().unwrap() <= number(&exact, "epsilon_lower"), "{table}{exact}");
    assert!(high.parse::<f64>().unwrap() >= number(&exact, "epsilon"), "{table}{exact}");
}

#[test]
fn what_is_calibrated_keeps_its_budget_when_accounted_again() {
    let rest = "--mechanism gaussian --steps 100 --sampling poisson --rate 0.1 --adjacency add-remove";
    let found = object(&format!("account calibrate --epsilon 1 --delta 1e-6 {rest}"));
    let z = number(&found, "noise_multiplier");
    let again = object(&format!("account epsilon --delta 1e-6 --noise-multiplier {z:e} {rest}"));
    assert!(number(&found, "epsilon") <= 1.0 && number(&again, "epsilon") <= 1.0, "{found} {again}");
    let less = object(&format!("account epsilon --delta 1e-6 --noise-multiplier {:e} {rest}", z * 0.9999));
    assert!(number(&less, "epsilon_lower") > 1.0, "{less}");
}

#[test]
fn the_open_multiplier_of_a_list_is_calibrated() {
    let list = r#"[{"mechanism": "gaussian", "noise_multiplier": 20, "steps": 3, "adjacency": "substitute"},
        {"mechanism": "gaussian", "steps": 5, "adjacency": "substitute"}]"#;
    let words = "account calibrate --epsilon 2 --delta 1e-6 --events -";
    let found: Value = serde_json::from_str(&succeeded(words, piped(&format!("{words} --json"), list))).unwrap();
    let z = number(&found, "noise_multiplier");
    assert!(z < 20.0 && number(&found, "epsilon") <= 2.0 && number(&found, "epsilon") > 1.999, "{found}");
    let table = succeeded(words, piped(words, list));
    assert!(table.starts_with(&format!("multiplier  {:.3}", z)[..15]), "{z} in\n{table}");
}

#[test]
fn one_step_more_than_found_does_not_fit() {
    let found = object(&format!("account steps --epsilon 5 --delta 1e-5 {SUM}"));
    let steps = found["steps"].as_u64().unwrap();
    let cost = |steps| object(&format!("account epsilon --delta 1e-5 --steps {steps} {SUM}"));
    assert!(number(&cost(steps), "epsilon") <= 5.0 && number(&cost(steps + 1), "epsilon") > 5.0, "{found}");
}

#[test]
fn bad_numbers_have_a_code_and_a_hint() {
    let sum = |rest: &str| format!("account epsilon --delta 1e-5 {SUM} {rest}");
    for steps in ["10^400", "1e400", "0", "-3", "2.5", "NaN", "many", "1e13"] {
        refused(&sum(&format!("--steps {steps}")), "P001", 2, "in digits");
    }
    for rate in ["1.5", "0", "-1", "nan", "inf"] {
        refused(&sum(&format!("--steps 1 --sampling poisson --rate {rate}")), "P001", 2, "share of the rows");
    }
    for delta in ["1", "1.5", "-1", "NaN", "1e400"] {
        refused(&format!("account epsilon --delta {delta} --steps 1 {SUM}"), "P001", 2, "1e-6");
    }
    for epsilon in ["-1", "nan", "1e400"] {
        refused(&format!("account delta --epsilon {epsilon} --steps 1 {SUM}"), "P001", 2, "between 0.1 and 10");
    }
    let noise = "account epsilon --delta 1e-5 --mechanism gaussian --adjacency substitute --steps 1 --noise-multiplier";
    refused(&format!("{noise} 0"), "P001", 2, "calibrate");
    refused(
        "account epsilon --delta 1e-5 --mechanism randomised-response --categories 1 --gamma 0.5 --steps 1",
        "P001",
        2,
        "range",
    );
    refused(&format!("account profile --epsilons 0:inf:9 --steps 1 {SUM}"), "P001", 2, "range");
}

#[test]
fn a_delta_of_zero_has_no_meaning_for_gaussian_noise() {
    refused(&format!("account epsilon --delta 0 --steps 1 {SUM}"), "P001", 2, "δ");
    let laplace =
        object("account epsilon --delta 0 --mechanism laplace --noise-multiplier 2 --steps 3 --adjacency substitute");
    assert!((number(&laplace, "epsilon") - 1.5).abs() < 1e-9, "{laplace}");
}

#[test]
fn flags_that_do_not_fit_together_are_refused() {
    let one = format!("account epsilon --delta 1e-5 --steps 1 {SUM}");
    refused(&format!("{one} --rate 0.1"), "C001", 2, "--sampling poisson");
    refused(&format!("{one} --sampling poisson"), "C001", 2, "share of the rows");
    refused(&format!("{one} --gamma 0.1"), "C001", 2, "--noise-multiplier");
    refused(
        "account epsilon --delta 1e-5 --mechanism gaussian --noise-multiplier 1 --steps 1",
        "C001",
        2,
        "--adjacency add-remove",
    );
    refused("account epsilon --delta 1e-5 --steps 1", "C001", 2, "--mechanism gaussian");
    refused(&format!("account epsilon --delta 1e-5 {SUM}"), "C001", 2, "account steps");
    refused(&format!("account calibrate --epsilon 1 --delta 1e-5 --steps 1 {SUM}"), "C001", 2, "left out");
    refused(&format!("account steps --epsilon 1 --delta 1e-5 --steps 1 {SUM}"), "C001", 2, "leave --steps out");
    refused(&format!("account profile --epsilons 4:1:9 --steps 1 {SUM}"), "C001", 2, "MIN:MAX:COUNT");
}

#[test]
fn what_clap_refuses_has_a_code_too() {
    for words in
        ["account epsilon --steps 1", "account epsilon --delta 1e-5 --accountant magic", "account guess", "--colour"]
    {
        let output = posterity(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("error[C001]: ") && text.contains("\nhint: "), "{words}\n{text}");
        assert!(text.ends_with("\nmore: posterity explain C001\n"), "{words}\n{text}");
        let output = posterity(&format!("{words} --json"));
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((output.status.code(), &error["error"]["code"]), (Some(2), &Value::from("C001")), "{words}");
    }
}

#[test]
fn what_no_theorem_joins_is_refused() {
    let fixed =
        "--mechanism gaussian --noise-multiplier 1 --steps 1 --sampling without-replacement --rate 0.02 --adjacency";
    refused(&format!("account epsilon --delta 1e-5 {fixed} add-remove"), "P002", 3, "substitute");
    answer(&format!("account epsilon --delta 1e-5 {fixed} substitute"));
    let laplace =
        "--mechanism laplace --noise-multiplier 1 --steps 1 --sampling poisson --rate 0.02 --adjacency substitute";
    refused(&format!("account epsilon --delta 1e-5 {laplace}"), "P002", 3, "add-remove");
    refused(&format!("account epsilon --delta 1e-5 {SAMPLED} --accountant zcdp"), "P003", 3, "");
    refused(&format!("account epsilon --delta 1e-5 {SAMPLED} --accountant gdp"), "P003", 3, "");
}

#[test]
fn shuffles_refuse_what_has_no_meaning_for_them() {
    let clones = "account epsilon --delta 1e-5 --mechanism shuffle-clones --local-epsilon 3 --steps 2 --users 1000";
    refused(&format!("{clones} --adjacency add-remove"), "P002", 3, "substitute");
    refused(&format!("{clones} --noise-multiplier 1"), "C001", 2, "--local-epsilon");
    let answers =
        "account epsilon --delta 1e-5 --mechanism shuffle-krr --users 100 --categories 4 --gamma 0.25 --steps 1";
    refused(answers, "C001", 2, "strong knows");
}

const EVENTS: &str = r#"[
    {"mechanism": "gaussian", "noise_multiplier": 1.5, "steps": 100, "sampling": "poisson", "rate": 0.01, "adjacency": "substitute"},
    {"mechanism": "gaussian", "noise-multiplier": "2", "steps": 1e1, "adjacency": "substitute"}
]"#;

#[test]
fn a_file_of_events_is_one_plan() {
    let words = "account epsilon --delta 1e-5 --events -";
    let table = succeeded(words, piped(words, EVENTS));
    assert!(table.contains("multiplier 1.5") && table.contains("multiplier 2") && table.contains("mixed"), "{table}");
    let text = succeeded(words, piped("account epsilon --delta 1e-5 --events - --json", EVENTS));
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&found["steps"], &found["sampling"], &found["noise_multiplier"]),
        (&110.into(), &"mixed".into(), &Value::Null)
    );
    let alone = object(
        "account epsilon --delta 1e-5 --mechanism gaussian --noise-multiplier 2 --steps 10 --adjacency substitute",
    );
    assert!(number(&found, "epsilon") > number(&alone, "epsilon_lower"), "{found} {alone}");

    let folder = tempfolder("events");
    let path = folder.join("events.json");
    std::fs::write(&path, EVENTS).unwrap();
    assert_eq!(object(&format!("account epsilon --delta 1e-5 --events {}", path.display())), found);
}

#[test]
fn mistakes_in_a_file_of_events_are_named() {
    let words = "account epsilon --delta 1e-5 --events -";
    let said = |input: &str| String::from_utf8(piped(words, input).stderr).unwrap();
    let misspelt = EVENTS.replace("noise-multiplier", "noise-multiplyer");
    refused_with(words, &misspelt, "C002", 2, "keys of accounting");
    assert!(
        said(&misspelt).contains("event 2 of the list") && said(&misspelt).contains("noise-multiplyer"),
        "{}",
        said(&misspelt)
    );
    refused_with(words, &EVENTS.replace("0.01", "1.5"), "P001", 2, "share of the rows");
    assert!(said(&EVENTS.replace("0.01", "1.5")).contains("event 1 of the list"));
    refused_with(words, &EVENTS.replace("1e1", "1e400"), "C002", 2, "for example");
    refused_with(words, &EVENTS.replacen("substitute", "add-remove", 1), "P005", 2, "separate plan");
    refused_with(words, "[]", "C002", 2, "costs nothing");
    refused_with(words, "{}", "C002", 2, "for example");
    refused_with(&format!("{words} --steps 3"), EVENTS, "C001", 2, "objects of the file");
    refused("account epsilon --delta 1e-5 --events /nowhere/events.json", "C003", 2, "path");
    let unnamed = r#"[{"mechanism": "approximate", "step_epsilon": 0.1, "step_delta": 0, "steps": 2},
        {"mechanism": "gaussian", "noise_multiplier": 2, "steps": 1, "adjacency": "substitute"}]"#;
    refused_with(words, unnamed, "C002", 2, "adjacency");
}

#[test]
fn a_relation_that_was_not_named_is_not_invented() {
    let words = "account epsilon --delta 1e-5 --mechanism approximate --step-epsilon 0.1 --step-delta 1e-8 --steps 10 --accountant basic";
    assert_eq!(object(words)["adjacency"], Value::Null);
    assert!(answer(words).contains("the relation in which ε and δ of each step hold"));
    assert_eq!(object(&format!("{words} --adjacency add-remove"))["adjacency"], "add-remove");
    let answers =
        object("account epsilon --delta 1e-5 --mechanism randomised-response --categories 4 --gamma 0.5 --steps 3");
    assert_eq!((&answers["adjacency"], &answers["noise_multiplier"]), (&"substitute".into(), &Value::Null));
}

#[test]
fn overlap_and_group_cost_more() {
    let cost = |rest: &str| number(&object(&format!("account epsilon --delta 1e-6 --steps 4 {SUM} {rest}")), "epsilon");
    let twice = number(&object(&format!("account epsilon --delta 1e-6 --steps 8 {SUM}")), "epsilon");
    assert!((cost("--overlap 2") / twice - 1.0).abs() < 1e-6);
    assert!(cost("--group 2") > cost("--overlap 2") && cost("--group 1") == cost(""));
    let table = answer(&format!("account epsilon --delta 1e-6 --steps 4 {SUM} --overlap 3 --group 2"));
    assert!(table.contains("up to 3 clients") && table.contains("any 2 rows are protected together"), "{table}");
    refused(&format!("account epsilon --delta 1e-6 --steps 4 {SUM} --group 0"), "P001", 2, "range");
}

#[test]
fn a_profile_is_a_table_and_a_plot() {
    let folder = tempfolder("profile");
    let (csv, svg) = (folder.join("profile.csv"), folder.join("profile.svg"));
    let words = format!(
        "account profile --csv {} --svg {} --epsilons 0.5:2:4 --steps 3 {SUM} --accountant pld,rdp",
        csv.display(),
        svg.display()
    );
    assert_eq!(answer(&words), "");
    let table = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows[0].join(","), rows.len()), ("epsilon,pld_upper,pld_lower,rdp_upper".into(), 5));
    for (row, epsilon) in rows[1..].iter().zip([0.5, 1.0, 1.5, 2.0]) {
        let cells: Vec<f64> = row.iter().map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[0], epsilon);
        assert!(cells[2] <= cells[1] && cells[2] <= cells[3], "{row:?}");
        let single = object(&format!("account delta --epsilon {epsilon} --steps 3 {SUM}"));
        assert_eq!((cells[1], cells[2]), (number(&single, "delta"), number(&single, "delta_lower")));
    }
    let plot = std::fs::read_to_string(svg).unwrap();
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"));
    assert!(plot.contains(">pld<") && plot.contains(">rdp<") && plot.contains("substitute"), "{plot}");

    let short = format!("account profile --epsilons 0.5:2:4 --steps 3 {SUM} --accountant pld,rdp");
    assert_eq!(answer(&short), table, "CSV on standard output is the default");
    assert_eq!(object(&short)["profiles"][1]["accountant"], "rdp");
    assert_eq!(answer(&format!("{short} --svg")), plot);
    refused(&format!("{short} --csv --svg"), "C001", 2, "name a file");
}

#[test]
fn the_examples_of_the_help_run() {
    let help = answer("account --help").replace("\\\n", " ");
    let examples: Vec<&str> =
        help.lines().map(str::trim).filter(|line| line.starts_with("posterity account ")).collect();
    assert_eq!(examples.len(), 3, "{help}");
    for example in examples {
        let words = example.strip_prefix("posterity ").unwrap();
        assert!(answer(words).contains('ε') && object(words)["epsilon"].is_f64());
    }
}

#[test]
fn every_flag_is_explained() {
    for question in ["epsilon", "delta", "calibrate", "steps", "profile"] {
        let help = answer(&format!("account {question} --help"));
        let lines: Vec<&str> = help.lines().collect();
        let flags = lines.iter().enumerate().filter(|(_, line)| line.starts_with("      --"));
        let bare: Vec<&&str> =
            flags.filter(|(at, _)| lines.get(at + 1).is_none_or(|l| l.trim().is_empty())).map(|(_, l)| l).collect();
        assert!(bare.is_empty(), "{question}: {bare:?}");
    }
}

#[test]
fn explain_and_completions_answer() {
    assert!(answer("explain P002").contains("no theorem"));
    assert_eq!(object("explain p002")["code"], "P002");
    assert!(answer("explain").lines().count() >= 17);
    refused("explain P999", "C001", 2, "lists all codes");
    for shell in ["bash", "zsh", "fish"] {
        assert!(answer(&format!("completions {shell}")).contains("posterity"));
    }
    assert_eq!(posterity("").status.code(), Some(2), "help, but not an answer");
    assert!(answer("--help").contains("Exit codes:"));
}

/// A fresh folder of this test binary.
fn tempfolder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
