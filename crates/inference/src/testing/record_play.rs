//! Record-play on random neighbouring data sets: no input of a method moves beyond its declared
//! sensitivity, and given the same releases both worlds send the same bytes and warn of the same things.
//!
//! The first world is run and its releases are recorded. The second world, which differs in one unit, is
//! run with the same releases: its noise is what is left of the release after its own sum. If the method
//! is what it says, every one of its sums is within the declared sensitivity of the first world's, and
//! nothing else that it sends differs. A method with a private state between rounds fails this law.

use super::{Altered, Reply, person, rng, rows, simulation, site_of_persons, site_of_records, unlimited};
use crate::algorithm::Protocol;
use crate::chain::{Collected, shown};
use crate::message::Direct;
use crate::settings::Batching;
use crate::warning::PublicWarnings;
use crate::warning::public::{ServedPosterior, moves, of_plan, of_served};
use crate::warning::rows::small_sites;
use crate::{Built, ClientView, Method, Model, PersonKey, Progress, RecordId, Row, Rows, Site};
use privacy::record::Tape;
use privacy::{Adjacency, Bounded, Gate, Unit};
use rand_core::Rng;
use std::sync::Arc;

/// Everything that became public: the state, messages and bytes, and the warnings that anybody may see.
pub type Transcript = (Vec<u8>, u64, u64, PublicWarnings);

/// Two neighbouring federations.
#[derive(Debug)]
pub struct Worlds {
    /// One.
    pub first: Vec<Site>,
    /// The other.
    pub second: Vec<Site>,
    /// The client that is not there in one of the two worlds: its change is 0, its noise stays.
    pub absent: [Option<usize>; 2],
}

/// Three rounds; five where a plan has openings, which are both looks and three levels of inference by levels. Later levels are the same
/// function of a row at other points.
fn rounds_played(built: &Built) -> u64 {
    let opens = built.openings.iter().any(|all| !all.is_empty());
    if opens { 5 } else { 3 }
}

/// Plays a method on these sites, with one client's change replaced by 0 if it is absent.
pub fn play(
    method: &Method,
    model: &Arc<dyn Model>,
    built: &Built,
    (sites, absent): (&[Site], Option<usize>),
    tape: &Tape,
) -> Transcript {
    let test = rows(2, 1);
    let simulation = simulation(method, model, sites, &test);
    let nothing_of_the_absent =
        move |inner: &dyn Protocol, query: &[u8], memory: &[u8], seat: &ClientView<'_>, gate: &mut dyn Gate| -> Reply {
            if Some(seat.index) != absent {
                return inner.answer(query, memory, seat, gate);
            }
            let nothing = Bounded::whole(*gate.shape(), &vec![0.0; gate.shape().dimension()])?;
            Ok((gate.send(&nothing)?, Vec::new()))
        };
    let protocol = Altered::answering(built.protocol.as_ref(), &nothing_of_the_absent);
    let mut drive = simulation.start_with(&protocol, built, &Direct, Some(tape)).unwrap();
    let (mut before, mut drawn) = (drive.state().to_vec(), Collected::new(method));
    while drive.rounds() < rounds_played(built) {
        let last = drive.state().to_vec();
        if drive.round().unwrap() == Progress::Spent {
            break;
        }
        before = last;
        drawn.take(drive.last_draw().unwrap());
    }
    let warnings = warned(method, built, sites, (&before, drive.state()), drawn);
    (drive.state().to_vec(), drive.messages(), drive.bytes(), warnings)
}

/// Everything that could be warned of after a run, as a served run would filter it.
fn warned(
    method: &Method,
    built: &Built,
    sites: &[Site],
    (before, now): (&[u8], &[u8]),
    drawn: Collected,
) -> PublicWarnings {
    let of_method = built.protocol.warning(now).unwrap();
    let served = |state: &[u8]| built.problem.family.gaussian(&built.protocol.posterior(state).unwrap());
    let (Some(before), Some(now)) = (served(before), served(now)) else { return PublicWarnings::default() };
    let chain = drawn.draws().then(|| shown(&drawn.into_chains(), 0, now.mean().len()).unwrap());
    let prior = built.problem.prior_term();
    let served = ServedPosterior {
        names: &[],
        prior: prior.as_ref(),
        mean: now.mean(),
        last_moves: &moves(before.mean(), now.mean(), &now.deviations()),
        intervals: &method.intervals(),
        draws: chain.as_ref().map(Option::as_ref),
    };
    let (of_run, of_plan) = (of_served(&served), of_plan(method, &built.plan));
    // A site's own terminal warns of its rows; here every site is small, and how small is private under add-remove.
    let count = |site: &Site| site.shard.count(method.unit()).unwrap() as u64;
    let of_rows = small_sites(sites.iter().map(|site| (site.name.as_str(), count(site))));
    PublicWarnings::of(of_run.iter().chain(of_plan.iter()).cloned().chain(of_method).chain(of_rows))
}

