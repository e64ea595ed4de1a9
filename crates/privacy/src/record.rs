//! Record-play: run a method on two neighbouring data sets with the same releases, and look at every noise call.
//!
//! The first world is recorded. The second *replays the first one's releases* (noise := release₁ − sum₂), so that its
//! public transcript is identical, and each of its inputs must lie within the declared sensitivity of the first
//! world's. Replaying the noise instead would be blind to state that carries noise between rounds, because
//! noise = release − sum. A tape sees sums without noise: simulated gates take one, an agent's cannot.
//!
//! What it found in published methods, and why the releases are replayed and not the noise, is told in
//! `docs/maths/state-between-rounds.md`. `tests/record_play.rs` runs it on this crate's gates, and `inference` on every
//! algorithm.

use crate::{Event, Mechanism};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One noise call: what went in, what came out, and what was declared.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseCall {
    /// The sum before noise, in grid units.
    pub input: Vec<i64>,
    /// Noise of each contributor, in grid units: one vector at a local gate or a curator, one per client for shares.
    pub noise: Vec<Vec<i64>>,
    /// Declared sensitivity, in grid units.
    pub sensitivity: u64,
    /// Deviation of the noise that the event promises, in grid units.
    pub deviation: f64,
    /// The event that was charged.
    pub event: Event,
}

impl NoiseCall {
    /// input + noise, coordinate by coordinate.
    fn released(&self) -> Vec<i64> {
        let mut total = self.input.clone();
        for share in &self.noise {
            total.iter_mut().zip(share).for_each(|(t, n)| *t = t.wrapping_add(*n));
        }
        total
    }
}

/// How the second world left its declared sensitivity.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Divergence {
    /// An input moved farther than declared.
    #[error("noise call {call}: the input moved by {moved:.1} grid units, declared sensitivity {sensitivity}")]
    Moved {
        /// Which call, from 0.
        call: usize,
        /// Euclidean distance between the inputs of the two worlds.
        moved: f64,
        /// The sensitivity that was declared for the call, in grid units.
        sensitivity: u64,
    },
    /// There is nothing to compare: the tape does not replay another one, or no gate wrote to it.
    #[error("the tape has nothing to compare: it is not a replay, or no gate wrote to it")]
    Nothing,
    /// The noise is less than the event and the sensitivity promise.
    #[error("noise call {call}: the standard deviation {deviation} is less than the event and the sensitivity promise")]
    Noise {
        /// Which call, from 0.
        call: usize,
        /// Deviation in grid units.
        deviation: f64,
    },
    /// The variance of noise that makes up a batch's spread moved farther than one row moves it.
    #[error(
        "noise call {call}: the variance of the noise moved by {moved:.1} squared grid units, at most {most:.1} is proved"
    )]
    Spread {
        /// Which call, from 0.
        call: usize,
        /// Difference of the variances of the two worlds.
        moved: f64,
        /// What one replaced row can do.
        most: f64,
    },
    /// The calls themselves differ: another number, shape, event or sensitivity.
    #[error("noise call {call}: the two worlds do not make the same calls")]
    Calls {
        /// Which call, from 0.
        call: usize,
    },
}

/// A recorder that gates write to. Clones share one tape.
///
/// # Examples
///
/// ```
/// use privacy::record::{Divergence, Tape};
///
/// let first = Tape::record();
/// // … a simulation with gates that record on `first`, then the same on neighbouring data with `second` …
/// let second = first.replay();
/// assert_eq!(second.verdict(), Err(Divergence::Nothing));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Reel>>);

/// The calls of one world, and those of the first world where this one is a replay.
#[derive(Debug, Default)]
struct Reel {
    calls: Vec<NoiseCall>,
    first_world: Option<Vec<NoiseCall>>,
}

impl Tape {
    /// A tape that records the first world.
    pub fn record() -> Self {
        Self::default()
    }

    /// A tape that plays this one's releases to a second world.
    pub fn replay(&self) -> Self {
        let first_world = Some(self.lock().calls.clone());
        Self(Arc::new(Mutex::new(Reel { calls: Vec::new(), first_world })))
    }

    /// All noise calls so far, in order. They hold sums without noise: for tests only.
    pub fn calls(&self) -> Vec<NoiseCall> {
        self.lock().calls.clone()
    }

