//! From the settings of a chain to its parts: the scales of every site's sums, and the kernel that knows their noise.

use crate::algorithm::GlobalVi;
use crate::algorithm::chain::{
    Barker, Beginning, Chain, Hamiltonian, Kernel, Langevin, Missing, Penalty, Scales, Target,
};
use crate::chain::Correction;
use crate::client::Summing;
use crate::settings::{Chain as Settings, Local, Optimiser, Sampler, Start, TestNoise};
use crate::solve::{Prior, Problem};
use crate::{Family, RunError, Support, Terms};
use privacy::Mechanism;
use sha2::{Digest, Sha256};

/// A chain over clients on these terms.
pub(super) fn chain(
    settings: &Settings,
    problem: &Problem,
    terms: &[Terms],
    rows: &[u64],
    summing: Summing,
    (local, seed): (Local, u64),
) -> Result<Chain, RunError> {
    let dimension = problem.family.dimension();
    let target = Target { precisions: precisions(problem), supports: problem.model.supports(dimension) };
    let by_slopes = matches!(settings.sampler, Sampler::Langevin { .. } | Sampler::Hamiltonian { .. })
        || matches!(settings.start, Start::Variational { .. });
    if by_slopes && target.supports.iter().any(|support| *support != Support::Real) {
        let what = "parameters with finitely many values have no gradient: use the barker or the penalty sampler, started at \
                    the origin or from the prior";
        return Err(RunError::Settings { what: what.into() });
    }
    let all = rows.iter().sum::<u64>() as f64;
    let temper = settings.counts_as.map_or(1.0, |rows| rows as f64 / all);
    let noise = Noise { terms, summing, temper };
    let scales = (0..terms.len()).map(|m| noise.scales(m, &settings.sampler)).collect();
    let (iterations, warm_up, start) =
        (settings.iterations, settings.warm_up, beginning(settings, problem, &noise, local));
    let key = Sha256::new().chain_update(b"coins of a chain").chain_update(seed.to_le_bytes()).finalize().into();
    let kernel = kernel(&settings.sampler, &noise)?;
    Ok(Chain { problem: problem.clone(), target, kernel, iterations, warm_up, start, scales, key })
}

/// The prior's precision of each parameter.
fn precisions(problem: &Problem) -> Vec<f64> {
    (0..problem.family.dimension()).map(|j| -2.0 * problem.prior.0[problem.family.diagonal(j)]).collect()
}

/// Where chains start: a variational posterior is mean-field, and its gradients are of all rows, tempered as the chain is.
fn beginning(settings: &Settings, problem: &Problem, noise: &Noise<'_>, local: Local) -> Beginning {
    match settings.start {
        Start::Origin => Beginning::Origin,
        Start::Prior => Beginning::Prior,
        Start::Climbed { rounds, learning_rate } => Beginning::Climbed { rounds, rate: learning_rate },
        Start::Variational { rounds, learning_rate, .. } => {
            let family = Family::MeanField { dimension: problem.family.dimension() };
            let prior = Prior(family.prior_of_each(&precisions(problem)));
            let problem = Problem { model: problem.model.clone(), family, prior };
            let inverse_rates = vec![noise.temper; noise.terms.len()];
            let local = Local { learning_rate, optimiser: Optimiser::Adam, steps: 1, ..local };
            Beginning::Learnt { by: GlobalVi { problem, local, inverse_rates }, rounds }
        }
    }
}

fn kernel(sampler: &Sampler, noise: &Noise<'_>) -> Result<Box<dyn Kernel>, RunError> {
    let open = noise.is_open();
    Ok(match *sampler {
        Sampler::Barker { step, noise } => {
            let missing = match Correction::for_variance(noise.variance()) {
                _ if open => Missing::All,
                Some(correction) => Missing::Correction(correction),
                None => return Err(RunError::Settings { what: "no correction is known for this variance".into() }),
            };
            Box::new(Barker { step, missing })
        }
        Sampler::Penalty { step, variance } => Box::new(Penalty { step, variance: if open { 0.0 } else { variance } }),
        Sampler::Hamiltonian { step, leaps, variance, .. } => {
            Box::new(Hamiltonian { step, leaps, variance: if open { 0.0 } else { variance } })
        }
        Sampler::Langevin { step } => {
            let variance = noise.of_slopes();
            if 0.25 * step * variance > 1.0 {
                let what = format!(
                    "steps of {step} with noise of deviation {:.3} in a gradient are wider than the posterior, expected at \
                     most {:.3e}",
                    variance.sqrt(),
                    4.0 / variance
                );
                return Err(RunError::Settings { what });
            }
            Box::new(Langevin { step, variance })
        }
    })
}

/// The noise in the sums of all clients, and what scales it.
struct Noise<'a> {
    terms: &'a [Terms],
    summing: Summing,
    /// N₀/N.
    temper: f64,
}

impl Noise<'_> {
    fn is_open(&self) -> bool {
        self.terms.iter().all(|terms| *terms.event.mechanism() == Mechanism::Open)
    }

    /// What a client's sum over a batch is multiplied by.
    fn weight(&self, client: usize) -> f64 {
        self.temper * self.terms[client].inverse_rate()
    }

    /// As how many clients' own noise the noise in all answers together counts: each of M adds its own, or one sum has it.
    fn sources(&self) -> f64 {
        match self.summing {
            Summing::Nobody => self.terms.len() as f64,
            summing => summing.times(self.terms.len()),
        }
    }

    /// Bounds of log-ratios such that the noise in all answers together has the test's variance V: what one source adds has
    /// V/sources, and is weight·B·(noise of a sum of numbers within ±1).
    fn scales(&self, client: usize, sampler: &Sampler) -> Scales {
        let weight = self.weight(client);
        let variance = match *sampler {
            Sampler::Barker { noise: TestNoise::Fixed { variance }, .. }
            | Sampler::Penalty { variance, .. }
            | Sampler::Hamiltonian { variance, .. } => variance,
            Sampler::Langevin { .. } | Sampler::Barker { noise: TestNoise::Completed { .. }, .. } => 0.0,
        };
        if let (Sampler::Barker { noise: TestNoise::Completed { variance }, .. }, Mechanism::BarkerTest { batch, .. }) =
            (sampler, self.terms[client].event.mechanism())
        {
            // ρ√b/N₀ with ρ² = C/(1 + L), L = 1; weight is N₀/b.
            let ratio_bound = (0.5 * variance / batch.get() as f64).sqrt() / weight;
            return Scales { ratio_bound, weight };
        }
        let deviation = self.terms[client].noise_deviation();
        let private = deviation > 0.0 && variance > 0.0;
        let ratio_bound = if private { (variance / self.sources()).sqrt() / (weight * deviation) } else { 1.0 };
        Scales { ratio_bound, weight }
    }

    /// σ² of each coordinate of the (tempered) gradient of all rows, where that is what a step asks for.
    fn of_slopes(&self) -> f64 {
        let own = |(m, terms): (usize, &Terms)| (self.weight(m) * terms.noise_deviation()).powi(2);
        let mut each = self.terms.iter().enumerate().map(own);
        match self.summing {
            Summing::Nobody => each.sum(),
            summing => each.next().unwrap_or(0.0) * summing.times(self.terms.len()),
        }
    }
}
