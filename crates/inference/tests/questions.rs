//! Questions and terms that no honest server sends are refused before the ledger is charged, and alike whatever the rows
//! hold.

use crate::common::variants::variants;
use crate::common::{
    adam, algorithm_of, method, methods, model_of, private_methods, promise, pvi, rows, simulation, site, sites,
    statistics_methods,
};
use inference::algorithm::chain::{ChainQuestion as ChainAsked, KernelQuestion as ChainQuestion};
use inference::algorithm::levels::{AskedInputs, LevelsQuestion};
use inference::algorithm::{LevelQuestion, PviState, SumKind};
use inference::message::{Ask, Receipt};
use inference::settings::{Aggregator, Batching, Local, Schedule};
use inference::solve::{Descend, RowSums};
use inference::testing::{self, first_terms, reply, right_question};
use inference::{Client, ClientView, Method, RowStatistics, Rows, SimulationContext, Stage, Terms};
use privacy::{Adjacency, Grain, Grant, Grid, NormBound, Shape};
use std::collections::BTreeSet;

/// The largest natural parameter that is answered.
const LARGEST: f64 = (1_u64 << 36) as f64;

fn of_numbers(numbers: &[f64]) -> Vec<u8> {
    postcard::to_allocvec(numbers).unwrap()
}

fn of_standing(mean: &[f64], deviation: &[f64]) -> Vec<u8> {
    postcard::to_allocvec(&(mean, deviation)).unwrap()
}

/// The numbers with another one at a place.
fn with(numbers: &[f64], at: usize, number: f64) -> Vec<f64> {
    let mut changed = numbers.to_vec();
    changed[at] = number;
    changed
}

/// Steps that a chain never makes.
fn wrong_steps(right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let of = |question: ChainQuestion| postcard::to_allocvec(&ChainAsked::Step(question)).unwrap();
    let slope = |at: Vec<f64>| of(ChainQuestion::Slope { at });
    let ratio = |from: Vec<f64>, to: Vec<f64>| of(ChainQuestion::Ratio { from, to });
    let theta = vec![0.1; 5];
    let (short, odd, far) = (theta[1..].to_vec(), with(&theta, 1, f64::NAN), with(&theta, 4, f64::INFINITY));
    let cut = ("cut off", right[..right.len() - 1].to_vec());
    match postcard::from_bytes(right).unwrap() {
        ChainAsked::Step(ChainQuestion::Slope { .. }) => {
            vec![cut, ("a parameter less", slope(short)), ("not a number", slope(odd)), ("infinite", slope(far))]
        }
        _ => vec![
            cut,
            ("a parameter less", ratio(short, theta.clone())),
            ("a parameter more", ratio(theta.clone(), vec![0.1; 6])),
            ("not a number", ratio(odd, theta.clone())),
            ("infinite", ratio(theta, far)),
        ],
    }
}

/// Questions that noise-aware inference never asks.
fn wrong_noise_aware(method: &Method, right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let q: LevelQuestion = postcard::from_bytes(right).unwrap();
    let of = |q: LevelQuestion| postcard::to_allocvec(&q).unwrap();
    let mut all = vec![
        ("cut off", right[..right.len() - 1].to_vec()),
        ("a mean too short", of(LevelQuestion { mean: q.mean[1..].to_vec(), ..q.clone() })),
        ("not a number", of(LevelQuestion { mean: with(&q.mean, 2, f64::NAN), ..q.clone() })),
        ("negative deviation", of(LevelQuestion { deviation: with(&q.deviation, 0, -1.0), ..q.clone() })),
        ("curvature that is not a number", of(LevelQuestion { curvature: f64::NAN, ..q.clone() })),
        ("negative curvature", of(LevelQuestion { curvature: -1.0, ..q.clone() })),
        ("huge curvature", of(LevelQuestion { curvature: 1e300, ..q.clone() })),
        ("scales too few", of(LevelQuestion { scales: postcard::from_bytes(&[1, 0]).unwrap(), ..q.clone() })),
    ];
    if method.name.contains("every round") || method.name.contains("softmax") {
        all.push(("moments that the rule has not", of(LevelQuestion { about: SumKind::Moments, ..q.clone() })));
    }
    let other = match method.name.contains("weighted") {
        true => [SumKind::Residuals, SumKind::ResidualsOf(0), SumKind::ResidualsOf(250)],
        false => [SumKind::ResidualsOf(0), SumKind::ResidualsOf(1), SumKind::ResidualsOf(250)],
    };
    all.extend(other.map(|about| ("a round of another budget", of(LevelQuestion { about, ..q.clone() }))));
    all
}

