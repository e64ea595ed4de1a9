//! What a newcomer found wrong in `posterity account`, each as a named case.

use crate::common::{SAMPLED, SUM, answer, number, object, piped, posterity, refused, refused_with};

const FIXED: &str = "--mechanism gaussian --noise-multiplier 2 --steps 10 --sampling without-replacement --rate 0.1 \
                     --adjacency substitute";
const CLONES: &str = "--mechanism shuffle-clones --users 10000 --local-epsilon 4 --steps 16";
const WORST: &str = "of the worst case that the theorem allows (dominating pair) lies in [";

#[test]
fn an_upper_bound_is_not_called_two_sided_where_delta_is_small() {
    let plan = "--mechanism gaussian --noise-multiplier 2 --steps 1 --adjacency add-remove";
    for accountant in ["rdp", "moments", "zcdp"] {
        let words = format!("account delta --epsilon 12 {plan} --accountant {accountant}");
        let found = object(&words);
        assert!(number(&found, "delta") < 1e-11, "{found}");
        // The moments accountant is that of a paper.
        let (code, told) = match accountant {
            "moments" => ("as-published", "as published (moments): δ = "),
            _ => ("upper", "certified, upper bound only ("),
        };
        assert_eq!((&found["certified"], number(&found, "delta_lower")), (&code.into(), 0.0), "{found}");
        let table = answer(&words);
        assert!(table.contains(told) && (code == "upper") == table.contains("the true δ is at most"), "{table}");
    }
    let found = object(&format!("account delta --epsilon 12 {plan} --accountant gdp"));
    assert_eq!(found["certified"], "two-sided", "{found}");
}

#[test]
fn the_columns_of_a_profile_do_not_depend_on_the_range() {
    let header = |range: &str| {
        let words = format!("account profile --epsilons {range} --steps 1 {SUM} --accountant pld,rdp,gdp,zcdp");
        answer(&words).lines().next().unwrap().to_owned()
    };
    let expected = "epsilon,pld_upper,pld_lower,rdp_upper,gdp_upper,gdp_lower,zcdp_upper";
    assert_eq!((header("0.5:1:2").as_str(), header("8:20:2").as_str()), (expected, expected));
}

#[test]
fn an_interval_of_a_dominating_pair_is_not_called_the_true_epsilon() {
    for plan in [FIXED, CLONES, "--mechanism approximate --step-epsilon 0.1 --step-delta 1e-8 --steps 10"] {
        let words = format!("account epsilon --delta 1e-6 {plan}");
        let (table, found) = (answer(&words), object(&words));
        assert!(table.contains(WORST) && !table.contains("the true ε lies"), "{table}");
        assert!(table.contains("dominating pair: "), "{table}");
        assert_eq!(found["of"], "worst pair", "{found}");
    }
    let words = format!("account epsilon --delta 1e-6 --steps 3 {SUM}");
    assert!(answer(&words).contains("the true ε lies in ["));
    assert_eq!(object(&words)["of"], "mechanism");
}

#[test]
fn a_pair_is_not_spoken_of_where_no_interval_is_printed() {
    let words = "account epsilon --delta 1e-6 --mechanism approximate --step-epsilon 0.1 --step-delta 1e-9 --steps 10 \
                 --accountant basic";
    let table = answer(words);
    assert!(table.contains("upper bound only") && !table.contains("dominating pair"), "{table}");
    assert_eq!(object(words)["of"], "mechanism");
}

