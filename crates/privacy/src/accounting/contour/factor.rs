//! One law's share of the integrand: rigorous nodes, M(c), and log φ on the grid with its error.
//!
//! The integrand of a plan is a product over laws, each to the power of its steps. Logarithms are summed, so that a factor of 10^6
//! steps costs the same as one.

use super::choose::{ContourLine, log_chernoff};
use super::cumulant::{Moment, UNDERFLOW, moment, quadrature_error};
use super::evaluate::ContourRefusal;
use super::law::{Laws, SegmentedLaw};
use super::quadrature::{Nodes, PER_PANEL, Panel, cover};
use super::rotate::{characteristic, sum_units, turn_units};
use super::segment::U;

/// Node-steps over which a contour is refused.
const MOST_WORK: f64 = 6e7;

/// What a composition adds up to at every grid point, and how well it is known.
pub(super) struct FactorSum {
    pub(super) log_amplitude: f64,
    pub(super) angle: f64,
    /// Bound of the relative error of the product of characteristic functions, as a logarithm.
    pub(super) error: f64,
    /// Σ |T log φ| for the round-off of the sums.
    pub(super) size: f64,
}

/// A law on its rigorous nodes.
pub(super) struct Factor<'a> {
    pub(super) law: &'a SegmentedLaw,
    panels: Vec<Vec<Panel>>,
    nodes: Nodes,
    quadrature: f64,
    /// M(c) = E_P[e^{cL}], with a proved error.
    pub(super) moment: Moment,
}

/// The laws on panels that are fine enough for (c, n·du), or a refusal if that is too much work.
pub(super) fn prepare<'a>(
    laws: &'a Laws,
    line: &ContourLine,
    n: f64,
    du: f64,
    tolerance: f64,
    log_moments: &[f64],
) -> Result<Vec<Factor<'a>>, ContourRefusal> {
    let share = 1e-3 * tolerance * libm::exp(-line.cancellation.max(0.0)) / laws.laws.len().max(1) as f64;
    let (mut out, mut work) = (Vec::with_capacity(laws.laws.len()), 0.0);
    for (law, log_moment) in laws.laws.iter().zip(log_moments) {
        let budget = share * libm::exp(*log_moment) / law.steps / 30.0;
        let mut nodes = Nodes::atoms(law);
        let (mut panels, mut quadrature) = (Vec::with_capacity(law.segments.len()), 0.0);
        for segment in &law.segments {
            let room = ((MOST_WORK - work) / n / PER_PANEL as f64).max(0.0);
            let (list, error) = cover(segment, line.c, n * du, budget, room as usize).ok_or(ContourRefusal::Work)?;
            nodes.add_panels(segment, &list);
            quadrature += error;
            panels.push(list);
        }
        work += n * nodes.len() as f64;
        let moment = moment(&nodes, line.c, quadrature, law);
        out.push(Factor { law, panels, nodes, quadrature, moment });
    }
    if work > MOST_WORK { Err(ContourRefusal::Work) } else { Ok(out) }
}

/// An upper bound of K at another real point, on the same nodes.
pub(super) fn log_moment_above(laws: &Laws, prepared: &[Factor], c: f64) -> f64 {
    let mut k = laws.gaussian_cumulant(c) * (1.0 + U * laws.gaussian_units());
    for one in prepared {
        let m = moment(&one.nodes, c, quadrature_error(one.law, &one.panels, c, 1e-9 / one.law.steps), one.law);
        k += one.law.steps * libm::log1p(m.excess + m.error) + one.law.steps * 1e-15;
    }
    k + 1e-13 * k.abs()
}

