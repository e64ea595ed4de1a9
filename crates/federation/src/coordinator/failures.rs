//! Attempts and rounds of secure sums that came to nothing, and because of whom: what an operator needs to know, and how a run ends by
//! name.

use crate::message::{Attempt, MemberId};
use privacy::secure_sum::Renunciation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Failed attempts of one member, within the last [`RECENT_ROUNDS`], with which a run ends by its name.
pub const MOST_STRIKES: usize = 10;

/// How many rounds a strike counts for.
pub const RECENT_ROUNDS: u64 = 20;

/// Lost rounds with which a run ends. Each costs every site one charge for nothing, so this is what one bad node can cost at most.
pub const MOST_LOST_ROUNDS: usize = 3;

/// Why an attempt at a sum failed, as far as a member is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StrikeReason {
    /// A node has said that it will not publish, and why.
    Renounced(Renunciation),
    /// A site that was asked took no part, and too few others did.
    DroppedOut,
}

/// One failed attempt that a member has to do with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strike {
    /// The attempt that failed.
    pub at: Attempt,
    /// The member.
    pub member: MemberId,
    /// Why it failed.
    pub reason: StrikeReason,
}

/// A round whose sum some nodes have published in part and which will never be opened. It is charged at every site, and nothing of it
/// is in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRound {
    /// The attempt in which the sum was torn.
    pub at: Attempt,
    /// The nodes that have published their part.
    pub published: BTreeSet<u32>,
    /// The nodes whose part is missing, as far as that is known.
    pub missing: BTreeSet<u32>,
}

/// The failed attempts and lost rounds of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failures {
    /// Failed attempts of the last rounds.
    pub strikes: Vec<Strike>,
    /// How many attempts of the whole run each member has made fail.
    pub total: BTreeMap<MemberId, u64>,
    /// Rounds that were lost.
    pub lost: Vec<LostRound>,
    /// The present attempt can open nothing any more, and the next has not begun.
    pub over: bool,
}

impl Failures {
    /// A round begins: strikes of long ago count no more, but in the totals.
    pub(super) fn begin_round(&mut self, round: u64) {
        self.over = false;
        self.strikes.retain(|strike| strike.at.round.saturating_add(RECENT_ROUNDS) > round);
    }

    /// An attempt has failed, and a member has to do with it. The same is noted once.
    pub(super) fn note(&mut self, strike: Strike) {
        if self.strikes.iter().any(|known| (known.at, known.member) == (strike.at, strike.member)) {
            return;
        }
        self.strikes.push(strike);
        let total = self.total.entry(strike.member).or_default();
        *total = total.saturating_add(1);
    }

    /// The nodes that have renounced an attempt, and those with which they disagreed.
    pub(super) fn renounced(&self, at: Attempt) -> BTreeSet<u32> {
        let mut nodes = BTreeSet::new();
        for strike in self.strikes.iter().filter(|strike| strike.at == at) {
            if let (MemberId::Node(node), StrikeReason::Renounced(why)) = (strike.member, strike.reason) {
                nodes.insert(node);
                nodes.extend(match why {
                    Renunciation::Disagreement { with } => Some(with),
                    _ => None,
                });
            }
        }
        nodes
    }

    /// Who ends the run: a member that has made [`MOST_STRIKES`] recent attempts fail, or because of whom most of
    /// [`MOST_LOST_ROUNDS`] rounds were lost. None while there is none.
    ///
    /// Too few contributions are nobody's fault at a node. A disagreement is that of one of two nodes, so it names the one with which
    /// most others disagree, if there are several. Between equals nobody is named.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        if self.lost.len() >= MOST_LOST_ROUNDS {
            let missing = self.lost.iter().flat_map(|round| &round.missing);
            return Some(worst(missing.map(|node| MemberId::Node(*node)), 1));
        }
        let own = self.strikes.iter().filter(|strike| strike.is_own()).map(|strike| strike.member);
        if count(own.clone()).values().any(|count| *count >= MOST_STRIKES) {
            return Some(worst(own, MOST_STRIKES));
        }
        let disagreements: Vec<(Attempt, MemberId, MemberId)> =
            self.strikes.iter().filter_map(Strike::disagreement).collect();
        if distinct(disagreements.iter().map(|(at, _, _)| *at)) >= MOST_STRIKES {
            let pairs: BTreeSet<(MemberId, MemberId)> =
                disagreements.into_iter().flat_map(|(_, one, other)| [(one, other), (other, one)]).collect();
            return Some(worst(pairs.into_iter().map(|(one, _)| one), 2));
        }
        let shortages = self.strikes.iter().filter(|strike| strike.is_shortage()).map(|strike| strike.at);
        (distinct(shortages) >= MOST_STRIKES).then_some(Verdict::Shortage)
    }
}

/// How often each member is named.
fn count(members: impl Iterator<Item = MemberId>) -> BTreeMap<MemberId, usize> {
    let mut counts = BTreeMap::new();
    members.for_each(|member| *counts.entry(member).or_default() += 1);
    counts
}

