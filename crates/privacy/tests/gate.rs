//! Gates: noise of the promised size, on the sum, once per charged step; and the mutants that break each of these.

use crate::common::{bound, charge, context, gaussian_event, relative_error_of_deviation, shape_for};
use privacy::noise::{DiscreteGaussian, NoiseContext, NoiseSource, Seeded};
use privacy::record::Tape;
use privacy::{
    Adjacency, Assembly, Batch, Bounded, Cohort, Curator, CuratorGate, Event, Gate, Grain, Grant, Grid, Ledger,
    LocalGate, Mechanism, MemoryJournal, NoiseMultiplier, OpenGate, PrivacyError, Released, Sampling, SamplingRate,
    SecureSum, Shape, ShareGate, ShareNoise, Steps, SumNoise, Unit,
};

const C: f64 = 2.0;
const Z: f64 = 3.0;

fn local_gate(event: &Event, shape: Shape, seed: u64) -> LocalGate {
    LocalGate::simulated(charge(event), shape, &mut Seeded::new(seed), &NoiseContext::default()).unwrap()
}

/// Releases of the whole-change mechanism on one vector.
fn releases(event: &Event, shape: Shape, value: &[f64], count: u64) -> Vec<f64> {
    let mut gate = local_gate(&event.repeated(Steps::new(count).unwrap()), shape, 5);
    let sum = Bounded::whole(shape, value).unwrap();
    let mut released = Released::zeros(0);
    (0..count)
        .flat_map(|_| {
            gate.release(&sum, &mut released).unwrap();
            released.get().clone()
        })
        .collect()
}

/// True if the numbers have mean 0 and deviation `promised` as far as 6 standard errors can tell.
///
/// The mean is looked at by itself: noise that is clipped from below loses variance and gains bias, and the mean square
/// of a sum of seven such shares was that of honest ones.
fn noise_is_as_promised(numbers: &[f64], promised: f64) -> bool {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    mean.abs() < 6.0 * promised / count.sqrt()
        && relative_error_of_deviation(numbers, promised) < 6.0 / (2.0 * count).sqrt()
}

#[test]
fn noise_on_a_whole_change_has_deviation_z_times_2c() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    let shape = shape_for(50, C, Grain::Whole, Z);
    let numbers = releases(&event, shape, &[0.0; 50], 1000);
    assert!(noise_is_as_promised(&numbers, Z * 2.0 * C));
}

#[test]
fn mutant_m4_c_for_2c_is_caught() {
    // The mutant calibrates to C what substitution moves by 2C: here by charging add-remove for clipped examples.
    let event = gaussian_event(Z, Adjacency::AddRemove, Sampling::None, 500);
    let shape = shape_for(50, C, Grain::Example, Z);
    let mut gate = local_gate(&event, shape, 5);
    let (mut batch, mut released, mut numbers) = (Batch::default(), Released::zeros(0), Vec::new());
    for _ in 0..500 {
        gate.batch(0, &mut batch).unwrap();
        gate.release(&Bounded::examples(shape, &batch).unwrap(), &mut released).unwrap();
        numbers.extend(released.get().iter().copied());
    }
    assert!(noise_is_as_promised(&numbers, Z * C), "add-remove of an example is C");
    assert!(!noise_is_as_promised(&numbers, Z * 2.0 * C), "and must not pass for substitution");
}

#[test]
fn mutant_m18_noise_on_the_mean_is_caught() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    let shape = shape_for(50, C, Grain::Whole, Z);
    // Noise calibrated for a sum of 100, then divided with it: as if it had been added to the mean.
    let mutant: Vec<f64> = releases(&event, shape, &[0.0; 50], 200).iter().map(|x| x / 100.0).collect();
    assert!(!noise_is_as_promised(&mutant, Z * 2.0 * C));
}

#[test]
fn mutants_m1_m2_m3_too_little_noise_are_caught_at_the_gate() {
    let shape = shape_for(50, C, Grain::Whole, Z);
    for (factor, count) in [(0.5, 20), (std::f64::consts::FRAC_1_SQRT_2, 20), (0.97, 800)] {
        let event = gaussian_event(Z * factor, Adjacency::Substitute, Sampling::None, 1);
        let numbers = releases(&event, shape, &[0.0; 50], count);
        assert!(!noise_is_as_promised(&numbers, Z * 2.0 * C), "σ·{factor}");
    }
}

