//! A sampler of one's own, written with what is public: underdamped Langevin dynamics, whose momentum lasts from draw to draw.

use crate::common::{self, chain_method, logistic, promise, rows, simulation, site, sized};
use inference::algorithm::chain::kernel::{STEP, over_zero};
use inference::algorithm::chain::{
    ChainNoise, ChainSettings, Coins, Kernel, KernelQuestion, Sampler, Taken, Target, Walk,
};
use inference::describe::{Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Otherwise, Registry, ValueKind};
use inference::settings::{Aggregator, Batching, Covariance};
use inference::{Method, RunError, testing};
use std::sync::Arc;

#[derive(Debug, serde::Serialize)]
struct Underdamped {
    step: f64,
    friction: f64,
}

const FRICTION: Key = Key {
    name: "friction",
    about: "how fast momentum is lost",
    kind: ValueKind::Positive,
    otherwise: Otherwise::Number(1.0),
    example: "1.0",
};

const MINE: Descriptor<dyn Sampler> = Descriptor {
    name: "underdamped",
    also: &["kinetic-langevin"],
    about: "Underdamped Langevin steps along noisy gradients.",
    keys: &[STEP, FRICTION],
    limits: Limits::NONE,
    read: |from| Ok(Arc::new(Underdamped { step: from.keys.number("step")?, friction: from.keys.number("friction")? })),
};

impl Sampler for Underdamped {
    fn descriptor(&self) -> &'static Descriptor<dyn Sampler> {
        &MINE
    }
    fn describe(&self) -> String {
        format!("underdamped Langevin steps of {} with friction {}", self.step, self.friction)
    }
    fn ratio_variance(&self) -> Option<f64> {
        None
    }
    fn check(&self, _: Batching) -> Result<(), Conflict> {
        over_zero(&[("step", self.step), ("friction", self.friction)])
    }
    /// The noise of a slope moves the momentum by a variance of (h/2·(1 + c))²·σ², which is part of friction's 1 − c².
    fn kernel(&self, noise: &ChainNoise<'_>) -> Result<Box<dyn Kernel>, RunError> {
        let (step, kept) = (self.step, libm::exp(-self.friction * self.step));
        let missing = 1.0 - kept * kept - (0.5 * step * (1.0 + kept)).powi(2) * noise.of_slopes();
        if missing < 0.0 {
            let what = "a slope has more noise than friction takes";
            return Err(Conflict::new("chain.step", NOT_TOGETHER, what, "use a smaller step, or more friction").into());
        }
        Ok(Box::new(Dynamics { step, kept, missing: missing.sqrt() }))
    }
}

/// Half a drift, half a kick, friction, half a kick, half a drift: one slope, in the middle.
#[derive(Debug)]
struct Dynamics {
    step: f64,
    kept: f64,
    missing: f64,
}

impl Dynamics {
    fn half(&self, theta: &[f64], momentum: &[f64]) -> Vec<f64> {
        theta.iter().zip(momentum).map(|(t, p)| t + 0.5 * self.step * p).collect()
    }
}

impl Kernel for Dynamics {
    fn begin(&self, _: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk {
        let momentum = coins.normals(theta.len());
        let proposed = self.half(&theta, &momentum);
        Walk { momentum, ..Walk::to(theta, proposed) }
    }
    fn ask(&self, walk: &Walk) -> KernelQuestion {
        KernelQuestion::Slope { at: walk.proposed.clone() }
    }
    fn take(&self, target: &Target, mut walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let slope = target.prior_slope(&walk.proposed).zip(heard).map(|(prior, heard)| prior + heard);
        for ((p, slope), z) in walk.momentum.iter_mut().zip(slope).zip(coins.normals(heard.len())) {
            let kick = 0.5 * self.step * slope;
            *p = self.kept * (*p + kick) + self.missing * z + kick;
        }
        walk.theta = self.half(&walk.proposed, &walk.momentum);
        walk.proposed = self.half(&walk.theta, &walk.momentum);
        Taken::Moving(walk)
    }
}

fn study(step: f64) -> Result<Method, Vec<Conflict>> {
    let text = format!(
        r#"
        name = "mine"
        algorithm = "chain"
        covariance = "mean-field"
        chain = {{ sampler = "underdamped", iterations = 12, step = {step} }}
        privacy = {{ unit = "example", adjacency = "substitute", epsilon = 2.0, delta = 1e-5, clip = 1.0 }}
        "#
    );
    Method::read(&text.parse().unwrap(), &Registry::standard().with(&MINE))
}

#[test]
fn a_sampler_of_ones_own_is_read_planned_and_held_to_all_laws() {
    testing::laws(&study(1e-6).unwrap(), &logistic());
}

#[test]
fn noise_that_a_kernel_cannot_use_is_refused_by_the_plan() {
    match inference::plan::plan(&study(0.1).unwrap(), &[40, 25, 60], 5) {
        Err(RunError::Conflict(conflict)) => assert_eq!(conflict.key, "chain.step"),
        other => panic!("{other:?}"),
    }
    let langevin = common::chain(inference::algorithm::chain::LangevinSampler { step: 0.1 }, 12);
    let method = chain_method("langevin", langevin, promise(1.0, Aggregator::None));
    match inference::plan::plan(&method, &[40], 5) {
        Err(RunError::Conflict(conflict)) => assert!(conflict.hint.contains("a step of at most"), "{conflict:?}"),
        other => panic!("{other:?}"),
    }
}

/// Without rows and noise draws are from the prior, up to a part of h²/4 of their variance. If momentum were drawn anew for every
/// draw, they would be so too: so the distance of the second draw from the first is looked at, for which momentum decides.
#[test]
fn momentum_lasts_from_draw_to_draw() {
    let (sites, test) = ([site("empty", inference::Rows::new(5, 2).unwrap())], rows(3, 9));
    let sampler = Underdamped { step: 0.3, friction: 0.5 };
    let settings = ChainSettings { covariance: Covariance::MeanField, ..common::chain(sampler, sized(20_000, 80_000)) };
    let record = simulation(&chain_method("mine", settings, None), &sites, &test).run(&mut ()).unwrap();
    let draws: Vec<&[f64]> = record.chains[0].chunks(5).collect();
    let (mut square, mut turns, count) = (0.0, 0.0, (draws.len() - 2) as f64);
    for three in draws.windows(3) {
        square += three[0][0] * three[0][0] / count;
        turns += (three[2][0] - three[1][0]) * (three[1][0] - three[0][0]) / count;
    }
    assert!((square - 1.0).abs() < 0.15, "variance {square}");
    // h²·(correlation of momentum after one step), about 0.09·0.8; near 0 for momentum that is drawn anew.
    assert!((0.05..0.09).contains(&turns), "{turns}");
}
