//! Laws that every algorithm inherits, in every schedule and at every gate.

use crate::common;
use crate::common::redescribed::RedescribedSolver;
use crate::common::{
    PARTS, algorithm_of, committee, damping, full_pvi, method, methods, model_of, natural, private_methods, promise,
    pvi, rows, simulation, site, sites, whole_step,
};
use inference::algorithm::{
    CommitteePrior, CommitteeSettings, InterceptState, Protocol, PviSettings, PviState, Remembered,
};
use inference::message::{Ask, Delivery, Direct, Link, Receipt};
use inference::release::{Release, Releases};
use inference::settings::{
    Aggregator, Covariance, Damping, Local, NoiseReading, Rates, Readout, Repair, Rounds, Schedule,
};
use inference::solve::{Analytic, Average, Clear, Descend, Likelihood, Perturb, Virtual};
use inference::testing::{self, unlimited};
use inference::{Client, Expectation, Logistic, Method, RunError, Simulation, SimulationContext, Total};
use privacy::record::{NoiseCall, Tape};
use privacy::{Grid, GridVector, PrivacyError};
use std::sync::Arc;

#[test]
fn same_seed_same_bits_on_one_thread_and_on_two() {
    methods().iter().for_each(|method| testing::same_seed_same_bits(method, &model_of(method)));
}

#[test]
fn same_bits_in_process_and_over_the_serialised_loopback() {
    methods().iter().for_each(|method| testing::same_bits_over_the_loopback(method, &model_of(method)));
}

#[test]
fn what_a_method_releases_is_what_it_describes() {
    methods().iter().for_each(|method| testing::releases_what_it_describes(method, &model_of(method)));
}

/// More sums than are made are paid for, and refused by nobody: only this law notices.
#[test]
#[should_panic(expected = "another number of sums than described")]
fn mutant_a_description_of_more_sums_than_are_made_is_caught() {
    let solver = RedescribedSolver::saying(Perturb { local: natural(2) }, |releases| Releases {
        main: Release { sums: 2, ..releases.main },
        ..releases
    });
    let lying = method("lying", pvi(solver), Schedule::Synchronous, promise(1.0, Aggregator::None));
    testing::releases_what_it_describes(&lying, &model_of(&lying));
}

/// All laws at once, as a method of one's own is tried.
#[test]
fn all_laws_hold_at_once() {
    let names = ["perturb", "by client, curator", "open Synchronous"];
    let methods: Vec<Method> = methods().into_iter().filter(|method| names.contains(&method.name.as_str())).collect();
    assert_eq!(methods.len(), names.len());
    methods.iter().for_each(|method| testing::laws(method, &model_of(method)));
}

#[test]
fn the_total_is_the_sum_of_the_factors_after_damped_noisy_lost_and_repeated_messages() {
    let holds = |method: &&Method| testing::the_total_is_the_sum_of_the_factors(method, &model_of(method));
    let seen = methods().iter().filter(holds).count();
    assert!(seen >= 6, "the law was tried on {seen} methods only");
}

/// Gives every client a receipt for its answer, as if the answer had been folded by itself.
struct Settling;

impl Link for Settling {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let delivery = Direct.ask(client, protocol, ask, workshop)?;
        let applied = Total::zeros(client.terms().shape.dimension(), Grid::new(24)?);
        Direct.settle(client, protocol, &Receipt::of(&applied)?)?;
        Ok(delivery)
    }

    fn settle(&self, _: &mut Client<'_>, _: &dyn Protocol, _: &Receipt) -> Result<(), RunError> {
        Err(RunError::Message { what: "only sums were opened, and a client got a receipt" })
    }
}

/// What was opened: the sum and its noise.
fn opened(call: &NoiseCall, grid: Grid) -> GridVector {
    let mut units = call.input.clone();
    call.noise.iter().for_each(|noise| units.iter_mut().zip(noise).for_each(|(u, n)| *u += n));
    serde_json::from_value(serde_json::json!({ "grid": grid, "units": units })).unwrap()
}