/// How many different attempts these are.
fn distinct(attempts: impl Iterator<Item = Attempt>) -> usize {
    attempts.collect::<BTreeSet<_>>().len()
}

/// The one member that is named most often, and so often at least; nobody if there are several.
fn worst(members: impl Iterator<Item = MemberId>, least: usize) -> Verdict {
    let counts = count(members);
    let most = counts.values().copied().max().unwrap_or_default();
    let mut worst = counts.iter().filter(|(_, count)| **count == most).map(|(member, _)| *member);
    match (worst.next(), worst.next()) {
        (Some(member), None) if most >= least => Verdict::Failed(member),
        _ => Verdict::Nobody,
    }
}

impl Strike {
    /// Whether the attempt failed because of this member alone.
    fn is_own(&self) -> bool {
        use Renunciation::{Lost, Terms};
        matches!(self.reason, StrikeReason::DroppedOut | StrikeReason::Renounced(Lost | Terms))
    }

    /// Whether it says no more than that too few contributions were there.
    fn is_shortage(&self) -> bool {
        use Renunciation::{Incomplete, TooFew};
        matches!(self.reason, StrikeReason::Renounced(TooFew | Incomplete { .. }))
    }

    /// The two nodes that disagreed.
    fn disagreement(&self) -> Option<(Attempt, MemberId, MemberId)> {
        match self.reason {
            StrikeReason::Renounced(Renunciation::Disagreement { with }) => {
                Some((self.at, self.member, MemberId::Node(with)))
            }
            _ => None,
        }
    }
}

/// How a run ends whose sums cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Because of this member.
    Failed(MemberId),
    /// Because of one of several: which, cannot be told.
    Nobody,
    /// Too few contributions reach the nodes, though enough sites say that they contribute.
    Shortage,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [MemberId; 3] = [MemberId::Node(0), MemberId::Node(1), MemberId::Node(2)];

    fn strike(round: u64, attempt: u64, member: MemberId, why: Renunciation) -> Strike {
        Strike { at: Attempt { round, attempt }, member, reason: StrikeReason::Renounced(why) }
    }

    #[test]
    fn ten_failed_attempts_of_twenty_rounds_name_a_node_and_none_of_long_ago_do() {
        let mut failures = Failures::default();
        for attempt in 0..9 {
            failures.note(strike(0, attempt, NODES[1], Renunciation::Lost));
            failures.note(strike(0, attempt, NODES[1], Renunciation::Lost));
        }
        assert_eq!((failures.verdict(), failures.total.get(&NODES[1])), (None, Some(&9)), "each attempt counts once");
        let mut later = failures.clone();
        later.begin_round(19);
        later.note(strike(19, 0, NODES[1], Renunciation::Terms));
        assert_eq!(later.verdict(), Some(Verdict::Failed(NODES[1])));
        failures.begin_round(20);
        failures.note(strike(20, 0, NODES[1], Renunciation::Lost));
        assert_eq!((failures.verdict(), failures.total.get(&NODES[1])), (None, Some(&10)));
    }

    #[test]
    fn a_disagreement_counts_for_both_and_names_the_one_that_others_disagree_with_too() {
        let mut failures = Failures::default();
        for attempt in 0..10 {
            failures.note(strike(0, attempt, NODES[0], Renunciation::Disagreement { with: 2 }));
        }
        assert_eq!(failures.verdict(), Some(Verdict::Nobody), "which of the two, cannot be told");
        failures.note(strike(0, 10, NODES[2], Renunciation::Lost));
        assert_eq!(failures.verdict(), Some(Verdict::Nobody), "who goes down once is not named for it");
        failures.note(strike(0, 10, NODES[1], Renunciation::Disagreement { with: 2 }));
        assert_eq!(failures.verdict(), Some(Verdict::Failed(NODES[2])));
    }

    #[test]
    fn too_few_contributions_are_no_nodes_fault_and_end_the_run_all_the_same() {
        let mut failures = Failures::default();
        for attempt in 0..10 {
            assert_eq!(failures.verdict(), None);
            NODES.iter().for_each(|node| failures.note(strike(0, attempt, *node, Renunciation::TooFew)));
        }
        assert_eq!(failures.verdict(), Some(Verdict::Shortage));
    }

    #[test]
    fn three_lost_rounds_name_the_node_whose_part_was_missing_most_often() {
        let mut failures = Failures::default();
        for (round, missing) in [(0, [2, 0]), (1, [2, 1])] {
            let at = Attempt { round, attempt: 0 };
            failures.lost.push(LostRound { at, published: BTreeSet::new(), missing: BTreeSet::from(missing) });
        }
        assert_eq!(failures.verdict(), None);
        let mut tied = failures.clone();
        let at = Attempt { round: 2, attempt: 0 };
        tied.lost.push(LostRound { at, published: BTreeSet::new(), missing: BTreeSet::from([0, 1]) });
        assert_eq!(tied.verdict(), Some(Verdict::Nobody));
        failures.lost.push(LostRound { at, published: BTreeSet::from([0, 1]), missing: BTreeSet::from([2]) });
        assert_eq!(failures.verdict(), Some(Verdict::Failed(NODES[2])));
    }
}
