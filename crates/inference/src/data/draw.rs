//! Orders drawn from a seed: the same on every machine, one stream for each purpose.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// What an order is drawn for. Different purposes with one seed are independent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// Which rows are held out.
    Split = 1,
    /// Which rows go to which client.
    Partition = 2,
    /// Which of the rows left over go to which client.
    Rest = 3,
}

/// Shuffles by Fisher and Yates, with draws that are a function of seed, purpose and length alone.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64, purpose: Purpose) {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8] = purpose as u8;
    let mut rng = ChaCha20Rng::from_seed(key);
    for last in (1..items.len()).rev() {
        items.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
}

/// Uniform on 0..n, by rejection.
fn below(rng: &mut impl Rng, n: u64) -> u64 {
    let rest = (u64::MAX % n + 1) % n;
    loop {
        let word = rng.next_u64();
        if word <= u64::MAX - rest {
            return word % n;
        }
    }
}

/// ⌊x⌋, where x is a product of typed decimals: a thousand-millionth under a whole number counts as that number.
pub(crate) fn whole(x: f64) -> usize {
    (x + 1e-9).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_as_likely() {
        let mut counts = [0_u32; 27];
        for seed in 0..6000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, seed, Purpose::Split);
            counts[items[0] * 9 + items[1] * 3 + items[2]] += 1;
        }
        let seen: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
        // Six orders, 1,000 expected of each, deviation 29.
        assert!(seen.len() == 6 && seen.iter().all(|count| (880..1120).contains(count)), "{seen:?}");
    }

    #[test]
    fn purposes_and_seeds_differ_and_an_order_is_fixed() {
        let order = |seed, purpose| {
            let mut items: Vec<usize> = (0..8).collect();
            shuffle(&mut items, seed, purpose);
            items
        };
        assert_eq!(order(1, Purpose::Split), order(1, Purpose::Split));
        assert_ne!(order(1, Purpose::Split), order(2, Purpose::Split));
        assert_ne!(order(1, Purpose::Split), order(1, Purpose::Partition));
        assert_eq!((whole((1.0 - 0.9) * 100.0 / 10.0), whole(2.999), whole(0.0)), (1, 2, 0));
    }
}
