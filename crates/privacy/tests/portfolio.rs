//! Lifetime budgets: laws of the portfolio filter, its numbers, and what an adversary who chooses on the way can reach.

use crate::laws::events::{
    approximate, barker, barker_on_all, fixed, gaussian, laplace, of, open, poisson, response, sampled, z,
};
use privacy::accounting::rdp::Rdp;
use privacy::accounting::{Pld, group::group_privacy};
use privacy::{
    Accountant, Adjacency, Bounds, Delta, Epsilon, Event, Filter, FilterMember, Grant, LifetimeCap, Mechanism, Order,
    Portfolio, PortfolioAccount, PrivacyError, PromisePair, RunUse, Sampling, ShareDeviation, Steps, Unit,
};
use proptest::prelude::*;
use std::fmt::Write as _;

const ROWS: PromisePair = PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example };

fn epsilon(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).unwrap()
}

fn delta(delta: f64) -> Delta {
    Delta::new(delta).unwrap()
}

fn cap(e: f64, d: f64) -> Portfolio {
    Portfolio::new(LifetimeCap { epsilon: epsilon(e), delta: delta(d), pair: ROWS })
}

/// A grant of a plan.
fn planned(e: f64, d: f64, plan: Vec<Event>) -> Grant {
    Grant::Limited { epsilon: epsilon(e), delta: delta(d), filter: Filter::Plan(plan) }
}

/// A run of unsampled Gaussian noise that is (1, 1e-5)-private by itself: z = 3.731 in all.
fn usual_run() -> Grant {
    planned(1.0, 1e-5, vec![gaussian(37.31, 100)])
}

fn with(account: PortfolioAccount, run: &RunUse<'_>, times: u64) -> PortfolioAccount {
    (0..times).fold(account, |account, _| account.with(run).unwrap())
}

fn gauge(account: &PortfolioAccount, member: FilterMember) -> f64 {
    account.gauges().into_iter().find(|gauge| gauge.member == member).unwrap().epsilon
}

#[track_caller]
fn assert_near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found}, expected {expected}");
}

/// The run is what it is said to be, so that the numbers below are of it.
#[test]
fn the_usual_run_is_one_at_ten_to_the_minus_five() {
    assert_near(Pld.epsilon(&[gaussian(37.31, 100)], delta(1e-5)).unwrap().upper, 1.0, 1e-3);
}

/// Found by the direct formulas: μ = √10/3.731, δ(ε; μ) of Balle and Wang at half of δ; (ε, δ) of Canonne et al. at α.
#[test]
fn ten_runs_of_one_count_as_little_more_than_three() {
    let grant = usual_run();
    let run = RunUse::open(ROWS, &grant);
    let ten = with(cap(10.0, 1e-4).account(), &run, 10);
    assert_eq!(ten.counts_as().unwrap().member, FilterMember::Gdp);
    assert_near(ten.counts_as().unwrap().epsilon, 3.28, 0.005);
    assert_eq!(gauge(&ten, FilterMember::AddedUp), f64::INFINITY, "10 times 1e-5 is over a quarter of 1e-4");
    let two = with(cap(10.0, 1e-4).account(), &run, 2);
    assert_eq!(gauge(&two, FilterMember::AddedUp), 2.0);
    let smaller = with(cap(10.0, 1e-5).account(), &run, 10);
    assert_near(smaller.counts_as().unwrap().epsilon, 3.75, 0.005);
    // Gaussian noise alone, with all of δ.
    let alone = Pld.epsilon(&[gaussian(37.31, 1000)], delta(1e-4)).unwrap().upper;
    assert_near(alone, 3.13, 0.005);
}

#[test]
fn a_cap_of_three_takes_eight_runs_of_one_and_a_cap_of_ten_sixty_three() {
    let grant = usual_run();
    let run = RunUse::open(ROWS, &grant);
    for (most, runs) in [(3.0, 8), (10.0, 63)] {
        let empty = cap(most, 1e-4).account();
        assert_eq!(empty.room(&run).unwrap(), runs, "ε = {most}");
        let full = with(empty, &run, runs);
        assert_eq!((full.fitting(), full.room(&run).unwrap()), (Some(FilterMember::Gdp), 0));
        assert_eq!(full.with(&run).unwrap().fitting(), None);
    }
}

/// Half a cap is the price of five members: a cap equal to one run's (ε, δ) does not take it.
#[test]
fn a_cap_of_one_runs_own_promise_is_too_small_for_it() {
    let grant = usual_run();
    assert_eq!(cap(1.0, 1e-5).account().room(&RunUse::open(ROWS, &grant)).unwrap(), 0);
    assert_eq!(cap(1.0, 4e-5).account().room(&RunUse::open(ROWS, &grant)).unwrap(), 1);
}

