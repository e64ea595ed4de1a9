//! Random plans over the whole useful range, asked of the certified accountant: shared by a test and an example.

use privacy::accounting::{pld::Pld, rdp::Rdp};
use privacy::{
    Accountant, Adjacency, Bounds, Delta, Event, Mechanism, NoiseMultiplier, PrivacyError, Sampling, SamplingRate,
    Steps, Unit,
};
use rand_core::Rng;

/// One question: Gaussian noise in some setting, and δ.
#[derive(Debug, Clone)]
pub(crate) struct RangePoint {
    pub(crate) event: Event,
    pub(crate) delta: Delta,
}

/// What came of many questions.
#[derive(Debug, Default)]
pub(crate) struct RangeTally {
    pub(crate) certified: usize,
    pub(crate) refused: Vec<String>,
    pub(crate) widest: f64,
    pub(crate) widest_at: String,
    pub(crate) contradictions: Vec<String>,
}

/// A value between the limits, evenly spread on a logarithmic scale.
fn spread(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    let u = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    (low.ln() + u * (high.ln() - low.ln())).exp().clamp(low, high)
}

/// Rate 1e-5 to 1, multiplier .02 to 1000, steps 1 to 10^7, δ 1e-20 to ½, in every covered setting.
pub(crate) fn draw(rng: &mut impl Rng) -> RangePoint {
    let rate = SamplingRate::new(spread(rng, 1e-5, 1.0)).unwrap();
    let fixed = Sampling::without_replacement((rate.get() * 1e6).ceil() as u64, 1_000_000).unwrap();
    let (adjacency, sampling) = match rng.next_u32() % 8 {
        0 => (Adjacency::Substitute, Sampling::None),
        1..=4 => (Adjacency::AddRemove, Sampling::Poisson { rate }),
        5 | 6 => (Adjacency::Substitute, Sampling::Poisson { rate }),
        _ => (Adjacency::Substitute, fixed),
    };
    let z = NoiseMultiplier::new(spread(rng, 0.02, 1000.0)).unwrap();
    let steps = Steps::new(spread(rng, 1.0, 1e7).round() as u64).unwrap();
    let delta = Delta::new(spread(rng, 1e-20, 0.5)).unwrap();
    RangePoint { event: gaussian(z, adjacency, sampling, steps), delta }
}

fn gaussian(z: NoiseMultiplier, adjacency: Adjacency, sampling: Sampling, steps: Steps) -> Event {
    Event::new(Mechanism::Gaussian { noise_multiplier: z }, adjacency, Unit::Example, sampling, steps).unwrap()
}

/// The same plan with a fifth more noise: it may not cost more.
fn cheaper(event: &Event) -> Event {
    let z = NoiseMultiplier::new(event.noise_multiplier().unwrap().get() * 1.2).unwrap();
    gaussian(z, event.adjacency(), *event.sampling(), event.steps())
}

impl RangeTally {
    /// Asks one question and checks the answer against itself, its neighbour and the Rényi bound.
    pub(crate) fn ask(&mut self, point: &RangePoint) {
        let bounds = match Pld.epsilon(std::slice::from_ref(&point.event), point.delta) {
            Ok(bounds) => bounds,
            Err(PrivacyError::Uncertified { why, .. }) => return self.refused.push(format!("{point:?}: {why}")),
            Err(other) => return self.contradictions.push(format!("{point:?}: {other}")),
        };
        self.certified += 1;
        if bounds.relative_width() > self.widest {
            self.widest = bounds.relative_width();
            self.widest_at = format!("{point:?}: {bounds:?}");
        }
        if bounds.lower > bounds.upper || bounds.lower < 0.0 || !bounds.upper.is_finite() {
            self.contradictions.push(format!("{point:?}: {bounds:?}"));
        }
        self.compare(point, bounds);
    }

    fn compare(&mut self, point: &RangePoint, bounds: Bounds) {
        if let Ok(less) = Pld.epsilon(&[cheaper(&point.event)], point.delta)
            && less.lower > bounds.upper
        {
            self.contradictions.push(format!("{point:?}: {bounds:?}, with more noise {less:?}"));
        }
        if let Ok(renyi) = Rdp::default().epsilon(std::slice::from_ref(&point.event), point.delta)
            && renyi.upper < bounds.lower
        {
            self.contradictions.push(format!("{point:?}: {bounds:?}, Rényi {renyi:?}"));
        }
    }
}

/// The most memory that this process has used so far, in megabytes, where the system tells.
#[allow(clippy::disallowed_methods)] // a test looks at its own process
pub(crate) fn peak_megabytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
