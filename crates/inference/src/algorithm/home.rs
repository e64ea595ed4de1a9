//! What a site learns for itself: an intercept of its own, the last of its parameters, which never leaves it.

use crate::solve::Problem;
use privacy::StudyConstant;

/// Natural parameters (Λμ, −½Λ) of one coordinate.
pub type Natural = [f64; 2];

/// The problem as a site sees it: the shared parameters and, last, its own intercept b ~ N(0, 1/precision).
///
/// The site's sums have the coordinate too: it is clipped, noised and paid for with the others. What the gate lets
/// through of it stays at the site; the server hears of the shared coordinates only. All of it is mean-field.
#[derive(Debug, Clone)]
pub struct SiteProblem {
    /// Over the shared parameters and the site's own.
    pub problem: Problem,
}

impl StudyConstant for SiteProblem {}

impl SiteProblem {
    /// The prior of the site's own.
    pub fn prior(&self) -> Natural {
        let prior = &self.problem.prior.0;
        let d = prior.len() / 2;
        [prior.get(d.wrapping_sub(1)).copied().unwrap_or(0.0), prior.last().copied().unwrap_or(0.0)]
    }
}

/// Puts the site's own coordinate behind the shared ones, in natural parameters or any other two halves.
pub(super) fn join(halves: &mut Vec<f64>, own: Natural) {
    halves.insert(halves.len() / 2, own[0]);
    halves.push(own[1]);
}

/// Takes it away again, from vectors that [`join`] made.
pub(super) fn part(halves: &mut Vec<f64>) -> Natural {
    let second = halves.pop().unwrap_or(0.0);
    let first = if halves.is_empty() { 0.0 } else { halves.remove(halves.len() / 2) };
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_joined_comes_apart_again() {
        for d in 0..4 {
            let shared: Vec<f64> = (0..2 * d).map(f64::from).collect();
            let mut all = shared.clone();
            join(&mut all, [7.0, -7.0]);
            assert_eq!((all[d as usize], all[2 * d as usize + 1]), (7.0, -7.0));
            assert_eq!((part(&mut all), all), ([7.0, -7.0], shared));
        }
    }
}