#[test]
fn every_released_number_is_on_the_grid() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    let shape = shape_for(7, C, Grain::Whole, Z);
    for x in releases(&event, shape, &[0.3, -1.0, 1e-9, 5.0, f64::NAN, 0.0, 1e300], 20) {
        assert_eq!(shape.grid().in_units(x).fract(), 0.0);
    }
}

#[test]
fn a_receipt_covers_its_steps_and_not_one_more() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 3);
    let shape = shape_for(2, C, Grain::Whole, Z);
    let mut gate = local_gate(&event, shape, 1);
    let sum = Bounded::whole(shape, &[1.0, 2.0]).unwrap();
    for _ in 0..3 {
        gate.send(&sum).unwrap();
    }
    assert_eq!(gate.send(&sum).unwrap_err(), PrivacyError::ReceiptSpent { covered: 3 });
}

#[test]
fn a_batch_is_drawn_as_charged_and_released_once() {
    let rate = SamplingRate::new(0.5).unwrap();
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::Poisson { rate }, 4);
    let shape = shape_for(1, C, Grain::Example, Z);
    let (mut gate, mut other) = (local_gate(&event, shape, 1), local_gate(&event, shape, 2));
    let (mut batch, mut released) = (Batch::default(), Released::zeros(1));
    gate.batch(100, &mut batch).unwrap();
    assert!((20..80).contains(&batch.rows().len()));
    let mut sum = Bounded::examples(shape, &batch).unwrap();
    assert_eq!(other.release(&sum, &mut released).unwrap_err().code(), "P010", "another gate's batch");
    for _ in batch.rows() {
        sum.push(&[1.0]).unwrap();
    }
    let error = sum.push(&[1.0]).unwrap_err();
    assert_eq!(error.code(), "P011", "more vectors than rows");
    assert!(!error.to_string().contains(&batch.rows().len().to_string()), "the size of a batch is private: {error}");
    assert_eq!(gate.batch(100, &mut Batch::default()).unwrap_err().code(), "P012", "drawing again until it suits");
    gate.release(&sum, &mut released).unwrap();
    assert_eq!(gate.release(&sum, &mut released).unwrap_err().code(), "P010", "the same batch twice");
    assert_eq!(gate.batch(1000, &mut batch).unwrap_err().code(), "P012", "a batch of more rows than there were");
    gate.batch(100, &mut batch).unwrap();
}

#[test]
fn a_whole_change_is_not_amplified_by_sampling() {
    let rate = SamplingRate::new(0.1).unwrap();
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::Poisson { rate }, 1);
    let shape = shape_for(1, C, Grain::Whole, Z);
    let gate = LocalGate::simulated(charge(&event), shape, &mut Seeded::new(1), &NoiseContext::default());
    assert_eq!(gate.err().unwrap().code(), "P002");
}

#[test]
fn a_sum_of_another_shape_is_refused() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    let mut gate = local_gate(&event, shape_for(2, C, Grain::Whole, Z), 1);
    let sum = Bounded::whole(shape_for(2, 2.0 * C, Grain::Whole, Z), &[1.0, 2.0]).unwrap();
    assert_eq!(gate.send(&sum).unwrap_err().code(), "P010");
}

#[test]
fn the_open_gate_is_exact_and_needs_an_open_event() {
    let shape = shape_for(2, C, Grain::Whole, Z);
    let open = Event::new(Mechanism::Open, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
    let mut journal = MemoryJournal::default();
    let receipt = Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(&open, &mut journal).unwrap();
    let (mut source, context) = (Seeded::new(1), NoiseContext::default());
    let mut gate = OpenGate::new(receipt, shape, &mut source, &context).unwrap();
    let sent = gate.send(&Bounded::whole(shape, &[0.5, -0.25]).unwrap()).unwrap().released().unwrap();
    assert_eq!(sent.get().values(), [0.5, -0.25]);
    let noisy = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    assert_eq!(OpenGate::new(charge(&noisy), shape, &mut source, &context).err().unwrap().code(), "P012");
}

#[test]
fn a_curator_noises_the_total_once() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    let shape = shape_for(400, C, Grain::Whole, Z);
    let mut numbers = Vec::new();
    for round in 0..130 {
        let mut curator = Curator::new(&event, shape, &mut Seeded::new(9), &context(99, round), None).unwrap();
        for site in 0..5 {
            let mut source = Seeded::new(9);
            let mut gate = CuratorGate::new(charge(&event), shape, &mut source, &context(site, round)).unwrap();
            let mut value = vec![0.0; 400];
            value[0] = 1.0;
            curator.add(gate.send(&Bounded::whole(shape, &value).unwrap()).unwrap()).unwrap();
        }
        let mut total = curator.open().into_inner().values();
        total[0] -= 5.0;
        numbers.extend(total);
    }
    assert!(noise_is_as_promised(&numbers, Z * 2.0 * C));
}

