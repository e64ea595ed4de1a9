//! The secure sum: shares that say nothing, totals that are exact, noise that suffices, and doors that stay shut.

use crate::common::context;
use crate::statistics::correlation;
use crate::sums::{
    SumRehearsal, Z, add_up, assembly, contribution, contribution_of, letters, session, sum_context, units,
};
use privacy::noise::{DiscreteGaussian, NoiseSource, Seeded};
use privacy::record::Tape;
use privacy::secure_sum::{Message, SumError, SumParty, node_noise};
use privacy::{Assembly, Cohort, Mechanism, PrivacyError, SecureSum, SumNoise};
use rand_core::Rng;

/// The opened total of the clients that arrive.
fn opened(terms: &Assembly, arriving: &[u64], round: u64) -> Result<Vec<i64>, PrivacyError> {
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
        let noise: Vec<Vec<i64>> = arriving.iter().map(|&client| share_noise(&terms, client, 4)).collect();
        let expected = add_up(inputs.iter().chain(&noise), dimension);
        assert_eq!(opened(&terms, &arriving, 4).unwrap(), expected, "N {clients}, K {nodes}, d {dimension}");
    }
}

/// |variance about zero / promised − 1|, and what six deviations of that are.
fn error_of_variance(noise: &[i64], promised: f64) -> (f64, f64) {
    let mean_square = noise.iter().map(|&x| (x as f64).powi(2)).sum::<f64>() / noise.len() as f64;
    ((mean_square / promised - 1.0).abs(), 6.0 * (2.0 / noise.len() as f64).sqrt())
}

/// σ² in grid units: noise multiplier times the sensitivity of a replaced example in a whole change.
fn sigma_squared(terms: &Assembly) -> f64 {
    (Z * 2.0 * terms.shape().bound_units() as f64).powi(2)
}

/// The noise that the share gate of this client drew: its stream's first word is for tickets.
fn share_noise(terms: &Assembly, client: u64, round: u64) -> Vec<i64> {
    let Mechanism::DiscreteGaussianSum { share_deviation, .. } = terms.event().mechanism() else { panic!("shares") };
    let mut stream = Seeded::new(3).stream(&context(client, round)).unwrap();
    stream.next_u64();
    let mut noise = vec![0; terms.shape().dimension()];
    let share = DiscreteGaussian::new((share_deviation.get() * share_deviation.get()).next_up()).unwrap();
    share.fill(&mut stream, &mut noise);
    noise
}

fn subtract(from: &mut [i64], more: &[i64]) {
    from.iter_mut().zip(more).for_each(|(t, m)| *t = t.wrapping_sub(*m));
}

/// A million draws: the noise of opened totals, and what is left of it when everyone who may has taken theirs out.
fn opened_noise(terms: &Assembly, arriving: &[u64], known: &[u64]) -> (Vec<i64>, Vec<i64>) {
    let (mut noise, mut rest) = (Vec::new(), Vec::new());
    for round in 0..1_000_000 / terms.shape().dimension() as u64 {
        let mut total = opened(terms, arriving, round).unwrap();
        arriving.iter().for_each(|&client| subtract(&mut total, &units(terms, client)));
        noise.extend(&total);
        known.iter().for_each(|&client| subtract(&mut total, &share_noise(terms, client, round)));
        rest.extend(total);
    }
    (noise, rest)
}

#[test]
fn the_noise_of_client_shares_suffices_after_dropouts_colluders_and_one_curious_client() {
    let cohort = Cohort::new(8, 2, 2).unwrap();
    let terms = assembly(cohort, 3, SumNoise::Clients, 10_000);
    // Two of eight drop out; two collude and a third is curious: they know the noise of three of the six.
    let (noise, rest) = opened_noise(&terms, &[0, 1, 3, 4, 6, 7], &[1, 4, 7]);
    let sigma_squared = sigma_squared(&terms);
    let (error, limit) = error_of_variance(&noise, 6.0 * sigma_squared / 3.0);
    assert!(error < limit, "n·σ²/(N − T_c − T_d − 1): off by {error}");
    let (error, limit) = error_of_variance(&rest, sigma_squared);
    assert!(error < limit, "σ² must be left: off by {error}");

    // M20: shares sized by N. The same check must not let them pass.
    let (n, left) = (cohort.clients() as f64, cohort.honest_shares() as f64);
    let mutant: Vec<i64> = rest.iter().map(|&x| (x as f64 * (left / n).sqrt()) as i64).collect();
    let (error, limit) = error_of_variance(&mutant, sigma_squared);
    assert!(error > limit, "mutant M20 passes");
}

