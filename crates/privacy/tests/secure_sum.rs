//! The secure sum: shares that say nothing, totals that are exact, noise that suffices, and doors that stay shut.

mod common;
#[path = "common/sums.rs"]
mod sums;

use common::context;
use privacy::noise::Seeded;
use privacy::secure_sum::node_noise;
use privacy::{Assembly, Cohort, SecureSum, ShareSum, SumNoise};
use sums::{add_up, assembly, contribution, session, sum_context, units};

/// The opened total of the clients that arrive.
fn opened(terms: &Assembly, arriving: &[u64], round: u64) -> Result<Vec<i64>, privacy::PrivacyError> {
    let mut sum = SecureSum::new(terms, &sum_context(round, 0), &mut Seeded::new(5), None)?;
    for &client in arriving {
        sum.add(contribution(terms, client, round, 3))?;
    }
    Ok(sum.open()?.into_inner().units().to_vec())
}

#[test]
fn the_opened_total_is_the_sum_of_the_integers_and_of_the_noise_bit_for_bit() {
    for (clients, nodes, dimension) in [(2, 2, 1), (3, 2, 7), (7, 5, 257), (12, 10, 33), (65, 3, 512), (20, 4, 1025)] {
        let dropouts = clients / 3;
        let cohort = Cohort::new(clients, 0, dropouts.min(clients - 2)).unwrap();
        let arriving: Vec<u64> = (0..clients).rev().take(cohort.quorum() as usize).collect();
        let terms = assembly(cohort, nodes, SumNoise::Nodes, dimension);
        let inputs: Vec<Vec<i64>> = arriving.iter().map(|&client| units(&terms, client)).collect();
        let (session, context) = (session(&terms, 4, 0), sum_context(4, 0));
        let noise: Vec<Vec<i64>> =
            (0..nodes).map(|node| node_noise(&terms, &session, node, &mut Seeded::new(5), &context).unwrap()).collect();
        let expected = add_up(inputs.iter().chain(&noise), dimension);
        assert_eq!(opened(&terms, &arriving, 4).unwrap(), expected, "N {clients}, K {nodes}, d {dimension}");

        let terms = assembly(cohort, nodes, SumNoise::Clients, dimension);
        let mut plain = ShareSum::new(terms.event(), *terms.shape(), &cohort, &context_of(4), None).unwrap();
        arriving.iter().for_each(|&client| plain.add(contribution(&terms, client, 4, 3)).unwrap());
        let expected = plain.open().unwrap().into_inner().units().to_vec();
        assert_eq!(opened(&terms, &arriving, 4).unwrap(), expected, "N {clients}, K {nodes}, d {dimension}");
    }
}

fn context_of(round: u64) -> privacy::noise::NoiseContext {
    context(u64::MAX, round)
}
