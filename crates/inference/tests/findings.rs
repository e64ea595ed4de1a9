//! Found by review: what is charged is answered, whatever was asked; what a site keeps of its own intercept.

use crate::common::{
    OWN_PRECISION, adam, algorithm_of, damping, method, own_methods_of, private_methods, promise, pvi, rng, rows,
    simulation, sites,
};
use inference::algorithm::{InterceptState, LevelQuestion, PviSettings, SumKind};
use inference::message::{Ask, Direct};
use inference::settings::{Aggregator, Damping, Schedule};
use inference::solve::Descend;
use inference::{Client, Progress, SimulationContext};
use privacy::{Grant, Released};
use rand_core::Rng;

/// A lost answer was released and paid for: what it says of the site's own intercept stays, and no receipt is needed.
#[test]
fn the_own_part_of_a_lost_answer_stays() {
    let (sites, test) = (sites(), rows(2, 1));
    for method in
        private_methods().iter().filter(|m| m.algorithm.site_intercept().is_some() && algorithm_of(m) == "pvi")
    {
        let built = simulation(method, &sites, &test).build().unwrap();
        let protocol = built.protocol.as_ref();
        let query = protocol.ask(&protocol.start().unwrap()).unwrap();
        let workshop = SimulationContext { seed: 1, run: [0; 16], summing: built.summing, tape: None };
        let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), Grant::Unlimited).unwrap();
        let mut heard = vec![built.home.as_ref().unwrap().prior()];
        for round in 0..2 {
            client.answer(protocol, &Ask { round, attempt: 0, query: query.clone() }, &workshop).unwrap();
            heard.push(protocol.at_home(0, &draft_of(&client)).unwrap().unwrap());
        }
        assert!(heard[0] != heard[1] && heard[1] != heard[2], "{}: {heard:?}", method.name);
    }
}

/// What the client answers from next, read out of its `Debug`.
fn draft_of(client: &Client<'_>) -> Vec<u8> {
    let text = format!("{client:?}");
    let list = text.rsplit("draft: Some([").next().unwrap().split(']').next().unwrap().to_owned();
    list.split(", ").map(|b| b.parse().unwrap()).collect()
}

