//! Steps down an objective, shortened until it falls: how a readout of levels finds its mode, for one contrast and for several.

/// Lengths of a step that are tried, one after the other.
const LENGTHS: [f64; 4] = [1.0, 0.3, 0.1, 0.03];
/// Steps end where the objective falls by less.
const GAIN: f64 = 1e-2;

/// An objective that is followed down from point to point.
pub(super) trait Descent {
    /// A point, with what is known there.
    type Point;

    /// A(t̄ − G) and the objective.
    fn at(&self, here: &Self::Point) -> (Vec<f64>, f64);

    /// The step from a point, given A(t̄ − G) there.
    fn step(&self, here: &Self::Point, weighed: &[f64]) -> Option<Vec<f64>>;

    /// The point so much of a step away; none where its expectations are not finite.
    fn moved(&self, here: &Self::Point, step: &[f64], length: f64) -> Option<Self::Point>;

    /// At most so many steps, while they gain enough. None where the objective is not finite.
    fn descend(&self, here: &mut Self::Point, most: usize) -> Option<()> {
        let (mut weighed, mut objective) = self.at(here);
        for _ in 0..most {
            let step = self.step(here, &weighed)?;
            let mut tried = LENGTHS.into_iter().filter_map(|length| {
                let next = self.moved(here, &step, length)?;
                let at = self.at(&next);
                Some((next, at))
            });
            let lower = |(_, (_, value)): &(Self::Point, (Vec<f64>, f64))| *value < objective;
            let Some((next, (residual, value))) = tried.find(lower) else { break };
            let gain = objective - value;
            (*here, weighed, objective) = (next, residual, value);
            if gain < GAIN {
                break;
            }
        }
        objective.is_finite().then_some(())
    }
}

/// θ + λ·step.
pub(super) fn along(theta: &[f64], step: &[f64], length: f64) -> Vec<f64> {
    theta.iter().zip(step).map(|(t, s)| t + length * s).collect()
}