#[test]
fn a_key_that_stands_twice_in_an_event_is_refused() {
    let words = "account epsilon --delta 1e-5 --events -";
    for twice in [r#""steps": 1, "steps": 100"#, r#""steps": 100, "noise_multiplier": 9"#] {
        let list =
            format!(r#"[{{"mechanism": "gaussian", "noise_multiplier": 2, {twice}, "adjacency": "substitute"}}]"#);
        refused_with(words, &list, "C002", 2, "a key stands once");
        let said = String::from_utf8(piped(words, &list).stderr).unwrap();
        assert!(said.contains("duplicate field `"), "{said}");
    }
}

#[test]
fn success_of_verify_is_said() {
    let words = format!("account epsilon --delta 1e-5 {}", SAMPLED.replace("1e4", "100"));
    let (table, found) = (answer(&format!("{words} --verify")), object(&format!("{words} --verify")));
    assert!(table.contains("verified: contour and FFT intervals intersect\n"), "{table}");
    assert_eq!(found["verified"], true, "{found}");
    assert_eq!(object(&words)["verified"], false);
    assert!(!answer(&words).contains("verified:"));
    let closed = answer(&format!("account epsilon --delta 1e-5 --steps 3 {SUM} --verify"));
    assert!(closed.contains("verified: two evaluators"), "{closed}");
}

#[test]
fn verify_without_a_second_evaluator_says_to_leave_it_out() {
    let hint = "this plan has one evaluator only; leave --verify out";
    refused(&format!("account epsilon --delta 1e-6 {CLONES} --verify"), "P004", 3, hint);
    let laplace = "--mechanism laplace --noise-multiplier 2 --steps 3 --adjacency substitute";
    refused(&format!("account epsilon --delta 0 {laplace} --verify"), "P004", 3, hint);
    let steps = CLONES.replace(" --steps 16", "");
    refused(&format!("account steps --epsilon 1 --delta 1e-6 {steps} --verify"), "P004", 3, hint);
    refused(&format!("account epsilon --delta 1e-6 --steps 3 {SUM} --accountant rdp --verify"), "C001", 2, "pld");
    assert!(answer("explain P004").contains("--verify"));
}

#[test]
fn verify_of_a_profile_is_refused_in_clear_words() {
    refused(&format!("account profile --steps 1 {SUM} --verify"), "C001", 2, "`account epsilon`");
}

#[test]
fn the_largest_number_of_steps_that_is_asked_is_not_called_the_most() {
    let plan = "--mechanism gaussian --noise-multiplier 1e9 --adjacency substitute";
    let table = answer(&format!("account steps --epsilon 10 --delta 1e-5 {plan}"));
    assert!(table.contains("at least 10^12 (the largest that is asked) fit within ε = 10"), "{table}");
    let table = answer(&format!("account steps --epsilon 20 --delta 1e-5 {SUM}"));
    assert!(!table.contains("at least"), "{table}");
}

#[test]
fn clients_are_not_called_rows() {
    let client = format!("account epsilon --delta 1e-5 {} --unit client", SAMPLED.replace("1e4", "10"));
    let table = answer(&client);
    assert!(table.contains("each client is in a step with probability 0.01"), "{table}");
    assert!(table.contains("client: all rows of one client are protected\n"), "{table}");
    let table = answer(&format!("account epsilon --delta 1e-5 --steps 1 {SUM} --unit client --group 3"));
    assert!(table.contains("client: any 3 clients with all their rows are protected together"), "{table}");
    assert!(table.contains("every client takes part"), "{table}");
}

#[test]
fn one_step_too_many_has_a_hint_of_its_own() {
    refused(&format!("account steps --epsilon 0.1 --delta 1e-5 {SUM}"), "P006", 3, "account calibrate");
}

#[test]
fn the_texts_of_codes_name_the_ranges_that_are_checked() {
    assert!(answer("explain P001").contains("from 1e-9 to 1"));
    let rate = |q: &str| format!("account epsilon --delta 1e-5 {}", SAMPLED.replace("0.01", q).replace("1e4", "1"));
    refused(&rate("9e-10"), "P001", 2, "share of the rows");
    answer(&rate("1e-9"));
    assert!(answer("explain P002").contains("Laplace"));
}

#[test]
fn an_accountant_named_twice_is_refused() {
    refused(&format!("account profile --steps 1 {SUM} --accountant pld,pld"), "C001", 2, "each accountant once");
}

#[test]
fn a_range_the_wrong_way_round_is_called_that() {
    for (range, words) in [("4:1:4", "MIN > MAX"), ("2:2:4", "MIN = MAX")] {
        let said = posterity(&format!("account profile --epsilons {range} --steps 1 {SUM}")).stderr;
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn long_numbers_are_cut_and_a_hyphen_is_called_standard_input() {
    let long = "9".repeat(5000);
    let said = posterity(&format!("account epsilon --delta {long} --steps 1 {SUM}")).stderr;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("999…") && said.len() < 500, "{said}");
    let said = piped("account epsilon --delta 1e-5 --events -", "{}").stderr;
    assert!(String::from_utf8(said).unwrap().contains("standard input is not a JSON list"));
}

#[test]
fn the_table_says_when_to_use_an_accountant_and_counts_one_step() {
    let table = answer(&format!("account epsilon --delta 1e-5 --steps 1 {SUM}"));
    assert!(table.contains("pld: privacy loss distribution; the first choice"), "{table}");
    let plot = answer(&format!("account profile --epsilons 1:2:2 --steps 1 {SUM} --svg"));
    assert!(plot.contains(">1 step of Gaussian") && !plot.contains("1 steps"), "{plot}");
    let unnamed = "--mechanism approximate --step-epsilon 0.1 --step-delta 0 --steps 1";
    let plot = answer(&format!("account profile --epsilons 0.01:0.05:2 {unnamed} --svg"));
    assert!(plot.contains(">1 step of an"), "{plot}");
}

/// Paper II at its own settings: as printed, by Rényi divergences, and by the loss distribution.
#[test]
fn barker_tests_are_accounted_by_three_theorems() {
    let plan = "--mechanism barker --batch 1000 --rows 1000000 --steps 20000";
    for (accountant, expected) in [("barker2019", 1.0004), ("rdp", 0.161_97), ("pld", 0.030_712)] {
        let found = object(&format!("account epsilon --delta 1e-6 {plan} --accountant {accountant}"));
        assert!((number(&found, "epsilon") / expected - 1.0).abs() < 5e-5, "{found}");
        let certified = if accountant == "barker2019" { "as-published" } else { "upper" };
        assert_eq!((&found["mechanism"], &found["certified"]), (&"barker".into(), &certified.into()), "{found}");
        assert_eq!((&found["sampling"], number(&found, "rate")), (&"without-replacement".into(), 1e-3), "{found}");
    }
    let words = "account steps --epsilon 0.1 --delta 1e-6 --mechanism barker --batch 1000 --rows 1000000";
    assert!(number(&object(words), "steps") > 20_000.0);
}

#[test]
fn what_the_published_theorem_does_not_know_is_refused() {
    let known = "it supports Barker tests on at least 11 rows";
    refused(&format!("account epsilon --delta 1e-6 {SAMPLED} --accountant barker2019"), "P003", 3, known);
    let base = "account epsilon --delta 1e-6 --mechanism barker --batch 100 --steps 2";
    let small = "account epsilon --delta 1e-6 --mechanism barker --batch 10 --rows 100 --steps 2";
    refused(&format!("{small} --accountant barker2019"), "P003", 3, known);
    refused(base, "C001", 2, "rows that a batch is drawn from");
    refused(&format!("{base} --rows 50"), "P001", 2, "");
    refused(&format!("{base} --rows 500 --rate 0.2"), "C001", 2, "--batch, --rows, --steps");
    refused(&format!("{base} --rows 500 --adjacency add-remove"), "P002", 3, "substitute");
}

#[test]
fn a_misspelt_command_is_answered_by_the_one_that_was_meant() {
    for (typed, meant) in [("rnu study.toml", "run"), ("agent rnu", "run"), ("perdict", "predict"), ("lst", "list")] {
        let words = if meant == "list" { format!("datasets {typed}") } else { typed.to_owned() };
        let output = posterity(&words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        let hint = told.lines().find(|line| line.starts_with("hint: ")).unwrap();
        assert!(hint.contains(&format!("`{meant}`")) || hint.contains(&format!("'{meant}'")), "{words}: {told}");
    }
    let told = String::from_utf8(posterity("wombat").stderr).unwrap();
    assert!(!told.contains("similar"), "{told}");
}