/// Questions that a method never asks: cut off, too long, of another dimension, not finite, against their own law.
fn wrong_questions(method: &Method, right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![("a byte too many", [right, &[0]].concat())];
    all.extend(match algorithm_of(method) {
        "committee" => Vec::new(),
        "statistics" => wrong_sums(right),
        "conjugate" => wrong_family_sums(right),
        "pvi" => wrong_naturals(right),
        "noise-aware" => wrong_noise_aware(method, right),
        "noise-aware-levels" => wrong_levels(5),
        // Two contrasts of three classes.
        "noise-aware-classes" => wrong_levels(10),
        "chain" => wrong_steps(right),
        _ => wrong_moments(right),
    });
    all
}

/// Sums of rows that are never asked, of five inputs and an outcome.
fn wrong_sums(right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let asked = |asked: RowSums| postcard::to_allocvec(&asked).unwrap();
    let (scales, radius) = (vec![1.0; 6], 0.8);
    vec![
        ("cut off", right[..right.len() - 1].to_vec()),
        ("another bound", asked(RowSums::Squares { bound: 5.0 })),
        ("rows within another bound", asked(RowSums::Rows { bound: 5.0 })),
        ("products of too few columns", asked(RowSums::Products { bounds: vec![1.0; 5] })),
        ("a bound of 0", asked(RowSums::Products { bounds: with(&scales, 2, 0.0) })),
        ("a bound that is not a number", asked(RowSums::Products { bounds: with(&scales, 2, f64::NAN) })),
        ("another radius", asked(RowSums::Outer { scales: scales.clone(), radius: 2.0 * radius })),
        ("an infinite scale", asked(RowSums::Outer { scales: with(&scales, 0, f64::INFINITY), radius })),
        ("scales too many", asked(RowSums::Outer { scales: vec![1.0; 7], radius })),
    ]
}

/// Sums of a conjugate family that are never asked: of another family, within other bounds, of other levels.
fn wrong_family_sums(right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let asked = |asked: RowStatistics| postcard::to_allocvec(&asked).unwrap();
    vec![
        ("cut off", right[..right.len() - 1].to_vec()),
        ("wider bounds", asked(RowStatistics::Value { low: 0.0, high: 100.0 })),
        ("narrower bounds", asked(RowStatistics::Value { low: 0.0, high: 1e-9 })),
        ("bounds that are not numbers", asked(RowStatistics::Value { low: f64::NAN, high: f64::NAN })),
        ("other moments", asked(RowStatistics::Moments { low: -7.0, high: 9.0 })),
        ("a level more", asked(RowStatistics::Level { levels: 4 })),
        ("a level less", asked(RowStatistics::Level { levels: 2 })),
        ("no levels", asked(RowStatistics::Level { levels: 0 })),
    ]
}

/// Natural parameters that no posterior has.
fn wrong_naturals(right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let q: Vec<f64> = postcard::from_bytes(right).unwrap();
    vec![
        ("cut off", right[..right.len() - 1].to_vec()),
        ("no numbers", of_numbers(&[])),
        ("one coordinate less", of_numbers(&q[1..])),
        ("one coordinate more", of_numbers(&[&q[..], &[-0.5]].concat())),
        ("not a number", of_numbers(&with(&q, 1, f64::NAN))),
        ("infinite", of_numbers(&with(&q, 0, f64::INFINITY))),
        ("no precision", of_numbers(&with(&q, q.len() - 1, 0.0))),
        ("negative precision", of_numbers(&with(&q, q.len() - 1, 0.5))),
        ("huge", of_numbers(&with(&q, 0, 2.0 * LARGEST))),
        ("huge precision", of_numbers(&with(&q, q.len() - 1, -2.0 * LARGEST))),
        ("tiny precision", of_numbers(&with(&q, q.len() - 1, -1e-100))),
    ]
}