/// An upper bound of δ(ε) by Chernoff's inequality at c: e^{K(c) − cε} c^c/(1+c)^{1+c}, and what was cut away.
pub(super) fn chernoff(laws: &Laws, c: f64, epsilon: f64) -> f64 {
    let mut log = laws.gaussian_cumulant(c) * (1.0 + U * laws.gaussian_units());
    for law in &laws.laws {
        let (mut nodes, mut quadrature) = (Nodes::atoms(law), 0.0);
        for segment in &law.segments {
            let Some((panels, error)) = cover(segment, c, 0.0, 1e-6 / law.steps, 4096) else { return 1.0 };
            nodes.add_panels(segment, &panels);
            quadrature += error;
        }
        let m = moment(&nodes, c, quadrature, law);
        log += law.steps * (libm::log1p(m.excess + m.error) + 1e-15);
    }
    let log = log - c * epsilon + log_chernoff(c);
    libm::exp(log + 1e-12 * (1.0 + log.abs() + c * epsilon)) + laws.lost() + laws.infinite().1
}

impl Factor<'_> {
    /// Adds T log φ on the grid.
    ///
    /// φ − 1 = Σ ω(e^{iul} − 1)/M with ω = w e^{cl}. In units of round-off the sum errs by u·D,
    /// D = Σ ω(|l|(turns + summation + weight error + 10 + 2c|l| + c·loss error) + loss error), and by the quadrature.
    pub(super) fn add_to(&self, sums: &mut [FactorSum], phi: &mut [(f64, f64)], du: f64, c: f64) {
        let nodes = &self.nodes;
        let (m, m_error) = (1.0 + self.moment.excess, self.moment.error);
        let omega: Vec<f64> = nodes.loss.iter().zip(&nodes.weight).map(|(l, w)| w * libm::exp(c * l)).collect();
        characteristic(&nodes.loss, &omega, du, phi);
        let common = turn_units(sums.len()) + sum_units(nodes.len()) + 12.0;
        let mut d = 0.0;
        for (j, l) in nodes.loss.iter().enumerate() {
            let weight = nodes.weight_error[j] + 2.0 * c * l.abs() + c * nodes.loss_error[j];
            d += omega[j] * (l.abs() * (common + weight) + nodes.loss_error[j]);
        }
        let steps = self.law.steps;
        for (k, (sum, &(re, im))) in sums.iter_mut().zip(phi.iter()).enumerate() {
            let u = k as f64 * du;
            let (a, b) = (re / m, im / m);
            let sum_error = if k == 0 { 0.0 } else { 1.01 * U * u * d + self.quadrature + 2.0 * UNDERFLOW };
            let size = libm::sqrt(a * a + b * b);
            let off = (sum_error + size * (m_error + 4.0 * U * m)) / (m - m_error).max(0.0);
            let Logarithm { log, arg, error } = Logarithm::new(a, b, off);
            sum.log_amplitude += steps * log;
            sum.angle += steps * arg;
            sum.error += steps * error;
            sum.size += steps * (log.abs() + arg.abs());
        }
    }
}

/// log|φ|, arg φ and a bound of |log(true φ / this φ)|, for φ = 1 + a + ib known within `off`.
struct Logarithm {
    log: f64,
    arg: f64,
    error: f64,
}

impl Logarithm {
    /// |φ|² − 1 = 2a + a² + b² has no cancellation near φ = 1; |φ|² = (1+a)² + b² has none far from it.
    ///
    /// If φ is known within `off`, (true φ)^T differs from φ^T by at most |φ|^T ((1 + off/|φ|)^T − 1). A φ that is
    /// nearly zero is moved to modulus 1e-12, which is one more error of that size.
    fn new(a: f64, b: f64, off: f64) -> Self {
        let arg = libm::atan2(b, 1.0 + a);
        let over = 2.0 * a + (a * a + b * b);
        let (square, log, units, more) = if over > -0.5 {
            let log = 0.5 * libm::log1p(over);
            (1.0 + over, log, 16.0 * (a.abs() + a * a + b * b), 0.0)
        } else {
            let square = ((1.0 + a) * (1.0 + a) + b * b).max(1e-24);
            (square, 0.5 * libm::log(square), 10.0, if square < 4e-24 { 4e-12 } else { U })
        };
        let units = units + 10.0 * log.abs() + 12.0 * arg.abs();
        let error = libm::log1p(1.001 * (off + more) / libm::sqrt(square)) + U * units;
        Self { log, arg, error }
    }
}

#[cfg(test)]
mod tests;
