//! Draws of a run of chains, collected as they are released.

use crate::method::Method;

/// The draws so far, chain by chain, warm-up included.
#[derive(Debug, Clone)]
pub struct Collected {
    /// Iterations of a chain; 0 where the method does not draw.
    iterations: u64,
    /// Draws of all chains so far.
    seen: u64,
    /// Of each chain its draws, row by row.
    chains: Vec<Vec<f64>>,
}

impl Collected {
    /// None yet.
    pub fn new(method: &Method) -> Self {
        let iterations = method.algorithm.draws().map_or(0, |draws| draws.iterations);
        Self { iterations, seen: 0, chains: Vec::new() }
    }

    /// Whether the method draws at all.
    pub fn draws(&self) -> bool {
        self.iterations > 0
    }

    /// Keeps the last draw of a state, with how many there are, if it is new.
    pub fn take(&mut self, last: Option<(u64, Vec<f64>)>) {
        let Some((count, theta)) = last.filter(|(count, _)| self.draws() && *count > self.seen) else { return };
        if self.seen.is_multiple_of(self.iterations) {
            self.chains.push(Vec::new());
        }
        self.chains.iter_mut().last().into_iter().for_each(|chain| chain.extend_from_slice(&theta));
        self.seen = count;
    }

    /// Draws of each chain, one after the other.
    pub fn into_chains(self) -> Vec<Vec<f64>> {
        self.chains
    }
}
