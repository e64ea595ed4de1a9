//! Descriptions that lie about what is released: plan and ledger believe them, gates do not, and nothing leaves.

use crate::common::redescribed::{RedescribedAlgorithm, RedescribedSolver, Saying};
use crate::common::{adam, method, natural, private_methods, promise, pvi, rows, simulation, sites};
use inference::message::{Ask, Direct};
use inference::release::{Numbers, OpeningRelease, Release, Releases};
use inference::settings::{Aggregator, Schedule};
use inference::solve::{Average, Descend, LocalSolve, Perturb};
use inference::{Client, Method, Progress, RunError, SimulationContext};
use privacy::record::Tape;
use privacy::{Adjacency, Grain, Grant, PrivacyError, Trust, Unit, sensitivity_factor};
use std::sync::Arc;

const PARTS: u32 = 5;
const STEPS: u64 = 4;

fn perturb() -> Perturb {
    Perturb { local: natural(2) }
}

fn average() -> Average {
    Average { parts: PARTS, local: natural(1) }
}

fn descend() -> Descend {
    Descend { local: adam(STEPS) }
}

/// A description with another main release.
fn with(releases: Releases, main: Release) -> Releases {
    Releases { main, ..releases }
}

fn of_grain(releases: Releases, grain: Grain) -> Releases {
    let main = Release { grain, ..releases.main };
    with(releases, main)
}

fn of_sums(releases: Releases, sums: u64) -> Releases {
    let main = Release { sums, ..releases.main };
    with(releases, main)
}

/// Sums that are said to be so many numbers longer.
fn longer(releases: Releases, by: isize) -> Releases {
    let main = Release { numbers: lengthened(releases.main.numbers, by), ..releases.main };
    with(releases, main)
}

fn lengthened(numbers: Numbers, by: isize) -> Numbers {
    match numbers {
        Numbers::Fixed(numbers) => Numbers::Fixed(numbers.saturating_add_signed(by)),
        Numbers::PerRow(numbers) => Numbers::PerRow(numbers.saturating_add_signed(by)),
    }
}

fn says(solver: impl LocalSolve + 'static, saying: Saying) -> Method {
    let settings = pvi(RedescribedSolver::saying(solver, saying));
    method("lying", settings, Schedule::Synchronous, promise(1.0, Aggregator::None))
}

/// How the first answer of a client is refused, how often it was charged by then, and how many sums were noised for it.
fn refusal(method: &Method) -> (RunError, usize, usize) {
    let (sites, test) = (sites(), rows(2, 1));
    let simulation = simulation(method, &sites, &test);
    let mut built = simulation.build().unwrap();
    built.grants.fill(Grant::Unlimited);
    let protocol = built.protocol.as_ref();
    let query = protocol.ask(&protocol.start().unwrap()).unwrap();
    let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), Grant::Unlimited)
        .unwrap()
        .with_openings(built.openings[0].clone());
    let tape = Tape::record();
    let workshop = SimulationContext { seed: 1, run: [0; 16], summing: built.summing, tape: Some(tape.clone()) };
    let answered = client.answer(protocol, &Ask { round: 0, attempt: 0, query }, &workshop);
    let error = answered.map(drop).expect_err(&method.name);
    assert!(client.memory().is_empty(), "{}: something is remembered", method.name);
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    let before = drive.state().to_vec();
    assert!(drive.round().is_err(), "{}", method.name);
    assert_eq!((drive.state(), drive.rounds()), (before.as_slice(), 0), "{}", method.name);
    (error, client.ledger().events().len(), tape.calls().len())
}

/// Clipped vectors are not what the shape says: refused where the sum is made, after the charge, before any noise.
#[test]
fn a_lie_about_grain_or_length_is_refused_where_the_sum_is_made() {
    for (what, lying) in [
        ("perturb, examples", says(perturb(), |r| of_grain(r, Grain::Example))),
        ("perturb, a number more", says(perturb(), |r| longer(r, 1))),
        ("perturb, a number less", says(perturb(), |r| longer(r, -1))),
        ("average, examples", says(average(), |r| of_grain(r, Grain::Example))),
        ("average, one whole change", says(average(), |r| of_grain(r, Grain::Whole))),
        ("average, a part less", says(average(), |r| of_grain(r, Grain::Part { count: u64::from(PARTS) - 1 }))),
        ("average, a number more", says(average(), |r| longer(r, 1))),
        ("average, a number less", says(average(), |r| longer(r, -1))),
        ("descend, one whole change", says(descend(), |r| of_grain(r, Grain::Whole))),
        ("descend, parts", says(descend(), |r| of_grain(r, Grain::Part { count: 5 }))),
        ("descend, a number more", says(descend(), |r| longer(r, 1))),
        ("descend, a number less", says(descend(), |r| longer(r, -1))),
        ("descend, two numbers more", says(descend(), |r| longer(r, 2))),
        ("descend, two numbers less", says(descend(), |r| longer(r, -2))),
    ] {
        let (error, charged, noised) = refusal(&lying);
        let refused = matches!(error, RunError::Privacy(PrivacyError::Shape { .. } | PrivacyError::TooMany { .. }));
        assert!(refused, "{what}: {error}");
        assert_eq!((charged, noised), (1, 0), "{what}: charged and noised");
    }
}

