//! What a newcomer found wrong in secure sums and sufficient statistics, each as a named case.

use crate::common::room::Room;
use serde_json::Value;

const STUDY: &str = r#"schema = 1
[study]
name = "found"
seeds = [1]
[data]
source = "wine-red"
split = { test_rows = 500 }
[partition]
kind = "even"
clients = 4
[model]
kind = "linear"
[[method]]
name = "sum"
algorithm = "statistics"
statistics = { bound = 7.5 }
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, aggregator = "secure-sum", nodes = 3, noise = "skellam", colluders = 1, dropouts = 1 }
"#;

/// The study with one text in place of another.
fn with(name: &str, found: &str, replaced: &str) -> Room {
    assert!(STUDY.contains(found), "{found}");
    Room::new(name, &STUDY.replace(found, replaced))
}

/// `check`, `plan` and `simulate` refuse the study with this code and these words, and the run leaves nothing behind.
fn refused(room: &Room, code: &str, exit: i32, words: &[&str]) {
    for command in
        [["check", "study.toml"].as_slice(), &["plan", "study.toml"], &["simulate", "study.toml", "--out", "out"]]
    {
        let output = room.posterity(command);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{command:?}: {text}");
        assert!(text.contains(&format!("error[{code}]: ")), "{command:?}: {text}");
        let missing = words.iter().find(|words| !text.contains(**words));
        assert_eq!(missing, None, "{command:?}: {text}");
    }
    assert!(!room.0.join("out").exists(), "work was done before the refusal");
}

#[test]
fn more_colluders_and_dropouts_than_clients_allow_are_refused_by_check() {
    let room = with("colluders", "colluders = 1", "colluders = 2");
    refused(&room, "P001", 2, &["study.toml:13:1: method \"sum\"", "clients: 4, colluders: 2", "fewer colluders"]);
    let nodes = with("dropouts", "noise = \"skellam\", colluders = 1, dropouts = 1", "dropouts = 3");
    refused(&nodes, "P001", 2, &["colluders: 0, drop-outs: 3", "more clients in [partition]"]);
    with("enough", "noise = \"skellam\", colluders = 1, dropouts = 1", "dropouts = 2").told(&["check", "study.toml"]);
}