#[test]
fn with_node_noise_one_honest_node_suffices() {
    let terms = assembly(Cohort::new(2, 0, 0).unwrap(), 3, SumNoise::Nodes, 100_000);
    let (mut noise, mut rest) = (Vec::new(), Vec::new());
    for round in 0..10 {
        let mut total = opened(&terms, &[0, 1], round).unwrap();
        [0, 1].iter().for_each(|&client| subtract(&mut total, &units(&terms, client)));
        noise.extend(&total);
        for node in [0, 2] {
            let (session, context) = (session(&terms, round, 0), sum_context(round, 0));
            subtract(&mut total, &node_noise(&terms, &session, node, &mut Seeded::new(5), &context).unwrap());
        }
        rest.extend(total);
    }
    let (error, limit) = error_of_variance(&noise, 3.0 * sigma_squared(&terms));
    assert!(error < limit, "K·σ² if all are honest: off by {error}");
    let (error, limit) = error_of_variance(&rest, sigma_squared(&terms));
    assert!(error < limit, "σ² if all nodes but one take theirs out: off by {error}");
    assert!(correlation(&noise[..100_000], &noise[100_000..200_000]).abs() < 6.0, "noise of two rounds");
}

#[test]
fn below_the_quorum_the_sum_stays_shut() {
    for noise in [SumNoise::Nodes, SumNoise::Clients] {
        let terms = assembly(Cohort::new(6, 1, 2).unwrap(), 3, noise, 3);
        assert_eq!(opened(&terms, &[0, 2, 5], 1).unwrap_err(), PrivacyError::Quorum { found: 3, expected: 4 });
        assert_eq!(opened(&terms, &[], 1).unwrap_err(), PrivacyError::Quorum { found: 0, expected: 4 });
        assert!(opened(&terms, &[0, 2, 4, 5], 1).is_ok());

        let tape = Tape::record();
        let mut sum = SecureSum::new(&terms, &sum_context(1, 0), &mut Seeded::new(5), Some(&tape)).unwrap();
        [0, 2, 5].iter().for_each(|&client| sum.add(contribution(&terms, client, 1, 3)).unwrap());
        assert_eq!(sum.open().unwrap_err(), PrivacyError::Quorum { found: 3, expected: 4 });
        assert!(tape.calls().is_empty(), "nothing was released");
    }
}

#[test]
fn mutant_m22_a_node_that_opens_with_too_few_shares_is_not_joined_by_the_others() {
    let terms = assembly(Cohort::new(5, 0, 1).unwrap(), 3, SumNoise::Nodes, 3);
    // The mutant has other terms than the manifest: it opens with three of five.
    let lax = assembly(Cohort::new(5, 0, 2).unwrap(), 3, SumNoise::Nodes, 3);
    let mut table = SumRehearsal::new(&terms, 1, 0);
    table.contribute(&[0, 1, 2]);
    table.close(|_, _| false);
    assert!(table.opened.is_empty());
    let mut mutant = SumRehearsal::new(&lax, 1, 0);
    mutant.contribute(&[0, 1, 2]);
    mutant.close(|_, _| false);
    assert_eq!(mutant.opened.len(), 1, "the mutant's check lets three pass");
    // Its partial sum, brought into the honest session: the opener finds too few, and nobody else publishes.
    let published = letters(mutant.nodes[0].unconfirmed()).into_iter().find(|(to, _)| *to == SumParty::Opener).unwrap();
    let forged = Message { session: table.session, ..published.1 };
    let error = table.tell(SumParty::Opener, forged).unwrap_err();
    assert_eq!(error, SumError::TooFew { found: 3, expected: 4 });
}

