//! Questions and terms that no honest server sends are refused before the ledger is charged, and alike
//! whatever the rows hold.
//!
//! A server that learns from a refusal would learn for free. So a refusal depends on public numbers
//! alone: sites with other rows refuse the same question with the same words, and their ledgers stay as
//! they were, bit for bit.

use super::{built, rows, simulation, site, sites};
use crate::message::Ask;
use crate::settings::SecureNoise;
use crate::{Built, Client, Method, Model, Row, RowKeys, Rows, Shard, SimulationContext, Site, Stage, Summing, Terms};
use privacy::{Cohort, Grain, Grant, Shape, ShareNoise, Steps, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A client's reply to these bytes: the error's text, or none if it answered; and whether the client stayed as it was,
/// bit for bit, with its ledger, journal and memory.
pub fn reply(built: &Built, terms: &Terms, summing: Summing, site: &Site, query: &[u8]) -> (Option<String>, bool) {
    let mut client = Client::new(0, &site.shard, terms.clone(), Grant::Unlimited).unwrap();
    let before = (format!("{client:?}"), client.ledger().head(), client.ledger().length());
    let workshop = SimulationContext { seed: 1, run: [0; 16], summing, tape: None };
    let ask = Ask { round: 0, attempt: 0, query: query.to_vec() };
    let refused = client.answer(built.protocol.as_ref(), &ask, &workshop).err().map(|error| error.to_string());
    (refused, before == (format!("{client:?}"), client.ledger().head(), client.ledger().length()))
}

/// The first question of a run.
pub fn right_question(built: &Built) -> Vec<u8> {
    built.protocol.ask(&built.protocol.start().unwrap()).unwrap()
}

/// The terms of the first answer of a client without an opening of its own.
pub fn first_terms<'a>(built: &'a Built, right: &[u8]) -> &'a Terms {
    match built.protocol.stage(right).unwrap() {
        Some(Stage::Opening(k)) => &built.openings[0][usize::from(k)].terms,
        Some(Stage::Main) | None => &built.terms[0],
    }
}

/// Each of these questions is refused, leaves the ledger unchanged bit for bit, and is refused alike by sites with other rows;
/// the right question is answered and charged. The questions are named, and made from the right one.
///
/// # Panics
/// Where the law does not hold.
pub fn refuses_questions_before_the_charge(
    method: &Method,
    model: &Arc<dyn Model>,
    wrong: impl Fn(&[u8]) -> Vec<(&'static str, Vec<u8>)>,
) {
    let (sites, test) = (sites(), rows(2, 1));
    // One row without any one, beside rows that have some: it must not be told from the others.
    let mut bare = Rows::new(5, 2).unwrap();
    bare.push(Row { numbers: &[0.0, 0.0], ones: &[], outcome: 0.0 }).unwrap();
    let bare = site("bare", bare);
    let built = built(&simulation(method, model, &sites, &test));
    let right = right_question(&built);
    for (what, query) in wrong(&right) {
        let replies = [&sites[0], &sites[1], &bare].map(|s| reply(&built, &built.terms[0], built.summing, s, &query));
        assert!(replies[0].0.is_some(), "{}, {what}: answered", method.name);
        assert!(replies.iter().all(|r| r.1), "{}, {what}: a refused question was charged", method.name);
        assert!(replies.iter().all(|r| *r == replies[0]), "{}, {what}: {replies:?}", method.name);
    }
    let (refused, unchanged) = reply(&built, first_terms(&built, &right), built.summing, &sites[0], &right);
    assert!(refused.is_none() && !unchanged, "{}: the right question is answered and charged", method.name);
}

/// A question that is cut off or too long is refused before the charge.
///
/// # Panics
/// Where the law does not hold.
pub fn refuses_spoilt_questions(method: &Method, model: &Arc<dyn Model>) {
    refuses_questions_before_the_charge(method, model, |right| {
        let mut wrong = vec![("a byte too many", [right, &[0]].concat())];
        wrong.extend(right.split_last().map(|(_, rest)| ("cut off", rest.to_vec())));
        wrong
    });
}

/// Terms that no gate can serve, each with a gate and a site: sums of another length or grain, another gate, a release too few,
/// and rows without record ids where parts follow from these.
fn other_terms<'a>(
    method: &Method,
    built: &Built,
    usual: &'a Site,
    bare: &'a Site,
) -> Vec<(&'static str, Terms, Summing, &'a Site)> {
    let (terms, summing) = (&built.terms[0], built.summing);
    let shape = &terms.shape;
    let of = |dimension, grain| {
        let shape = Shape::new(dimension, shape.bound(), grain, shape.grid()).unwrap();
        Terms { shape, ..terms.clone() }
    };
    let other_gate = match summing {
        Summing::Secure { noise: SecureNoise::Clients(_), .. } => Summing::Nobody,
        _ => {
            let noise = SecureNoise::Clients(ShareNoise::DiscreteGaussian);
            Summing::Secure { cohort: Cohort::new(9, 0, 0).unwrap(), nodes: 2, noise }
        }
    };
    let length = if shape.dimension() == 1 { 2 } else { 1 };
    let mut wrong = vec![
        ("sums of another length", of(length, shape.grain()), summing, usual),
        ("another gate", terms.clone(), other_gate, usual),
    ];
    let grains = [Grain::Example, Grain::Whole, Grain::Part { count: 5 }, Grain::Person].into_iter();
    let others = grains.filter(|grain| *grain != shape.grain());
    wrong.extend(others.map(|grain| ("sums of another grain", of(shape.dimension(), grain), summing, usual)));
    if let Ok(fewer) = Steps::new(terms.event.steps().get() - 1) {
        let event = terms.event.repeated(fewer);
        wrong.push(("a release too few", Terms { event, ..terms.clone() }, summing, usual));
    }
    if method.needs_record_ids() || method.unit() == Unit::Person {
        wrong.push(("rows without ids", terms.clone(), summing, bare));
    }
    wrong
}

/// Terms that no gate can serve are refused, and leave the ledger unchanged. Says which were tried.
///
/// # Panics
/// Where the law does not hold.
pub fn refuses_other_terms(method: &Method, model: &Arc<dyn Model>) -> BTreeSet<&'static str> {
    let (sites, test) = (sites(), rows(2, 1));
    let keys = RowKeys::of_slots((0..40).collect());
    let bare = Site { name: "no ids".into(), shard: Shard::new(rows(40, 1), keys).unwrap(), own: Vec::new() };
    let built = built(&simulation(method, model, &sites, &test));
    let right = right_question(&built);
    let mut tried = BTreeSet::new();
    for (what, terms, summing, site) in other_terms(method, &built, &sites[0], &bare) {
        let (refused, unchanged) = reply(&built, &terms, summing, site, &right);
        assert!(refused.is_some() && unchanged, "{}, {what}: {refused:?}", method.name);
        tried.insert(what);
    }
    tried
}
