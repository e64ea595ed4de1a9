//! Questions and terms that no honest server sends are refused before the ledger is charged, and alike whatever the rows
//! hold.

mod common;

use common::{methods, private_methods, rows, simulation, site, sites};
use inference::algorithm::{About, Question};
use inference::message::Ask;
use inference::settings::{Batching, Curvature, Method, Scheme};
use inference::{Built, Client, Row, Rows, Site, Summing, Terms, Workshop};
use privacy::{Cohort, Grant, Shape};

/// A client's reply to these bytes: the error's text, or none if it answered; and whether the client stayed as it was,
/// bit for bit, with its ledger, journal and memory.
fn reply(built: &Built, terms: &Terms, summing: Summing, site: &Site, query: &[u8]) -> (Option<String>, bool) {
    let mut client = Client::new(0, &site.shard, terms.clone(), Grant::Unlimited).unwrap();
    let before = (format!("{client:?}"), client.ledger().head(), client.ledger().length());
    let workshop = Workshop { seed: 1, run: [0; 16], summing, tape: None };
    let ask = Ask { round: 0, attempt: 0, query: query.to_vec() };
    let refused = client.answer(built.protocol.as_ref(), &ask, &workshop).err().map(|error| error.to_string());
    (refused, before == (format!("{client:?}"), client.ledger().head(), client.ledger().length()))
}

fn of_numbers(numbers: &[f64]) -> Vec<u8> {
    postcard::to_allocvec(numbers).unwrap()
}

fn of_standing(mean: &[f64], deviation: &[f64]) -> Vec<u8> {
    postcard::to_allocvec(&(mean, deviation)).unwrap()
}

/// The numbers with another one at a place.
fn with(numbers: &[f64], at: usize, number: f64) -> Vec<f64> {
    let mut changed = numbers.to_vec();
    changed[at] = number;
    changed
}

/// Questions that a method never asks: cut off, too long, of another dimension, not finite, against their own law.
fn wrong_questions(method: &Method, right: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![("a byte too many", [right, &[0]].concat())];
    match method.scheme {
        Scheme::Committee(_) => {}
        Scheme::Pvi => {
            let q: Vec<f64> = postcard::from_bytes(right).unwrap();
            all.extend([
                ("cut off", right[..right.len() - 1].to_vec()),
                ("no numbers", of_numbers(&[])),
                ("one coordinate less", of_numbers(&q[1..])),
                ("one coordinate more", of_numbers(&[&q[..], &[-0.5]].concat())),
                ("not a number", of_numbers(&with(&q, 1, f64::NAN))),
                ("infinite", of_numbers(&with(&q, 0, f64::INFINITY))),
                ("no precision", of_numbers(&with(&q, q.len() - 1, 0.0))),
                ("negative precision", of_numbers(&with(&q, q.len() - 1, 0.5))),
            ]);
        }
        Scheme::NoiseAware(settings) => {
            let q: Question = postcard::from_bytes(right).unwrap();
            let of = |q: Question| postcard::to_allocvec(&q).unwrap();
            all.extend([
                ("cut off", right[..right.len() - 1].to_vec()),
                ("a mean too short", of(Question { mean: q.mean[1..].to_vec(), ..q.clone() })),
                ("not a number", of(Question { mean: with(&q.mean, 2, f64::NAN), ..q.clone() })),
                ("negative deviation", of(Question { deviation: with(&q.deviation, 0, -1.0), ..q.clone() })),
                ("scales too few", of(Question { scales: postcard::from_bytes(&[1, 0]).unwrap(), ..q.clone() })),
            ]);
            if matches!(settings.curvature, Curvature::EveryRound { .. }) {
                all.push(("moments that the rule has not", of(Question { about: About::Moments, ..q })));
            }
        }
        Scheme::GlobalVi => {
            let (mean, deviation): (Vec<f64>, Vec<f64>) = postcard::from_bytes(right).unwrap();
            all.extend([
                ("cut off", right[..right.len() - 1].to_vec()),
                ("no numbers", of_standing(&[], &[])),
                ("a mean too short", of_standing(&mean[1..], &deviation)),
                ("a deviation too long", of_standing(&mean, &[&deviation[..], &[1.0]].concat())),
                ("not a number", of_standing(&with(&mean, 2, f64::NAN), &deviation)),
                ("infinite", of_standing(&mean, &with(&deviation, 0, f64::INFINITY))),
                ("no deviation", of_standing(&mean, &with(&deviation, 0, 0.0))),
                ("negative deviation", of_standing(&mean, &with(&deviation, 0, -1.0))),
            ]);
        }
    }
    all
}

fn right_question(built: &Built) -> Vec<u8> {
    built.protocol.ask(&built.protocol.start().unwrap()).unwrap()
}

#[test]
fn a_refused_question_leaves_the_ledger_unchanged_bit_for_bit() {
    let (sites, test) = (sites(), rows(2, 1));
    // One row without any one, beside rows that have some: it must not be told from the others.
    let mut bare = Rows::new(5, 2).unwrap();
    bare.push(Row { numbers: &[0.0, 0.0], ones: &[], outcome: 0.0 }).unwrap();
    let bare = site("bare", bare);
    for method in methods() {
        let built = simulation(&method, &sites, &test).build().unwrap();
        let right = right_question(&built);
        for (what, query) in wrong_questions(&method, &right) {
            let replies =
                [&sites[0], &sites[1], &bare].map(|s| reply(&built, &built.terms[0], built.summing, s, &query));
            assert!(replies[0].0.is_some(), "{}, {what}: answered", method.name);
            assert!(replies.iter().all(|r| r.1), "{}, {what}: a refused question was charged", method.name);
            assert!(replies.iter().all(|r| *r == replies[0]), "{}, {what}: {replies:?}", method.name);
        }
        let (refused, unchanged) = reply(&built, &built.terms[0], built.summing, &sites[0], &right);
        assert!(refused.is_none() && !unchanged, "{}: the right question is answered and charged", method.name);
    }
}

#[test]
fn terms_that_no_gate_can_serve_leave_the_ledger_unchanged_too() {
    let (sites, test) = (sites(), rows(2, 1));
    for method in private_methods() {
        let built = simulation(&method, &sites, &test).build().unwrap();
        let (right, terms) = (right_question(&built), &built.terms[0]);
        let narrow = Shape::new(1, terms.shape.bound(), terms.shape.grain(), terms.shape.grid()).unwrap();
        let other = match built.summing {
            Summing::Shares(_) => Summing::Nobody,
            Summing::Nobody | Summing::Curator => Summing::Shares(Cohort::new(9, 0, 0).unwrap()),
        };
        for (what, terms, summing) in [
            ("sums of one coordinate", Terms { shape: narrow, ..terms.clone() }, built.summing),
            ("another gate", terms.clone(), other),
        ] {
            let (refused, unchanged) = reply(&built, &terms, summing, &sites[0], &right);
            assert!(refused.is_some() && unchanged, "{}, {what}: {refused:?}", method.name);
        }
    }
}

#[test]
fn fixed_batches_of_other_rows_than_declared_are_refused_before_the_charge() {
    let (sites, test) = (sites(), rows(2, 1));
    let mut method = private_methods().remove(0);
    method.local.batch = Batching::WithoutReplacement(3);
    let built = simulation(&method, &sites, &test).build().unwrap();
    let right = right_question(&built);
    let reply = |site| reply(&built, &built.terms[0], built.summing, site, &right);
    assert!(reply(&sites[0]).0.is_none());
    let (refused, unchanged) = reply(&sites[1]);
    assert!(refused.is_some_and(|text| text.contains("25 rows")) && unchanged);
}