/// The sum of a round by way of three nodes, with noise of the clients.
fn secure_sum(
    event: &Event,
    shape: Shape,
    cohort: &Cohort,
    round: u64,
    tape: Option<&Tape>,
) -> Result<SecureSum, PrivacyError> {
    let assembly = Assembly::new(*cohort, 3, SumNoise::Clients, event, shape)?;
    SecureSum::new(&assembly, &context(u64::MAX, round), &mut Seeded::new(3), tape)
}

fn share_round(
    cohort: &Cohort,
    shape: Shape,
    event: &Event,
    arriving: u64,
    round: u64,
) -> Result<Vec<f64>, PrivacyError> {
    let mut sum = secure_sum(event, shape, cohort, round, None)?;
    for site in 0..arriving {
        let mut source = Seeded::new(3);
        let mut gate = ShareGate::new(charge(event), shape, cohort, &mut source, &context(site, round))?;
        sum.add(gate.send(&Bounded::whole(shape, &vec![0.0; shape.dimension()])?)?)?;
    }
    Ok(sum.open()?.into_inner().values())
}

fn share_event(cohort: &Cohort, shape: &Shape) -> Event {
    share_event_of(ShareNoise::DiscreteGaussian, cohort, shape)
}

fn share_event_of(noise: ShareNoise, cohort: &Cohort, shape: &Shape) -> Event {
    let z = NoiseMultiplier::new(Z).unwrap();
    cohort.event(noise, shape, z, Adjacency::Substitute, Unit::Example, Steps::ONE).unwrap()
}

#[test]
fn shares_add_up_to_the_promise_even_without_colluders_and_dropouts() {
    let cohort = Cohort::new(10, 2, 3).unwrap();
    let shape = shape_for(300, C, Grain::Whole, Z);
    for noise in [ShareNoise::DiscreteGaussian, ShareNoise::Skellam] {
        let event = share_event_of(noise, &cohort, &shape);
        let numbers: Vec<f64> = (0..170).flat_map(|r| share_round(&cohort, shape, &event, 7, r).unwrap()).collect();
        // Seven shares arrive, sized so that four suffice.
        assert!(noise_is_as_promised(&numbers, Z * 2.0 * C * (7.0_f64 / 4.0).sqrt()), "{noise:?}");
    }
}

#[test]
fn a_share_is_drawn_from_the_distribution_that_was_charged() {
    // One unit of deviation: zero has probability e^{−1}I₀(1) = 0.4658 in one law and 0.3989 in the other.
    let cohort = Cohort::new(10, 0, 0).unwrap();
    let shape = Shape::new(2000, bound(1.0), Grain::Whole, Grid::new(0).unwrap()).unwrap();
    let z = NoiseMultiplier::new(1.5).unwrap();
    for (noise, zero) in [(ShareNoise::DiscreteGaussian, 0.3989), (ShareNoise::Skellam, 0.4658)] {
        let event = cohort.event(noise, &shape, z, Adjacency::Substitute, Unit::Example, Steps::ONE).unwrap();
        let tape = Tape::record();
        let mut sum = secure_sum(&event, shape, &cohort, 0, Some(&tape)).unwrap();
        for site in 0..10 {
            let mut source = Seeded::new(3);
            let mut gate = ShareGate::new(charge(&event), shape, &cohort, &mut source, &context(site, 0)).unwrap();
            sum.add(gate.send(&Bounded::whole(shape, &vec![0.0; 2000]).unwrap()).unwrap()).unwrap();
        }
        sum.open().unwrap();
        let draws: Vec<i64> = tape.calls()[0].noise.concat();
        let found = draws.iter().filter(|n| **n == 0).count() as f64 / draws.len() as f64;
        assert!((found - zero).abs() < 0.015, "{noise:?}: {found} of 20,000 are zero, expected {zero}");
    }
}

