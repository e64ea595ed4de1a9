//! Baselines end at an optimum whatever the inputs' units, and it is that of scikit-learn and statsmodels.
#![allow(clippy::disallowed_methods)] // the vectors are of bundled tables, which are read here

use crate::common::{logistic, open_pvi, rows, simulation, site, sites};
use inference::settings::Schedule;
use inference::{
    Encoded, Fits, Linear, Logistic, Model, PriorTerm, RowReading, Rows, Schema, Simulation, Softmax, mode, read,
};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Written by the packages that its `origin` names.
const VECTORS: &str = include_str!("vectors/baselines.json");

/// The variance of the linear model of the vectors.
const NOISE: f64 = 0.5;

/// In place of no prior at all, which nothing here has: smaller, and the softmax's common shift is lost in rounding.
const NEXT_TO_NOTHING: f64 = 1e-5;

/// One case of the vectors with its rows.
struct Case {
    name: String,
    model: Arc<dyn Model>,
    /// Classes that have coefficients of their own.
    classes: usize,
    precision: f64,
    coefficients: Vec<f64>,
    trained: f64,
    held_out: f64,
    train: Rows,
    test: Rows,
}

fn cases(of: &str) -> Vec<Case> {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let all = vectors["cases"].as_array().unwrap().iter();
    all.filter(|case| case["model"] == of).map(|case| opened(&vectors["sets"][of], case)).collect()
}

fn opened(set: &Value, case: &Value) -> Case {
    let of = case["model"].as_str().unwrap();
    let table = table(set, case["inputs"].as_str().unwrap());
    let (train, test): (Vec<usize>, Vec<usize>) = (0..table.rows.len()).partition(|row| row % 5 != 4);
    let model: Arc<dyn Model> = match of {
        "logistic" => Arc::new(Logistic::default()),
        "linear" => Arc::new(Linear::known(NOISE)),
        _ => Arc::new(Softmax { classes: 3 }),
    };
    let number = |key: &str| case[key].as_f64().unwrap();
    Case {
        name: format!("{of}, inputs {}, {}", case["inputs"], case["by"]),
        model,
        classes: if of == "softmax" { 3 } else { 1 },
        precision: if number("precision") == 0.0 { NEXT_TO_NOTHING } else { number("precision") },
        coefficients: case["coefficients"].as_array().unwrap().iter().map(|c| c.as_f64().unwrap()).collect(),
        trained: number("trained"),
        held_out: number("held_out"),
        train: table.rows.select(&train),
        test: table.rows.select(&test),
    }
}

/// A bundled table by a schema in which numbers are so many times as long as there, or as they stand in the file.
fn table(set: &Value, inputs: &str) -> Encoded {
    let longer: Option<f64> = inputs.parse().ok();
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../data/{}.csv.gz", set["data"].as_str().unwrap()));
    let outcome = match set["levels"].as_array() {
        Some(_) => format!("levels = {}", set["levels"]),
        None => format!("bounds = [-1e9, 1e9], centre = {}, scale = {}", set["centre"], set["scale"]),
    };
    let columns = set["columns"].as_array().unwrap().iter().map(|column| {
        let (centre, scale) = (column["centre"].as_f64().unwrap(), column["scale"].as_f64().unwrap());
        let (centre, scale) = longer.map_or((0.0, 1.0), |longer| (centre, scale / longer));
        let flag = if column["flag"] == true { ", missing = \"flag\"" } else { "" };
        let (name, bounds) = (&column["name"], "bounds = [-1e9, 1e9]");
        format!("{{ name = {name}, kind = \"numeric\", centre = {centre:?}, scale = {scale:?}, {bounds}{flag} }}")
    });
    let columns: Vec<String> = columns.collect();
    let named =
        |name: &str| set["outcome"] == name || set["columns"].as_array().unwrap().iter().any(|c| c["name"] == name);
    let mut head = String::new();
    let unzipped = flate2::read::GzDecoder::new(std::fs::File::open(&file).unwrap());
    std::io::BufRead::read_line(&mut std::io::BufReader::new(unzipped), &mut head).unwrap();
    let ignored = head.trim().split(',').filter(|name| !named(name));
    let ignored: Vec<String> = ignored.map(|name| format!("{{ name = {name:?}, kind = \"ignore\" }}")).collect();
    let outcome = format!("outcome = {{ column = {}, {outcome} }}", set["outcome"]);
    let schema = format!("{outcome}\ncolumn = [{}]\n", [columns, ignored].concat().join(", "));
    read(std::fs::File::open(file).unwrap(), &Schema::from_toml(&schema).unwrap(), true, &[], RowReading::Strict)
        .unwrap()
}