/// Means and standard deviations that no posterior has.
fn wrong_moments(right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (mean, deviation): (Vec<f64>, Vec<f64>) = postcard::from_bytes(right).unwrap();
    vec![
        ("cut off", right[..right.len() - 1].to_vec()),
        ("no numbers", of_standing(&[], &[])),
        ("a mean too short", of_standing(&mean[1..], &deviation)),
        ("a deviation too long", of_standing(&mean, &[&deviation[..], &[1.0]].concat())),
        ("not a number", of_standing(&with(&mean, 2, f64::NAN), &deviation)),
        ("infinite", of_standing(&mean, &with(&deviation, 0, f64::INFINITY))),
        ("no deviation", of_standing(&mean, &with(&deviation, 0, 0.0))),
        ("negative deviation", of_standing(&mean, &with(&deviation, 0, -1.0))),
        ("huge deviation", of_standing(&mean, &with(&deviation, 0, 1e44))),
        ("tiny deviation", of_standing(&mean, &with(&deviation, 0, 1e-44))),
    ]
}

/// Looks and levels that are never asked, of four inputs and an intercept, with so many scores.
fn wrong_levels(scores: usize) -> Vec<(&'static str, Vec<u8>)> {
    let right = || AskedInputs { centre: vec![0.0; 4], scales: vec![1.0; 5], norm: 1.0 };
    let look = |inputs: AskedInputs| postcard::to_allocvec(&LevelsQuestion::SecondLook(inputs)).unwrap();
    let level = |level: u8, theta: Vec<f64>| {
        postcard::to_allocvec(&LevelsQuestion::Level { level, inputs: right(), theta }).unwrap()
    };
    vec![
        ("a centre too few", look(AskedInputs { centre: vec![0.0; 3], ..right() })),
        ("a centre that is not a number", look(AskedInputs { centre: with(&[0.0; 4], 1, f64::NAN), ..right() })),
        ("a scale of 0", look(AskedInputs { scales: with(&[1.0; 5], 4, 0.0), ..right() })),
        ("an infinite norm", look(AskedInputs { norm: f64::INFINITY, ..right() })),
        ("a level too many", level(11, vec![0.0; scores])),
        ("a point too short", level(0, vec![0.0; scores - 1])),
        ("an infinite point", level(3, with(&vec![0.0; scores], 0, f64::INFINITY))),
    ]
}

#[test]
fn a_refused_question_leaves_the_ledger_unchanged_bit_for_bit() {
    for method in methods() {
        let wrong = |right: &[u8]| wrong_questions(&method, right);
        testing::refuses_questions_before_the_charge(&method, &model_of(&method), wrong);
        testing::refuses_spoilt_questions(&method, &model_of(&method));
    }
}

/// Found by review: a proper but huge q was charged before the change from it turned out not to fit the sending grid.
#[test]
fn the_largest_question_is_answered() {
    let (sites, test) = (sites(), rows(2, 1));
    for method in methods().iter().filter(|m| algorithm_of(m) == "pvi") {
        let built = simulation(method, &sites, &test).build().unwrap();
        let q: Vec<f64> = postcard::from_bytes(&right_question(&built)).unwrap();
        for (at, number) in [(0, LARGEST), (0, -LARGEST), (q.len() - 1, -LARGEST), (q.len() - 1, -1e-80)] {
            let query = of_numbers(&with(&q, at, number));
            let (refused, _) = reply(&built, &built.terms[0], built.summing, &sites[0], &query);
            assert_eq!(refused, None, "{}, {number} at {at}", method.name);
        }
    }
}

/// A likelihood that was paid for answers for free, and refuses what it would refuse to be charged for.
#[test]
fn a_wrong_question_gets_no_free_answer_either() {
    let (sites, test) = (sites(), rows(2, 1));
    let mut tried = 0;
    for method in private_methods().iter().filter(|m| m.algorithm.releases(1).reused) {
        let built = simulation(method, &sites, &test).build().unwrap();
        let (protocol, right) = (built.protocol.as_ref(), right_question(&built));
        let workshop = SimulationContext { seed: 1, run: [0; 16], summing: built.summing, tape: None };
        let ask = |query: &[u8]| Ask { round: 0, attempt: 0, query: query.to_vec() };
        let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), built.grants[0].clone()).unwrap();
        client.answer(protocol, &ask(&right), &workshop).unwrap();
        let paid = format!("{client:?}");
        for (what, query) in wrong_questions(method, &right) {
            assert!(client.answer(protocol, &ask(&query), &workshop).is_err(), "{}, {what}", method.name);
            assert!(client.can_answer(protocol, &query).is_err(), "{}, {what}", method.name);
            assert_eq!(format!("{client:?}"), paid, "{}, {what}", method.name);
            tried += 1;
        }
        assert!(
            client.can_answer(protocol, &right).unwrap() && client.answer(protocol, &ask(&right), &workshop).is_ok()
        );
        assert_eq!(client.ledger().events().len(), 1, "{}", method.name);
    }
    assert!(tried > 20, "{tried} questions only");
}