#[test]
fn shares_of_one_kind_do_not_enter_a_sum_of_the_other() {
    let cohort = Cohort::new(3, 0, 0).unwrap();
    let shape = shape_for(3, C, Grain::Whole, Z);
    let [gaussian, skellam] =
        [ShareNoise::DiscreteGaussian, ShareNoise::Skellam].map(|noise| share_event_of(noise, &cohort, &shape));
    assert_ne!(gaussian, skellam);
    for (charged, opened) in [(&gaussian, &skellam), (&skellam, &gaussian)] {
        let mut gate = ShareGate::new(charge(charged), shape, &cohort, &mut Seeded::new(1), &context(0, 0)).unwrap();
        let mut sum = secure_sum(opened, shape, &cohort, 0, None).unwrap();
        let share = gate.send(&Bounded::whole(shape, &[0.0; 3]).unwrap()).unwrap();
        assert_eq!(sum.add(share).unwrap_err().code(), "P010");
    }
    let plain = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    assert_eq!(ShareGate::check(&plain, &shape, &cohort).unwrap_err().code(), "P012");
}

#[test]
fn a_share_of_clipped_examples_is_over_all_rows_each_used_once() {
    let cohort = Cohort::new(3, 0, 0).unwrap();
    let shape = shape_for(2, C, Grain::Example, Z);
    let event = share_event(&cohort, &shape).repeated(Steps::new(2).unwrap());
    let mut gate = ShareGate::new(charge(&event), shape, &cohort, &mut Seeded::new(1), &context(0, 0)).unwrap();
    let mut batch = Batch::default();
    gate.batch(5, &mut batch).unwrap();
    assert_eq!(batch.rows(), [0, 1, 2, 3, 4]);
    let mut sum = Bounded::examples(shape, &batch).unwrap();
    batch.rows().iter().for_each(|_| sum.push(&[1.0, 0.0]).unwrap());
    gate.send(&sum).unwrap();
    assert_eq!(gate.send(&sum).unwrap_err().code(), "P010", "the same batch twice");
}

#[test]
fn a_sum_with_too_few_shares_stays_shut() {
    let cohort = Cohort::new(10, 2, 3).unwrap();
    let shape = shape_for(3, C, Grain::Whole, Z);
    let error = share_round(&cohort, shape, &share_event(&cohort, &shape), 6, 0).unwrap_err();
    assert_eq!(error, PrivacyError::Quorum { found: 6, expected: 7 });
    assert!(Cohort::new(4, 1, 2).is_err(), "no honest share would be left");
}

#[test]
fn a_round_takes_one_contribution_of_each_site() {
    // Found by review: a hundred charged steps of one client in one round moved the sum by a hundred times the bound.
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 100);
    let shape = shape_for(2, C, Grain::Whole, Z);
    let sum = Bounded::whole(shape, &[1.0, 1.0]).unwrap();
    let mut source = Seeded::new(1);
    let mut gate = CuratorGate::new(charge(&event), shape, &mut source, &context(0, 0)).unwrap();
    let mut curator = Curator::new(&event, shape, &mut source, &context(9, 0), None).unwrap();
    curator.add(gate.send(&sum).unwrap()).unwrap();
    assert_eq!(curator.add(gate.send(&sum).unwrap()).unwrap_err().code(), "P010", "a second one of the same site");
    let mut late = CuratorGate::new(charge(&event), shape, &mut source, &context(1, 1)).unwrap();
    assert_eq!(curator.add(late.send(&sum).unwrap()).unwrap_err().code(), "P010", "one of another round");

    let cohort = Cohort::new(4, 0, 0).unwrap();
    let event = share_event(&cohort, &shape).repeated(Steps::new(4).unwrap());
    let mut gate = ShareGate::new(charge(&event), shape, &cohort, &mut source, &context(0, 0)).unwrap();
    let mut shares = secure_sum(&event, shape, &cohort, 0, None).unwrap();
    shares.add(gate.send(&sum).unwrap()).unwrap();
    assert_eq!(shares.add(gate.send(&sum).unwrap()).unwrap_err().code(), "P010", "a second one of the same site");
    let mut late = ShareGate::new(charge(&event), shape, &cohort, &mut source, &context(1, 1)).unwrap();
    assert_eq!(shares.add(late.send(&sum).unwrap()).unwrap_err().code(), "P010", "one of another round");
}

