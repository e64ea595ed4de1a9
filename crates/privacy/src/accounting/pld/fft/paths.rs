//! Every set of instructions that the FFT may choose when the program runs, each held against the error that is assumed.

use super::super::Interval;
use super::super::evaluate::DeltaCurve;
use super::tests::random;
use super::*;
use crate::accounting::double::{Double, TAU};
use rustfft::{Fft, FftDirection, FftPlannerAvx, FftPlannerNeon, FftPlannerScalar, FftPlannerSse};
use std::sync::Arc;

/// One choice of instructions: complex transforms of the full length, of which half of the bins is real input's.
struct Path {
    name: &'static str,
    plan: Box<dyn FnMut(usize, FftDirection) -> Arc<dyn Fft<f64>>>,
}

impl Transform for Path {
    fn forward(&mut self, input: &mut [f64]) -> Result<Vec<Complex<f64>>, PrivacyError> {
        let mut bins: Vec<Complex<f64>> = input.iter().map(|&x| Complex::new(x, 0.0)).collect();
        (self.plan)(input.len(), FftDirection::Forward).process(&mut bins);
        bins.truncate(input.len() / 2 + 1);
        Ok(bins)
    }

    fn backward(&mut self, bins: &mut [Complex<f64>], size: usize) -> Result<Vec<f64>, PrivacyError> {
        let mut all = bins.to_vec();
        all.extend(bins[1..size / 2].iter().rev().map(Complex::conj));
        (self.plan)(size, FftDirection::Inverse).process(&mut all);
        Ok(all.iter().map(|z| z.re).collect())
    }
}

/// What the program itself would take, and by name every choice that this machine has.
struct Paths {
    chosen: RealFftPlanner<f64>,
    named: Vec<Path>,
}

impl Paths {
    #[allow(clippy::disallowed_macros, reason = "a test names the paths that it cannot take")]
    fn of_this_machine() -> Self {
        let mut scalar = FftPlannerScalar::new();
        let mut named: Vec<Path> =
            vec![Path { name: "plain", plan: Box::new(move |n, direction| scalar.plan_fft(n, direction)) }];
        match FftPlannerSse::new() {
            Ok(mut sse) => named.push(Path { name: "SSE", plan: Box::new(move |n, d| sse.plan_fft(n, d)) }),
            Err(()) => eprintln!("skipped: this machine has no SSE"),
        }
        match FftPlannerAvx::new() {
            Ok(mut avx) => named.push(Path { name: "AVX", plan: Box::new(move |n, d| avx.plan_fft(n, d)) }),
            Err(()) => eprintln!("skipped: this machine has no AVX with fused multiplication"),
        }
        match FftPlannerNeon::new() {
            Ok(mut neon) => named.push(Path { name: "NEON", plan: Box::new(move |n, d| neon.plan_fft(n, d)) }),
            Err(()) => eprintln!("skipped: this machine has no NEON"),
        }
        Self { chosen: RealFftPlanner::new(), named }
    }

    /// Does the same with all of them.
    fn each(&mut self, mut check: impl FnMut(&str, &mut dyn Transform)) {
        check("chosen", &mut self.chosen);
        for path in &mut self.named {
            check(path.name, path);
        }
    }
}

/// e^{2πim/n} for m < n = 4^j: products of two short tables, in about 106 bits.
fn turns(n: usize) -> Vec<(Double, Double)> {
    let root = 1_usize << (n.ilog2() / 2);
    let turn = |m: usize| {
        let signed = if 2 * m > n { m as f64 - n as f64 } else { m as f64 };
        TAU.times(Double::of(signed)).over(Double::of(n as f64)).cos_sin()
    };
    let coarse: Vec<_> = (0..n / root).map(|m| turn(m * root)).collect();
    let fine: Vec<_> = (0..root).map(turn).collect();
    let product = |(a, b): (Double, Double), (c, d): (Double, Double)| {
        (a.times(c).minus(b.times(d)), a.times(d).plus(b.times(c)))
    };
    (0..n).map(|m| product(coarse[m / root], fine[m % root])).collect()
}