/// Coefficients of each class less those of the first: what a softmax is determined by where no prior holds the others.
fn less_the_first(theta: &[f64], classes: usize) -> Vec<f64> {
    let width = theta.len() / classes;
    theta.iter().enumerate().map(|(j, t)| t - theta[j % width]).collect()
}

/// The mode of each case is the package's: within a thousandth of a deviation in every coefficient, and in log-likelihoods.
fn agrees(of: &str) {
    for case in cases(of) {
        let width = case.train.width();
        let precisions = vec![case.precision; case.coefficients.len()];
        let prior = PriorTerm::independent(vec![0.0; precisions.len()], precisions).unwrap();
        let found = mode(case.model.as_ref(), &case.train, &prior).unwrap();
        let penalised = case.precision > NEXT_TO_NOTHING;
        let (ours, theirs) = match penalised || case.classes == 1 {
            true => (found.q.mean().to_vec(), case.coefficients.clone()),
            false => (less_the_first(found.q.mean(), 3), less_the_first(&case.coefficients, 3)),
        };
        assert_eq!(found.fit.converged, Some(true), "{}: {:?}", case.name, found.fit);
        let off = ours.iter().zip(&theirs).zip(found.q.deviations()).map(|((a, b), s)| (a - b).abs() / s);
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-3, "{}: {off} deviations of {width} inputs", case.name);
        for (rows, expected) in [(&case.train, case.trained), (&case.test, case.held_out)] {
            let mean = case.model.log_likelihood(rows, found.q.mean()) / rows.len() as f64;
            assert!((mean - expected).abs() < 1e-6, "{}: {mean} {expected}", case.name);
        }
    }
}

#[test]
fn a_logistic_mode_is_that_of_scikit_learn_and_statsmodels_at_every_scale_of_inputs() {
    agrees("logistic");
}

#[test]
fn a_linear_mode_is_that_of_scikit_learn_and_statsmodels_at_every_scale_of_inputs() {
    agrees("linear");
}

#[test]
fn a_softmax_mode_is_that_of_scikit_learn_and_statsmodels_at_every_scale_of_inputs() {
    agrees("softmax");
}

/// The non-private baseline is a posterior, not a mode: its mean is near the mode, and it predicts as well.
#[test]
fn the_non_private_baseline_converges_in_raw_units_and_predicts_as_scikit_learn_does() {
    let method = open_pvi(Schedule::Sequential);
    for of in ["logistic", "linear", "softmax"] {
        // Expectations of a softmax are means over draws, and take their time.
        let few = |case: &Case| of != "softmax" || case.name.contains("raw");
        for case in cases(of).into_iter().filter(|case| case.precision == 1.0 && few(case)) {
            let sites = [site("all", case.train)];
            let simulation = Simulation {
                model: case.model.clone(),
                prior: case.precision.into(),
                ..simulation(&method, &sites, &case.test)
            };
            let record = simulation.non_private().unwrap();
            let fit = record.fit.unwrap();
            assert_eq!(fit.converged, Some(true), "{}: {fit:?}", case.name);
            assert!((1..60).contains(&fit.steps), "{}: {fit:?}", case.name);
            assert!((record.scores.main().unwrap() - case.held_out).abs() < 0.01, "{}: {record:?}", case.name);
            let off = record.posterior.mean().iter().zip(&case.coefficients).zip(record.posterior.deviations());
            let off = off.map(|((a, b), s)| (a - b).abs() / s).fold(0.0, f64::max);
            assert!(off < 0.35, "{}: {off} deviations", case.name);
        }
    }
}

/// Each site fits rows in raw units too, and says how many steps that took.
#[test]
fn local_fits_in_raw_units_converge() {
    let method = open_pvi(Schedule::Sequential);
    let case = cases("logistic").into_iter().find(|case| case.name.contains("raw")).unwrap();
    let (one, two): (Vec<usize>, Vec<usize>) = (0..case.train.len()).partition(|row| row % 7 == 0);
    let sites = [site("one", case.train.select(&one)), site("two", case.train.select(&two))];
    let record = simulation(&method, &sites, &case.test).local_only().unwrap();
    assert_eq!(record.fit.unwrap().converged, Some(true), "{:?}", record.fit);
    assert!(*record.scores.main().unwrap() > -0.6, "{:?}", record.scores);
}

