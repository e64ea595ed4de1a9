//! Persons as the unit: what is summed, what is refused, and that the checks of neighbours would notice a person let loose.

use crate::common::{adam, by_person, logistic, method, natural, noise_aware, promise, pvi, rows, simulation};
use inference::algorithm::Curvature;
use inference::algorithm::levels::{LevelsSettings, ServedPrior};
use inference::message::Direct;
use inference::settings::{Aggregator, Noise, Promise, Schedule};
use inference::solve::{Average, Descend};
use inference::testing::{person, site_of_persons, unlimited};
use inference::{Method, Model, Network, Output, PersonKey, Progress, Rows, RunError, Site};
use privacy::record::{Divergence, NoiseCall, Tape};
use privacy::{Adjacency, Epsilon, Grain, NoiseMultiplier, PrivacyError, Unit};
use std::sync::Arc;

fn by_moments() -> Method {
    let settings = noise_aware(Curvature::Moments { looks: 1, bound: 2.0 });
    let promise = by_person(promise(1.0, Aggregator::None));
    method("by person", settings, Schedule::Synchronous, promise)
}

/// Two sites whose rows are these persons', in the order of the rows.
fn sites(of_first: &[u64], of_second: &[u64]) -> Vec<Site> {
    let site = |name: &str, persons: &[u64], seed| {
        let records: Vec<u64> = (0..persons.len() as u64).collect();
        let keys: Vec<PersonKey> = persons.iter().map(|&number| person(number)).collect();
        site_of_persons(name, rows(persons.len(), seed), &records, &keys)
    };
    vec![site("one", of_first, 1), site("two", of_second, 2)]
}

/// What went into the gates in three rounds.
fn noised(method: &Method, sites: &[Site], tape: &Tape) -> Vec<NoiseCall> {
    let test = rows(2, 1);
    let simulation = simulation(method, sites, &test);
    let built = unlimited(&simulation);
    let mut drive = simulation.start(&built, &Direct, Some(tape)).unwrap();
    while drive.rounds() < 3 && drive.round().unwrap() == Progress::Moved {}
    tape.calls()
}

#[test]
fn persons_of_one_row_are_rows() {
    let persons = by_moments();
    let promise = persons.promise.map(|promise| Promise { unit: Unit::Example, ..promise });
    let examples = Method { promise, ..persons.clone() };
    let sites = sites(&[0, 1, 2, 3, 4], &[5, 6, 7]);
    // The noise is bound to the settings of the run: only what goes in first is the same.
    let first = |method: &Method| noised(method, &sites, &Tape::record()).swap_remove(0);
    let (by_person, by_row) = (first(&persons), first(&examples));
    assert_eq!(by_person.input, by_row.input);
    assert_eq!((by_person.sensitivity, by_person.deviation), (by_row.sensitivity, by_row.deviation));
    assert_eq!((by_person.event.unit(), by_row.event.unit()), (Unit::Person, Unit::Example));
}

/// Rates, δ, weights and what a ledger is charged go by persons, whatever number of rows they have.
#[test]
fn what_is_declared_goes_by_persons() {
    let (test, method) = (rows(2, 1), by_moments());
    let (few, many) = (sites(&[0, 1, 2], &[3, 4]), sites(&[0, 0, 1, 2, 2, 2, 0, 1], &[3, 4, 4]));
    let build = |sites: &[Site]| simulation(&method, sites, &test).build().unwrap();
    let (few, many) = (build(&few), build(&many));
    assert_eq!((&few.terms, &few.grants), (&many.terms, &many.grants));
    assert_eq!(many.plan.clients.iter().map(|client| client.among).collect::<Vec<_>>(), [3, 2]);
    assert!((many.terms[0].weight - 0.6).abs() < 1e-12);
    assert_eq!(many.terms[0].shape.grain(), Grain::Person);
}

#[test]
fn rows_without_persons_and_persons_at_two_sites_are_refused() {
    let (test, method) = (rows(2, 1), by_moments());
    let refused = |sites: &[Site]| simulation(&method, sites, &test).build().err();
    assert_eq!(refused(&sites(&[0, 0, 1], &[2, 3])), None);
    let at_two = refused(&sites(&[0, 0, 1], &[1, 3]));
    assert!(
        matches!(&at_two, Some(RunError::Privacy(PrivacyError::NoTheorem { what, .. })) if what.contains("two sites"))
    );
    let keys = inference::RowKeys::of_slots((0..3).collect());
    let bare = Site { name: "bare".into(), shard: inference::Shard::new(rows(3, 1), keys).unwrap(), own: Vec::new() };
    let Some(RunError::Privacy(error)) = refused(&[bare]) else { panic!("rows of nobody were taken") };
    assert!(error.hint().unwrap().contains("person_id"), "{error}");
}

