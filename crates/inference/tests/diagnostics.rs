//! Diagnostics of chains against known answers: independent draws, shifted chains, and the numbers of ArviZ.

use inference::chain::{Convergence, Diagnostics, Draws, diagnose};

/// A linear congruential generator modulo 2^64 (Knuth's multiplier): easily written again in another language.
struct Uniforms(u64);

impl Uniforms {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal: four uniform draws less their mean.
    fn bell(&mut self) -> f64 {
        self.uniform() + self.uniform() + self.uniform() + self.uniform() - 2.0
    }
}

/// Five parameters in four chains, additions and products only, in the order of the script that ArviZ was asked with.
fn draws(seed: u64, iterations: usize) -> Draws {
    let mut source = Uniforms(seed);
    let chain = |m: u32| {
        let (mut autoregressive, mut sticky) = (0.0, 0.0);
        let row = |_| {
            let (e, coin) = (source.bell(), source.uniform());
            autoregressive = 0.75 * autoregressive + e;
            if coin < 0.5 {
                sticky = e;
            }
            [e, autoregressive, autoregressive + 0.5 * f64::from(m), (4.0 * coin).floor(), sticky]
        };
        (0..iterations).flat_map(row).collect()
    };
    let names = ["independent", "autoregressive", "shifted", "discrete", "sticky"].map(str::to_owned);
    Draws::new(names.to_vec(), (0..4).map(chain).collect()).unwrap()
}

fn numbers(told: &Diagnostics) -> [f64; 10] {
    let Convergence { rhat, bulk, tail, error_of_mean, error_of_deviation, error_of_quantiles: [low, middle, high] } =
        told.convergence.unwrap();
    [told.mean, told.deviation, rhat, bulk, tail, error_of_mean, error_of_deviation, low, middle, high]
}

/// By ArviZ 0.23.4: mean and sd (ddof = 1); `rhat`, `ess` (bulk), `ess` (tail), `mcse` (mean), `mcse` (sd), and `mcse` (quantile)
/// at 0.05, 0.5 and 0.95, of `draws(12345, 501)`. The middle draw of 501 is in neither half.
const BY_ARVIZ: [[f64; 10]; 5] = [
    [
        0.006828705154786829,
        0.5794010197865954,
        1.0002561748371,
        2038.386978384665,
        2019.4287955525451,
        0.012819177698563704,
        0.008266743191653254,
        0.022071540562606295,
        0.015171465489413727,
        0.03239206881802392,
    ],
    [
        0.029710546420879332,
        0.852082954227266,
        1.0074653100561586,
        287.91080068027446,
        524.907566824427,
        0.05025182734220866,
        0.022285337629578118,
        0.038154938405453365,
        0.056919211765347984,
        0.062133453765110924,
    ],
    [
        0.7797105464208793,
        0.9988504365067937,
        1.2032107260196825,
        14.444081068696747,
        186.23660094370553,
        0.26297266814600173,
        0.03054583682201271,
        0.0788217219350208,
        0.2714702628503459,
        0.13677214872057952,
    ],
    [
        1.526946107784431,
        1.1233341602730533,
        1.0001149596567755,
        1838.2063751884687,
        1848.8978292343288,
        0.02614116597070432,
        0.010028093086951233,
        0.0,
        0.0,
        0.0,
    ],
    [
        0.026260557294763537,
        0.5831331214345827,
        1.0034084898074171,
        723.1095205041677,
        648.0257422377227,
        0.02176794248900639,
        0.014101044780303069,
        0.03766058522158655,
        0.021255443806090124,
        0.03742245154893098,
    ],
];

#[test]
fn the_numbers_are_those_of_arviz() {
    for (told, theirs) in diagnose(&draws(12_345, 501)).unwrap().iter().zip(BY_ARVIZ) {
        for (k, (ours, theirs)) in numbers(told).into_iter().zip(theirs).enumerate() {
            assert!((ours - theirs).abs() <= 1e-10 * theirs.abs(), "{}, number {k}: {ours}, not {theirs}", told.name);
        }
    }
}

#[test]
fn independent_draws_count_in_full_and_agree() {
    let told = diagnose(&draws(1, 5000)).unwrap();
    let [_, deviation, rhat, bulk, tail, error, deviation_error, ..] = numbers(&told[0]);
    assert!((rhat - 1.0).abs() < 0.002, "{rhat}");
    assert!((bulk / 20_000.0 - 1.0).abs() < 0.1 && (tail / 20_000.0 - 1.0).abs() < 0.1, "{bulk} {tail}");
    // A sum of four uniform draws has variance 1/3 and kurtosis 2.7.
    assert!((deviation - (1.0_f64 / 3.0).sqrt()).abs() < 0.01, "{deviation}");
    assert!((error / (deviation / 20_000.0_f64.sqrt()) - 1.0).abs() < 0.05, "{error}");
    let expected = deviation * (1.7_f64 / 4.0 / 20_000.0).sqrt();
    assert!((deviation_error / expected - 1.0).abs() < 0.1, "{deviation_error}, not {expected}");
}

/// φ = 0.75: τ = 7.
#[test]
fn correlated_draws_count_for_less() {
    let [.., rhat, bulk, _, _, _, _, _, _] = numbers(&diagnose(&draws(2, 10_000)).unwrap()[1]);
    assert!((rhat - 1.0).abs() < 0.01 && (bulk / (40_000.0 / 7.0) - 1.0).abs() < 0.1, "{rhat} {bulk}");
}

#[test]
fn chains_that_disagree_in_place_or_scale_are_found() {
    let told = diagnose(&draws(3, 2000)).unwrap();
    assert!(told[2].convergence.unwrap().rhat > 1.05 && told[1].convergence.unwrap().rhat < 1.02);
    // The same location, another scale: only the folded draws tell.
    let wide = |m: usize| draws(4, 2000).parameter(0)[m].iter().map(|x| x * (1.0 + m as f64)).collect();
    let scales = Draws::new(vec!["x".into()], (0..4).map(wide).collect()).unwrap();
    let rhat = diagnose(&scales).unwrap()[0].convergence.unwrap().rhat;
    assert!(rhat > 1.05, "{rhat}");
}

/// ArviZ takes draws whose range is under 1e-15 for equal ones, and squares of draws of the size 1e-9 have such a range.
#[test]
fn diagnostics_do_not_depend_on_the_unit() {
    let unit = libm::exp2(-40.0);
    let scaled = |chain: Vec<f64>| chain.iter().map(|x| x * unit).collect();
    let [ours, small] = [0, 1].map(|k| {
        let chains = draws(5, 300).parameter(1);
        let chains = if k == 0 { chains } else { chains.into_iter().map(scaled).collect() };
        numbers(&diagnose(&Draws::new(vec!["x".into()], chains).unwrap()).unwrap()[0])
    });
    for k in 0..10 {
        let of_the_unit = if [2, 3, 4].contains(&k) { 1.0 } else { unit };
        assert!((small[k] / (ours[k] * of_the_unit) - 1.0).abs() < 1e-12, "number {k}: {} and {}", ours[k], small[k]);
    }
}
