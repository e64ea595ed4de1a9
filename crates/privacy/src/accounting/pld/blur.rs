//! A lower bound for finite laws of any kind: connecting the dots blurs the total loss, and little is lost by the blur.
//!
//! Connect the dots of every atom on nodes one step h apart. Given the true losses, step i then has the loss L_i + ξ_i with
//! independent ξ_i in an interval of length h and E e^{−ξ_i} = 1. So Y of the composition becomes Y·M, M = Π e^{−ξ_i},
//! E[M | L] = 1, and δ of the connected law exceeds δ by E[gap(e^ε Y)], gap(u) = E(1 − uM)₊ − (1 − u)₊. With T steps:
//!
//! * Var M ≤ V = (1 + sinh²(h/2))^T − 1 (two points e^{±} apart), hence gap(u) ≤ ½√V always;
//! * 0 ≤ E ξ_i ≤ h²/8 (Jensen; Hoeffding's lemma), and the same for −ξ_i under M·P. By Hoeffding's inequality under both,
//!   |log u| > t gives gap(u) ≤ e^{−2(t − Th²/8)²/(Th²)} = τ;
//! * the total loss S of the connected law is within t of the true one except with probability 2τ.
//!
//! Together: δ ≥ δ_connected − ½√V (P(|S − ε| ≤ 2t) + 2τ) − τ. The error is of second order in h, whatever the atoms.

use super::evaluate::DeltaCurve;

/// The composition of connected dots, rounded down, and what was lost by rounding.
pub(super) struct BlurredCurve {
    curve: DeltaCurve,
    /// T: steps of the composition.
    steps: f64,
    /// h: step of the grid.
    step: f64,
    /// P-mass that rounding has taken away in all steps together.
    missing: f64,
}

impl BlurredCurve {
    /// A bound from the curve of `steps` laws on a grid of width `step`.
    pub(super) fn new(curve: DeltaCurve, steps: f64, step: f64, missing: f64) -> Self {
        Self { curve, steps, step, missing }
    }

    /// δ(ε) from below; `precision` is how small τ is to be, which decides t.
    pub(super) fn lower(&self, epsilon: f64, precision: f64) -> f64 {
        let square = self.steps * self.step * self.step * (1.0 + 1e-9);
        let tail = precision.clamp(1e-300, 0.1);
        let reach = (0.125 * square + (-0.5 * square * libm::log(tail)).sqrt()) * (1.0 + 1e-9);
        let sinh = libm::sinh(0.5 * self.step);
        let spread = (libm::expm1(self.steps * libm::log1p(sinh * sinh))).sqrt() * (1.0 + 1e-9);
        let near = self.curve.mass_near(epsilon, 2.0 * reach) + self.missing;
        let lost = 0.5 * spread * (near + 2.0 * tail) + tail;
        (self.curve.lower(epsilon) - lost * (1.0 + 1e-9)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Interval;
    use super::super::discretise::{LossGrid, connected};
    use super::super::fft::{RepeatedMasses, Settings, compose};
    use super::super::law::LossLaw;
    use super::*;
    use realfft::RealFftPlanner;

    /// One loss halfway between two nodes: connecting the dots adds an eighth where δ is 0, and that is taken off again.
    #[test]
    fn what_the_blur_adds_is_subtracted() {
        let (loss, step) = (1.25, 0.5);
        let law = LossLaw {
            density: None,
            atoms: vec![(Interval::exact(loss), Interval::exact(1.0))],
            infinite: Interval::exact(0.0),
        };
        let grid = LossGrid { step, anchor: 0.0, fine: 1 << 10 };
        let masses = connected(&law, &grid);
        let settings = Settings { tilt: 1.0, step, size: 1024, start: -512 };
        let composed =
            compose(&[RepeatedMasses { masses: &masses, count: 1 }], settings, false, &mut RealFftPlanner::new())
                .unwrap();
        let blurred = BlurredCurve::new(DeltaCurve::new(composed, Interval::exact(0.0), 0.0), 1.0, step, 0.0);
        assert!(blurred.curve.lower(loss) > 0.12, "the blur must show: {}", blurred.curve.lower(loss));
        for i in 0..60 {
            let epsilon = 0.025 * f64::from(i);
            let exact = (-libm::expm1(epsilon - loss)).max(0.0);
            assert!(blurred.lower(epsilon, 1e-9) <= exact, "{epsilon}");
        }
    }
}