#[test]
fn under_an_aggregator_no_client_has_a_factor_and_the_posterior_is_made_of_opened_sums() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods().iter().filter(|m| m.promise.unwrap().aggregator != Aggregator::None) {
        let simulation = simulation(method, &sites, &test);
        let built = unlimited(&simulation);
        let tape = Tape::record();
        let mut drive = simulation.start(&built, &Settling, Some(&tape)).unwrap();
        let first: Option<PviState> =
            (algorithm_of(method) == "pvi").then(|| postcard::from_bytes(drive.state()).unwrap());
        drive.round().unwrap();
        drive.round().unwrap();
        for client in drive.clients() {
            let nothing = match algorithm_of(method) {
                "pvi" => postcard::to_allocvec(&Some(Remembered::default())).unwrap(),
                "noise-aware" => postcard::to_allocvec(&None::<InterceptState>).unwrap(),
                _ => Vec::new(),
            };
            assert_eq!(client.memory(), nothing, "{}: something is remembered", method.name);
        }
        let Some(first) = first else { continue };
        let share = if method.name.starts_with("average") { 1.0 / f64::from(PARTS) } else { 1.0 };
        let kept = Damping::new(damping().get() * share).unwrap();
        let mut total = first.total.clone();
        for call in tape.calls() {
            total.add(&first.total.damped(&opened(&call, built.terms[0].shape.grid()), kept).unwrap());
        }
        let last: PviState = postcard::from_bytes(drive.state()).unwrap();
        assert!(total != first.total && total == last.total, "{}: not the opened sums", method.name);
        let prior = &built.problem.prior.0;
        let raw: Vec<f64> = prior.iter().zip(total.values()).map(|(p, t)| p + t).collect();
        let served = built.problem.family.repair(&raw, prior, Repair::Project);
        assert_eq!(drive.posterior().unwrap(), served, "{}", method.name);
    }
}

#[test]
fn a_spent_budget_ends_the_rounds_and_nothing_moves_any_more() {
    private_methods().iter().for_each(|method| testing::stops_when_the_budget_is_spent(method, &model_of(method)));
}

#[test]
fn terms_one_release_short_end_the_round_before_the_charge_with_a_message_and_a_consistent_state() {
    let refused = |method: &&Method| testing::is_refused_a_release_short(method, &model_of(method));
    let tried = private_methods().iter().filter(refused).count();
    assert!(tried >= 5, "{tried} methods only");
}

#[test]
fn a_gate_that_shuts_before_the_last_release_ends_the_round_and_the_next_one_goes_on() {
    private_methods().iter().for_each(|method| testing::goes_on_after_a_gate_that_shut(method, &model_of(method)));
}

/// The noise of the first round.
fn noise_of(simulation: &Simulation<'_>) -> Vec<i64> {
    let built = unlimited(simulation);
    let tape = Tape::record();
    simulation.start(&built, &Direct, Some(&tape)).unwrap().round().unwrap();
    tape.calls().into_iter().flat_map(|call| call.noise).flatten().collect()
}