/// One bin of the transform, Σ x_j e^{−2πij·bin/N}, to 106 bits.
fn exact_bin(x: &[f64], table: &[(Double, Double)], bin: usize) -> (Double, Double) {
    let (mut re, mut im) = (Double::of(0.0), Double::of(0.0));
    for (j, &v) in x.iter().enumerate() {
        let (cos, sin) = table[j * bin % x.len()];
        re = re.plus(cos.times(Double::of(v)));
        im = im.plus(sin.times(Double::of(-v)));
    }
    (re, im)
}

/// The assumption behind `transform_error`: accurate twiddles and one path per level, ten times over.
#[test]
fn transforms_are_as_accurate_as_assumed_by_every_path() {
    let (mut paths, mut seed) = (Paths::of_this_machine(), 7_u64);
    for (size, bins) in [(1_usize << 10, 64), (1 << 14, 48), (1 << 18, 12)] {
        let x: Vec<f64> = (0..size).map(|_| random(&mut seed).powi(3) - 0.2).collect();
        let (table, scale) = (turns(size), x.iter().map(|v| v.abs()).sum::<f64>());
        let some = |i: usize| if i == 0 { size / 2 } else { (random(&mut seed) * (size / 2) as f64) as usize };
        let exact: Vec<_> = (0..bins).map(some).map(|bin| (bin, exact_bin(&x, &table, bin))).collect();
        paths.each(|name, path| {
            let output = path.forward(&mut x.clone()).unwrap();
            for (bin, (re, im)) in &exact {
                let error = re.off(output[*bin].re).hypot(im.off(output[*bin].im));
                assert!(error <= 0.1 * transform_error(size) * scale, "{name}, {size} {bin}: {:e}", error / scale);
            }
            let back = path.backward(&mut output.clone(), size).unwrap();
            let moduli = 2.0 * output.iter().map(|z| z.norm_sqr().sqrt()).sum::<f64>();
            let most = 0.1 * transform_error(size) * (moduli / size as f64 + scale);
            assert!(
                back.iter().zip(&x).all(|(y, x)| (y / size as f64 - x).abs() <= most),
                "{name}, {size}: there and back"
            );
        });
    }
}

/// Randomised response with e^{L} = 3/2 in 300 steps: the certified interval of every path holds the sum over the binomial law.
#[test]
fn certified_intervals_hold_by_every_path() {
    let (count, up, down) = (300_u64, 0.6, 0.4);
    let law = Masses { finite: vec![(-1, down), (1, up)], infinite: 0.0 };
    // The nodes are the losses: h = log 3/2, to its last digit; δ is that of the rounded step.
    let step = libm::log(1.5);
    let settings = Settings { tilt: 0.6, step, size: 1024, start: -512 };
    let epsilon = 90.5 * step;
    let mut probability = (0..count).fold(Double::of(1.0), |p, _| p.times(Double::of(up)));
    let mut exact = Double::of(0.0);
    for fewer in 0..=count {
        let loss = Double::of(count as f64 - 2.0 * fewer as f64).times(Double::of(step));
        if loss.0 > epsilon {
            let rest = Double::of(1.0).minus(Double::of(epsilon).minus(loss).exp());
            exact = exact.plus(probability.times(rest));
        }
        let ratio = Double::of((count - fewer) as f64).over(Double::of((fewer + 1) as f64));
        probability = probability.times(ratio).times(Double::of(down)).over(Double::of(up));
    }
    let mut seen = Vec::new();
    Paths::of_this_machine().each(|name, path| {
        let mut curve = |upper| {
            let composed = compose(&[RepeatedMasses { masses: &law, count }], settings, upper, path).unwrap();
            DeltaCurve::new(composed, Interval::exact(0.0), 0.0)
        };
        let (lower, upper) = (curve(false).lower(epsilon), curve(true).upper(epsilon));
        assert!(exact.off(lower) <= 0.0 && exact.off(upper) >= 0.0, "{name}: {lower:e} {upper:e} {:e}", exact.0);
        assert!(upper - lower < 1e-8 * exact.0, "{name}: {lower:e} {upper:e}");
        seen.push(name.to_owned());
    });
    assert!(seen.starts_with(&["chosen".to_owned(), "plain".to_owned()]), "{seen:?}");
}
