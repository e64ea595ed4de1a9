//! The limits of the members under a cap: shares of δ, orders, and sums that are rounded up.

use super::member::{Measure, Member};
use super::*;
use crate::accounting::rdp::{Conversion, Orders};
use crate::accounting::{Interval, add_up, gdp};
use crate::{Adjacency, Unit};

/// δ that a member gives away at its limit: what its loss converts to at the cap's ε, and what its measure leaves out.
fn given_away(member: &Member, epsilon: Epsilon) -> f64 {
    let of_loss = match member.measure {
        Measure::MuSquared => gdp::gaussian_delta(Interval::exact(member.limit.loss), epsilon.get()).hi,
        Measure::Divergence(order) => {
            let curve = |_| (Interval::exact(order.get() - 1.0) * Interval::exact(member.limit.loss)).hi;
            Orders::Listed(vec![order]).delta(&curve, Conversion::Canonne2020, epsilon)
        }
        Measure::Whole => 0.0,
    };
    of_loss + member.limit.failure
}

/// The lemma adds up what the members give away, so that together it is the cap's δ, and all of it.
#[test]
fn what_the_members_give_away_is_delta_and_no_more() {
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-5), (3.0, 1e-4), (10.0, 1e-4), (0.5, 1e-2)] {
        let cap = Epsilon::new(epsilon).unwrap();
        let members = Member::all(cap, Delta::new(delta).unwrap());
        let sum: f64 = members.iter().map(|member| given_away(member, cap)).sum();
        assert!(sum <= delta * (1.0 + 1e-9), "({epsilon}, {delta}): {sum}");
        assert!(sum >= delta * (1.0 - 1e-6), "({epsilon}, {delta}): {sum}");
    }
}

#[test]
fn orders_are_integers_that_follow_from_the_cap() {
    for (epsilon, delta, expected) in [(3.0, 1e-4, 8), (10.0, 1e-4, 4), (1.0, 1e-5, 22)] {
        let members = Member::all(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let orders: Vec<u64> = members
            .iter()
            .filter_map(|member| match member.measure {
                Measure::Divergence(order) => Some(order.get() as u64),
                Measure::MuSquared | Measure::Whole => None,
            })
            .collect();
        assert_eq!(orders, [expected, 2 * expected, 4 * expected], "({epsilon}, {delta})");
    }
}

/// A cap without δ has room for mechanisms with a pure ε, by adding up, and for nothing else.
#[test]
fn a_cap_without_delta_adds_up_pure_runs() {
    let pair = PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example };
    let portfolio =
        Portfolio::new(LifetimeCap { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::new(0.0).unwrap(), pair });
    let grant = |delta: f64| Grant::Limited {
        epsilon: Epsilon::new(0.25).unwrap(),
        delta: Delta::new(delta).unwrap(),
        filter: Filter::Plan(vec![Event::gaussian(
            crate::NoiseMultiplier::new(100.0).unwrap(),
            Adjacency::Substitute,
            Steps::ONE,
        )]),
    };
    assert_eq!(portfolio.account().room(&RunUse::open(pair, &grant(0.0))).unwrap(), 4);
    assert_eq!(portfolio.account().room(&RunUse::open(pair, &grant(1e-9))).unwrap(), 0);
    let nothing = portfolio.account();
    assert_eq!(nothing.counts_as().map(|gauge| gauge.epsilon), Some(0.0));
}

#[test]
fn sums_of_whole_runs_are_rounded_up_and_exact_where_they_can_be() {
    assert_eq!((0..4).fold(0.0, |sum, _| add_up(sum, 0.25)), 1.0);
    assert!(add_up(1.0, 1e-30) > 1.0);
    assert_eq!(add_up(0.0, 1e-5), 1e-5);
    assert_eq!(add_up(f64::INFINITY, 1.0), f64::INFINITY);
    let tenths = (0..10).fold(0.0, |sum, _| add_up(sum, 0.1));
    assert!((1.0..1.0 + 1e-14).contains(&tenths));
}
