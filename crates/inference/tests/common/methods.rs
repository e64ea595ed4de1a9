//! One method of each kind, for the laws that all of them inherit.

use super::{
    adam, add_remove, by_client, by_person, chain, chain_method, committee, damping, full_pvi, global_vi,
    global_vi_at_clients, hybrid, method, natural, noise_aware, noise_aware_readout, open_pvi, promise, pvi, secure,
    statistics, unclipped,
};
use inference::Method;
use inference::algorithm::chain::{
    BarkerSampler, ChainSettings, HamiltonianSampler, LangevinSampler, PenaltySampler, Start, TestNoise,
};
use inference::algorithm::levels::classes::ClassLevelsSettings;
use inference::algorithm::levels::{LevelsSettings, ServedPrior};
use inference::algorithm::statistics::StatisticsReading;
use inference::algorithm::statistics::rule::{Deviations, InputPerturbation, PlainProducts, Projected, RowNorm};
use inference::algorithm::{
    CommitteePrior, ConjugateSettings, Curvature, NoiseAwareSettings, PviSettings, RoundBudget,
};
use inference::settings::{
    Aggregator, Batching, Chart, Covariance, Damping, FactorRule, Gradients, Local, Optimiser, Promise, Rates,
    Schedule, SecureNoise,
};
use inference::solve::{Analytic, Average, Descend, Likelihood, LocalSolve, Perturb, Virtual};
use privacy::ShareNoise;
use std::sync::Arc;

/// Prior precision of a site-specific intercept of the laws.
pub(crate) const OWN_PRECISION: f64 = 2.0;

/// Parts of the laws' local averages.
pub(crate) const PARTS: u32 = 6;

/// One method of each kind with privacy, at every place where noise can enter.
pub(crate) fn private_methods() -> Vec<Method> {
    [pvi_methods(), summed_methods(), noise_aware_methods(), global_methods(), own_methods(), model_methods()]
        .into_iter()
        .chain([level_methods(), noise_aware_part_methods()])
        .flatten()
        .chain(person_methods())
        .chain(conjugate_methods())
        .chain(statistics_methods())
        .chain(conjugate_family_methods())
        .chain(chain_methods())
        .collect()
}

/// Clients come back at rates that follow their rows.
const CAME: Schedule = Schedule::Asynchronous(Rates::InverseRows);

/// Each client noises what it sends.
fn nobody(clip: f64) -> Promise {
    promise(clip, Aggregator::None)
}

/// A curator noises the total.
fn curator(clip: f64) -> Promise {
    promise(clip, Aggregator::Curator)
}

/// Each client noises a share; one may be lost.
fn shares(clip: f64) -> Promise {
    promise(clip, secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 1))
}

/// Each node noises the total; a client may be lost.
fn nodes(clip: f64) -> Promise {
    promise(clip, secure(SecureNoise::Nodes, 0, 1))
}

/// Levels at every gate, under both relations, of rows and of persons; of two outcomes and of classes.
fn level_methods() -> Vec<Method> {
    let levels = |prior, promise: &Promise| LevelsSettings { first_share: 0.2, prior, adjacency: promise.adjacency };
    let of = |name, prior, promise: Promise| {
        method(name, levels(prior, &promise), Schedule::Synchronous, Promise { clip: None, ..promise })
    };
    let classes = |name, prior, promise: Promise| {
        let settings = ClassLevelsSettings { levels: levels(prior, &promise), classes: 3 };
        method(name, settings, Schedule::Synchronous, Promise { clip: None, ..promise })
    };
    vec![
        classes("softmax, levels", ServedPrior::Stated, nobody(1.0)),
        classes("softmax, levels, curator, fitted prior", ServedPrior::Fitted, curator(1.0)),
        classes("softmax, levels, add-remove", ServedPrior::Stated, add_remove(nobody(1.0))),
        classes("softmax, levels, secure sum", ServedPrior::Stated, nodes(1.0)),
        of("levels", ServedPrior::Stated, nobody(1.0)),
        of("levels, curator, fitted prior", ServedPrior::Fitted, curator(1.0)),
        of("levels, add-remove", ServedPrior::Stated, add_remove(nobody(1.0))),
        of("levels, secure sum", ServedPrior::Stated, nodes(1.0)),
        of("levels, noise shares", ServedPrior::Stated, shares(1.0)),
        of("levels by person", ServedPrior::Stated, by_person(nobody(1.0))),
        of("levels by person, add-remove, curator", ServedPrior::Stated, by_person(add_remove(curator(1.0)))),
    ]
}

