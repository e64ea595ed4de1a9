//! Record-play on random neighbouring data sets: no input of any method moves beyond its declared sensitivity, and given
//! the same releases both worlds send the same bytes.

mod common;

use common::{private_methods, rng, rows, simulation, site, site_of_records};
use inference::message::Direct;
use inference::settings::Method;
use inference::{Built, Keys, Progress, Row, Rows, Shard, Site};
use privacy::record::{Divergence, Tape};
use privacy::{Adjacency, Grant, Unit};
use rand_core::Rng;

/// Pairs of neighbouring data sets for each method.
const PAIRS: u64 = 1000;

/// Everything that became public.
type Transcript = (Vec<u8>, u64, u64);

fn play(method: &Method, built: &Built, sites: &[Site], test: &Rows, tape: &Tape) -> Transcript {
    let simulation = simulation(method, sites, test);
    let mut drive = simulation.start(built, &Direct, Some(tape)).unwrap();
    while drive.rounds() < 3 && drive.round().unwrap() == Progress::Moved {}
    (drive.state().to_vec(), drive.messages(), drive.bytes())
}

/// A row that nobody expects: huge, tiny, or of the other class.
fn strange_row(rng: &mut impl Rng) -> ([f64; 2], u32, f64) {
    let sizes = [0.0, 1e-300, 0.5, -3.0, 1e3, -1e6, 1e150];
    let pick = |rng: &mut dyn FnMut() -> u64| sizes[(rng() % sizes.len() as u64) as usize];
    let mut draw = || rng.next_u64();
    ([pick(&mut draw), pick(&mut draw)], 2 + (draw() % 2) as u32, (draw() % 2) as f64)
}

fn replaced(rows: &Rows, at: usize, rng: &mut impl Rng) -> Rows {
    let mut out = Rows::new(rows.width(), rows.dense()).unwrap();
    for (i, row) in rows.iter().enumerate() {
        if i == at {
            let (numbers, level, outcome) = strange_row(rng);
            out.push(Row { numbers: &numbers, ones: &[level, 4], outcome }).unwrap();
        } else {
            out.push(row).unwrap();
        }
    }
    out
}

/// Rows, and which records they are.
type Data = (Rows, Vec<u64>);

/// A record that nobody else is.
const NEW_RECORD: u64 = 1_000;

/// The neighbouring rows of one site: a row replaced by one of another record, a row gone, or all rows replaced.
fn neighbour((rows, records): &Data, method: &Method, rng: &mut impl Rng) -> Data {
    let (promise, n) = (method.promise.unwrap(), rows.len());
    match (promise.unit, promise.adjacency) {
        (Unit::Client, _) => ((0..n).fold(rows.clone(), |rows, i| replaced(&rows, i, rng)), records.clone()),
        (Unit::Example, Adjacency::Substitute) => {
            let at = (rng.next_u64() % n as u64) as usize;
            let mut records = records.clone();
            records[at] = NEW_RECORD;
            (replaced(rows, at, rng), records)
        }
        (Unit::Example, Adjacency::AddRemove) => {
            // Batches are drawn by position: only without the last row are the coins of all others the same.
            let drawn = !method.needs_record_ids();
            let gone = if drawn { n - 1 } else { (rng.next_u64() % n as u64) as usize };
            let rest: Vec<usize> = (0..n).filter(|row| *row != gone).collect();
            (rows.select(&rest), rest.iter().map(|&row| records[row]).collect())
        }
    }
}

fn worlds(method: &Method, pair: u64) -> (Vec<Site>, Vec<Site>) {
    let mut rng = rng(pair);
    let sizes = [5, 9, 4];
    let data: Vec<Data> = sizes.iter().map(|&n| (rows(n, rng.next_u64()), (0..n as u64).collect())).collect();
    let changed = (rng.next_u64() % 3) as usize;
    let second: Vec<Data> = data
        .iter()
        .enumerate()
        .map(|(m, data)| if m == changed { neighbour(data, method, &mut rng) } else { data.clone() })
        .collect();
    let sites =
        |data: Vec<Data>| data.into_iter().map(|(rows, records)| site_of_records("a site", rows, &records)).collect();
    (sites(data), sites(second))
}

/// The declared constants of a method, and ledgers without limit: what is spent is not the matter here.
fn build(method: &Method, sites: &[Site], test: &Rows) -> Built {
    let mut built = simulation(method, sites, test).build().unwrap();
    built.grants = vec![Grant::Unlimited; sites.len()];
    built
}

#[test]
fn no_input_moves_beyond_its_declared_sensitivity() {
    let test = rows(2, 1);
    for method in private_methods() {
        let built = build(&method, &worlds(&method, 0).0, &test);
        for pair in 0..PAIRS {
            let (first, second) = worlds(&method, pair);
            let tape = Tape::record();
            let sent = play(&method, &built, &first, &test, &tape);
            let replay = tape.replay();
            let sent_again = play(&method, &built, &second, &test, &replay);
            assert_eq!(replay.verdict(), Ok(()), "{}, pair {pair}", method.name);
            assert!(sent == sent_again, "{}, pair {pair}: given the same releases, another transcript", method.name);
        }
    }
}

#[test]
fn mutant_m17_rates_from_the_real_number_of_rows_are_caught() {
    let test = rows(2, 1);
    let add_remove = |m: &Method| m.promise.unwrap().adjacency == Adjacency::AddRemove;
    let mut method = private_methods().into_iter().find(add_remove).unwrap();
    method.local.batch = inference::settings::Batching::PoissonOf { fraction: 0.3, at_least: 1 };
    let caught = (0..20).any(|pair| {
        let (first, second) = worlds(&method, pair);
        let tape = Tape::record();
        play(&method, &build(&method, &first, &test), &first, &test, &tape);
        let replay = tape.replay();
        play(&method, &build(&method, &second, &test), &second, &test, &replay);
        matches!(replay.verdict(), Err(Divergence::Calls { .. }))
    });
    assert!(caught, "each world planned with its own row count, and nobody noticed");
}

/// What records are for: where a record is a row's position, a row less moves the rows after it to other parts.
#[test]
fn mutant_records_by_position_are_caught() {
    let test = rows(2, 1);
    let method = private_methods().into_iter().find(Method::needs_record_ids).unwrap();
    let built = build(&method, &[site("a site", rows(9, 1))], &test);
    let caught = (0..50).any(|seed| {
        let mut rng = rng(seed);
        let whole = (0..9).fold(rows(9, seed), |rows, at| replaced(&rows, at, &mut rng));
        let rest = whole.select(&(1..9).collect::<Vec<_>>());
        let tape = Tape::record();
        play(&method, &built, &[site("a site", whole)], &test, &tape);
        let replay = tape.replay();
        play(&method, &built, &[site("a site", rest)], &test, &replay);
        matches!(replay.verdict(), Err(Divergence::Moved { .. }))
    });
    assert!(caught, "rows moved to other parts, and nobody noticed");
}

#[test]
fn a_method_that_needs_record_ids_is_refused_without_them() {
    let test = rows(2, 1);
    let method = private_methods().into_iter().find(Method::needs_record_ids).unwrap();
    let keys = Keys::of_slots((0..9).collect());
    let bare = vec![Site { name: "bare".into(), shard: Shard::new(rows(9, 1), keys).unwrap() }];
    let error = simulation(&method, &bare, &test).build().err().unwrap();
    assert!(error.to_string().contains("parts under add-remove of rows without record ids"), "{error}");
    let with = vec![site("with ids", rows(9, 1))];
    assert!(simulation(&method, &with, &test).build().is_ok());
}
