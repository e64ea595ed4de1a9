//! A survey in one process: every user charges its own ledger, randomises its own answer, and a shuffler counts.

use crate::RunError;
use privacy::noise::{NoiseContext, Seeded};
use privacy::{Event, Ledger, LedgerRecord, MemoryJournal, ResponseGate, Shuffler};

/// The shuffler's own place among the users.
const SHUFFLER: u64 = u64::MAX;

/// What a survey leaves behind.
#[derive(Debug)]
pub struct Surveyed {
    /// How often each category was answered, in every round: all that was published.
    pub rounds: Vec<Vec<u64>>,
    /// Each user's own ledger.
    pub ledgers: Vec<Vec<LedgerRecord>>,
}

/// Simulates the rounds of an event among users with these true categories.
///
/// Every user's ledger has the grant of the one that is handed over, and is charged with the whole event before the first
/// answer: a user who is not drawn in a round was in danger of it. Answers are the same in all rounds, coins are not.
///
/// # Errors
/// A grant that does not cover the event, and fewer users than the event has.
pub fn survey(event: &Event, alike: &Ledger, answers: &[u64], seed: u64) -> Result<Surveyed, RunError> {
    let mut source = Seeded::new(seed);
    let (mut gates, mut journals) = (Vec::with_capacity(answers.len()), Vec::new());
    for user in 0..answers.len() as u64 {
        let mut journal = MemoryJournal::default();
        let mut ledger = alike.open_alike(&mut journal)?;
        let receipt = ledger.charge(event, &mut journal)?;
        let context = NoiseContext { site: user, ledger_head: ledger.head(), ..NoiseContext::default() };
        gates.push(ResponseGate::simulated(receipt, &mut source, &context)?);
        journals.push(journal);
    }
    let context = NoiseContext { site: SHUFFLER, ..NoiseContext::default() };
    let mut shuffler = Shuffler::simulated(event, &mut source, &context)?;
    let mut rounds = Vec::new();
    for _ in 0..event.steps().get() {
        let mut round = shuffler.round()?;
        for user in round.awaited().collect::<Vec<u64>>() {
            let (gate, truth) = match (gates.get_mut(user as usize), answers.get(user as usize)) {
                (Some(gate), Some(truth)) => (gate, *truth),
                _ => return Err(RunError::Unusable { what: "fewer users than the event has".into() }),
            };
            round.add(gate.report(truth)?)?;
        }
        rounds.push(round.open()?.into_inner());
    }
    Ok(Surveyed { rounds, ledgers: journals.iter().map(|journal| journal.records().to_vec()).collect() })
}

/// The categories of so many users whose shares are these, as nearly as whole users can have them.
///
/// Each share gets its whole users, and those who are left go to the largest fractions, the first of equal ones first.
pub fn apportioned(shares: &[f64], users: u64) -> Vec<u64> {
    let whole = |share: &f64| (share * users as f64 * (1.0 + 1e-12)).floor() as u64;
    let mut counts: Vec<u64> = shares.iter().map(whole).collect();
    let mut by_rest: Vec<usize> = (0..shares.len()).collect();
    let rest = |at: usize| shares[at] * users as f64 - counts[at] as f64;
    by_rest.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)));
    let left = users.saturating_sub(counts.iter().sum());
    by_rest.iter().cycle().take(if shares.is_empty() { 0 } else { left as usize }).for_each(|&at| counts[at] += 1);
    let users = counts.iter().enumerate().flat_map(|(category, &count)| (0..count).map(move |_| category as u64));
    users.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_apportioned_whole() {
        let count = |shares: &[f64], users: u64| {
            let all = apportioned(shares, users);
            let counts: Vec<usize> =
                (0..shares.len() as u64).map(|c| all.iter().filter(|&&user| user == c).count()).collect();
            assert_eq!(all.len() as u64, users);
            counts
        };
        assert_eq!(count(&[0.5, 0.3, 0.2], 1000), [500, 300, 200]);
        assert_eq!(count(&[0.1; 10], 10_000), [1000; 10]);
        assert_eq!(count(&[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], 10), [4, 3, 3]);
        assert_eq!(count(&[0.26, 0.74], 2), [1, 1]);
    }
}
