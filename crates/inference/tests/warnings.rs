//! Statistical warnings: each is given where it should be, and not a little before.

use crate::common::{adam, logistic, method, natural, promise, pvi, rows, simulation, sites, whole_step};
use inference::PriorTerm;
use inference::algorithm::PviSettings;
use inference::chain::shown;
use inference::plan::plan;
use inference::settings::{Aggregator, Local, Noise, Promise, Rounds, Schedule};
use inference::solve::{Clear, Descend, Perturb};
use inference::warning::public::{
    ServedPosterior, approaches, clip_out_of_scale, few_draws, moves, of_plan, of_plan_without_rows, of_served,
};
use inference::warning::{Code, PublicWarnings};
use inference::{Intervals, Method};
use privacy::{Epsilon, NoiseMultiplier};
use std::sync::LazyLock;

/// The codes of warnings, in order.
fn codes(warnings: &PublicWarnings) -> Vec<Code> {
    warnings.iter().map(|warning| warning.code).collect()
}

fn served<'a>(mean: &'a [f64], last_moves: &'a [f64], names: &'a [String]) -> ServedPosterior<'a> {
    static PRIOR: LazyLock<PriorTerm> =
        LazyLock::new(|| PriorTerm::independent(vec![0.0; 2], vec![1.0, 0.25]).unwrap());
    ServedPosterior { names, prior: Some(&PRIOR), mean, last_moves, intervals: &Intervals::WithoutNoise, draws: None }
}

#[test]
fn a_coefficient_is_far_from_the_mean_of_its_prior_not_from_zero() {
    let stated = PriorTerm::independent(vec![10.0, 0.0], vec![1.0, 1.0]).unwrap();
    let names = ["age".to_owned()];
    let with = |mean| ServedPosterior { prior: Some(&stated), ..served(mean, &[], &names) };
    assert_eq!(of_served(&with(&[10.5, 0.0])), PublicWarnings::default());
    let far = of_served(&with(&[0.0, 0.0]));
    let told: Vec<&str> = far.iter().map(|warning| warning.what.as_str()).collect();
    assert_eq!(told, ["the coefficient of age is 10.0 prior standard deviations from the prior's mean"]);
}

#[test]
fn a_tenth_of_a_deviation_in_the_last_round_and_four_of_the_prior_are_the_most() {
    let names = ["age".to_owned()];
    let found = moves(&[1.0, 2.0], &[1.5, 2.0], &[5.0, 0.1]);
    assert_eq!(found, [0.1, 0.0]);
    assert_eq!(of_served(&served(&[-4.0, 8.0], &found, &names)), PublicWarnings::default());
    let both = of_served(&served(&[-4.5, 8.0], &[0.02, 0.11], &names));
    assert_eq!(codes(&both), [Code::StillMoving, Code::BeyondPrior]);
    let told: Vec<&str> = both.iter().map(|warning| warning.what.as_str()).collect();
    assert!(told[0].contains("the served mean of θ2 moved by 0.11 of its standard deviation"), "{told:?}");
    assert!(told[1].contains("the coefficient of age is 4.5 prior standard deviations from 0"), "{told:?}");
    assert_eq!(codes(&of_served(&served(&[0.0, -8.1], &[], &names))), [Code::BeyondPrior], "of each its own prior");
}

/// Noise moves a mean in every round: only an interval that is shown can be spoilt by that.
#[test]
fn under_noise_a_move_is_told_where_an_interval_is_shown() {
    let names = ["age".to_owned()];
    let counted = Intervals::CountNoise { measured: "90 %".into() };
    let short = Intervals::DoNotHold { measured: "31 %".into() };
    for (intervals, moved, warned) in [
        (&counted, 0.45, false),
        (&counted, 0.55, true),
        (&short, 1.7, false),
        (&Intervals::IgnoreNoise, 1.7, false),
        (&Intervals::FittedPrior, 1.7, false),
    ] {
        let moves = [moved, 0.0];
        let found = of_served(&ServedPosterior { intervals, ..served(&[0.0, 0.0], &moves, &names) });
        assert_eq!(codes(&found) == [Code::StillMoving], warned, "{intervals:?} {moved}");
    }
}