/// PVI and committees at local gates.
fn pvi_methods() -> Vec<Method> {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let descend = |local| Descend { local };
    let parts = |parts, local| Virtual { parts, local };
    let kept = Local { keep_state: true, optimiser: Optimiser::Adagrad, chart: Chart::LogVariance, ..adam(5) };
    let reset = PviSettings { factor: FactorRule::Reset, ..pvi(descend(adam(3))) };
    let projected = PviSettings { factor: FactorRule::Project, ..pvi(parts(4, natural(1))) };
    let absolute = |settings| PviSettings { factor: FactorRule::Absolute, ..settings };
    let all_rows = Local { batch: Batching::All, ..adam(4) };
    let average = Average { parts: PARTS, local: natural(2) };
    let committee = |prior| committee(prior, descend(adam(5)));
    vec![
        method("dp optimisation", pvi(descend(adam(5))), one_by_one, nobody(1.0)),
        method("dp optimisation, kept state", pvi(descend(kept)), CAME, add_remove(nobody(1.0))),
        method("dp optimisation, reset", reset, one_by_one, nobody(1.0)),
        method("virtual, projected", projected, CAME, nobody(1.0)),
        method("dp optimisation, noise-aware readout", noise_aware_readout(adam(4)), one_by_one, nobody(1.0)),
        method("perturb", pvi(Perturb { local: natural(2) }), one_by_one, nobody(2.0)),
        method("average", pvi(average.clone()), at_once, nobody(2.0)),
        method("average, absolute", absolute(pvi(average)), CAME, nobody(2.0)),
        method("virtual, absolute", absolute(pvi(parts(4, natural(1)))), one_by_one, add_remove(nobody(1.0))),
        method("virtual", pvi(parts(6, all_rows)), one_by_one, nobody(1.0)),
        method("virtual, add-remove", pvi(parts(4, natural(1))), one_by_one, add_remove(nobody(1.0))),
        method("committee, same prior", committee(CommitteePrior::Same), at_once, nobody(1.0)),
        method("committee, split prior", committee(CommitteePrior::Split), at_once, nobody(1.0)),
    ]
}

/// PVI of which only noised sums are opened.
fn summed_methods() -> Vec<Method> {
    let of = |name: &str, settings: PviSettings, promise| method(name, settings, Schedule::Synchronous, promise);
    let average = Average { parts: PARTS, local: natural(2) };
    let parts = || pvi(Virtual { parts: 6, local: natural(1) });
    let whole = || pvi(Perturb { local: natural(2) });
    vec![
        of("average, curator", pvi(average), curator(2.0)),
        of("virtual, curator", parts(), curator(1.0)),
        of("virtual, shares", parts(), shares(1.0)),
        of("virtual, nodes", parts(), nodes(1.0)),
        of("by client, shares", whole(), by_client(shares(2.0))),
        of("by client, nodes", whole(), by_client(nodes(2.0))),
        of("by client, curator", whole(), by_client(curator(2.0))),
    ]
}

/// Rule A and rule B of the laws.
fn curvatures() -> [Curvature; 2] {
    [Curvature::Moments { looks: 1, bound: 2.0 }, Curvature::EveryRound { weight: 1.0 }]
}

/// Rule B by the parts of a solver.
pub(crate) fn by_parts(solver: impl LocalSolve + 'static) -> NoiseAwareSettings {
    NoiseAwareSettings { solver: Some(Arc::new(solver)), ..noise_aware(Curvature::EveryRound { weight: 1.0 }) }
}