/// Gradients of networks are never formed; whole changes of parts are, and take persons.
#[test]
fn networks_are_refused_where_rows_are_clipped_and_taken_where_parts_are() {
    let network: Arc<dyn Model> = Arc::new(Network { hidden: vec![3], output: Output::Binary, draws: 2, seed: 5 });
    let of = |settings| method("by person", settings, Schedule::Synchronous, by_person(promise(1.0, Aggregator::None)));
    let conflict = of(pvi(Descend { local: adam(3) })).check_model(network.offers()).unwrap_err();
    assert_eq!((conflict.key.as_str(), conflict.code), ("privacy.unit", "S008"));
    assert!(conflict.what.contains("ghost clipping"), "{}", conflict.what);
    assert!(of(pvi(Average { parts: 3, local: natural(1) })).check_model(network.offers()).is_ok());
    assert!(of(pvi(Descend { local: adam(3) })).check_model(logistic().offers()).is_ok());
}

/// The rows of some persons, all of them long and alike, and not at all alike in the other world.
fn long_rows(person: usize, persons: &[u64], side: f64) -> Rows {
    let mut out = Rows::of(rows(1, 1).layout().clone());
    for (row, &number) in rows(persons.len(), 7).iter().zip(persons) {
        let (numbers, outcome) = match number as usize == person {
            true => ([50.0 * side, -50.0 * side], 1.0),
            false => ([row.numbers[0], row.numbers[1]], row.outcome),
        };
        out.push(inference::Row { numbers: &numbers, ones: row.ones, outcome }).unwrap();
    }
    out
}

/// If every row were somebody of its own, a person of three rows would move the sum three times as far: neighbours that differ
/// in all rows of a person show it.
#[test]
fn mutant_rows_clipped_one_by_one_are_caught() {
    let (method, persons) = (by_moments(), [0, 1, 1, 2, 1]);
    let played = |whose: &[u64; 5]| {
        let world = |side: f64| {
            let keys: Vec<PersonKey> = whose.iter().map(|&number| person(number)).collect();
            vec![site_of_persons("one", long_rows(1, &persons, side), &[0, 1, 2, 3, 4], &keys)]
        };
        let tape = Tape::record();
        noised(&method, &world(1.0), &tape);
        let replay = tape.replay();
        noised(&method, &world(-1.0), &replay);
        replay.verdict()
    };
    assert_eq!(played(&persons), Ok(()));
    assert!(matches!(played(&[0, 1, 3, 2, 4]), Err(Divergence::Moved { .. })), "each row by itself");
}

const SCHEMA: &str = r#"
    outcome = { column = "ill", levels = ["no", "yes"] }
    person_id = "patient"
    column = [{ name = "x", kind = "numeric", centre = 0, scale = 1 }]
"#;

/// A table of thirty patients with three rows each, and one more with these.
fn table(of_one_more: &[&str]) -> String {
    let line = |patient: usize, visit: usize| {
        let x = ((7 * patient + 3 * visit) % 11) as f64 / 5.0 - 1.0;
        format!("p{patient},{x},{}\n", if (patient + visit).is_multiple_of(3) { "yes" } else { "no" })
    };
    let visits = (0..3).flat_map(|visit| (0..30).map(move |patient| line(patient, visit)));
    let own = of_one_more.iter().map(|row| format!("q,{row}\n"));
    format!("patient,x,ill\n{}", own.chain(visits).collect::<String>())
}