#[test]
fn sampled_runs_fit_by_renyi_divergence() {
    let event = sampled(1.1, 0.01, Adjacency::Substitute, 1000);
    let certified = Pld.epsilon(std::slice::from_ref(&event), delta(1e-5)).unwrap().upper;
    let grant = planned(certified, 1e-5, vec![event]);
    let ten = with(cap(10.0, 1e-4).account(), &RunUse::open(ROWS, &grant), 10);
    assert_eq!(gauge(&ten, FilterMember::Gdp), f64::INFINITY, "no theorem");
    let counts = ten.counts_as().unwrap();
    assert!(matches!(counts.member, FilterMember::Renyi | FilterMember::RenyiDouble), "{counts:?}");
    assert!(counts.epsilon < 0.7 * 10.0 * certified, "{counts:?} of 10 times {certified}");
}

/// What was reserved and not charged is given back where events are counted, and kept where the run is one (ε, δ).
#[test]
fn a_closed_run_counts_what_it_charged() {
    let grant = usual_run();
    let closed = |charged: &[Event]| cap(10.0, 1e-4).account().with(&RunUse::closed(ROWS, &grant, charged)).unwrap();
    let open = cap(10.0, 1e-4).account().with(&RunUse::open(ROWS, &grant)).unwrap();
    assert_eq!(closed(&[]).gauges().iter().map(|gauge| gauge.epsilon).sum::<f64>(), 0.0);
    let quarter = closed(&[gaussian(37.31, 1), gaussian(37.31, 24)]);
    assert_near(gauge(&quarter, FilterMember::Gdp), gauge(&open, FilterMember::Gdp) / 2.0, 0.05);
    assert!(gauge(&quarter, FilterMember::Renyi) < gauge(&open, FilterMember::Renyi));
    assert_eq!(gauge(&quarter, FilterMember::AddedUp), 1.0, "when a run stops may depend on its answers");
    assert_eq!(gauge(&closed(&[gaussian(37.31, 100)]), FilterMember::Gdp), gauge(&open, FilterMember::Gdp));
}

/// Grants without a plan reserve their filter's limit, where a theorem carries it over.
#[test]
fn a_grant_with_a_filter_reserves_its_limit() {
    let of = |filter: Filter| Grant::Limited { epsilon: epsilon(1.0), delta: delta(1e-5), filter };
    let reserved = |grant: &Grant| cap(10.0, 1e-4).account().with(&RunUse::open(ROWS, grant)).unwrap();
    let usual = reserved(&usual_run());
    let gdp = reserved(&of(Filter::Gdp));
    for member in [FilterMember::Gdp, FilterMember::Renyi, FilterMember::RenyiDouble] {
        assert_near(gauge(&gdp, member), gauge(&usual, member), 1e-3);
    }
    let zcdp = reserved(&of(Filter::Zcdp));
    assert_eq!(gauge(&zcdp, FilterMember::Gdp), f64::INFINITY);
    assert!(gauge(&zcdp, FilterMember::Renyi) < gauge(&usual, FilterMember::Renyi));
    // Order 12 bounds orders 4 and 8, and not 16, for which the run is one (ε, δ).
    let renyi = reserved(&of(Filter::Renyi { order: Order::new(12.0).unwrap() }));
    let whole = reserved(&planned(1.0, 1e-5, vec![approximate(1.0, 1e-5, 1)]));
    assert!(gauge(&renyi, FilterMember::Renyi).is_finite() && gauge(&whole, FilterMember::Renyi).is_infinite());
    assert_eq!(gauge(&renyi, FilterMember::RenyiQuadruple), gauge(&whole, FilterMember::RenyiQuadruple));
    // What was charged is never more than what was reserved.
    let (grant, charged) = (of(Filter::Zcdp), [gaussian(1.0, 100)]);
    let closed = cap(10.0, 1e-4).account().with(&RunUse::closed(ROWS, &grant, &charged)).unwrap();
    assert_eq!(gauge(&closed, FilterMember::Renyi), gauge(&zcdp, FilterMember::Renyi));
}

/// A run without a limit, and one without noise, leave no room for anything, ever.
#[test]
fn an_answer_without_noise_leaves_no_room() {
    let unlimited = Grant::Unlimited;
    let charged = [open()];
    for run in [RunUse::open(ROWS, &unlimited), RunUse::closed(ROWS, &unlimited, &charged)] {
        let account = cap(10.0, 1e-4).account().with(&run).unwrap();
        assert_eq!((account.fitting(), account.counts_as()), (None, None));
        assert_eq!(account.room(&RunUse::open(ROWS, &usual_run())).unwrap(), 0);
    }
    let never = cap(10.0, 1e-4).account().with(&RunUse::closed(ROWS, &unlimited, &[])).unwrap();
    assert!(never.fitting().is_some(), "nothing was charged");
}