/// Noise-aware PVI by parts: both solvers at every gate, of rows and of persons.
fn noise_aware_part_methods() -> Vec<Method> {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let steps = Local { batch: Batching::All, ..adam(3) };
    let average = || by_parts(Average { parts: PARTS, local: natural(2) });
    let clients = |local| by_parts(Virtual { parts: 4, local });
    vec![
        method("noise-aware, every round, average", average(), one_by_one, nobody(2.0)),
        method("noise-aware, every round, average, curator", average(), at_once, curator(2.0)),
        method("noise-aware, every round, virtual", clients(steps), at_once, nobody(1.0)),
        method(
            "noise-aware, every round, virtual, add-remove, curator",
            clients(natural(1)),
            at_once,
            add_remove(curator(1.0)),
        ),
        method("noise-aware, every round, virtual, shares", clients(natural(1)), at_once, shares(1.0)),
        method("noise-aware, every round, virtual, nodes", clients(natural(1)), at_once, nodes(1.0)),
        method("noise-aware, every round, perturb", by_parts(Perturb { local: natural(1) }), at_once, nobody(1.0)),
        method("noise-aware, every round, virtual, by person", clients(natural(1)), one_by_one, by_person(nobody(1.0))),
    ]
}

/// The same with a noise of its own in every round.
fn weighted(settings: NoiseAwareSettings) -> NoiseAwareSettings {
    NoiseAwareSettings { budget: RoundBudget::Weighted, ..settings }
}

/// Noise-aware PVI by both rules.
fn noise_aware_methods() -> Vec<Method> {
    let [moments, every_round] = curvatures().map(noise_aware);
    let at_once = Schedule::Synchronous;
    vec![
        method("noise-aware, moments", moments.clone(), Schedule::Sequential, nobody(1.0)),
        method("noise-aware, moments, add-remove", moments.clone(), at_once, add_remove(nobody(1.0))),
        method("noise-aware, moments, curator", moments.clone(), at_once, curator(1.0)),
        method("noise-aware, weighted", weighted(moments.clone()), at_once, nobody(1.0)),
        method("noise-aware, weighted, add-remove", weighted(moments.clone()), at_once, add_remove(nobody(1.0))),
        method("noise-aware, weighted, curator", weighted(moments.clone()), at_once, curator(1.0)),
        method("noise-aware, weighted, nodes", weighted(moments.clone()), at_once, nodes(1.0)),
        method("noise-aware, weighted, shares", weighted(moments), at_once, shares(1.0)),
        method("noise-aware, every round", every_round.clone(), at_once, nobody(1.0)),
        method("noise-aware, every round, shares", every_round, at_once, shares(1.0)),
    ]
}

/// Global VI with its optimiser at the server and at every client.
fn global_methods() -> Vec<Method> {
    let at_once = Schedule::Synchronous;
    let kept = Local { keep_state: true, optimiser: Optimiser::Adagrad, chart: Chart::LogVariance, ..adam(1) };
    let by_adam = global_vi_at_clients(adam(1), Damping::NONE);
    vec![
        method("global vi", global_vi(adam(1)), at_once, nobody(1.0)),
        method("global vi, curator", global_vi(adam(1)), at_once, curator(1.0)),
        method("global vi, nodes", global_vi(adam(1)), at_once, nodes(1.0)),
        method("global vi at clients", global_vi_at_clients(kept, damping()), CAME, add_remove(nobody(1.0))),
        method("global vi at clients, adam", by_adam, Schedule::Sequential, nobody(1.0)),
    ]
}

/// Methods that protect persons with all their rows: sums by person, whole changes and parts.
fn person_methods() -> Vec<Method> {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let fixed = Local { batch: Batching::WithoutReplacement(2), ..adam(3) };
    let average = || pvi(Average { parts: PARTS, local: natural(2) });
    let [moments, every_round] = curvatures().map(noise_aware);
    let own = NoiseAwareSettings { site_intercept: Some(OWN_PRECISION), ..moments.clone() };
    let come_and_go = |promise| by_person(add_remove(promise));
    let descend = |local| pvi(Descend { local });
    vec![
        method("by person, dp optimisation", descend(adam(4)), one_by_one, by_person(nobody(1.0))),
        method("by person, dp optimisation, add-remove", descend(adam(4)), CAME, come_and_go(nobody(1.0))),
        method("by person, fixed batches", descend(fixed), one_by_one, by_person(nobody(1.0))),
        method("by person, perturb", pvi(Perturb { local: natural(2) }), one_by_one, by_person(nobody(2.0))),
        method("average by person", average(), at_once, by_person(nobody(2.0))),
        method("average by person, add-remove, curator", average(), at_once, come_and_go(curator(2.0))),
        method("by person, moments", moments.clone(), one_by_one, by_person(nobody(1.0))),
        method("by person, moments, add-remove", moments, at_once, come_and_go(curator(1.0))),
        method("by person, every round, shares", every_round, at_once, by_person(shares(1.0))),
        method("by person, site intercept", own, one_by_one, by_person(nobody(1.0))),
        method("by person, global vi, nodes", global_vi(adam(1)), at_once, by_person(nodes(1.0))),
        method(
            "by person, global vi at clients",
            global_vi_at_clients(adam(1), damping()),
            CAME,
            by_person(nobody(1.0)),
        ),
    ]
}