/// Found: a Hamiltonian chain that hardly moved served standard deviations of 5e-7.
#[test]
fn chains_that_hardly_move_or_are_worth_few_draws_are_no_posterior() {
    let code = |chains: &[Vec<f64>]| few_draws(shown(chains, 0, 1).unwrap().as_ref()).map(|warning| warning.code);
    let moving: Vec<f64> = (0..400_u32).map(|i| f64::from(i * i * 7 % 97)).collect();
    assert_eq!(code(std::slice::from_ref(&moving)), None);
    let once: Vec<f64> = (0..400).map(|i| if i < 200 { 0.0 } else { 1e-7 }).collect();
    assert_eq!(code(std::slice::from_ref(&once)), Some(Code::FewDraws), "1 of 399 moved");
    assert_eq!(code(&[moving.clone(), once]), Some(Code::FewDraws), "one of two chains");
    assert_eq!(code(&[moving, vec![3.0; 400]]), Some(Code::FewDraws), "one that stands");
    let drifting: Vec<f64> = (0..400).map(f64::from).collect();
    assert_eq!(code(&[drifting]), Some(Code::FewDraws), "every draw moves, and they are worth few");
    assert_eq!(code(&[vec![1.0, 2.0]]), Some(Code::FewDraws), "too few to be described");
}

/// DP optimisation with this promise and so many rounds.
fn optimised(promise: Promise, rounds: u64) -> Method {
    let settings = PviSettings { rounds: Rounds::Count(rounds), ..pvi(Descend { local: adam(1) }) };
    method("optimised", settings, Schedule::Sequential, promise)
}

/// PVI without privacy of so many rounds.
fn open(local: Local, rounds: u64) -> Method {
    let settings = PviSettings { rounds: Rounds::Count(rounds), ..pvi(Clear { local }) };
    method("open", settings, Schedule::Sequential, None)
}

fn planned(method: &Method) -> Vec<Code> {
    codes(&of_plan(method, &plan(method, &[400, 250, 600], 5).unwrap()))
}

#[test]
fn an_epsilon_over_ten_and_rounds_beyond_the_budget_are_warned_of() {
    let usual = promise(1.0, Aggregator::None);
    let of = |epsilon: f64| Promise { epsilon: Epsilon::new(epsilon).unwrap(), ..usual };
    assert!(planned(&optimised(of(10.0), 10)).is_empty());
    assert_eq!(planned(&optimised(of(10.5), 10)), [Code::LargeEpsilon]);
    let given = Promise { noise: Noise::Multiplier(NoiseMultiplier::new(4.0).unwrap()), ..usual };
    assert!(planned(&optimised(given, 3)).is_empty());
    assert_eq!(planned(&optimised(given, 100_000)), [Code::TooManyRounds], "the budget ends before");
    assert_eq!(planned(&optimised(of(0.01), 400)), [Code::TooManyRounds], "noise over all rows together");
    let drowned = optimised(of(0.01), 400);
    let undeclared = of_plan_without_rows(&drowned, &plan(&drowned, &[1, 1, 1], 5).unwrap());
    assert!(undeclared.iter().next().is_none(), "rows that are not declared are compared with nothing");
    assert_eq!(planned(&open(natural(2), 10_001)), [Code::TooManyRounds], "a week of rounds");
    assert!(planned(&open(natural(2), 10_000)).is_empty());
}

#[test]
fn a_clip_of_a_tenth_or_ten_times_a_typical_row_is_the_most() {
    let promise = promise(2.0, Aggregator::None);
    let optimised = optimised(promise, 1);
    for (typical, warned) in [(0.19, true), (0.21, false), (19.0, false), (21.0, true)] {
        assert_eq!(clip_out_of_scale(&optimised, typical).is_some(), warned, "{typical}");
    }
    let perturb = method("perturb", pvi(Perturb { local: adam(1) }), Schedule::Sequential, promise);
    assert_eq!(
        clip_out_of_scale(&perturb, 100.0),
        None,
        "it clips changes of coefficients, of which ranges say nothing"
    );
}

#[test]
fn a_run_that_settles_is_told_apart_from_one_that_moves() {
    let (sites, test) = (sites(), rows(50, 9));
    let moved = |method: &Method| {
        let record =
            inference::Simulation { model: logistic(), ..simulation(method, &sites, &test) }.run(&mut ()).unwrap();
        record.last_moves.iter().copied().reduce(f64::max)
    };
    let settles = open(whole_step(), 40);
    assert!(approaches(&settles) && moved(&settles).unwrap() < 0.1, "{:?}", moved(&settles));
    let settings = PviSettings { rounds: Rounds::Count(2), ..pvi(Descend { local: adam(5) }) };
    let noisy = method("noisy", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
    assert!(moved(&noisy).unwrap() > 0.1, "{:?}", moved(&noisy));
    assert_eq!(moved(&open(whole_step(), 1)), None, "one round approaches nothing");
}