#[test]
fn clients_that_are_not_declared_are_not_taken_for_one() {
    let partition = "[partition]\nkind = \"even\"\nclients = 4\n";
    let study = STUDY.replace(partition, "[partition]\nkind = \"column\"\ncolumn = \"type\"\n");
    let study = study.replace("source = \"wine-red\"", "source = \"csv:no.csv\"\ndeclared_rows = 900");
    let room = Room::new("column", &study.replace("noise = \"skellam\", colluders = 1, ", ""));
    let output = room.posterity(&["plan", "study.toml"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("error[S012]") && text.contains("the number of clients, which is not declared"), "{text}");
}

#[test]
fn a_noise_aware_reading_of_too_many_inputs_is_refused_by_check() {
    let columns: Vec<String> = (0..40).map(|at| format!("x{at}")).collect();
    let numeric =
        |name: &String| format!("{{ name = \"{name}\", kind = \"numeric\", centre = 0, scale = 1, bounds = [-5, 5] }}");
    let listed: Vec<String> = columns.iter().map(numeric).collect();
    let schema = format!(
        "outcome = {{ column = \"y\", bounds = [-5, 5], centre = 0, scale = 1 }}\ncolumn = [{}]\n",
        listed.join(", ")
    );
    let row = vec!["1"; 41].join(",") + "\n";
    let room = with(
        "inputs",
        "source = \"wine-red\"\nsplit = { test_rows = 500 }",
        "source = \"csv:wide.csv\"\nsplit = { test = 0.2 }",
    );
    std::fs::write(room.0.join("wide.csv"), format!("{},y\n{}", columns.join(","), row.repeat(40))).unwrap();
    std::fs::write(room.0.join("wide.toml"), schema).unwrap();
    // Where the reading is left out it is ridge; one that is stated is refused.
    let text = std::fs::read_to_string(room.0.join("study.toml")).unwrap();
    assert!(room.told(&["check", "study.toml"]).contains("statistics.reading = \"ridge\": 41 inputs"));
    let text = text.replace("bound = 7.5", "bound = 7.5, reading = \"noise-aware\"");
    std::fs::write(room.0.join("study.toml"), &text).unwrap();
    refused(&room, "S009", 2, &["method \"sum\": 41 inputs", "at most 40", "reading = \"ridge\""]);
    std::fs::write(room.0.join("study.toml"), text.replace("kind = \"linear\"", "kind = \"linear\"\nbias = false"))
        .unwrap();
    room.told(&["check", "study.toml"]);
}

#[test]
fn more_rows_held_out_than_there_are_is_refused_by_check() {
    let room = with("held-out", "test_rows = 500", "test_rows = 1599");
    for command in ["check", "plan"] {
        let output = room.posterity(&[command, "study.toml"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("error[S004]: study.toml:7:11: test_rows is 1599, and wine-red has 1599 rows"), "{text}");
    }
    let few = with("few", "test_rows = 500", "test_rows = 1597");
    let output = few.posterity(&["check", "study.toml"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("error[S004]") && text.contains("fewer clients"), "{text}");
}

#[test]
fn a_column_with_a_split_of_its_own_is_refused_at_its_own_line() {
    let partition = "[partition]\nkind = \"even\"\nclients = 4\n";
    let column = "[[column]]\nname = \"red\"\npartition = { kind = \"even\", clients = 4 }\n\
                  [[column]]\nname = \"white\"\nsource = \"wine-white\"\nsplit = { test_rows = 9999 }\n\
                  partition = { kind = \"even\", clients = 4 }\n";
    let room = with("column-split", partition, column);
    let output = room.posterity(&["check", "study.toml"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("study.toml:14:11: test_rows is 9999, and wine-white has 4898 rows"), "{text}");
}

#[test]
fn a_noise_multiplier_with_which_no_update_fits_is_refused_by_check() {
    let little = with("little", "epsilon = 1.0", "epsilon = 1.0, noise_multiplier = 0.01");
    refused(&little, "P006", 3, &["method \"sum\"", "granted ε = 1", "leave noise_multiplier out"]);
    let much = with("much", "epsilon = 1.0", "epsilon = 1.0, noise_multiplier = 1e9");
    refused(&much, "P001", 2, &["method \"sum\"", "standard deviation of a noise share", "leave noise_multiplier out"]);
}

#[test]
fn an_assumed_bound_is_seen_beside_the_ranges_of_the_schema() {
    let notes = |room: &Room, command| {
        let told = room.answer(&[command, "study.toml", "--json"]);
        let shown = room.told(&[command, "study.toml"]);
        let notes = told["notes"].as_array().unwrap().clone();
        assert_eq!(shown.lines().filter(|line| line.starts_with("note ")).count(), notes.len(), "{shown}");
        notes.iter().map(|note| note.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for command in ["check", "plan"] {
        let small = notes(&with("small", "bound = 7.5", "bound = 7.5"), command);
        assert!(
            matches!(&small[..], [note] if note.contains("`residual_sugar`") && note.contains("beyond the assumed ±7.5 are cut")),
            "{small:?}"
        );
        let large = notes(&with("large", "bound = 7.5", "bound = 100"), command);
        assert!(
            matches!(&large[..], [note] if note.contains("no value is beyond ±8.87") && note.contains("less noise")),
            "{large:?}"
        );
        assert!(notes(&with("right", "bound = 7.5", "bound = 8.8767"), command).is_empty());
        assert!(notes(&with("known", "{ bound = 7.5 }", "{ deviations = \"known\" }"), command).is_empty());
    }
}

#[test]
fn a_bound_that_cuts_the_bias_is_refused() {
    let room = with("bias", "{ bound = 7.5 }", "{ rule = \"plain\", bound = 0.5 }");
    refused(&room, "S009", 2, &["study.toml:16:32", "the intercept is an input that is always 1", "bias = false"]);
    let study = STUDY.replace("{ bound = 7.5 }", "{ rule = \"plain\", bound = 0.5 }");
    Room::new("no-bias", &study.replace("kind = \"linear\"", "kind = \"linear\"\nbias = false"))
        .told(&["check", "study.toml"]);
}

#[test]
fn the_old_words_for_noise_shares_are_answered_with_the_new() {
    let new = "aggregator = \"secure-sum\", nodes = 3, noise = \"skellam\", colluders = 1, dropouts = 1";
    let old = ["aggregator = { shares = { colluders = 1, dropouts = 1 } }", "aggregator = \"shares\""];
    for (name, old) in ["table", "word"].into_iter().zip(old) {
        let room = with(name, new, old);
        let hint = "aggregator = \"secure-sum\", nodes = 2, noise = \"discrete-gaussian\"";
        refused(&room, "S002", 2, &["aggregator is \"shares\"", hint, "colluders = 0, dropouts = 0"]);
    }
}

#[test]
fn what_bounds_a_row_is_said_in_the_words_of_the_rule() {
    let rules = [
        ("{ bound = 7.5 }", "sums of squares, values cut to ±7.5", "in units of their standard deviations"),
        (
            "{ deviations = \"known\" }",
            "sums of outer products, rows scaled down",
            "rows scaled down to a norm of 0.866·√(d + 1)",
        ),
        ("{ rule = \"plain\", bound = 7.5 }", "sums of products, values cut to ±7.5", "values cut to ±7.5, noise"),
        (
            "{ rule = \"projected\", bound = 7.5 }",
            "values projected to fractions of their standard deviations",
            "fractions of these",
        ),
    ];
    for (at, (rule, planned, checked)) in rules.into_iter().enumerate() {
        let room = with(&format!("rule-{at}"), "{ bound = 7.5 }", rule);
        let (plan, check) = (room.told(&["plan", "study.toml"]), room.told(&["check", "study.toml"]));
        assert!(plan.contains(planned) && !plan.contains("clipped at 1"), "{rule}: {plan}");
        assert!(check.contains(checked) && !check.contains("clipped to 1,"), "{rule}: {check}");
    }
}

#[test]
fn a_mean_field_posterior_by_statistics_is_refused_and_a_full_one_is_not() {
    let room = with("mean-field", "algorithm =", "covariance = \"mean-field\"\nalgorithm =");
    refused(&room, "S009", 2, &["study.toml:15:1", "has a full covariance", "covariance = \"full\""]);
    with("full", "algorithm =", "covariance = \"full\"\nalgorithm =").told(&["check", "study.toml"]);
}

#[test]
fn results_and_plan_have_the_four_keys_of_a_secure_sum_and_count_its_seeds() {
    let room = Room::new("keys", STUDY);
    let keys = |privacy: &Value| ["nodes", "noise", "colluders", "dropouts"].map(|key| privacy[key].to_string());
    let expected = ["3", "\"skellam\"", "1", "1"];
    let plan = room.answer(&["plan", "study.toml", "--json"]);
    let planned = &plan["methods"][0];
    assert_eq!(
        (&planned["privacy"]["aggregator"], keys(&planned["privacy"])),
        (&"secure-sum".into(), expected.map(String::from))
    );
    let run = room.answer(&["simulate", "study.toml", "--out", "out", "--json"]);
    assert_eq!(keys(&run["methods"][0]["privacy"]), expected, "{run}");
    assert!(run["methods"][1]["privacy"].is_null());
    // 12 parameters and the outcome: 13 squares, then 91 outer products; a seed of 16 bytes to each of two nodes.
    assert_eq!(planned["bytes_per_message"], 8 * 91 + 2 * 16);
    assert_eq!(run["methods"][0]["bytes"], f64::from(4 * (8 * (13 + 91) + 2 * 2 * 16)));
    let told = room.told(&["plan", "study.toml"]);
    assert!(told.contains("at most 8 of up to 760 bytes: 728 of numbers to one node, 32 of seeds to 2 more"), "{told}");
    let page = std::fs::read_to_string(room.0.join("out/report.html")).unwrap();
    assert!(page.contains("in units of their standard deviations") && !page.contains("clipping bound 1,"));
    assert!(page.contains("seeds of a secure sum included"));
    let read: Value = serde_json::from_slice(&std::fs::read(room.0.join("out/results.json")).unwrap()).unwrap();
    room.told(&["report", "out"]);
    assert_eq!(read["methods"][0]["privacy"]["nodes"], 3);
}

#[test]
fn rows_that_are_noised_one_by_one_are_counted_one_by_one() {
    let sum = "aggregator = \"secure-sum\", nodes = 3, noise = \"skellam\", colluders = 1, dropouts = 1";
    let study =
        STUDY.replace("{ bound = 7.5 }", "{ rule = \"inputs\", bound = 7.5 }").replace(sum, "aggregator = \"none\"");
    let plan = Room::new("inputs", &study).answer(&["plan", "study.toml", "--json"]);
    assert_eq!(plan["methods"][0]["bytes_per_message"], 8 * 13 * 275, "1,099 rows, at most 275 of a client: {plan}");
}

#[test]
fn the_page_of_one_seed_has_values_and_no_spread_and_says_each_thing_once() {
    let figure = "[[figure]]\nalong = \"ε\"\nscore = \"absolute-error\"\nmethods = [\"sum\", \"non-private\"]\n";
    let partition = "[partition]\nkind = \"even\"\nclients = 4\n";
    let columns = ["red", "again"]
        .map(|name| format!("[[column]]\nname = \"{name}\"\npartition = {{ kind = \"even\", clients = 4 }}\n"));
    let study = STUDY.replace("epsilon = 1.0", "epsilon = [0.5, 1.0]").replace(partition, &columns.concat());
    let page = |name: &str, study: &str| {
        let room = Room::new(name, study);
        let told = room.told(&["reproduce", "study.toml", "--out", "out"]);
        (told, std::fs::read_to_string(room.0.join("out/index.html")).unwrap())
    };
    let (told, html) = page("one-seed", &format!("{study}{figure}"));
    assert!(told.contains(" MAE  coverage") && !told.contains("25 %"), "{told}");
    assert!(!html.contains("edian") && !html.contains("uartile") && !html.contains("class=\"bar\""), "{html}");
    assert!(html.contains("One seed was run") && html.contains("<h1>found</h1>"), "{html}");
    assert_eq!(html.matches("<h3>Mean absolute error by ε</h3>").count(), 1, "two panels, one heading");
    let (told, html) = page("two-seeds", &format!("{study}{figure}").replace("seeds = [1]", "seeds = [1, 2]"));
    assert!(told.contains("25 %") && html.contains("quartiles") && html.contains("class=\"bar\""), "{html}");
}

#[test]
fn methods_that_promise_the_same_are_told_so_once_in_a_report() {
    let second = STUDY
        .split_once("[[method]]")
        .unwrap()
        .1
        .replace("\"sum\"", "\"ridge\"")
        .replace("bound = 7.5", "bound = 7.5, reading = \"ridge\"");
    let room = Room::new("promises", &format!("{STUDY}[[method]]{second}"));
    room.told(&["simulate", "study.toml", "--out", "out"]);
    let page = std::fs::read_to_string(room.0.join("out/report.html")).unwrap();
    assert_eq!(page.matches("Promised: (1, 1e-5)-DP per row").count(), 1, "{page}");
    assert!(page.contains("<dt>sum and ridge</dt>") && !page.contains("do not all promise the same"), "{page}");
}

#[test]
fn explain_has_words_for_what_secure_sums_and_statistics_are_refused_for() {
    let room = Room::new("explain", STUDY);
    let words = [
        ("P001", "colluders and drop-outs"),
        ("P006", "omit noise_multiplier"),
        ("P013", "at most `dropouts` clients"),
        ("P016", "node"),
        ("R002", "noise-aware reading"),
        ("S002", "secure-sum"),
        ("S004", "2 to 256 nodes"),
        ("S006", "Sufficient statistics"),
        ("S007", "secure sum"),
        ("S008", "sufficient statistics"),
        ("S009", "full covariance. The noise-aware reading"),
        ("S011", "nodes of a secure sum"),
        ("S012", "clients of a secure sum"),
    ];
    for (code, words) in words {
        let told = room.told(&["explain", code]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{code}: {told}");
    }
}
