//! The effective sample size of chains: how many independent draws would tell their mean as well.

use rustfft::FftPlannerScalar;
use rustfft::num_complex::Complex;

/// S_eff = S/τ, τ = 1 + 2 Σ ρ̂_t over S draws of all chains, for chains of one length n ≥ 2.
///
/// Section 3.2 of Vehtari et al. 2021 (arXiv:1903.08008): ρ̂_t = 1 − (W − c̄_t)/V̂ joins all chains, with c̄_t their mean
/// autocovariance, W their mean variance and V̂ the variance that W and the chains' means give together. ρ̂ is
/// summed over Geyer's initial monotone sequence: pairs ρ̂_2k + ρ̂_2k+1 while positive, none greater than the one before,
/// and the even term after the last pair if it is positive. S_eff is at most S·log₁₀S. Draws that are all
/// equal have S_eff = S: nothing is unknown of their mean.
pub(super) fn effective_size(chains: &[Vec<f64>]) -> f64 {
    let (m, n) = (chains.len() as f64, chains.first().map_or(0, Vec::len));
    let size = m * n as f64;
    let covariances = autocovariances(chains);
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let within = covariances[0] * n as f64 / (n as f64 - 1.0);
    let between = if chains.len() > 1 { variance(&means) } else { 0.0 };
    let total = covariances[0] + between;
    let first = chains[0][0];
    if total <= 0.0 || chains.iter().flatten().all(|&x| x == first) {
        return size;
    }
    let correlation = |t: usize| if t == 0 { 1.0 } else { 1.0 - (within - covariances[t]) / total };
    let mut tau = -1.0;
    let mut least = f64::INFINITY;
    let mut t = 0;
    while t + 1 < n.saturating_sub(3) {
        let pair = correlation(t) + correlation(t + 1);
        if pair <= 0.0 {
            break;
        }
        least = least.min(pair);
        tau += 2.0 * least;
        t += 2;
    }
    tau += correlation(t).max(0.0);
    size / tau.max(1.0 / libm::log10(size))
}

/// c̄_t for t = 0, …, n − 1: autocovariances with divisor n, each chain about its own mean, averaged over chains.
///
/// By the discrete Fourier transform of chains with n zeros behind: the inverse transform of |X|² is the correlation
/// without wrapping around. Scalar transforms: the same bits on every machine.
fn autocovariances(chains: &[Vec<f64>]) -> Vec<f64> {
    let n = chains.first().map_or(0, Vec::len);
    let size = (2 * n).next_power_of_two();
    let mut planner = FftPlannerScalar::new();
    let (forward, back) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut powers = vec![Complex::new(0.0, 0.0); size];
    for chain in chains {
        let centre = mean(chain);
        let mut wave = vec![Complex::new(0.0, 0.0); size];
        wave.iter_mut().zip(chain).for_each(|(z, x)| z.re = x - centre);
        forward.process(&mut wave);
        powers.iter_mut().zip(&wave).for_each(|(power, z)| power.re += z.norm_sqr());
    }
    back.process(&mut powers);
    let scale = 1.0 / (size as f64 * n as f64 * chains.len() as f64);
    powers[..n].iter().map(|z| z.re * scale).collect()
}

/// The mean, summed from the first value on, so that the mean of equal values is that value.
pub(super) fn mean(values: &[f64]) -> f64 {
    let first = values.first().copied().unwrap_or_default();
    first + values.iter().map(|x| x - first).sum::<f64>() / values.len() as f64
}

/// The variance with divisor n − 1.
pub(super) fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|x| (x - centre) * (x - centre)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::standard_normals;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn normals(n: usize, seed: u8) -> Vec<f64> {
        let mut x = vec![0.0; n];
        standard_normals(&mut ChaCha8Rng::from_seed([seed; 32]), &mut x);
        x
    }

    #[test]
    fn transforms_give_the_sums_that_define_autocovariances() {
        let chains = [normals(37, 1), normals(37, 2)];
        let got = autocovariances(&chains);
        for (t, found) in got.iter().enumerate() {
            let of = |chain: &Vec<f64>| {
                let centre = mean(chain);
                (0..37 - t).map(|i| (chain[i] - centre) * (chain[i + t] - centre)).sum::<f64>() / 37.0
            };
            let expected = chains.iter().map(of).sum::<f64>() / 2.0;
            assert!((found - expected).abs() < 1e-14, "lag {t}: {found}, not {expected}");
        }
    }

    /// x' = φx + √(1 − φ²)·N(0, 1) has autocorrelations φᵗ, so τ = (1 + φ)/(1 − φ).
    #[test]
    fn an_autoregression_has_its_known_size() {
        for (phi, seed) in [(0.0_f64, 10), (0.5, 20), (0.9, 30), (-0.5, 40)] {
            let chain = |m: u8| {
                let mut x = 0.0;
                let noise = normals(21_000, seed + m);
                let next = noise.iter().map(|e| {
                    x = phi * x + (1.0 - phi * phi).sqrt() * e;
                    x
                });
                next.skip(1000).collect::<Vec<f64>>()
            };
            let chains: Vec<Vec<f64>> = (0..4).map(chain).collect();
            let expected = 80_000.0 * (1.0 - phi) / (1.0 + phi);
            let found = effective_size(&chains);
            assert!((found / expected - 1.0_f64).abs() < 0.1, "φ = {phi}: {found}, not {expected}");
        }
    }

    #[test]
    fn equal_draws_and_alternating_draws_have_defined_sizes() {
        assert_eq!(effective_size(&[vec![0.1; 6], vec![0.1; 6]]), 12.0);
        // As good as a mean can get: the size stops at S·log₁₀S.
        let alternating: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!((effective_size(&[alternating]) - 200.0).abs() < 1e-9);
        // Chains that never move and do not agree: about half a draw each.
        let stuck = effective_size(&[vec![0.0; 100], vec![1.0; 100]]);
        assert!(stuck > 0.9 && stuck < 1.1, "{stuck}");
    }
}