fn in_pair(event: &Event, pair: PromisePair) -> Event {
    Event::new(event.mechanism().clone(), pair.adjacency, pair.unit, *event.sampling(), event.steps()).unwrap()
}

/// Runs of another pair count by a theorem, or are refused: no sum ever has two pairs.
#[test]
fn a_run_of_another_pair_is_converted_by_a_theorem_or_refused() {
    let (adjacency, unit) = (Adjacency::Substitute, Unit::Client);
    let clients = PromisePair { adjacency, unit };
    let added = PromisePair { adjacency: Adjacency::AddRemove, unit: Unit::Example };
    let persons = PromisePair { adjacency, unit: Unit::Person };
    let usual = usual_run();
    let of_rows = cap(10.0, 1e-4).account().with(&RunUse::open(ROWS, &usual)).unwrap();

    // To replace a row is to replace its client's rows.
    let whole = planned(1.0, 1e-5, vec![in_pair(&gaussian(37.31, 100), clients)]);
    let of_clients = cap(10.0, 1e-4).account().with(&RunUse::open(clients, &whole)).unwrap();
    assert_eq!(of_clients.gauges(), of_rows.gauges());

    // To replace a row is to remove one and to add one: half the noise, or a group of two.
    let add = planned(1.0, 1e-5, vec![in_pair(&gaussian(2.0 * 37.31, 100), added)]);
    let of_added = cap(10.0, 1e-4).account().with(&RunUse::open(added, &add)).unwrap();
    assert_near(gauge(&of_added, FilterMember::Gdp), gauge(&of_rows, FilterMember::Gdp), 1e-9);
    let (two, failure) = group_privacy(epsilon(1.0), delta(1e-5), Steps::new(2).unwrap()).unwrap();
    assert!(failure.get() < 2.5e-5 * 2.0 && gauge(&of_added, FilterMember::AddedUp) >= two.get());
    let drawn = planned(1.0, 1e-6, vec![sampled(1.1, 0.01, Adjacency::AddRemove, 10)]);
    let of_drawn = cap(10.0, 1e-4).account().with(&RunUse::open(added, &drawn)).unwrap();
    let (two, _) = group_privacy(epsilon(1.0), delta(1e-6), Steps::new(2).unwrap()).unwrap();
    assert_eq!(gauge(&of_drawn, FilterMember::Renyi), f64::INFINITY, "half the noise is no theorem under sampling");
    assert_eq!(gauge(&of_drawn, FilterMember::AddedUp), two.get());

    for (account, run) in [(added, ROWS), (clients, ROWS), (persons, ROWS), (ROWS, persons), (persons, clients)] {
        let grant = planned(1.0, 1e-5, vec![in_pair(&gaussian(37.31, 100), run)]);
        let portfolio = Portfolio::new(LifetimeCap { epsilon: epsilon(10.0), delta: delta(1e-4), pair: account });
        let refused = portfolio.account().with(&RunUse::open(run, &grant)).unwrap_err();
        assert!(matches!(refused, PrivacyError::NoTheorem { .. }), "{run} for {account}: {refused}");
        assert!(refused.hint().is_some());
    }
    // A run whose events are not of the pair that it names.
    let mixed = cap(10.0, 1e-4).account().with(&RunUse::open(clients, &usual)).unwrap_err();
    assert!(matches!(mixed, PrivacyError::MixedRelations { .. }), "{mixed}");
}

/// Events that a run may have, each with the ε that a grant would state at δ = 1e-6.
fn kinds() -> Vec<(f64, Event)> {
    let of = |event: Event| (Pld.epsilon(std::slice::from_ref(&event), delta(1e-6)).unwrap().upper, event);
    vec![
        of(gaussian(20.0, 10)),
        of(gaussian(60.0, 40)),
        of(laplace(30.0, 6)),
        of(response(0.9, 3)),
        of(sampled(2.0, 0.01, Adjacency::Substitute, 100)),
        of(fixed(3.0, 10, 1000, 50)),
        of(barker(1000, 20)),
        of(approximate(0.1, 1e-8, 2)),
    ]
}

