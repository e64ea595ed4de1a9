//! A set of clients, one bit each.
//!
//! Nodes agree on whose shares a total contains, bit by bit. Sets of one million clients take 125 kB.

use super::{SumError, WordVector};
use serde::{Deserialize, Serialize};

/// Which of N clients are in.
///
/// # Examples
///
/// ```
/// use privacy::secure_sum::ClientSet;
///
/// let mut held = ClientSet::none(100);
/// assert!(held.insert(7) && !held.insert(7), "a client is in once");
/// assert_eq!((held.count(), held.contains(7)), (1, true));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSet {
    clients: u64,
    bits: WordVector,
}

impl ClientSet {
    /// The empty set over so many clients.
    pub fn none(clients: u64) -> Self {
        Self { clients, bits: WordVector::zeros(clients.div_ceil(64) as usize) }
    }

    /// Refuses a set over another number of clients, and one with bits beyond the last client.
    pub(super) fn check(&self, clients: u64) -> Result<(), SumError> {
        let words = self.bits.get();
        let beyond = match clients % 64 {
            0 => 0,
            used => words.last().map_or(0, |last| last >> used),
        };
        if self.clients != clients || words.len() as u64 != clients.div_ceil(64) || beyond != 0 {
            return Err(SumError::Size { what: "a set of clients", found: self.clients, expected: clients });
        }
        Ok(())
    }

    /// Takes a client in; false if it was in, or if there is no such client.
    pub fn insert(&mut self, client: u64) -> bool {
        let fresh = client < self.clients && !self.contains(client);
        if fresh {
            self.bits.get_mut()[(client / 64) as usize] |= 1 << (client % 64);
        }
        fresh
    }

    /// True if the client is in the set; false for a number that is no client.
    pub fn contains(&self, client: u64) -> bool {
        self.bits.get().get((client / 64) as usize).is_some_and(|word| word >> (client % 64) & 1 == 1)
    }

    /// How many clients are in the set.
    pub fn count(&self) -> u64 {
        self.bits.get().iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Clients of the set, in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..).zip(self.bits.get()).flat_map(|(i, &word)| ones(word).map(move |bit| 64 * i + bit))
    }

    /// Keeps those that are in the other set too.
    pub(super) fn keep_common(&mut self, other: &Self) {
        self.bits.get_mut().iter_mut().zip(other.bits.get()).for_each(|(a, b)| *a &= b);
    }
}

/// Positions of the bits that are one.
fn ones(mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            u64::from(bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_beyond_its_clients() {
        let mut set = ClientSet::none(130);
        for client in [0, 63, 64, 129] {
            assert!(set.insert(client) && !set.insert(client));
        }
        assert!(!set.insert(130), "there is no such client");
        assert_eq!((set.iter().collect::<Vec<_>>(), set.count()), (vec![0, 63, 64, 129], 4));
        let mut other = ClientSet::none(130);
        other.insert(64);
        set.keep_common(&other);
        assert_eq!(set.iter().collect::<Vec<_>>(), [64]);
        assert!(set.check(130).is_ok() && set.check(131).is_err() && set.check(64).is_err());
        set.bits.get_mut()[2] |= 1 << 2;
        assert!(set.check(130).is_err(), "a bit beyond the last client");
    }
}
