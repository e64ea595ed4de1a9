//! Exact coins: uniform integers, Bernoulli(a/b) and Bernoulli(e^(−a/b)), on integers alone.
//!
//! Every other discrete sampler is built from these. Probabilities are fractions of integers or e to minus a fraction, so nothing
//! is ever rounded (Canonne, Kamath, Steinke 2020, section 5).

use rand_core::Rng;

/// Uniform on {0, …, bound − 1}, for bound ≥ 1: as many bits as bound − 1 has, again until they are below the bound.
pub(super) fn below<R: Rng + ?Sized>(bound: u128, rng: &mut R) -> u128 {
    let bits = 128 - (bound - 1).leading_zeros();
    if bits <= 64 {
        return u128::from(below_word((bound - 1) as u64, rng));
    }
    loop {
        let value = (u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())) >> (128 - bits);
        if value < bound {
            return value;
        }
    }
}

/// Uniform on {0, …, greatest}.
fn below_word<R: Rng + ?Sized>(greatest: u64, rng: &mut R) -> u64 {
    if greatest == 0 {
        return 0;
    }
    loop {
        let value = rng.next_u64() >> greatest.leading_zeros();
        if value <= greatest {
            return value;
        }
    }
}

/// True with probability a/b, for b ≥ 1 and any a; always true where a ≥ b.
pub(super) fn bernoulli<R: Rng + ?Sized>(a: u128, b: u128, rng: &mut R) -> bool {
    a >= b || below(b, rng) < a
}

/// True with probability e^(−a/b), for b ≥ 1.
///
/// Algorithm 1 of Canonne, Kamath and Steinke 2020 (arXiv:2004.00010): e^(−γ) = (e^(−1))^⌊γ⌋ · e^(−(γ − ⌊γ⌋)).
pub(super) fn bernoulli_exp<R: Rng + ?Sized>(a: u128, b: u128, rng: &mut R) -> bool {
    let (mut whole, rest) = (a / b, a % b);
    while whole > 0 {
        if !bernoulli_exp_unit(1, 1, rng) {
            return false;
        }
        whole -= 1;
    }
    bernoulli_exp_unit(rest, b, rng)
}

/// The same for γ = a/b ≤ 1: count K − 1 successes of Bernoulli(γ/k), k = 1, 2, …; P(K > k) = γ^k/k!, so K is odd
/// with probability 1 − γ + γ²/2! − … = e^(−γ). Bernoulli(γ/k) is Bernoulli(γ) and Bernoulli(1/k).
fn bernoulli_exp_unit<R: Rng + ?Sized>(a: u128, b: u128, rng: &mut R) -> bool {
    let mut k = 1;
    while bernoulli(a, b, rng) && bernoulli(1, k, rng) {
        k += 1;
    }
    k % 2 == 1
}

/// j with probability 2^−(j+1): the zeros before the first one of a stream of bits.
pub(super) fn geometric<R: Rng + ?Sized>(rng: &mut R) -> u64 {
    let mut zeros = 0;
    loop {
        let word = rng.next_u64();
        zeros += u64::from(word.trailing_zeros());
        if word != 0 {
            return zeros;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    const DRAWS: u32 = 200_000;

    /// Asserts that a coin shows true with probability p, within six deviations.
    fn shows(p: f64, seed: u8, coin: impl Fn(&mut ChaCha20Rng) -> bool) {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let hits = (0..DRAWS).filter(|_| coin(&mut rng)).count() as f64;
        let n = f64::from(DRAWS);
        let z = (hits - n * p) / (n * p * (1.0 - p)).sqrt().max(0.1);
        assert!(z.abs() < 6.0, "p = {p}, z = {z}");
    }

    #[test]
    fn coins_show_their_probability() {
        let wide = 1_u128 << 100;
        for (seed, (a, b)) in
            [(0, 1), (1, 1), (5, 3), (1, 3), (2, 7), (1, 1 << 10), (wide / 3, wide), (wide, 3 * wide + 1)]
                .into_iter()
                .enumerate()
        {
            let p = (a as f64 / b as f64).min(1.0);
            shows(p, seed as u8, |rng| bernoulli(a, b, rng));
            shows((-(a as f64 / b as f64)).exp(), seed as u8, |rng| bernoulli_exp(a, b, rng));
        }
        shows((-4.25_f64).exp(), 40, |rng| bernoulli_exp(17, 4, rng));
    }

    #[test]
    fn a_uniform_integer_stays_below_its_bound_and_reaches_it() {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for bound in [1, 2, 3, 64, 65] {
            let mut seen = vec![false; bound as usize];
            for _ in 0..10_000 {
                seen[below(bound, &mut rng) as usize] = true;
            }
            assert!(seen.iter().all(|&s| s));
        }
        let wide = (1 << 90) + 1;
        assert!((0..1000).all(|_| below(wide, &mut rng) < wide));
        below(u128::MAX, &mut rng);
    }
}