#[test]
fn runs_that_differ_in_anything_share_no_noise() {
    let (sites, test) = (sites(), rows(30, 9));
    let renamed: Vec<_> = [40, 25, 60].iter().zip(1..).map(|(&n, seed)| site("renamed", rows(n, seed))).collect();
    let perturb = |local| pvi(Perturb { local });
    let readout = Readout { repair: Repair::Project, average: 2, noise: NoiseReading::Plain };
    let of = |settings| method("perturb", settings, Schedule::Sequential, promise(2.0, Aggregator::None));
    let method = of(perturb(natural(2)));
    // Of one name, and of noise of one size: only the key can tell them apart.
    let edits = [
        PviSettings { damping: Damping::new(0.4).unwrap(), ..perturb(natural(2)) },
        perturb(Local { learning_rate: 0.6, ..natural(2) }),
        PviSettings { readout, ..perturb(natural(2)) },
        perturb(natural(3)),
    ]
    .map(of);
    let base = simulation(&method, &sites, &test);
    let draws = Logistic { expectation: Expectation::MonteCarlo { draws: 3 }, ..Logistic::default() };
    let others = [
        Simulation { seed: 12, ..base.clone() },
        Simulation { data: [1; 32], ..base.clone() },
        Simulation { prior: 2.0.into(), ..base.clone() },
        Simulation { model: Arc::new(draws), ..base.clone() },
        Simulation { sites: &renamed, ..base.clone() },
    ];
    let edited = edits.iter().map(|method| Simulation { method, ..base.clone() });
    let all: Vec<Vec<i64>> = std::iter::once(base.clone()).chain(others).chain(edited).map(|s| noise_of(&s)).collect();
    assert_eq!(all[0], noise_of(&base), "one run is repeatable");
    for (i, a) in all.iter().enumerate() {
        for (k, b) in all.iter().enumerate().skip(i + 1) {
            assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a != b), "runs {i} and {k} share noise");
        }
    }
}

#[test]
fn epsilon_of_a_curve_is_the_largest_of_the_ledgers() {
    let (sites, test) = (sites(), rows(30, 9));
    let came = |m: &&Method| m.schedule == Schedule::Asynchronous(Rates::InverseRows);
    for method in private_methods().iter().filter(came) {
        let record = simulation(method, &sites, &test).run(&mut ()).unwrap();
        let most = record.spending.iter().map(|c| c.certified).fold(0.0, f64::max);
        assert_eq!(record.curve.last().unwrap().epsilon, Some(most), "{}", method.name);
    }
}

#[test]
fn a_descent_that_diverges_is_an_error_of_its_own() {
    let (sites, test) = (sites(), rows(30, 9));
    let local = Local { learning_rate: 1e300, ..common::adam(5) };
    let settings = pvi(Descend { local });
    let method = method("diverging", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
    let error = simulation(&method, &sites, &test).run(&mut ()).unwrap_err();
    assert!(matches!(error, RunError::Privacy(PrivacyError::Diverged)), "{error}");
}

#[test]
fn an_answer_fits_if_and_only_if_it_has_the_shape_that_is_folded() {
    let fits = testing::an_answer_fits_if_it_has_the_shape_that_is_folded;
    methods().iter().for_each(|method| fits(method, &model_of(method)));
}

#[test]
fn a_round_that_failed_is_asked_again_with_other_noise() {
    private_methods().iter().for_each(|method| testing::retries_with_other_noise(method, &model_of(method)));
}

#[test]
fn with_an_open_gate_every_schedule_reaches_the_exact_posterior_of_conjugate_regression() {
    let schedules = [Schedule::Sequential, Schedule::Synchronous, Schedule::Asynchronous(Rates::InverseRows)];
    let clear = || Clear { local: whole_step() };
    for schedule in schedules {
        let solvers = [
            full_pvi(clear()),
            full_pvi(RedescribedSolver::without_privacy(Average { parts: 1, local: whole_step() })),
            full_pvi(RedescribedSolver::without_privacy(Average { parts: 7, local: whole_step() })),
            full_pvi(RedescribedSolver::without_privacy(Virtual { parts: 7, local: whole_step() })),
            full_pvi(RedescribedSolver::without_privacy(Analytic)),
            full_pvi(RedescribedSolver::without_privacy(Likelihood)),
        ];
        for settings in solvers {
            let name = format!("{}, {schedule:?}", settings.solver.describe());
            let settings = PviSettings { rounds: Rounds::Count(120), ..settings };
            common::reaches_the_exact_posterior(&method(&name, settings, schedule, None));
        }
    }
    let split = CommitteeSettings { covariance: Covariance::Full, ..committee(CommitteePrior::Split, clear()) };
    common::reaches_the_exact_posterior(&method("committee, split prior", split, Schedule::Synchronous, None));
}