/// Outcomes that no sum of finite numbers explains: a column so long that its square has no finite value.
#[test]
fn a_search_that_finds_no_optimum_says_so() {
    let method = open_pvi(Schedule::Sequential);
    let mut long = Rows::new(1, 1).unwrap();
    for i in 0..4 {
        let x = [if i % 2 == 0 { 1e200 } else { -1e200 }];
        long.push(inference::Row { numbers: &x, ones: &[], outcome: f64::from(i % 3 == 0) }).unwrap();
    }
    let (sites, test) = ([site("one", long.clone())], long);
    let record = simulation(&method, &sites, &test).non_private().unwrap();
    assert_eq!(record.fit.unwrap().converged, Some(false));
}

/// What networks are fitted by has no test of its own: so many steps.
#[test]
fn a_fit_by_a_number_of_steps_claims_no_convergence() {
    let method = open_pvi(Schedule::Sequential);
    let (sites, test) = ([site("one", rows(30, 1))], rows(5, 2));
    let network = inference::Network { hidden: vec![2], output: inference::Output::Binary, draws: 1, seed: 5 };
    let simulation = Simulation { model: Arc::new(network), ..simulation(&method, &sites, &test) };
    let fit = simulation.non_private().unwrap().fit.unwrap();
    assert_eq!((fit.steps, fit.converged), (1000, None));
}

/// One fit for each set of rows: whoever deals them, and however often it is asked for.
#[test]
fn the_same_rows_are_fitted_once_and_dealt_otherwise_give_the_same_bits() {
    let (method, sites, test) = (open_pvi(Schedule::Sequential), sites(), rows(20, 9));
    let simulation = Simulation { model: logistic(), ..simulation(&method, &sites, &test) };
    let (fits, source) = (Fits::default(), [1; 32]);
    let first = simulation.local_only_by(&fits, source).unwrap();
    assert_eq!(fits.len(), 3);
    let other_seed = Simulation { seed: 77, ..simulation.clone() };
    assert_eq!(other_seed.local_only_by(&fits, source).unwrap().posterior, first.posterior);
    assert_eq!(fits.len(), 3);
    let all = simulation.non_private_by(&fits, source).unwrap();
    assert_eq!(other_seed.non_private_by(&fits, source).unwrap().posterior, all.posterior);
    assert_eq!(fits.len(), 4);
    assert_eq!(simulation.non_private().unwrap(), all, "kept or not, the same record");
    let flatter = Simulation { prior: 0.5.into(), ..simulation.clone() };
    assert_ne!(flatter.non_private_by(&fits, source).unwrap().posterior, all.posterior);
    assert_ne!(simulation.non_private_by(&fits, [2; 32]).unwrap().seed, 78);
    assert_eq!(fits.len(), 6);
}

/// A method that learns the outcome's variance is compared with baselines that learn it too, and not with ones that take it from a
/// default: wine and abalone by sufficient statistics were .07 to .11 nats "better than without privacy".
#[test]
fn baselines_of_a_linear_model_learn_the_variance_that_a_study_leaves_out() {
    let method = open_pvi(Schedule::Sequential);
    let cases = cases("linear");
    let (train, test) = (&cases[0].train, &cases[0].test);
    let sites = [site("one", train.clone())];
    let with = |model: Linear| Simulation { model: Arc::new(model), ..simulation(&method, &sites, test) };
    let (open, stated) = (with(Linear::open(1.0)), with(Linear::known(1.0)));
    let found = open.non_private().unwrap();
    let variance = found.outcome_variance.unwrap();

    // The variance solves its own equation: (s₀² + ½ Σ E(y − xᵀθ)²) / (1 + n/2), at the posterior given that variance.
    let given = with(Linear::known(variance)).non_private().unwrap();
    let projections = given.posterior.projections();
    let squares: f64 = train
        .iter()
        .map(|row| {
            let (mean, spread) = projections.of(&row);
            (row.outcome - mean).powi(2) + spread
        })
        .sum();
    let solved = (1.0 + 0.5 * squares) / (1.0 + 0.5 * train.len() as f64);
    assert!((solved / variance - 1.0).abs() < 1e-6, "{solved} {variance}");
    assert!((found.scores.main().unwrap() - given.scores.main().unwrap()).abs() < 1e-6);

    let known = stated.non_private().unwrap();
    assert_eq!(known.outcome_variance, None, "a stated variance stays");
    let [open_scores, known_scores] = [&found.scores, &known.scores].map(|scores| *scores.main().unwrap());
    assert!(open_scores > known_scores + 0.02, "{open_scores} {known_scores}, variance {variance}");
    let [open_alone, known_alone] = [&open, &stated].map(|s| *s.local_only().unwrap().scores.main().unwrap());
    assert!(open_alone > known_alone + 0.02, "each site learns it too: {open_alone} {known_alone}");
    assert_eq!(open.exact_posterior().unwrap(), None, "no closed form where the variance is not known");
}