/// The first answers of a hybrid have terms of their own, which are checked like the others.
#[test]
fn wrong_terms_of_an_opening_are_refused_before_the_charge() {
    let (sites, test) = (sites(), rows(2, 1));
    let method = private_methods().into_iter().find(|m| m.name == "hybrid").unwrap();
    let built = simulation(&method, &sites, &test).build().unwrap();
    let (right, terms) = (right_question(&built), built.openings[0][0].terms.clone());
    let reply = |terms: &Terms| reply(&built, terms, built.summing, &sites[0], &right);
    assert_eq!(reply(&terms).0, None);
    let shape = |dimension, grain| Shape::new(dimension, terms.shape.bound(), grain, terms.shape.grid()).unwrap();
    for shape in [shape(1, Grain::Example), shape(terms.shape.dimension(), Grain::Whole)] {
        let (refused, unchanged) = reply(&Terms { shape, ..terms.clone() });
        assert!(refused.is_some() && unchanged, "{refused:?}");
    }
    // One release is what an analytic update takes, and not what DP optimisation does.
    let (refused, unchanged) = reply(&Terms { stage: Stage::Main, ..terms });
    assert!(refused.is_some_and(|text| text.contains("in 1 agreed releases")) && unchanged);
}

/// A total as its bytes have it: exponent and units.
type Raw = (i32, Vec<i128>);

/// Totals that are not the sum of any changes: other dimensions, other grids, sizes beyond every change.
fn wrong_totals((exponent, units): &Raw) -> Vec<(&'static str, Raw)> {
    let largest = |number: i128| (*exponent, vec![number; units.len()]);
    vec![
        ("no numbers", (*exponent, Vec::new())),
        ("one number", (*exponent, vec![1])),
        ("one number less", (*exponent, units[1..].to_vec())),
        ("one number more", (*exponent, [&units[..], &[0]].concat())),
        ("a finer grid", (exponent + 1, units.clone())),
        ("a coarser grid", (exponent - 1, units.clone())),
        ("the coarsest grid", (i32::MIN, units.clone())),
        ("huge", largest(i128::MAX)),
        ("huge and negative", largest(i128::MIN)),
    ]
}

/// Found by review: a receipt of one number became the factor, and the next answer panicked after its charge.
#[test]
fn a_wrong_receipt_is_refused_and_so_is_a_memory_made_of_one() {
    let (sites, test) = (sites(), rows(2, 1));
    let names =
        ["virtual, projected", "virtual, absolute", "dp optimisation, reset", "dp optimisation, kept state", "perturb"];
    for method in private_methods().iter().filter(|m| names.contains(&m.name.as_str())) {
        let built = simulation(method, &sites, &test).build().unwrap();
        let (protocol, query) = (built.protocol.as_ref(), right_question(&built));
        let state: PviState = postcard::from_bytes(&protocol.start().unwrap()).unwrap();
        let right: Raw = postcard::from_bytes(&postcard::to_allocvec(&state.total).unwrap()).unwrap();
        let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), Grant::Unlimited).unwrap();
        let workshop = SimulationContext { seed: 1, run: [0; 16], summing: built.summing, tape: None };
        let ask = |round| Ask { round, attempt: 0, query: query.clone() };
        let receipt = |total: &Raw| Receipt { applied: postcard::to_allocvec(total).unwrap() };
        client.answer(protocol, &ask(0), &workshop).unwrap();
        let drafted = format!("{client:?}");
        let seat = ClientView { index: 0, shard: &sites[0].shard, terms: &built.terms[0] };
        let memory = |total: &Raw| postcard::to_allocvec(&Some((Some(total), None::<u8>, [0.0_f64; 2]))).unwrap();
        for (what, total) in wrong_totals(&right) {
            assert!(client.settle(protocol, &receipt(&total)).is_err(), "{}, {what}: settled", method.name);
            assert_eq!(format!("{client:?}"), drafted, "{}, {what}", method.name);
            let checked = protocol.check(&query, &memory(&total), &seat);
            assert!(checked.is_err(), "{}, {what}: a memory of it would be charged for", method.name);
        }
        for own in [[f64::NAN, 0.0], [0.0, f64::NAN], [0.0, 0.5], [f64::INFINITY, -1.0], [0.0, f64::NEG_INFINITY]] {
            let memory = postcard::to_allocvec(&Some((Some(&right), None::<u8>, own))).unwrap();
            assert!(protocol.check(&query, &memory, &seat).is_err(), "{}: an own factor {own:?}", method.name);
        }
        client.settle(protocol, &receipt(&right)).unwrap();
        assert_ne!(format!("{client:?}"), drafted, "{}: the right receipt is remembered", method.name);
        assert!(protocol.check(&query, &memory(&right), &seat).is_ok(), "{}", method.name);
        client.answer(protocol, &ask(1), &workshop).unwrap();
    }
}

