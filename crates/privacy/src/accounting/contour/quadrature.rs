//! Nodes (loss, weight) of a law by 16-point Gauss–Legendre panels, with a proved error of E_P[e^{(c+iu)L}].
//!
//! Panels are short where the density or the loss bends. The error of a panel follows from the size of the integrand on an ellipse
//! around it.

use super::law::SegmentedLaw;
use super::segment::Segment;

/// Positive abscissas and weights of the 16-point Gauss–Legendre rule on [−1, 1], correctly rounded.
const GAUSS: [(f64, f64); 8] = [
    (0.095012509837637440185, 0.18945061045506849629),
    (0.28160355077925891323, 0.18260341504492358887),
    (0.45801677765722738634, 0.16915651939500253819),
    (0.61787624440264374845, 0.14959598881657673208),
    (0.7554044083550030339, 0.12462897125553387205),
    (0.86563120238783174388, 0.09515851168249278481),
    (0.94457502307323257608, 0.062253523938647892863),
    (0.9894009349916499326, 0.027152459411754094852),
];

/// Sizes ρ of the ellipses that are tried, best guess first.
const ELLIPSES: [f64; 3] = [4.0, 6.5, 2.6];

/// Slabs into which an ellipse is cut for its bound.
const SLABS: u32 = 4;

/// An interval of a segment: middle and half width, both exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel {
    mid: f64,
    half: f64,
}

impl Panel {
    /// The point at a fraction from −1 to 1; exact for multiples of ¼.
    pub(super) fn edge(&self, fraction: f64) -> f64 {
        self.mid + self.half * fraction
    }
}

/// A law replaced by point masses. Errors are in units of round-off: relative for weights, absolute for losses.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    pub(super) loss: Vec<f64>,
    pub(super) loss_error: Vec<f64>,
    pub(super) weight: Vec<f64>,
    pub(super) weight_error: Vec<f64>,
}

/// Error of the rule on one panel for f(x) = p(x)(e^{(c+iu) l(x)} − 1) and for p e^{(c+iu)l}, any |u| ≤ u_max.
///
/// Theorem 4.5 of Trefethen 2008 (SIAM Review 50), stated for n nodes: if f is analytic inside the ellipse with foci ±1 and semi-axes
/// (ρ ± 1/ρ)/2 and |f| ≤ M there, the n-point rule errs by at most (64/15) M ρ^{−2n} / (1 − ρ^{−2}). Here n = 16, the
/// ellipse is scaled by the half width, and M is the largest bound over slabs that cover it.
pub(super) fn panel_error(segment: &Segment, panel: Panel, c: f64, u_max: f64, enough: f64) -> f64 {
    let mut best = f64::INFINITY;
    for rho in ELLIPSES {
        let (long, high) = (0.5 * (rho + 1.0 / rho) * panel.half, 0.5 * (rho - 1.0 / rho) * panel.half);
        let width = 2.0 * long / f64::from(SLABS);
        let bound = (0..SLABS)
            .map(|i| panel.mid - long + width * f64::from(i))
            .map(|x0| segment.log_bound(x0, x0 + width * (1.0 + 1e-12), high, c, u_max))
            .fold(f64::NEG_INFINITY, f64::max);
        let power = libm::exp(bound - 32.0 * libm::log(rho));
        best = best.min(4.27 * panel.half * power / (1.0 - 1.0 / (rho * rho)));
        if best <= enough {
            break;
        }
    }
    best
}

/// Covers the segment greedily by the widest panels whose error is within `budget` each, and adds up their errors;
/// `None` if that takes more than `most` panels.
pub(super) fn cover(segment: &Segment, c: f64, u_max: f64, budget: f64, most: usize) -> Option<(Vec<Panel>, f64)> {
    let (mut panels, mut total) = (Vec::new(), 0.0);
    let (mut from, mut width) = (segment.from, (segment.to - segment.from).min(256));
    while from < segment.to {
        width = (width + width / 2 + 1).min(segment.to - from);
        loop {
            let panel = panel_between(segment, from, from + width);
            let error = panel_error(segment, panel, c, u_max, budget);
            if error <= budget {
                panels.push(panel);
                total += error;
                break;
            }
            if width == 1 {
                return None;
            }
            width -= (width / 4).max(1);
        }
        if panels.len() > most {
            return None;
        }
        from += width;
    }
    Some((panels, total * 1.001))
}

/// Panels for planning, by a rule of thumb and without an error bound: fine at the mixture's kink, coarse elsewhere.
pub(super) fn sketch(segment: &Segment) -> Vec<Panel> {
    let mut panels = Vec::new();
    let mut from = segment.from;
    while from < segment.to {
        let x = segment.at(from);
        let mut half = 0.75 * segment.s;
        for shift in [segment.p_shift, segment.q_shift].into_iter().filter(|d| *d != 0.0 && segment.q < 1.0) {
            let scale = 1.0 / segment.tilt_slope(shift).abs();
            half = half.min((0.7 * scale).max(0.4 * (x - segment.kink(shift)).abs()));
        }
        let width = (libm::ceil(2.0 * half / segment.unit) as i64).clamp(1, segment.to - from);
        panels.push(panel_between(segment, from, from + width));
        from += width;
    }
    panels
}

