//! The rounded Gaussian: the nearest integer to a real normal variable, drawn exactly.
//!
//! This is the noise of every gate that adds it in one place. Because the sum is an integer vector, adding a rounded normal is
//! rounding a normal addition: the continuous Gaussian mechanism, followed by post-processing.

use super::bernoulli::geometric;
use super::dyadic::Dyadic;
use super::exact::{Candidate, Region};
use super::ziggurat_table::{AREA, FLOOR, INSIDE, RIGHT};
use crate::PrivacyError;
use rand_core::Rng;

/// Slot of the tail; the slots below it are layers.
const TAIL: usize = 255;
/// Relative margin of a rounding: sixteen half units in the last place, where at most eight can go wrong.
const ROUNDING_MARGIN: f64 = power_of_two(-49);
/// Relative margin of a comparison with e^(−x²/2), for x² / 2 ≤ 94.
const COMPARISON_MARGIN: f64 = power_of_two(-42);
/// Rectangles of the tail from here on are compared on big integers only.
const FAR: u64 = 40;

/// 2^exponent, a normal number.
const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// What the fast path needs of a slot.
#[derive(Debug, Clone, Copy)]
struct ZigguratSlot {
    /// T_i: columns below it lie wholly under the curve.
    inside: u64,
    /// s·x_i/2^55, the width of a column in units of the grid.
    step: f64,
}

/// K = round(Z) with Z ~ N(0, s²) a real number: P(K = k) = Φ((k + ½)/s) − Φ((k − ½)/s).
///
/// Exact, given ideal random bits: s is the dyadic rational that its f64 is, no probability is rounded, and every
/// decision that floating point cannot prove is made again on big integers. A tie Z = k + ½, of probability zero,
/// goes away from zero. Since x + round(Z) = round(x + Z) for an integer x, adding K to a vector of integers is
/// post-processing of the continuous Gaussian mechanism. See `docs/maths/rounded-gaussian.md`.
///
/// Assumed: IEEE 754 arithmetic; `libm::exp` within 2^−46 of its value, used in 1.9 % of draws; `num-bigint`.
/// Not constant in time. A sum of rounded Gaussians is not a rounded Gaussian.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, NoiseSource, RoundedGaussian, Seeded};
///
/// let mut stream = Seeded::new(1).stream(&NoiseContext::default())?;
/// let mut drawn = vec![0; 1000];
/// RoundedGaussian::new(100.0)?.fill(&mut stream, &mut drawn);
/// let variance = drawn.iter().map(|&k| (k * k) as f64).sum::<f64>() / 1000.0;
/// assert!((8_000.0..12_000.0).contains(&variance));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RoundedGaussian {
    deviation: f64,
    slots: Box<[ZigguratSlot; 256]>,
}

impl RoundedGaussian {
    /// Noise of deviation s > 0, in units of the grid, at most 2^40.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside this range.
    pub fn new(deviation: f64) -> Result<Self, PrivacyError> {
        if !(deviation > 0.0 && deviation <= power_of_two(40)) {
            return Err(PrivacyError::Parameter {
                name: "standard deviation of the noise",
                found: deviation.to_string(),
                expected: "a number of grid units over 0 and at most 2^40",
            });
        }
        let mut slots = Box::new([ZigguratSlot { inside: 0, step: 0.0 }; 256]);
        for (i, (slot, &right)) in slots.iter_mut().zip(&RIGHT).enumerate() {
            *slot = ZigguratSlot { inside: INSIDE[i], step: deviation * right as f64 * power_of_two(-105) };
        }
        Ok(Self { deviation, slots })
    }