/// The mean of the second release along the input x, over so many seeds, in standard deviations of its noise: the first asks
/// for second moments, the second for residuals, which are long where x is.
fn released(method: &Method, table: &str, seeds: u64) -> f64 {
    let schema = inference::Schema::from_toml(SCHEMA).unwrap();
    let read = || inference::read(table.as_bytes(), &schema, true, &[], inference::RowReading::Strict).unwrap();
    let shard = inference::Shard::of(read(), method).unwrap();
    let (sites, test) = ([Site { name: "one".into(), shard, own: Vec::new() }], read().rows);
    let of_seed = |seed: u64| {
        let simulation = inference::Simulation { seed, ..simulation(method, &sites, &test) };
        let (built, tape) = (unlimited(&simulation), Tape::record());
        let mut drive = simulation.start(&built, &Direct, Some(&tape)).unwrap();
        while drive.rounds() < 2 && drive.round().unwrap() == Progress::Moved {}
        let call = tape.calls().swap_remove(1);
        (call.input[0] + call.noise[0][0]) as f64 / call.deviation
    };
    (0..seeds).map(of_seed).sum::<f64>() / seeds as f64
}

/// Seeds of each world.
const SEEDS: u64 = 400;

/// An audit by two tables that differ in all rows of a patient, and in their number: at noise multiplier 1 the means of a
/// release are one standard deviation apart at most. The promise to rows would be broken by the same pair.
#[test]
fn an_audit_by_neighbouring_tables_finds_what_is_promised_to_persons_and_broken_for_rows() {
    let (with, without) = (table(&["50,yes", "50,yes", "50,yes"]), table(&["-50,yes"]));
    let persons = by_moments();
    let promise = persons.promise.map(|promise| Promise {
        noise: Noise::Multiplier(NoiseMultiplier::new(1.0).unwrap()),
        epsilon: Epsilon::new(100.0).unwrap(),
        ..promise
    });
    let apart = |unit: Unit| {
        let promise = promise.map(|promise| Promise { unit, ..promise });
        let method = Method { promise, ..persons.clone() };
        released(&method, &with, SEEDS) - released(&method, &without, SEEDS)
    };
    // The standard error of a difference of two means.
    let error = (2.0 / SEEDS as f64).sqrt();
    let (by_person, by_row) = (apart(Unit::Person), apart(Unit::Example));
    assert!((by_person - 1.0).abs() < 4.0 * error, "{by_person} standard deviations apart, and the bound is 1");
    assert!(by_row > 1.0 + 4.0 * error, "{by_row} standard deviations apart: an audit of rows would notice nothing");
}

fn by_levels() -> Method {
    let settings = LevelsSettings { first_share: 0.2, prior: ServedPrior::Stated, adjacency: Adjacency::Substitute };
    let promise = Promise { clip: None, ..by_person(promise(1.0, Aggregator::None)) };
    method("levels by person", settings, Schedule::Synchronous, promise)
}

/// One site of these rows, each so many times, all copies of a row one person's.
fn copied(of: &Rows, copies: &[usize]) -> Vec<Site> {
    let (mut out, mut keys) = (Rows::of(of.layout().clone()), Vec::new());
    for (number, row) in of.iter().enumerate() {
        for _ in 0..copies[number % copies.len()] {
            out.push(row).unwrap();
            keys.push(person(number as u64));
        }
    }
    let records: Vec<u64> = (0..keys.len() as u64).collect();
    vec![site_of_persons("one", out, &records, &keys)]
}

/// By levels a person counts as one row, the mean of its own: copies of a row change no sum, but for rounding, in no round.
#[test]
fn by_levels_a_person_counts_as_one_row() {
    let (method, rows) = (by_levels(), rows(30, 3));
    let played = |copies: &[usize]| {
        let (tape, test, sites) = (Tape::record(), self::rows(2, 1), copied(&rows, copies));
        let simulation = simulation(&method, &sites, &test);
        let built = unlimited(&simulation);
        let mut drive = simulation.start(&built, &Direct, Some(&tape)).unwrap();
        while drive.rounds() < 5 && drive.round().unwrap() == Progress::Moved {}
        tape.calls()
    };
    let (once, often) = (played(&[1]), played(&[3, 1, 7]));
    assert_eq!((once.len(), often.len()), (5, 5));
    for (k, (one, other)) in once.iter().zip(&often).enumerate() {
        assert_eq!((one.sensitivity, one.deviation), (other.sensitivity, other.deviation));
        let largest = one.input.iter().map(|units| units.abs()).max().unwrap() as f64;
        let apart = one.input.iter().zip(&other.input).map(|(a, b)| (a - b).abs()).max().unwrap() as f64;
        assert!(apart <= 1e-6 * largest, "round {k}: {apart} units of {largest}");
    }
}
