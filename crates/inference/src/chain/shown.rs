//! What a report shows of released draws: how well chains have mixed, the course of some parameters, and
//! where they were.
//!
//! Chains that were cut short by a budget are left out; of those that ended, the warm-up is. Only the
//! first few parameters have a course, and a course is thinned: a report stays small however long the
//! chains are.

use super::{Diagnostics, Draws, diagnose};
use crate::RunError;
use crate::results::{ChainResult, CourseResult, ParameterResult, least_ess};

/// Parameters whose course is kept.
const MOST_COURSES: usize = 12;

/// Draws of a chain that its course is made of.
const PLACES: usize = 250;

/// Bars of a histogram.
const BARS: usize = 40;

/// Draws of so many parameters after a warm-up, summed up; none of a method that does not draw, or of chains that did not
/// reach four draws. Chains that were not made to their end are left out.
pub fn shown(chains: &[Vec<f64>], warm_up: u64, parameters: usize) -> Result<Option<ChainResult>, RunError> {
    let names: Vec<String> = (1..=parameters).map(|j| format!("θ{j}")).collect();
    let kept = kept(chains, warm_up, parameters);
    if kept.first().is_none_or(|chain| chain.len() < 4 * parameters) {
        return Ok(None);
    }
    let alone =
        |chain: &Vec<f64>| Ok::<_, RunError>(least_ess(&told(&Draws::new(names.clone(), vec![chain.clone()])?)?));
    let each_ess = kept.iter().map(alone).collect::<Result<_, _>>()?;
    let draws = Draws::new(names, kept)?;
    Ok(Some(ChainResult {
        chains: draws.chains(),
        iterations: draws.iterations(),
        moved: moved(&draws, 0..draws.chains()),
        each_moved: (0..draws.chains()).map(|chain| moved(&draws, chain..chain + 1)).collect(),
        parameters: told(&draws)?,
        each_ess,
        courses: (0..parameters.min(MOST_COURSES)).map(|j| course(&draws.parameter(j))).collect(),
    }))
}

/// Diagnostics of every parameter, as results keep them.
fn told(draws: &Draws) -> Result<Vec<ParameterResult>, RunError> {
    Ok(diagnose(draws)?.into_iter().map(ParameterResult::from).collect())
}

/// Draws after the warm-up, of chains that were made to their end.
pub fn kept(chains: &[Vec<f64>], warm_up: u64, parameters: usize) -> Vec<Vec<f64>> {
    let after = usize::try_from(warm_up).unwrap_or(usize::MAX).saturating_mul(parameters);
    let longest = chains.iter().map(Vec::len).max().unwrap_or(0);
    let whole = chains.iter().filter(|chain| chain.len() == longest && chain.len() > after);
    whole.map(|chain| chain[after..].to_vec()).collect()
}

/// The share of draws of these chains that differ from the one before.
fn moved(draws: &Draws, chains: std::ops::Range<usize>) -> f64 {
    let (mut moves, mut all) = (0_usize, 0_usize);
    for chain in chains {
        let rows: Vec<&[f64]> = draws.rows(chain).collect();
        moves += rows.windows(2).filter(|two| two[0] != two[1]).count();
        all += rows.len() - 1;
    }
    moves as f64 / all.max(1) as f64
}

/// The thinned trace of every chain and one histogram of all draws, in bars of equal width.
fn course(chains: &[Vec<f64>]) -> CourseResult {
    let thinned = |chain: &Vec<f64>| {
        let every = chain.len().div_ceil(PLACES).max(1);
        chain.iter().step_by(every).copied().collect()
    };
    let all = chains.iter().flatten().copied();
    let (low, high) = all.clone().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let width = if high > low { (high - low) / BARS as f64 } else { 1.0 };
    let mut counts = vec![0; BARS];
    all.for_each(|x| counts[(((x - low) / width) as usize).min(BARS - 1)] += 1);
    CourseResult { traces: chains.iter().map(thinned).collect(), from: low, width, counts }
}

impl From<Diagnostics> for ParameterResult {
    /// A chain that never moved has no R-hat; nor have chains that stand each in a place of its own a finite one.
    fn from(of: Diagnostics) -> Self {
        let convergence = of.convergence.filter(|c| c.rhat.is_finite());
        Self {
            name: of.name,
            mean: of.mean,
            deviation: of.deviation,
            quantiles: of.quantiles,
            rhat: convergence.map(|c| c.rhat),
            bulk_ess: convergence.map(|c| c.bulk),
            tail_ess: convergence.map(|c| c.tail),
            error_of_mean: convergence.map(|c| c.error_of_mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_counted_thinned_and_gathered() {
        let chain = |shift: f64| (0..1000).flat_map(|i| [shift + f64::from(i / 2), 1.0]).collect::<Vec<f64>>();
        let found = shown(&[chain(0.0), chain(1.0), vec![0.0; 6]], 100, 2).unwrap().unwrap();
        assert_eq!((found.chains, found.iterations), (2, 900), "a chain that was cut short is left out");
        assert!((found.moved - 449.0 / 899.0).abs() < 1e-12, "{}", found.moved);
        let course = &found.courses[0];
        assert_eq!(course.counts.iter().sum::<u64>(), 1800);
        assert_eq!((course.from, course.traces.len(), course.traces[0].len()), (50.0, 2, 225));
        assert_eq!(course.traces[1][..2], [51.0, 53.0]);
        assert_eq!(found.parameters[1].rhat, None, "it never moved");
        assert_eq!(found.each_ess, [None, None]);
        let moving: Vec<f64> = (0..500_u32).map(|i| f64::from(i * i % 97)).collect();
        let alone = shown(&[moving.clone(), moving[..400].to_vec()], 0, 1).unwrap().unwrap();
        assert_eq!(alone.each_ess, [alone.least_ess()], "of one chain both are the same");
        assert_eq!(found.courses[1].counts[0], 1800);
    }

    #[test]
    fn nothing_is_shown_of_no_draws() {
        assert_eq!(shown(&[], 0, 2).unwrap(), None);
        assert_eq!(shown(&[vec![1.0; 6]], 0, 2).unwrap(), None);
    }
}