    /// s, in units of the grid.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// One draw. How many random bits it takes is random and does not depend on private numbers.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        self.draw::<false, R>(rng)
    }

    /// Independent draws, the same as by `sample` one after the other.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [i64]) {
        for value in noise {
            *value = self.sample(rng);
        }
    }

    /// The ziggurat. The region under f(x) = e^(−x²/2), x ≥ 0, lies in 256 disjoint slots of equal area: take a
    /// slot, a point in it, and start again unless the point lies under f. Its x is then |Z|/s.
    ///
    /// One word holds the slot (8 bits), the sign (1) and the column (55). `EXACT` sends every decision to big
    /// integers: the draws must not change.
    #[inline]
    fn draw<const EXACT: bool, R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let word = rng.next_u64();
            let (index, sign, across) = ((word & 255) as usize, (word >> 8 & 1) as i64, word >> 9);
            let slot = self.slots[index];
            let distance = if across < slot.inside {
                let near = across as f64 * slot.step;
                Some(self.round::<EXACT, R>(near, slot.step, || Candidate::new(Region::Layer(index), across, 0), rng))
            } else {
                self.edge::<EXACT, R>(index, across, rng)
            };
            if let Some(distance) = distance {
                return (distance ^ -sign) + sign;
            }
        }
    }

    /// A column that the curve crosses: the rounded distance if the point lies under the curve, otherwise nothing.
    #[cold]
    #[inline(never)]
    fn edge<const EXACT: bool, R: Rng + ?Sized>(&self, index: usize, across: u64, rng: &mut R) -> Option<i64> {
        let region = if index == TAIL { Region::Tail(geometric(rng)) } else { Region::Layer(index) };
        let up = rng.next_u64();
        let candidate = || Candidate::new(region, across, up);
        let corner = corner(region, across, up);
        let near = self.deviation * corner.x;
        let step = if index == TAIL { self.deviation * power_of_two(-57) } else { self.slots[index].step };
        match compare(region, &corner) {
            Some(inside) if !EXACT => inside.then(|| self.round::<EXACT, R>(near, step, candidate, rng)),
            _ => {
                let mut candidate = candidate();
                candidate.is_inside(rng).then(|| self.round::<EXACT, R>(near, step, || candidate, rng))
            }
        }
    }

    /// ⌊z + ½⌋ for the z of a column that begins at about `near` and is about `step` wide.
    ///
    /// `near` has passed at most four roundings and each bound passes at most four more, of at most 2^−53 of
    /// near + ½ + step; where the sum is near an integer ≥ 1, ½ is at most `near` + `step`. The margin is 16·2^−53.
    /// Below the least normal number errors are absolute, but then `near` is far from ½.
    #[inline]
    fn round<const EXACT: bool, R: Rng + ?Sized>(
        &self,
        near: f64,
        step: f64,
        candidate: impl FnOnce() -> Candidate,
        rng: &mut R,
    ) -> i64 {
        let margin = near * ROUNDING_MARGIN;
        let low = (near - margin + 0.5) as i64;
        let high = (near + margin + 1.0001 * step + 0.5) as i64;
        if low == high && !EXACT { low } else { candidate().rounded(Dyadic::of(self.deviation), rng) }
    }
}

/// A point in floating point: its lower left corner, and how far up it may still lie.
struct Corner {
    x: f64,
    y: f64,
    /// The height of which nothing has been read: 2^−64 of the region's. Deep in the tail it exceeds the curve.
    unread: f64,
}

/// The corner of the point with these bits.
fn corner(region: Region, across: u64, up: u64) -> Corner {
    let (across, up) = (across as f64 * power_of_two(-55), up as f64);
    let area = AREA as f64 * power_of_two(-62);
    match region {
        Region::Layer(i) => {
            let right = RIGHT[i] as f64 * power_of_two(-50);
            let unread = area / right * power_of_two(-64);
            Corner { x: across * right, y: FLOOR[i] as f64 * power_of_two(-63) + up * unread, unread }
        }
        Region::Tail(j) => {
            let left = RIGHT[0] as f64 * power_of_two(-50) + j as f64 * 0.25;
            let unread = area * power_of_two(1 - 64 - j.min(FAR) as i64);
            Corner { x: left + across * 0.25, y: up * unread, unread }
        }
    }
}