    /// Compares a replayed run with its first world, call by call.
    pub fn verdict(&self) -> Result<(), Divergence> {
        let reel = self.lock();
        let first = reel.first_world.as_deref().filter(|calls| !calls.is_empty()).ok_or(Divergence::Nothing)?;
        if first.len() != reel.calls.len() {
            return Err(Divergence::Calls { call: first.len().min(reel.calls.len()) });
        }
        first.iter().zip(&reel.calls).enumerate().try_for_each(|(call, (a, b))| within(call, a, b))
    }

    /// Notes a call; in a second world, first sets its noise so that the release is the first world's.
    pub(crate) fn note(&self, mut call: NoiseCall) -> Vec<Vec<i64>> {
        let mut reel = self.lock();
        let position = reel.calls.len();
        if let Some(first) = reel.first_world.as_ref().and_then(|calls| calls.get(position)) {
            redistribute(first, &mut call);
        }
        let noise = call.noise.clone();
        reel.calls.push(call);
        noise
    }

    /// The reel, also after a panic elsewhere: what was recorded stays valid.
    fn lock(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives every contributor its first-world noise and an even share of what the inputs differ by.
///
/// Given the released sum, shares are exchangeable: no share may take up the difference alone. A remainder of fewer
/// units than there are contributors goes to the first ones.
fn redistribute(first: &NoiseCall, second: &mut NoiseCall) {
    if first.noise.len() != second.noise.len() || first.input.len() != second.input.len() {
        return; // `verdict` reports it
    }
    let sharers = first.noise.len() as i64;
    second.noise.clone_from(&first.noise);
    let released = first.released();
    for (i, target) in released.iter().enumerate() {
        let got = second.input[i].wrapping_add(second.noise.iter().fold(0, |s, n| n[i].wrapping_add(s)));
        let missing = target.wrapping_sub(got);
        for (m, share) in (0_i64..).zip(&mut second.noise) {
            let extra = missing.div_euclid(sharers) + i64::from(m < missing.rem_euclid(sharers));
            share[i] = share[i].wrapping_add(extra);
        }
    }
}

/// What the theorem on Barker tests assumes of the noise (`docs/maths/dp-mcmc.md`, Lemma 1): for ratios within B, a variance
/// of bLB² at least, which one replaced row moves by 4B²(b−1)/b at most.
fn spread_within(call: usize, first: &NoiseCall, second: &NoiseCall) -> Result<(), Divergence> {
    let Mechanism::BarkerTest { batch, slack } = first.event.mechanism() else { return Ok(()) };
    let (b, square) = (batch.get() as f64, (0.5 * first.sensitivity as f64).powi(2));
    let least = (b * slack.get() * square).sqrt() * (1.0 - 1e-12);
    if let Some(low) = [first.deviation, second.deviation].into_iter().find(|d| *d < least) {
        return Err(Divergence::Noise { call, deviation: low });
    }
    let moved = (first.deviation.powi(2) - second.deviation.powi(2)).abs();
    let most = 4.0 * square * (b - 1.0) / b + 1e-9 * least * least;
    if moved > most { Err(Divergence::Spread { call, moved, most }) } else { Ok(()) }
}

/// Compares one call of both worlds: the same declared terms, enough noise, and inputs within the sensitivity.
fn within(call: usize, first: &NoiseCall, second: &NoiseCall) -> Result<(), Divergence> {
    let declared = |of: &NoiseCall| (of.event.clone(), of.sensitivity, of.input.len(), of.noise.len());
    if declared(first) != declared(second) {
        return Err(Divergence::Calls { call });
    }
    let test = matches!(first.event.mechanism(), Mechanism::BarkerTest { .. });
    if test {
        spread_within(call, first, second)?;
    } else if first.deviation != second.deviation {
        return Err(Divergence::Calls { call });
    }
    let multiplier = second.event.noise_multiplier().map_or(0.0, crate::NoiseMultiplier::get);
    if second.deviation < multiplier * second.sensitivity as f64 * (1.0 - 1e-12) {
        return Err(Divergence::Noise { call, deviation: second.deviation });
    }
    let difference: Vec<i64> = first.input.iter().zip(&second.input).map(|(a, b)| a.wrapping_sub(*b)).collect();
    let squared = crate::bounded::norm_squared(&difference);
    if squared > u128::from(first.sensitivity).pow(2) {
        return Err(Divergence::Moved { call, moved: (squared as f64).sqrt(), sensitivity: first.sensitivity });
    }
    Ok(())
}