/// Methods with a site-specific intercept, which is the coefficient of the last input, an intercept.
fn own_methods() -> Vec<Method> {
    own_methods_of(OWN_PRECISION)
}

/// The same with another prior precision of the site-specific intercept.
pub(crate) fn own_methods_of(precision: f64) -> Vec<Method> {
    let (one_by_one, at_once, site_intercept) = (Schedule::Sequential, Schedule::Synchronous, Some(precision));
    let average = Average { parts: PARTS, local: natural(2) };
    let own = |settings: PviSettings| PviSettings { site_intercept, ..settings };
    let [moments, every_round] =
        curvatures().map(|curvature| NoiseAwareSettings { site_intercept, ..noise_aware(curvature) });
    vec![
        method("site intercept, dp optimisation", own(pvi(Descend { local: adam(3) })), one_by_one, nobody(1.0)),
        method("site intercept, average", own(pvi(average)), at_once, nobody(2.0)),
        method("site intercept, moments", moments.clone(), one_by_one, nobody(1.0)),
        method("site intercept, weighted", weighted(moments), at_once, nobody(1.0)),
        method("site intercept, every round", every_round, at_once, add_remove(nobody(1.0))),
    ]
}

/// Methods on other models than logistic regression.
fn model_methods() -> Vec<Method> {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let aligned = || Descend { local: Local { gradients: Gradients::Aligned, ..adam(3) } };
    let steps = || pvi(Descend { local: adam(3) });
    let [_, every_round] = curvatures().map(noise_aware);
    let members = committee(CommitteePrior::Split, aligned());
    vec![
        method("softmax, dp optimisation", steps(), one_by_one, nobody(1.0)),
        method("softmax, noise-aware", every_round, at_once, curator(1.0)),
        method("network, dp optimisation", steps(), one_by_one, nobody(1.0)),
        method("network of classes, aligned", pvi(aligned()), CAME, add_remove(nobody(1.0))),
        method("network, aligned committee", members, at_once, nobody(1.0)),
        method("network, global vi", global_vi(adam(1)), at_once, curator(1.0)),
    ]
}

/// One method of each kind for linear regression.
pub(crate) fn conjugate_methods() -> Vec<Method> {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let hybrid = hybrid(2, 0.4, 2.0, adam(3));
    vec![
        method("analytic", full_pvi(Analytic), at_once, nobody(1.0)),
        method("analytic, mean-field", pvi(Analytic), CAME, add_remove(nobody(1.0))),
        method("likelihood", full_pvi(Likelihood), one_by_one, nobody(1.0)),
        method("likelihood, as they come", full_pvi(Likelihood), CAME, add_remove(nobody(1.0))),
        method("hybrid", pvi(hybrid.clone()), one_by_one, nobody(1.0)),
        method("hybrid by person", pvi(hybrid), one_by_one, by_person(nobody(1.0))),
        method("analytic by person", full_pvi(Analytic), at_once, add_remove(by_person(nobody(1.0)))),
    ]
}