#[test]
fn a_sum_opens_only_for_the_cohort_that_its_shares_were_sized_for() {
    // Both leave 99 honest shares, but one of them counts on 900 colluders.
    let (promised, other) = (Cohort::new(1000, 900, 0).unwrap(), Cohort::new(100, 0, 0).unwrap());
    let shape = shape_for(2, C, Grain::Whole, Z);
    let event = share_event(&promised, &shape);
    let mut gate = ShareGate::new(charge(&event), shape, &promised, &mut Seeded::new(1), &context(0, 0)).unwrap();
    let mut sum = secure_sum(&event, shape, &other, 0, None).unwrap();
    let share = gate.send(&Bounded::whole(shape, &[0.0, 0.0]).unwrap()).unwrap();
    assert_eq!(sum.add(share).unwrap_err().code(), "P012");
}

#[test]
fn a_share_cannot_be_read_or_released_alone() {
    let cohort = Cohort::new(3, 0, 0).unwrap();
    let shape = shape_for(3, C, Grain::Whole, Z);
    let event = share_event(&cohort, &shape);
    let mut gate = ShareGate::new(charge(&event), shape, &cohort, &mut Seeded::new(1), &context(0, 0)).unwrap();
    let sum = Bounded::whole(shape, &[0.777_123, 0.0, 0.0]).unwrap();
    assert_eq!(gate.release(&sum, &mut Released::zeros(3)).unwrap_err().code(), "P012");
    let outgoing = gate.send(&sum).unwrap();
    assert!(!format!("{outgoing:?}").contains("777"));
    assert_eq!(outgoing.released().unwrap_err().code(), "P012");
}

#[test]
fn shares_for_another_cohort_are_refused() {
    let (sized, smaller) = (Cohort::new(100, 0, 0).unwrap(), Cohort::new(5, 0, 0).unwrap());
    let shape = shape_for(3, C, Grain::Whole, Z);
    // A server that claims a hundred clients where there are five (M21).
    let event = share_event(&sized, &shape);
    let gate = ShareGate::new(charge(&event), shape, &smaller, &mut Seeded::new(1), &context(0, 0));
    assert_eq!(gate.err().unwrap().code(), "P012");
}

#[test]
fn mutant_m9_clipping_the_noised_share_is_caught() {
    // Thesis 4.3: each client applies max(−η, noisy share), and the sum is no longer the accounted mechanism.
    let (clients, deviation) = (10, 1000.0);
    let share = DiscreteGaussian::new(deviation * deviation).unwrap();
    let mut stream = Seeded::new(4).stream(&NoiseContext::default()).unwrap();
    let mut sums = |keep: fn(i64) -> i64| -> Vec<f64> {
        let mut shares = vec![0; clients];
        (0..5000)
            .map(|_| {
                share.fill(&mut stream, &mut shares);
                shares.iter().map(|&s| keep(s)).sum::<i64>() as f64
            })
            .collect()
    };
    let promised = deviation * (clients as f64).sqrt();
    assert!(noise_is_as_promised(&sums(|s| s), promised));
    assert!(!noise_is_as_promised(&sums(|s| s.max(-300)), promised));
}

#[test]
fn the_tape_reports_what_was_declared() {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1);
    let shape = shape_for(1, C, Grain::Whole, Z);
    let tape = Tape::record();
    let mut source = Seeded::new(1);
    let mut gate = LocalGate::recorded(charge(&event), shape, &mut source, &NoiseContext::default(), &tape).unwrap();
    let sent = gate.send(&Bounded::whole(shape, &[1.0]).unwrap()).unwrap().released().unwrap();
    let call = &tape.calls()[0];
    assert_eq!(call.sensitivity, 2 * shape.bound_units());
    assert!((call.deviation / (Z * call.sensitivity as f64) - 1.0).abs() < 1e-15);
    assert_eq!(call.input[0] + call.noise[0][0], sent.get().units()[0]);
}