fn account_of(grants: &[Grant], chosen: &[(usize, u64)]) -> PortfolioAccount {
    chosen.iter().fold(cap(3.0, 1e-4).account(), |account, (kind, steps)| {
        let grant = &grants[*kind];
        let charged = charged_of(grant, *steps);
        let run = match charged.as_deref() {
            None => RunUse::open(ROWS, grant),
            Some(charged) => RunUse::closed(ROWS, grant, charged),
        };
        account.with(&run).unwrap()
    })
}

/// The first steps of a grant's plan as charges one by one; none for an open run.
fn charged_of(grant: &Grant, steps: u64) -> Option<Vec<Event>> {
    let Grant::Limited { filter: Filter::Plan(plan), .. } = grant else { panic!() };
    let most = plan[0].steps().get();
    (steps <= most).then(|| (0..steps).map(|_| plan[0].repeated(Steps::ONE)).collect())
}

fn ends(account: &PortfolioAccount) -> Vec<f64> {
    account.gauges().iter().map(|gauge| gauge.epsilon).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// More runs and more charges never count less; closing never counts more; the order of runs does not matter.
    #[test]
    fn sums_are_monotone_and_have_no_order(chosen in proptest::collection::vec((0_usize..8, 0_u64..60), 1..7)) {
        let grants: Vec<Grant> = kinds().into_iter().map(|(e, event)| planned(e, 1e-6, vec![event])).collect();
        let all = ends(&account_of(&grants, &chosen));
        let fewer = ends(&account_of(&grants, &chosen[1..]));
        let backwards: Vec<(usize, u64)> = chosen.iter().rev().copied().collect();
        let reversed = ends(&account_of(&grants, &backwards));
        let open: Vec<(usize, u64)> = chosen.iter().map(|(kind, _)| (*kind, u64::MAX)).collect();
        let reserved = ends(&account_of(&grants, &open));
        let one_more: Vec<(usize, u64)> = chosen.iter().map(|(kind, steps)| (*kind, steps.saturating_add(1))).collect();
        let more = ends(&account_of(&grants, &one_more));
        for member in 0..all.len() {
            prop_assert!(fewer[member] <= all[member], "{member}: {fewer:?} {all:?}");
            prop_assert!(all[member] <= reserved[member], "{member}: {all:?} {reserved:?}");
            prop_assert!(all[member] <= more[member], "{member}: {all:?} {more:?}");
            let same = all[member] == reversed[member] || (all[member] / reversed[member] - 1.0).abs() < 1e-9;
            prop_assert!(same, "{member}: {all:?} {reversed:?}");
        }
    }

    /// What runs count as is never under what the certified accountant proves that they cost.
    #[test]
    fn nothing_counts_as_less_than_its_certified_cost(chosen in proptest::collection::vec((0_usize..8, 1_u64..60), 1..5)) {
        let kinds = kinds();
        let grants: Vec<Grant> = kinds.iter().map(|(e, event)| planned(*e, 1e-6, vec![event.clone()])).collect();
        let account = account_of(&grants, &chosen);
        let charged = |(kind, steps): &(usize, u64)| {
            let event = &kinds[*kind].1;
            event.repeated(Steps::new((*steps).min(event.steps().get())).unwrap())
        };
        let plan = Event::merged(&chosen.iter().map(charged).collect::<Vec<Event>>()).unwrap();
        let lower = Pld.epsilon(&plan, delta(1e-4)).unwrap().lower;
        for gauge in account.gauges() {
            prop_assert!(gauge.epsilon >= lower, "{gauge:?} under {lower}");
        }
    }
}

/// The best that an adversary can do who chooses every next event after all answers so far.
struct Adaptive<'a> {
    portfolio: Portfolio,
    /// ε of randomised responses, and δ of mechanisms that tell everything with that probability.
    pure: &'a [f64],
    leaks: &'a [f64],
    ratio: f64,
}

impl Adaptive<'_> {
    fn events(&self) -> Vec<(f64, f64)> {
        let pure = self.pure.iter().map(|e| (*e, 0.0));
        pure.chain(self.leaks.iter().map(|d| (0.0, *d))).collect()
    }

    /// sup over strategies of Σ max(0, P − e^ε Q) from here on, where the answers so far have probabilities p and q.
    fn best(&self, account: &PortfolioAccount, (p, q): (f64, f64), left: u32) -> f64 {
        let mut best = (p - self.ratio * q).max(0.0);
        if left == 0 || best == p {
            return best;
        }
        for (e, d) in self.events() {
            let grant = planned(e, d, vec![approximate(e, d, 1)]);
            let after = account.clone().with(&RunUse::open(ROWS, &grant)).unwrap();
            if after.fitting().is_none() {
                continue;
            }
            let (high, low) = (e.exp() / (1.0 + e.exp()), 1.0 / (1.0 + e.exp()));
            let keep = 1.0 - d;
            let mut value = p * d;
            value += self.best(&after, (p * keep * high, q * keep * low), left - 1);
            if e > 0.0 {
                value += self.best(&after, (p * keep * low, q * keep * high), left - 1);
            }
            best = best.max(value);
        }
        best
    }
}