/// Whether y < e^(−x²/2) for all of the unread bits, if that can be said.
///
/// In units of 2^−53: x has passed three roundings, its square one more, so for x²/2 ≤ 94 the exponential moves by
/// less than 94·7 of itself; the unread part of x, at most x_i/2^55, moves it by less than 4; `libm::exp` is assumed
/// to add at most 2^7. y has passed six roundings, each of at most one unit of y. All of it is less than 2^10, and
/// the margin is 2^11.
fn compare(region: Region, Corner { x, y, unread }: &Corner) -> Option<bool> {
    let curve = libm::exp(-0.5 * x * x);
    let margin = COMPARISON_MARGIN * (y + curve);
    match region {
        Region::Tail(FAR..) => None,
        _ if y + 1.0001 * unread + margin < curve => Some(true),
        _ if y - margin > curve => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixed_point::exp_neg;
    use super::super::fixed_words::FixedWords;
    use super::*;
    use chacha20::ChaCha20Rng;
    use num_bigint::BigUint;
    use rand_core::SeedableRng;

    #[test]
    fn deviations_out_of_range_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, power_of_two(40).next_up()] {
            assert_eq!(RoundedGaussian::new(bad).unwrap_err().code(), "P001");
        }
        assert!(RoundedGaussian::new(power_of_two(40)).is_ok());
    }

    #[test]
    fn floating_point_and_big_integers_draw_the_same() {
        for (seed, s) in
            [1e-300, 0.5, 1.0, 5.3, 300.0, 1_048_576.0, power_of_two(30), power_of_two(40)].iter().enumerate()
        {
            let noise = RoundedGaussian::new(*s).unwrap();
            let mut fast = ChaCha20Rng::from_seed([seed as u8; 32]);
            let mut exact = fast_twin(&fast);
            for draw in 0..300_000 {
                let (a, b) = (noise.draw::<false, _>(&mut fast), noise.draw::<true, _>(&mut exact));
                assert_eq!(a, b, "draw {draw} with s = {s}");
            }
        }
    }

    /// A second generator that will give the same bits.
    fn fast_twin(rng: &ChaCha20Rng) -> ChaCha20Rng {
        ChaCha20Rng::from_seed(rng.get_seed())
    }

    #[test]
    fn rectangles_far_in_the_tail_are_left_to_big_integers() {
        let decided = |j| compare(Region::Tail(j), &corner(Region::Tail(j), 5, u64::MAX));
        assert_eq!((decided(FAR - 1), decided(FAR)), (Some(false), None));
        let last = corner(Region::Tail(FAR - 1), (1 << 55) - 1, 0);
        assert!(last.x * last.x / 2.0 < 94.0);
    }

    #[test]
    fn the_tail_in_floating_point_and_on_big_integers_agree() {
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        let mut decided = [0; 2];
        for draw in 0..8_000 {
            let (region, across) = (Region::Tail(draw % FAR), rng.next_u64() >> 9);
            // Heights of all magnitudes, since deep in the tail almost all of a rectangle lies above the curve.
            let up = rng.next_u64() >> (draw / FAR % 65).min(63);
            if let Some(inside) = compare(region, &corner(region, across, up)) {
                assert_eq!(Candidate::new(region, across, up).is_inside(&mut rng), inside);
                decided[usize::from(inside)] += 1;
            }
        }
        assert!(decided.iter().all(|&n| n > 1_000), "{decided:?}");
    }

    /// Points so close to the curve that floating point by itself would put some of them on the wrong side.
    #[test]
    fn points_next_to_the_curve_are_left_to_big_integers() {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        // The point of a rectangle that is the last to be inside, and the first to be.
        let corner_inside = |region, across, up, words: u64| {
            Candidate::new(region, across, up).is_inside(&mut FixedWords(vec![words; 64]))
        };
        let (mut decided, mut wrong) = ([0; 2], 0);
        for draw in 0..240 {
            let (region, across) = (Region::Tail(draw % 9), rng.next_u64() >> 9);
            let Corner { x, unread, .. } = corner(region, across, 0);
            let curve = libm::exp(-0.5 * x * x);
            let row = (curve / unread) as u64;
            for units in -30..=30_i64 {
                // Heights in units in the last place of the curve's; then some that the margin lets through.
                let apart = if units % 10 == 0 { 4096 * units } else { units };
                let up = row.saturating_add_signed(apart * (row >> 53).max(1) as i64);
                let corner = corner(region, across, up);
                if let Some(inside) = compare(region, &corner) {
                    let words = if inside { u64::MAX } else { 0 };
                    assert_eq!(corner_inside(region, across, up, words), inside, "{region:?} {across} {up}");
                    decided[usize::from(inside)] += 1;
                }
                if corner.y + 1.0001 * unread < curve {
                    wrong += usize::from(!corner_inside(region, across, up, u64::MAX));
                } else if corner.y > curve {
                    wrong += usize::from(corner_inside(region, across, up, 0));
                }
            }
        }
        assert!(
            wrong > 100 && decided.iter().all(|n| *n > 100),
            "without a margin {wrong} would be wrong: {decided:?}"
        );
    }

    #[test]
    fn what_is_unread_is_not_taken_for_zero() {
        // The lowest row of rectangle 10 lies under the curve; that of rectangle 38 is 2^15 times as high as the curve.
        let decided = |j| compare(Region::Tail(j), &corner(Region::Tail(j), 0, 0));
        assert_eq!((decided(10), decided(38)), (Some(true), None));
    }

    #[test]
    fn a_column_across_a_half_is_not_rounded_by_its_left_end() {
        // With s = 2^40 a column of layer 7 is 2^-14 wide, and this one contains 1000.5.
        let noise = RoundedGaussian::new(power_of_two(40)).unwrap();
        let across = ((2001_u128 << 64) / u128::from(RIGHT[7])) as u64;
        let step = noise.slots[7].step;
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut draw = || {
            noise.round::<false, _>(
                across as f64 * step,
                step,
                || Candidate::new(Region::Layer(7), across, 0),
                &mut rng,
            )
        };
        let drawn: Vec<i64> = (0..200).map(|_| draw()).collect();
        assert!(drawn.contains(&1000) && drawn.contains(&1001));
    }

    #[test]
    fn the_assumption_on_exp_holds_at_many_points() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for _ in 0..5_000 {
            let z = (rng.next_u64() >> 11) as f64 * power_of_two(-53) * 94.0;
            let Dyadic { mantissa, exponent } = Dyadic::of(z);
            let (lower, upper) = exp_neg(&BigUint::from(mantissa), u64::from(exponent.unsigned_abs()), 300);
            let Dyadic { mantissa, exponent } = Dyadic::of(libm::exp(-z));
            let value = BigUint::from(mantissa) << (300 + exponent) as u64;
            let slack = &value >> 51_u32;
            assert!(value <= upper + &slack && value + slack >= lower, "exp(-{z})");
        }
    }

    #[test]
    fn the_generator_of_noise_is_pinned() {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let mut drawn = [0; 8];
        RoundedGaussian::new(1000.0).unwrap().fill(&mut rng, &mut drawn);
        assert_eq!(drawn, [142, -1146, -497, 1942, -267, -575, -2216, -376]);
    }
}
