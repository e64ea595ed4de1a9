//! Attempts at sums that came to nothing, and because of whom: what an operator needs to know, and how a run ends by name.

use crate::message::MemberId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The failed attempts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failures {
    /// Those of the present round, or of the last one of a run that is over: the attempt, and a member because of whom it failed.
    pub round: Vec<(u64, MemberId)>,
    /// How many attempts of the whole run each member has made fail.
    pub total: BTreeMap<MemberId, u64>,
}

impl Failures {
    /// A round begins: those before it stay in the totals alone.
    pub(super) fn begin_round(&mut self) {
        self.round.clear();
    }

    /// An attempt has failed because of these members.
    pub(super) fn note(&mut self, attempt: u64, because_of: &[MemberId]) {
        for &member in because_of {
            self.round.push((attempt, member));
            let total = self.total.entry(member).or_default();
            *total = total.saturating_add(1);
        }
    }

    /// The member because of whom most attempts of this round have failed; among equals the one that did so last.
    pub fn worst(&self) -> Option<MemberId> {
        let count = |member: MemberId| self.round.iter().filter(|(_, other)| *other == member).count();
        self.round.iter().map(|(_, member)| *member).max_by_key(|member| count(*member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_who_fails_most_often_and_among_equals_last() {
        let (node, other, site) = (MemberId::Node(0), MemberId::Node(1), MemberId::Site(2));
        let mut failures = Failures::default();
        assert_eq!(failures.worst(), None);
        failures.note(0, &[node]);
        failures.note(1, &[other]);
        assert_eq!(failures.worst(), Some(other));
        failures.note(2, &[node, site]);
        assert_eq!(failures.worst(), Some(node));
        failures.begin_round();
        assert_eq!((failures.worst(), failures.total.get(&node)), (None, Some(&2)));
        failures.note(0, &[other]);
        assert_eq!((failures.worst(), failures.total.get(&other)), (Some(other), Some(&2)));
    }
}