/// Random and extreme questions to noise-aware sites, one after the other without receipts.
#[test]
fn whatever_is_charged_is_sent_noise_aware() {
    let (sites, test) = (sites(), rows(2, 1));
    let mut failures = Vec::new();
    for method in private_methods().iter().filter(|m| algorithm_of(m) == "noise-aware") {
        let built = simulation(method, &sites, &test).build().unwrap();
        let protocol = built.protocol.as_ref();
        let right: LevelQuestion = postcard::from_bytes(&protocol.ask(&protocol.start().unwrap()).unwrap()).unwrap();
        let d = right.mean.len();
        for seed in 0..40 {
            let mut rng = rng(seed);
            let workshop = SimulationContext { seed, run: [0; 16], summing: built.summing, tape: None };
            let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), Grant::Unlimited).unwrap();
            for round in 0..6 {
                let mut pick = |from: &[f64]| from[(rng.next_u64() % from.len() as u64) as usize];
                let mean = (0..d).map(|_| pick(&[0.0, 1.0, -1e308, 1e308, 5e-324, 1e150])).collect();
                let deviation = (0..d).map(|_| pick(&[1.0, 5e-324, 1e308, 1e-160, 1e160])).collect();
                let curvature = pick(&[0.0, 1.0, 1e9, 5e-324]);
                let kinds = [SumKind::Moments, SumKind::Residuals, SumKind::ResidualsOf(1), SumKind::ResidualsOf(250)];
                let about = kinds[pick(&[0.0, 1.0, 2.0, 3.0]) as usize];
                let exponents: Vec<i8> = (0..d).map(|_| pick(&[0.0, 127.0, -128.0, 60.0]) as i8).collect();
                let scales = postcard::from_bytes(&postcard::to_allocvec(&exponents).unwrap()).unwrap();
                let query =
                    postcard::to_allocvec(&LevelQuestion { about, mean, deviation, scales, curvature }).unwrap();
                let before = client.ledger().events().len();
                let answered = client.answer(protocol, &Ask { round, attempt: 0, query }, &workshop);
                if let Err(error) = answered {
                    let charged = client.ledger().events().len() > before;
                    let diverged = error.to_string();
                    if charged || !diverged.contains("question") {
                        failures
                            .push(format!("{}, seed {seed}, round {round}: charged {charged}, {error}", method.name));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
}

/// The mutant `keep_own` without ρ.
#[test]
fn the_own_part_is_damped_like_the_others() {
    let (sites, test) = (sites(), rows(2, 1));
    let factor = |rho: f64| {
        let (damping, site_intercept) = (Damping::new(rho).unwrap(), Some(OWN_PRECISION));
        let settings = PviSettings { damping, site_intercept, ..pvi(Descend { local: adam(3) }) };
        let method = method("damped", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
        let built = simulation(&method, &sites, &test).build().unwrap();
        let protocol = built.protocol.as_ref();
        let query = protocol.ask(&protocol.start().unwrap()).unwrap();
        let workshop = SimulationContext { seed: 1, run: [0; 16], summing: built.summing, tape: None };
        let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), Grant::Unlimited).unwrap();
        client.answer(protocol, &Ask { round: 0, attempt: 0, query }, &workshop).unwrap();
        protocol.at_home(0, &draft_of(&client)).unwrap().unwrap()[0] - built.home.as_ref().unwrap().prior()[0]
    };
    let (quarter, half) = (factor(0.25), factor(0.5));
    assert!(quarter != 0.0 && (half / quarter - 2.0).abs() < 1e-9, "{quarter} {half}");
}

/// The mutant `at_home_of` with a deviation of 0.
#[test]
fn a_site_minds_the_noise_in_what_it_hears_of_its_own_intercept() {
    let (sites, test) = (sites(), rows(2, 1));
    for method in
        private_methods().iter().filter(|m| m.algorithm.site_intercept().is_some() && algorithm_of(m) != "pvi")
    {
        let simulation = simulation(method, &sites, &test);
        let built = simulation.build().unwrap();
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        (0..3).for_each(|_| assert_eq!(drive.round().unwrap(), Progress::Moved));
        let kept: Option<Released<InterceptState>> = postcard::from_bytes(drive.clients()[0].memory()).unwrap();
        let kept = serde_json::to_value(kept).unwrap();
        // One release of deviation σ, scaled by s and damped by ρ, leaves at least (ρσ/s)²; s is at most 2^3 here.
        let least = (damping().get() * built.terms[0].noise_deviation() / 8.0).powi(2);
        assert!(kept["source"]["noise"][0].as_f64().unwrap() >= least, "{}: {kept}", method.name);
    }
}

/// Precisions that are planned are answered; others are refused before anything is charged.
#[test]
fn any_precision_of_an_own_intercept_that_is_planned_is_answered() {
    let (sites, test) = (sites(), rows(2, 1));
    let mut failures = Vec::new();
    for precision in [1e-310, 1e-300, 1e-100, 1e-60, 1e15, 1e60, 1e300] {
        for method in own_methods_of(precision) {
            let Ok(built) = simulation(&method, &sites, &test).build() else { continue };
            let protocol = built.protocol.as_ref();
            let query = protocol.ask(&protocol.start().unwrap()).unwrap();
            let workshop = SimulationContext { seed: 1, run: [0; 16], summing: built.summing, tape: None };
            let mut client = Client::new(0, &sites[0].shard, built.terms[0].clone(), Grant::Unlimited).unwrap();
            let answered = client.answer(protocol, &Ask { round: 0, attempt: 0, query }, &workshop);
            if let Err(error) = answered {
                let charged = client.ledger().events().len();
                failures.push(format!("{}, precision {precision:e}: {charged} charged, {error}", method.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