/// Regression by sufficient statistics: every rule, read in the ways that take no time.
pub(crate) fn statistics_methods() -> Vec<Method> {
    let (nobody, curator) = (unclipped(Aggregator::None), unclipped(Aggregator::Curator));
    let nodes = unclipped(secure(SecureNoise::Nodes, 0, 0));
    let shares = unclipped(secure(SecureNoise::Clients(ShareNoise::Skellam), 0, 1));
    let known = RowNorm { deviations: Deviations::Known, radius: 0.8 };
    let asked = RowNorm { deviations: Deviations::Asked { bound: 4.0, share: 0.2 }, radius: 0.8 };
    let projected = Projected { bound: 4.0, share: 0.3, means: None };
    let centred = Projected { means: Some(0.1), ..projected };
    let (plain, inputs) = (PlainProducts { bound: 4.0 }, InputPerturbation { bound: 4.0 });
    use StatisticsReading::{Naive, Ridge};
    vec![
        statistics("statistics, plain", plain, Naive, nobody),
        statistics("statistics, plain, add-remove, curator", plain, Ridge, add_remove(curator)),
        statistics("statistics, projected, shares", projected, Ridge, shares),
        statistics("statistics, projected about means", centred, Naive, nobody),
        statistics("statistics, row-norm", known, Ridge, nobody),
        statistics("statistics, row-norm, asked, nodes", asked, Ridge, nodes),
        statistics("statistics, row-norm, asked, add-remove", asked, Ridge, add_remove(curator)),
        statistics("statistics, inputs", inputs, Naive, nobody),
        statistics("statistics, row-norm, by person", known, Ridge, by_person(nobody)),
        statistics("statistics, row-norm, by person, add-remove", known, Naive, by_person(add_remove(curator))),
    ]
}

/// Conjugate families: each at another gate.
pub(crate) fn conjugate_family_methods() -> Vec<Method> {
    let of = |name, bounds, promise: Promise| {
        method(name, ConjugateSettings { bounds }, Schedule::Synchronous, Promise { clip: None, ..promise })
    };
    vec![
        of("beta-binomial", None, nobody(1.0)),
        of("dirichlet-multinomial", None, nobody(1.0)),
        of("dirichlet-multinomial, shares", None, shares(1.0)),
        of("gamma-poisson, nodes", Some([0.0, 3.0]), nodes(1.0)),
        of("normal, curator", Some([-0.5, 2.0]), curator(1.0)),
    ]
}

/// Chains by every sampler, over several sites: of a few iterations, of which some are accepted.
fn chain_methods() -> Vec<Method> {
    let nodes = promise(1.0, secure(SecureNoise::Nodes, 0, 0));
    let shares = promise(1.0, secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 0));
    let short = |start, batch, settings: ChainSettings| ChainSettings {
        start,
        batch,
        covariance: Covariance::MeanField,
        ..settings
    };
    let all = |start, settings| short(start, Batching::All, settings);
    let some = |settings| short(Start::Prior, Batching::WithoutReplacement(3), settings);
    let barker = || chain(BarkerSampler { step: 0.2, noise: TestNoise::Fixed { variance: 2.0 } }, 12);
    let penalty = || chain(PenaltySampler { step: 0.2, variance: 1.0 }, 12);
    let hamiltonian = || chain(HamiltonianSampler { step: 0.1, leaps: 2, variance: 1.0, share: 0.4 }, 12);
    let learnt = Start::Variational { rounds: 2, share: 0.3, learning_rate: 0.1 };
    let climbed = Start::Climbed { rounds: 3, learning_rate: 0.1 };
    vec![
        chain_method("chain, barker", some(barker()), nobody(1.0)),
        chain_method("chain, barker, nodes", all(learnt, barker()), nodes),
        chain_method("chain, penalty, curator", all(Start::Origin, penalty()), curator(1.0)),
        chain_method("chain, penalty, shares", all(Start::Prior, penalty()), shares),
        chain_method("chain, langevin", some(chain(LangevinSampler { step: 1e-6 }, 12)), nobody(1.0)),
        chain_method("chain, hamiltonian", all(Start::Prior, hamiltonian()), nobody(1.0)),
        chain_method("chain, hamiltonian, climbed", all(climbed, hamiltonian()), curator(1.0)),
    ]
}

/// Every method of the laws.
pub(crate) fn methods() -> Vec<Method> {
    let open = [Schedule::Sequential, Schedule::Synchronous, Schedule::Asynchronous(Rates::Equal)];
    private_methods().into_iter().chain(open.map(open_pvi)).collect()
}