/// All strategies over randomised responses and leaks, exactly: none gets over the cap's δ at its ε.
#[test]
fn no_adaptive_strategy_gets_over_the_cap() {
    for (most, failure) in [(1.0, 0.05), (1.5, 0.2)] {
        let adversary = Adaptive {
            portfolio: cap(most, failure),
            pure: &[0.35, 0.8],
            leaks: &[failure / 8.0],
            ratio: f64::exp(most),
        };
        let reached = adversary.best(&adversary.portfolio.account(), (1.0, 1.0), 7);
        assert!(reached <= failure, "({most}, {failure}): {reached}");
        assert!(reached >= failure / 8.0, "({most}, {failure}): {reached} is no attack");
    }
}

/// Kinds of runs for the table of `docs/maths/filters.md`; each is about (1, 1e-5)-private by itself.
fn table_rows() -> Vec<(&'static str, PromisePair, Event)> {
    let added = PromisePair { adjacency: Adjacency::AddRemove, unit: Unit::Example };
    let shares = Mechanism::SkellamSum {
        noise_multiplier: z(40.0),
        shares: Steps::new(10).unwrap(),
        share_deviation: ShareDeviation::new(1e5).unwrap(),
        dimension: Steps::new(100).unwrap(),
    };
    let laplace_of = |m| Mechanism::Laplace { noise_multiplier: z(m) };
    vec![
        ("Gaussian", ROWS, gaussian(37.31, 100)),
        ("Laplace", ROWS, laplace(37.0, 100)),
        ("randomised response", ROWS, response(0.9905, 100)),
        ("Barker test on all rows", ROWS, barker_on_all(4000, 100)),
        ("Skellam shares", ROWS, of(shares, Adjacency::Substitute, Sampling::None, 100)),
        ("Gaussian, Poisson batches", ROWS, sampled(0.95, 0.005, Adjacency::Substitute, 1000)),
        ("Gaussian, fixed batches", ROWS, fixed(1.1, 10, 2000, 1000)),
        ("Barker test, fixed batches", ROWS, barker(1000, 6000)),
        ("Gaussian, Poisson, add-remove", added, sampled(0.95, 0.005, Adjacency::AddRemove, 1000)),
        ("Laplace, Poisson, add-remove", added, of(laplace_of(0.5), Adjacency::AddRemove, poisson(0.005), 300)),
    ]
}

/// ε of a plan by the certified accountant; by Rényi divergences at the best order where it has no loss distribution.
fn certified(plan: &[Event], d: f64) -> Bounds {
    Pld.epsilon(plan, delta(d)).or_else(|_| Rdp::default().epsilon(plan, delta(d))).unwrap()
}

fn shown(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("{epsilon:.2}") } else { "∞".into() }
}

/// One line a kind: what n runs count as, and what they certainly cost, at δ = 1e-4.
fn table() -> String {
    let counts = [1_u64, 2, 5, 10, 20];
    let mut text = String::from("| run | ε of one | 1 | 2 | 5 | 10 | 20 |\n|---|---|---|---|---|---|---|\n");
    for (name, pair, event) in table_rows() {
        let one = certified(std::slice::from_ref(&event), 1e-5).upper;
        let grant = planned(one, 1e-5, vec![event.clone()]);
        let run = RunUse::open(pair, &grant);
        let _ = write!(text, "| {name} | {} |", shown(one));
        for count in counts {
            let portfolio = Portfolio::new(LifetimeCap { epsilon: epsilon(10.0), delta: delta(1e-4), pair });
            let account = with(portfolio.account(), &run, count);
            let counted = account.counts_as().map_or(f64::INFINITY, |gauge| gauge.epsilon);
            let whole = event.repeated(Steps::new(event.steps().get() * count).unwrap());
            let cost = certified(&[whole], 1e-4);
            assert!(counted >= cost.lower, "{name}, {count}: {counted} under {cost:?}");
            let _ = write!(text, " {} ({}) |", shown(counted), shown(cost.upper));
        }
        text.push('\n');
    }
    text
}

/// The table in the documents is computed here.
#[test]
fn the_table_of_the_documents_is_this_one() {
    let (page, table) = (include_str!("../../../docs/maths/filters.md"), table());
    assert!(page.contains(&table), "docs/maths/filters.md should have:\n\n{table}");
}
