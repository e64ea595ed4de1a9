//! The cumulant K(s) = Σ T log E_P[e^{sL}]: quickly on a sketch, for planning, and with a proved error.
//!
//! The sketch has few nodes and no error bound; it finds saddle points. The moment at the chosen abscissa is then computed again with
//! a proof.

use super::law::{Laws, SegmentedLaw};
use super::quadrature::{Nodes, Panel, panel_error, sketch};
use super::segment::U;

/// K and its first two derivatives at a real point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cumulants {
    pub(super) k: f64,
    pub(super) k1: f64,
    pub(super) k2: f64,
}

/// A composition on nodes without an error bound: it only guides the choice of a contour.
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    nodes: Vec<(Nodes, f64)>,
    gaussian: f64,
}

impl Sketch {
    /// Nodes of every law.
    pub(super) fn new(laws: &Laws) -> Self {
        let nodes = |law: &SegmentedLaw| {
            let mut nodes = Nodes::atoms(law);
            for segment in &law.segments {
                nodes.add_panels(segment, &sketch(segment));
            }
            (nodes, law.steps)
        };
        Self { nodes: laws.laws.iter().map(nodes).collect(), gaussian: laws.gaussian }
    }

    /// K, K' and K'' at c. Overflow gives an infinite K.
    pub(super) fn cumulants(&self, c: f64) -> Cumulants {
        let g = self.gaussian;
        let mut total = Cumulants { k: 0.5 * g * c * (c + 1.0), k1: g * (c + 0.5), k2: g };
        for (nodes, steps) in &self.nodes {
            let (mut m, mut m1, mut m2) = (0.0, 0.0, 0.0);
            for (l, w) in nodes.loss.iter().zip(&nodes.weight) {
                let e = libm::expm1(c * l);
                m += w * e;
                let first = w * (e + 1.0) * l;
                m1 += first;
                m2 += first * l;
            }
            let mean = m1 / (1.0 + m);
            total.k += steps * libm::log1p(m);
            total.k1 += steps * mean;
            total.k2 += steps * (m2 / (1.0 + m) - mean * mean);
        }
        if total.k.is_nan() { Cumulants { k: f64::INFINITY, k1: f64::INFINITY, k2: f64::INFINITY } } else { total }
    }

    /// K at the abscissa c.
    pub(super) fn k(&self, c: f64) -> f64 {
        let laws: f64 = self.nodes.iter().map(|(nodes, steps)| steps * libm::log1p(nodes.excess(c))).sum();
        0.5 * self.gaussian * c * (c + 1.0) + laws
    }

    /// log M(c) of each law, in order.
    pub(super) fn log_moments(&self, c: f64) -> Vec<f64> {
        self.nodes.iter().map(|(nodes, _)| libm::log1p(nodes.excess(c))).collect()
    }
}

impl Nodes {
    /// Σ w (e^{cl} − 1).
    fn excess(&self, c: f64) -> f64 {
        self.loss.iter().zip(&self.weight).map(|(l, w)| w * libm::expm1(c * l)).sum()
    }
}

/// M(c) − 1 of one law and its absolute error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// M(c) − 1, which is small and would be lost beside 1.
    pub(super) excess: f64,
    /// Bound of the absolute error.
    pub(super) error: f64,
}

impl Moment {
    /// An upper bound of M(c).
    pub(super) fn upper(&self) -> f64 {
        (1.0 + self.excess + self.error) * (1.0 + 4.0 * U)
    }
}

/// M(c) − 1 = ∫ p (e^{cl} − 1) dx − η', with η' ≤ η the mass that was cut, and a bound of everything that is neglected.
///
/// Per node, in units of round-off: the weight's own error, 8 for expm1 and 4 for products, relative to w|e^{cl} − 1|;
/// the loss's error and two roundings of c·l, times c w e^{cl}; summation in at most n steps of the partial sums, which
/// are at most Σ w|e^{cl} − 1|.
pub(super) fn moment(nodes: &Nodes, c: f64, quadrature: f64, law: &SegmentedLaw) -> Moment {
    let (mut excess, mut error) = (0.0, 0.0);
    let summation = nodes.len() as f64 + 12.0;
    for (j, l) in nodes.loss.iter().enumerate() {
        let (e, w) = (libm::expm1(c * l), nodes.weight[j]);
        excess += w * e;
        error += w * e.abs() * (nodes.weight_error[j] + summation)
            + w * (e + 1.0) * c * (nodes.loss_error[j] + 2.0 * l.abs());
    }
    let rounding = error * U * 1.01 + law.infinite * 4.0 * U + underflow(nodes, c);
    Moment { excess: excess - law.infinite, error: rounding + quadrature * 1.01 + law.lost }
}

/// Over what weights below the smallest normal number may hide: n 2^-1022 e^{600}.
pub(super) const UNDERFLOW: f64 = 1e-40;

/// The bound of what underflow hides in M(c), none for tilts that are too steep.
fn underflow(nodes: &Nodes, c: f64) -> f64 {
    let steepest = nodes.loss.iter().fold(0.0_f64, |most, l| most.max(c * l));
    if steepest <= 600.0 { UNDERFLOW } else { f64::INFINITY }
}

/// The quadrature error of M(c) of one law on given panels, where `enough` per panel is small enough.
pub(super) fn quadrature_error(law: &SegmentedLaw, panels: &[Vec<Panel>], c: f64, enough: f64) -> f64 {
    let of_segment = |(segment, panels): (_, &Vec<Panel>)| -> f64 {
        panels.iter().map(|&panel| panel_error(segment, panel, c, 0.0, enough)).sum()
    };
    law.segments.iter().zip(panels).map(of_segment).sum::<f64>() * 1.001
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
    use crate::accounting::contour::quadrature::cover;
    use crate::accounting::pair::DominatingPair;

    /// E_P[e^{L}] of the removed row is 1 + q²(e^{1/s²} − 1), and E_P[e^{−L}] = 1 for a complete law.
    #[test]
    fn moments_with_a_closed_form() {
        let (q, s) = (0.2, 1.3);
        let laws = Laws::new(&[(DominatingPair::GaussianRemove { q, s }, Steps::ONE)], 1e-30);
        let law = &laws.laws[0];
        for (c, exact) in [(1.0, q * q * libm::expm1(1.0 / (s * s))), (-1.0, 0.0)] {
            let (panels, error) = cover(&law.segments[0], 1.0, 5.0, 1e-18, 500).unwrap();
            let mut nodes = Nodes::default();
            nodes.add_panels(&law.segments[0], &panels);
            let moment = moment(&nodes, c, error, law);
            assert!((moment.excess - exact).abs() <= moment.error.abs() + 1e-15, "{c}: {} {exact}", moment.excess);
            assert!(moment.error < 1e-12);
            let quick = Sketch::new(&laws).cumulants(c);
            assert!((quick.k - libm::log1p(exact)).abs() < 1e-9);
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let steps = Steps::new(7).unwrap();
        let laws = Laws::new(
            &[(DominatingPair::GaussianAdd { q: 0.1, s: 0.9 }, steps), (DominatingPair::Gaussian { s: 3.0 }, steps)],
            1e-20,
        );
        let sketch = Sketch::new(&laws);
        let (c, h) = (2.5, 1e-4);
        let (below, at, above) = (sketch.cumulants(c - h), sketch.cumulants(c), sketch.cumulants(c + h));
        assert!(((above.k - below.k) / (2.0 * h) - at.k1).abs() < 1e-6);
        assert!(((above.k1 - below.k1) / (2.0 * h) - at.k2).abs() < 1e-6);
    }
}
