//! How many numbers a sum and a message have.

use crate::settings::{
    Aggregator, Covariance, Gradients, Method, Sampler, Scheme, SecureSum, Solver, Start, Statistics, StatisticsRule,
};

/// Bytes of one number in a message, without its envelope.
const BYTES_OF_A_NUMBER: u64 = 8;

/// Bytes of a seed, which stands for the share of a compute node.
const BYTES_OF_A_SEED: u64 = 16;

/// Bytes of seeds that a client sends in one message of a secure sum: one to each node but the one that gets numbers.
pub fn seed_bytes(nodes: u32) -> u64 {
    BYTES_OF_A_SEED * u64::from(nodes.saturating_sub(1))
}

/// Length of a released sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// The same for all clients.
    Fixed(usize),
    /// So many for each row of a client.
    PerRow(usize),
}

/// Bytes of the largest message of a client: rows that are noised one by one, or one sum.
pub(super) fn message_bytes(method: &Method, clients: &[u64], dimension: usize) -> u64 {
    let numbers = match summed(method, dimension) {
        Numbers::PerRow(numbers) => (numbers as u64).saturating_mul(clients.iter().copied().max().unwrap_or(0)),
        Numbers::Fixed(_) => most_numbers(method, dimension) as u64,
    };
    let seeds = match method.promise.map(|promise| promise.aggregator) {
        Some(Aggregator::SecureSum(SecureSum { nodes, .. })) => seed_bytes(nodes),
        _ => 0,
    };
    BYTES_OF_A_NUMBER.saturating_mul(numbers).saturating_add(seeds)
}

/// Numbers of the longest message: gradients are longer than the log-ratios that chains ask for beside them.
fn most_numbers(method: &Method, dimension: usize) -> usize {
    let Scheme::Chain(chain) = method.scheme else { return numbers(method, dimension) };
    match (chain.sampler, chain.start) {
        (_, Start::Variational { .. }) => dimension.saturating_mul(2),
        (Sampler::Hamiltonian { .. }, _) => dimension,
        _ => chain.numbers(dimension),
    }
}

/// Length of a vector of natural parameters: d of Λμ, and the precision's.
fn numbers(method: &Method, dimension: usize) -> usize {
    let triangle = |d: usize| d.saturating_mul(d.saturating_add(1)) / 2;
    match (method.scheme, method.covariance) {
        (Scheme::NoiseAware(settings), _) => settings.numbers(dimension),
        (Scheme::Chain(chain), _) => chain.numbers(dimension),
        (Scheme::Statistics(Statistics { rule: StatisticsRule::RowNorm { .. }, .. }), _) => {
            triangle(dimension.saturating_add(1))
        }
        (_, Covariance::MeanField) => dimension.saturating_mul(2),
        (_, Covariance::Full) => dimension.saturating_add(triangle(dimension)),
    }
}

/// Length of a released sum: of natural parameters, or of gradients.
pub(super) fn summed(method: &Method, dimension: usize) -> Numbers {
    match (method.scheme, method.solver) {
        (Scheme::Statistics(Statistics { rule: StatisticsRule::Inputs { .. }, .. }), _) => {
            Numbers::PerRow(dimension.saturating_add(1))
        }
        (_, Solver::DpOptimisation) if method.local.gradients == Gradients::Aligned => Numbers::Fixed(dimension),
        _ => Numbers::Fixed(numbers(method, dimension)),
    }
}
