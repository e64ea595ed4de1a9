//! Mean and variances of a density of two numbers, by sums over a grid: what chains are measured against.

/// Mean and variances of an exact posterior.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// Of each parameter.
    pub mean: Vec<f64>,
    /// Of each parameter.
    pub variances: Vec<f64>,
}

/// Steps of a grid in each direction, even: every other point is a grid too.
const STEPS: usize = 96;

/// Logarithms of densities that count: what is left out is under (STEPS + 1)²·e⁻⁴⁰ of the whole.
const COUNTS: f64 = 40.0;

/// How often the box is drawn closer around what counts.
const LOOKS: usize = 12;

/// Largest difference between the grid and every other point of it, in deviations.
const AGREE: f64 = 1e-6;

/// A box, from its lower to its upper corner.
pub(crate) type Box2 = [[f64; 2]; 2];

/// Moments of the density exp(`log_density`), which is negligible outside the box.
///
/// Sums over a grid (the trapezoid rule) converge faster than any power of its width for smooth densities that vanish at the
/// edge. The box is first drawn closer around what counts by `roughly`, a density that is near and quickly had. None where the
/// grid and every other point of it disagree: a density too narrow for the grid.
pub(super) fn moments(
    log_density: impl FnMut([f64; 2]) -> f64,
    mut roughly: impl FnMut([f64; 2]) -> f64,
    within: Box2,
) -> Option<Exact> {
    let closer = counting(&mut roughly, within);
    QuadratureGrid::of(log_density, closer).agreed_moments()
}

/// The box drawn closer around what counts of a density; none where a grid over it and every other point of that grid disagree.
pub(crate) fn settled(mut log_density: impl FnMut([f64; 2]) -> f64, within: Box2) -> Option<Box2> {
    let closer = counting(&mut log_density, within);
    QuadratureGrid::of(log_density, closer).agreed_moments().map(|_| closer)
}

/// Points of a grid of so many steps over a box with their weights, which add up to 1, of all that counts.
pub(crate) fn nodes(
    mut log_density: impl FnMut([f64; 2]) -> f64,
    within: Box2,
    steps: [usize; 2],
) -> Vec<([f64; 2], f64)> {
    let place = |j: usize, k: usize| within[0][j] + (within[1][j] - within[0][j]) * k as f64 / steps[j] as f64;
    let places = (0..=steps[0]).flat_map(|i| (0..=steps[1]).map(move |k| (i, k)));
    let mut points: Vec<([f64; 2], f64)> = places
        .map(|(i, k)| {
            let point = [place(0, i), place(1, k)];
            (point, log_density(point))
        })
        .collect();
    let most = points.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    points.retain(|(_, log)| *log > most - COUNTS);
    points.iter_mut().for_each(|(_, log)| *log = libm::exp(*log - most));
    let whole: f64 = points.iter().map(|(_, weight)| weight).sum();
    points.iter_mut().for_each(|(_, weight)| *weight /= whole);
    points
}

/// The box drawn closer around what counts.
fn counting(mut log_density: impl FnMut([f64; 2]) -> f64, mut within: Box2) -> Box2 {
    for _ in 0..LOOKS {
        let closer = QuadratureGrid::of(&mut log_density, within).counting();
        if closer == within {
            break;
        }
        within = closer;
    }
    within
}

/// Logarithms of a density on a grid, less the largest of them.
struct QuadratureGrid {
    /// The box that the grid covers.
    within: Box2,
    logs: Vec<f64>,
}

impl QuadratureGrid {
    /// Moments, if every other point of the grid has the same.
    fn agreed_moments(&self) -> Option<Exact> {
        let (fine, coarse) = (self.moments(1), self.moments(2));
        let agree = (0..2).all(|j| {
            let deviation = fine.variances[j].sqrt();
            (fine.mean[j] - coarse.mean[j]).abs() <= AGREE * deviation
                && (fine.variances[j] - coarse.variances[j]).abs() <= AGREE * fine.variances[j]
        });
        agree.then_some(fine)
    }

    /// The density on a grid over the box.
    fn of(mut log_density: impl FnMut([f64; 2]) -> f64, within: Box2) -> Self {
        let places = (0..=STEPS).flat_map(|i| (0..=STEPS).map(move |k| [i, k]));
        let mut logs: Vec<f64> = places.map(|place| log_density(at(&within, place))).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        logs.iter_mut().for_each(|log| *log -= most);
        Self { within, logs }
    }

    /// The smallest box, from grid point to grid point, that has all that counts and one point more on every side.
    fn counting(&self) -> Box2 {
        let (mut low, mut high) = ([STEPS; 2], [0; 2]);
        for (place, _) in self.logs.iter().enumerate().filter(|(_, log)| **log > -COUNTS) {
            let place = [place / (STEPS + 1), place % (STEPS + 1)];
            for j in 0..2 {
                low[j] = low[j].min(place[j].saturating_sub(1));
                high[j] = high[j].max((place[j] + 1).min(STEPS));
            }
        }
        [at(&self.within, low), at(&self.within, high)]
    }

    /// Moments by every so-manieth point.
    fn moments(&self, every: usize) -> Exact {
        let (mut whole, mut first, mut second) = (0.0, [0.0; 2], [0.0; 2]);
        let centre = at(&self.within, [STEPS / 2; 2]);
        for i in (0..=STEPS).step_by(every) {
            for k in (0..=STEPS).step_by(every) {
                let weight = libm::exp(self.logs[i * (STEPS + 1) + k]);
                let theta = at(&self.within, [i, k]);
                whole += weight;
                for j in 0..2 {
                    let off = theta[j] - centre[j];
                    first[j] += weight * off;
                    second[j] += weight * off * off;
                }
            }
        }
        let mean = first.map(|sum| sum / whole);
        let variance = |j: usize| second[j] / whole - mean[j] * mean[j];
        Exact { mean: (0..2).map(|j| centre[j] + mean[j]).collect(), variances: (0..2).map(variance).collect() }
    }
}

/// A point of the grid.
fn at([low, high]: &Box2, place: [usize; 2]) -> [f64; 2] {
    [0, 1].map(|j| low[j] + (high[j] - low[j]) * place[j] as f64 / STEPS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Box2 = [[-50.0, -50.0], [50.0, 50.0]];

    #[test]
    fn a_normal_density_in_a_wide_box_has_its_moments() {
        let log = |[a, b]: [f64; 2]| -0.5 * ((a - 3.0).powi(2) / 0.04 + (b + 7.0).powi(2) / 2.0);
        let found = moments(log, log, WIDE).unwrap();
        for (found, expected) in found.mean.iter().chain(&found.variances).zip([3.0, -7.0, 0.04, 2.0]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    /// Two normal densities, equally heavy, 2 apart: variance 1 + s².
    #[test]
    fn two_modes_are_both_seen() {
        let hump = |a: f64, b: f64| libm::exp(-0.5 * (a * a + b * b) / 0.01);
        let log = |[a, b]: [f64; 2]| libm::log(hump(a - 1.0, b) + hump(a + 1.0, b));
        let found = moments(log, log, WIDE).unwrap();
        assert!(found.mean[0].abs() < 1e-9 && (found.variances[0] - 1.01).abs() < 1e-9, "{found:?}");
        assert!((found.variances[1] - 0.01).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn modes_too_narrow_for_the_grid_are_not_summed() {
        let hump = |a: f64, b: f64| -0.5 * (a * a + b * b) / 1e-8;
        let log = |[a, b]: [f64; 2]| hump(a - 1.0, b).max(hump(a + 1.0, b));
        assert_eq!(moments(log, log, WIDE), None);
    }
}