#[test]
fn a_contribution_must_be_of_the_round_the_cohort_and_the_noise_and_the_only_one_of_its_site() {
    let cohort = Cohort::new(4, 0, 1).unwrap();
    let terms = assembly(cohort, 3, SumNoise::Nodes, 3);
    let shares = assembly(cohort, 3, SumNoise::Clients, 3);
    let larger = assembly(Cohort::new(9, 5, 1).unwrap(), 3, SumNoise::Clients, 3);
    let tape = Tape::record();
    for tape in [None, Some(&tape)] {
        let start = |terms: &Assembly| SecureSum::new(terms, &sum_context(1, 0), &mut Seeded::new(5), tape).unwrap();
        let mut sum = start(&terms);
        assert_eq!(sum.add(contribution(&terms, 0, 2, 3)).unwrap_err().code(), "P010", "another round");
        assert_eq!(sum.add(contribution(&shares, 0, 1, 3)).unwrap_err().code(), "P010", "another event");
        assert_eq!(sum.add(contribution(&terms, 4, 1, 3)).unwrap_err().code(), "P010", "no such client");
        sum.add(contribution(&terms, 0, 1, 3)).unwrap();
        assert_eq!(sum.add(contribution(&terms, 0, 1, 3)).unwrap_err().code(), "P010", "a second one of its site");
        assert_eq!(start(&shares).add(contribution(&larger, 0, 1, 3)).unwrap_err().code(), "P012", "another cohort");
    }
}

#[test]
fn terms_that_make_no_sense_are_refused() {
    let (cohort, larger) = (Cohort::new(4, 0, 1).unwrap(), Cohort::new(40, 0, 1).unwrap());
    let (nodes, shares) = (assembly(cohort, 2, SumNoise::Nodes, 3), assembly(cohort, 2, SumNoise::Clients, 3));
    let terms = |cohort, count, noise, event| Assembly::new(cohort, count, noise, event, *nodes.shape());
    assert_eq!(terms(cohort, 1, SumNoise::Nodes, nodes.event()).unwrap_err().code(), "P001", "one node sees all");
    assert_eq!(terms(cohort, 2, SumNoise::Nodes, shares.event()).unwrap_err().code(), "P012");
    assert_eq!(terms(cohort, 2, SumNoise::Clients, nodes.event()).unwrap_err().code(), "P012");
    assert_eq!(terms(larger, 2, SumNoise::Clients, shares.event()).unwrap_err().code(), "P012", "M21");
    let all = [
        nodes.digest(),
        shares.digest(),
        assembly(larger, 2, SumNoise::Nodes, 3).digest(),
        assembly(Cohort::new(4, 1, 1).unwrap(), 2, SumNoise::Nodes, 3).digest(),
        assembly(Cohort::new(4, 1, 0).unwrap(), 2, SumNoise::Nodes, 3).digest(),
        assembly(cohort, 3, SumNoise::Nodes, 3).digest(),
        assembly(cohort, 2, SumNoise::Nodes, 4).digest(),
    ];
    for (i, a) in all.iter().enumerate() {
        assert!(all[i + 1..].iter().all(|b| a != b), "terms {i} share their digest with others");
    }
}

#[test]
fn a_tape_sees_one_call_and_gives_the_second_world_the_first_ones_total() {
    for (noise, sharers) in [(SumNoise::Nodes, 3), (SumNoise::Clients, 4)] {
        let terms = assembly(Cohort::new(4, 0, 0).unwrap(), 3, noise, 5);
        let world = |tape: &Tape, clients: [u64; 4]| {
            let mut sum = SecureSum::new(&terms, &sum_context(1, 0), &mut Seeded::new(5), Some(tape)).unwrap();
            for (site, values) in (0..).zip(clients) {
                sum.add(contribution_of(&terms, site, &units(&terms, values))).unwrap();
            }
            sum.open().unwrap().into_inner().units().to_vec()
        };
        let first = Tape::record();
        let total = world(&first, [0, 1, 2, 3]);
        let calls = first.calls();
        assert_eq!((calls.len(), calls[0].noise.len()), (1, sharers));
        assert_eq!(add_up(calls[0].noise.iter().chain([&calls[0].input]), 5), total);
        let second = first.replay();
        assert_eq!(world(&second, [0, 1, 2, 9]), total, "the same release in both worlds");
        assert_eq!(second.verdict(), Ok(()));
        assert_ne!(second.calls()[0].input, calls[0].input);
    }
}