fn is_row_norm(method: &Method) -> bool {
    method.name.starts_with("statistics, row-norm")
}

#[test]
fn terms_that_no_gate_can_serve_leave_the_ledger_unchanged_too() {
    let (sites, test) = (sites(), rows(2, 1));
    let refused = |method: &Method| testing::refuses_other_terms(method, &model_of(method));
    let mut tried: BTreeSet<&str> = private_methods().iter().flat_map(refused).collect();
    let replaces = |method: &&Method| method.promise.unwrap().adjacency == Adjacency::Substitute;
    for method in private_methods().iter().filter(|method| is_row_norm(method)).filter(replaces) {
        let built = simulation(method, &sites, &test).build().unwrap();
        let terms = &built.terms[0];
        // Four units to the bound, as roundings of thousands of inputs would leave of more: 21 entries take eight.
        let (bound, grid) = (NormBound::new(1.0).unwrap(), Grid::new(2).unwrap());
        let shape = Shape::new(terms.shape.dimension(), bound, Grain::Example, grid).unwrap();
        let terms = Terms { shape, ..terms.clone() };
        let (refused, unchanged) = reply(&built, &terms, built.summing, &sites[0], &right_question(&built));
        assert!(refused.is_some() && unchanged, "{}, nothing left by roundings: {refused:?}", method.name);
        tried.insert("nothing left by roundings");
    }
    assert_eq!(tried.len(), 6, "{tried:?}");
}

#[test]
fn fixed_batches_of_other_rows_than_declared_are_refused_before_the_charge() {
    let (sites, test) = (sites(), rows(2, 1));
    let settings = pvi(Descend { local: Local { batch: Batching::WithoutReplacement(3), ..adam(5) } });
    let method = method("fixed batches", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
    let built = simulation(&method, &sites, &test).build().unwrap();
    let right = right_question(&built);
    let reply = |site| reply(&built, &built.terms[0], built.summing, site, &right);
    assert!(reply(&sites[0]).0.is_none());
    let (refused, unchanged) = reply(&sites[1]);
    assert!(refused.is_some_and(|text| text.contains("25 rows")) && unchanged);
}

/// Found by review: a site of one row and its neighbour without it must not be told apart by an error.
#[test]
fn a_site_without_rows_answers_like_any_other_where_their_number_is_private() {
    let (sites, test) = (sites(), rows(2, 1));
    let empty = site("empty", Rows::new(5, 2).unwrap());
    let all = private_methods().into_iter().chain(variants().into_iter().map(|(method, _)| method));
    let methods: Vec<Method> = all.filter(|m| m.promise.unwrap().adjacency == Adjacency::AddRemove).collect();
    assert!(methods.len() > 8);
    for method in methods {
        let built = simulation(&method, &sites, &test).build().unwrap();
        let right = right_question(&built);
        let (refused, unchanged) = reply(&built, first_terms(&built, &right), built.summing, &empty, &right);
        assert!(refused.is_none() && !unchanged, "{}: {refused:?}", method.name);
    }
}

/// Found by review: the bound of a plain rule is a constant of the study, and a server cannot ask within another.
#[test]
fn a_plain_rule_is_asked_within_its_own_bound_only() {
    let site = site("one", rows(20, 1));
    let method = statistics_methods().into_iter().find(|m| m.name == "statistics, plain").unwrap();
    let (all, test) = (sites(), rows(3, 9));
    let built = simulation(&method, &all, &test).build().unwrap();
    let query = postcard::to_allocvec(&RowSums::Products { bounds: vec![1e-3; 6] }).unwrap();
    let (refused, _) = reply(&built, &built.terms[0], built.summing, &site, &query);
    assert!(refused.is_some(), "a question within other bounds than the study's was answered");
}