/// A row that nobody expects: huge, tiny, or of the other class.
pub fn strange_row(rng: &mut impl Rng) -> ([f64; 2], u32, f64) {
    let sizes = [0.0, 1e-300, 0.5, -3.0, 1e3, -1e6, 1e150];
    let pick = |rng: &mut dyn FnMut() -> u64| sizes[(rng() % sizes.len() as u64) as usize];
    let mut draw = || rng.next_u64();
    ([pick(&mut draw), pick(&mut draw)], 2 + (draw() % 2) as u32, (draw() % 2) as f64)
}

/// The rows with a strange one in the place of one of them.
pub fn replaced(rows: &Rows, at: usize, rng: &mut impl Rng) -> Rows {
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

/// So many rows that nobody expects.
fn strange_rows(count: usize, rng: &mut impl Rng) -> Rows {
    let mut out = Rows::new(5, 2).unwrap();
    for _ in 0..count {
        let (numbers, level, outcome) = strange_row(rng);
        out.push(Row { numbers: &numbers, ones: &[level, 4], outcome }).unwrap();
    }
    out
}

/// Rows, which records they are, and whose.
#[derive(Clone)]
struct SiteData {
    rows: Rows,
    records: Vec<u64>,
    persons: Vec<PersonKey>,
}

impl SiteData {
    /// So many rows of site m: of persons with one row, two, three and so on in turn, the later rows of all after their first
    /// ones. Persons of other sites are others.
    fn drawn(m: usize, n: usize, rng: &mut impl Rng) -> Self {
        let people = n.div_ceil(2);
        let persons = (0..n).map(|row| person((100 * m + if row < people { row } else { (row - people) / 2 }) as u64));
        Self { rows: rows(n, rng.next_u64()), records: (0..n as u64).collect(), persons: persons.collect() }
    }

    /// These rows of it.
    fn select(&self, which: &[usize]) -> Self {
        Self {
            rows: self.rows.select(which),
            records: which.iter().map(|&row| self.records[row]).collect(),
            persons: which.iter().map(|&row| self.persons[row]).collect(),
        }
    }

    /// Without the rows of one person but this one, and with so many strange ones of it at the end.
    fn with_other_rows(&self, first: usize, count: usize, rng: &mut impl Rng) -> Self {
        let gone = self.persons[first].slot;
        let rest: Vec<usize> =
            (0..self.rows.len()).filter(|&row| row == first || self.persons[row].slot != gone).collect();
        let mut other = self.select(&rest);
        other.rows = replaced(&other.rows, first, rng);
        for row in strange_rows(count, rng).iter() {
            other.rows.push(row).unwrap();
            other.records.push(NEW_RECORD + other.records.len() as u64);
            other.persons.push(self.persons[first]);
        }
        let somebody = RecordId::of("somebody else");
        other.persons.iter_mut().filter(|person| person.slot == gone).for_each(|person| person.id = somebody);
        other
    }

    /// The persons' slots, in the order of their first rows.
    fn slots(&self) -> Vec<u64> {
        let mut slots = Vec::new();
        for person in &self.persons {
            if !slots.contains(&person.slot) {
                slots.push(person.slot);
            }
        }
        slots
    }
}

/// A record that nobody else is.
const NEW_RECORD: u64 = 1_000;

/// One site in two worlds: with a row replaced by a strange one of another record, without a strange row, or with other
/// rows and another number of them; likewise with all rows of a person replaced by others of another number, or gone. A
/// client that joins or leaves keeps its rows, and says nothing.
fn neighbours(data: &SiteData, method: &Method, rng: &mut impl Rng) -> [SiteData; 2] {
    let (promise, n, usual) = (method.promise.unwrap(), data.rows.len(), data.clone());
    // Batches are drawn by position: only without the last unit are the coins of all others the same.
    let drawn = method.algorithm.releases(1).main.batch != Batching::All;
    match (promise.unit, promise.adjacency) {
        (Unit::Client, Adjacency::AddRemove) => [usual.clone(), usual],
        (Unit::Client, Adjacency::Substitute) => {
            let count = 1 + (rng.next_u64() % 12) as usize;
            let count = if count == n { count + 1 } else { count };
            let persons = (0..count as u64).map(|row| person(row / 2)).collect();
            [usual, SiteData { rows: strange_rows(count, rng), records: (0..count as u64).collect(), persons }]
        }
        (Unit::Example, Adjacency::Substitute) => {
            let at = (rng.next_u64() % n as u64) as usize;
            let mut other = usual.clone();
            other.records[at] = NEW_RECORD;
            other.rows = replaced(&data.rows, at, rng);
            [usual, other]
        }
        (Unit::Example, Adjacency::AddRemove) => {
            let gone = if drawn { n - 1 } else { (rng.next_u64() % n as u64) as usize };
            let rest: Vec<usize> = (0..n).filter(|row| *row != gone).collect();
            let with = SiteData { rows: replaced(&data.rows, gone, rng), ..usual };
            let without = with.select(&rest);
            [with, without]
        }
        (Unit::Person, adjacency) => {
            let slots = data.slots();
            let last = drawn && adjacency == Adjacency::AddRemove;
            let whose = if last { slots.len() - 1 } else { (rng.next_u64() % slots.len() as u64) as usize };
            let first = data.persons.iter().position(|person| person.slot == slots[whose]).unwrap_or(0);
            let other = data.with_other_rows(first, (rng.next_u64() % 4) as usize, rng);
            if adjacency == Adjacency::Substitute {
                return [usual, other];
            }
            let kept = |row: &usize| other.persons[*row].slot != slots[whose];
            let without = other.select(&(0..other.rows.len()).filter(kept).collect::<Vec<_>>());
            [other, without]
        }
    }
}

/// Three sites of a few rows each, of which one changes between neighbours.
pub fn small() -> Vec<Site> {
    let mut rng = rng(0);
    let of =
        |n: usize| site_of_records(&format!("of {n}"), rows(n, rng.next_u64()), &(0..n as u64).collect::<Vec<_>>());
    SIZES.map(of).into()
}

/// Rows of the three sites.
const SIZES: [usize; 3] = [5, 9, 4];

/// A pair of neighbouring federations in the relation and unit that a private method promises; every other pair the other way
/// round.
pub fn neighbours_of(method: &Method, pair: u64) -> Worlds {
    let mut rng = rng(pair);
    let mut first: Vec<SiteData> = SIZES.iter().enumerate().map(|(m, &n)| SiteData::drawn(m, n, &mut rng)).collect();
    let changed = (rng.next_u64() % 3) as usize;
    let mut second = first.clone();
    [first[changed], second[changed]] = neighbours(&first[changed], method, &mut rng);
    let site = |data: SiteData| site_of_persons("a site", data.rows, &data.records, &data.persons);
    let sites = |data: Vec<SiteData>| data.into_iter().map(site).collect();
    let promise = method.promise.unwrap();
    let leaves = (promise.unit, promise.adjacency) == (Unit::Client, Adjacency::AddRemove);
    let mut absent = [None, leaves.then_some(changed)];
    if pair % 2 == 1 {
        (first, second) = (second, first);
        absent.reverse();
    }
    Worlds { first: sites(first), second: sites(second), absent }
}

/// The declared constants of a method on these sites, and ledgers without limit: what is spent is not the matter here.
pub fn declared(method: &Method, model: &Arc<dyn Model>, sites: &[Site]) -> Built {
    let test = rows(2, 1);
    unlimited(&simulation(method, model, sites, &test))
}

/// Plays both worlds of so many pairs of neighbours, with constants declared once: every sum is within its declared sensitivity,
/// and given the same releases the public transcripts are equal.
///
/// # Panics
/// Where the law does not hold, and where the method promises nothing.
pub fn stays_within_its_sensitivity(method: &Method, model: &Arc<dyn Model>, pairs: u64) {
    let built = declared(method, model, &neighbours_of(method, 0).first);
    for pair in 0..pairs {
        let worlds = neighbours_of(method, pair);
        let tape = Tape::record();
        let sent = play(method, model, &built, (&worlds.first, worlds.absent[0]), &tape);
        let replay = tape.replay();
        let sent_again = play(method, model, &built, (&worlds.second, worlds.absent[1]), &replay);
        assert_eq!(replay.verdict(), Ok(()), "{}, pair {pair}", method.name);
        assert!(sent == sent_again, "{}, pair {pair}: given the same releases, another transcript", method.name);
    }
}