/// The panel between two marks of a segment.
fn panel_between(segment: &Segment, from: i64, to: i64) -> Panel {
    let (a, b) = (segment.at(from), segment.at(to));
    Panel { mid: 0.5 * (a + b), half: 0.5 * (b - a) }
}

impl Nodes {
    /// The atoms of the law: exact nodes that need no quadrature.
    pub(super) fn atoms(law: &SegmentedLaw) -> Self {
        let mut nodes = Self::default();
        for atom in &law.atoms {
            nodes.push(atom.loss, atom.loss_error, atom.mass, atom.mass_error);
        }
        nodes
    }

    /// Appends the nodes of panels of one segment.
    ///
    /// A node m ± H ξ is rounded twice and ξ is rounded itself: it is off by |x| + 2H units. The weight has two
    /// roundings more than the density, and the rounded Gauss weight.
    pub(super) fn add_panels(&mut self, segment: &Segment, panels: &[Panel]) {
        for panel in panels {
            for (xi, weight) in GAUSS {
                for x in [panel.mid - panel.half * xi, panel.mid + panel.half * xi] {
                    let point = segment.point(x, x.abs() + 2.0 * panel.half);
                    let mass = panel.half * weight * point.density;
                    self.push(point.loss, point.loss_error, mass, point.density_error + 4.0);
                }
            }
        }
    }

    /// Adds a node with the errors of its loss and its weight.
    fn push(&mut self, loss: f64, loss_error: f64, weight: f64, weight_error: f64) {
        self.loss.push(loss);
        self.loss_error.push(loss_error);
        self.weight.push(weight);
        self.weight_error.push(weight_error);
    }

    /// Number of nodes, each with a loss and a weight.
    pub(super) fn len(&self) -> usize {
        self.loss.len()
    }
}

/// Number of nodes of one panel.
pub(super) const PER_PANEL: usize = 2 * GAUSS.len();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
    use crate::accounting::contour::law::Laws;
    use crate::accounting::pair::DominatingPair;

    impl Panel {
        /// So many equal panels, whatever their error.
        pub(in crate::accounting::contour) fn equal(segment: &Segment, parts: i64) -> Vec<Self> {
            let edge = |i: i64| segment.from + (segment.to - segment.from) * i / parts;
            (0..parts).map(|i| panel_between(segment, edge(i), edge(i + 1))).collect()
        }
    }

    /// ∫ p e^{(c+iu)l} on the panels of a given budget, and the proved error.
    fn integral(segment: &Segment, c: f64, u: f64, budget: f64) -> (f64, f64, f64) {
        let (panels, error) = cover(segment, c, u, budget, 100_000).unwrap();
        let mut nodes = Nodes::default();
        nodes.add_panels(segment, &panels);
        let (mut re, mut im) = (0.0, 0.0);
        for (l, w) in nodes.loss.iter().zip(&nodes.weight) {
            re += w * libm::exp(c * l) * libm::cos(u * l);
            im += w * libm::exp(c * l) * libm::sin(u * l);
        }
        (re, im, error)
    }

    #[test]
    fn coarse_panels_stay_within_their_error() {
        for pair in [
            DominatingPair::GaussianRemove { q: 0.1, s: 1.0 },
            DominatingPair::GaussianAdd { q: 0.5, s: 0.4 },
            DominatingPair::GaussianSubstitute { q: 0.2, s: 0.7 },
            DominatingPair::GaussianFixed { q: 0.02, s: 2.0 },
            DominatingPair::LaplaceRemove { q: 0.4, s: 0.3 },
        ] {
            let laws = Laws::new(&[(pair.clone(), Steps::ONE)], 1e-12);
            for segment in &laws.laws[0].segments {
                for (c, u) in [(1.5, 0.0), (1.5, 30.0), (6.0, 100.0)] {
                    let (re, im, fine) = integral(segment, c, u, 1e-16);
                    let scale = integral(segment, c, 0.0, 1e-16).0.max(1.0);
                    for budget in [1e-2, 1e-5, 1e-9] {
                        let (a, b, error) = integral(segment, c, u, budget);
                        let off = libm::sqrt((a - re) * (a - re) + (b - im) * (b - im));
                        assert!(off <= error + fine + 1e-13 * scale, "{pair:?} {c} {u} {budget}: {off} > {error}");
                        assert!(error > 0.0);
                    }
                }
            }
        }
    }

    #[test]
    fn the_rule_integrates_polynomials_of_degree_31() {
        let exact = |k: i32| if k % 2 == 0 { 2.0 / f64::from(k + 1) } else { 0.0 };
        for k in [0, 1, 2, 16, 30, 31] {
            let sum: f64 =
                GAUSS.iter().map(|&(x, w)| w * (libm::pow(x, f64::from(k)) + libm::pow(-x, f64::from(k)))).sum();
            assert!((sum - exact(k)).abs() < 1e-15, "{k}: {sum}");
        }
    }
}