/// One sum less than are made: the receipt covers no more, and the change that would be made of them is never sent.
#[test]
fn a_lie_about_the_number_of_sums_is_refused_at_the_first_that_is_not_covered() {
    let (error, charged, noised) = refusal(&says(descend(), |r| of_sums(r, STEPS - 1)));
    assert_eq!(error, PrivacyError::ReceiptSpent { covered: STEPS - 1 }.into());
    assert_eq!((charged, noised as u64), (1, STEPS - 1));
    // One sum is the least that is charged: a solver that makes one cannot say less, and no sum is no plan.
    let (sites, test) = (sites(), rows(2, 1));
    for lying in [says(perturb(), |r| of_sums(r, 0)), says(average(), |r| of_sums(r, 0))] {
        assert!(simulation(&lying, &sites, &test).build().is_err());
    }
}

/// What is not refused costs no less than the truth: more sums than are made, and one whole change as the only one of parts.
#[test]
fn a_lie_that_is_not_refused_is_paid_for() {
    let (sites, test) = (sites(), rows(2, 1));
    let deviation = |method: &Method| {
        let simulation = simulation(method, &sites, &test);
        let built = simulation.build().unwrap();
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        assert_eq!(drive.round().unwrap(), Progress::Moved);
        built.terms[0].noise_deviation()
    };
    let truth = deviation(&says(perturb(), |r| r));
    assert!(deviation(&says(perturb(), |r| of_sums(r, 2))) > truth);
    assert!(deviation(&says(perturb(), |r| of_grain(r, Grain::Part { count: 3 }))) == truth);
    for adjacency in [Adjacency::AddRemove, Adjacency::Substitute] {
        let factor = |grain| sensitivity_factor(grain, Unit::Example, adjacency, Trust::Local).unwrap();
        assert_eq!(factor(Grain::Whole), factor(Grain::Part { count: 3 }));
    }
}

/// Another grain than the one that there is.
fn other_grain(release: Release) -> Release {
    let grain = if release.grain == Grain::Example { Grain::Whole } else { Grain::Example };
    Release { grain, ..release }
}

fn number_more(release: Release) -> Release {
    Release { numbers: lengthened(release.numbers, 1), ..release }
}

fn sum_less(release: Release) -> Release {
    Release { sums: release.sums - 1, ..release }
}

/// The same lie about all releases of a method.
fn about_all(releases: Releases, lie: fn(Release) -> Release) -> Releases {
    let lied = |opening: &OpeningRelease| OpeningRelease { release: lie(opening.release), ..*opening };
    let openings = releases.openings.iter().map(lied).collect();
    Releases { openings, main: lie(releases.main), ..releases }
}

/// An algorithm whose settings lie about its protocol: no plan, or a refusal before the charge.
#[test]
fn a_lie_of_any_algorithm_is_refused_before_the_charge() {
    let lies: [(&str, Saying); 3] = [
        ("grain", |r| about_all(r, other_grain)),
        ("length", |r| about_all(r, number_more)),
        ("sums", |r| about_all(r, sum_less)),
    ];
    let (sites, test) = (sites(), rows(2, 1));
    let mut refused_by_sites = 0;
    for honest in private_methods() {
        for (what, releases) in lies {
            let algorithm = Arc::new(RedescribedAlgorithm { inner: honest.algorithm.clone(), releases });
            let lying = Method { name: format!("{}, {what}", honest.name), algorithm, ..honest.clone() };
            if simulation(&lying, &sites, &test).build().is_err() {
                continue;
            }
            let (error, charged, noised) = refusal(&lying);
            assert!(matches!(error, RunError::Privacy(PrivacyError::Shape { .. })), "{}: {error}", lying.name);
            assert_eq!((charged, noised), (0, 0), "{}: charged and noised", lying.name);
            refused_by_sites += 1;
        }
    }
    assert!(refused_by_sites > private_methods().len(), "{refused_by_sites} lies only came to a site");
}
