//! A law by hand, known so badly that each error of its nodes decides.

use super::super::quadrature::PER_PANEL;
use super::*;
use crate::Steps;
use crate::accounting::double::Double;
use crate::accounting::pair::DominatingPair;

const DU: f64 = 0.5;

const POINTS: usize = 40;

/// Nodes at these (loss, weight), with errors of losses and weights in plain numbers.
fn nodes(at: &[(f64, f64)], loss_error: f64, weight_error: f64) -> Nodes {
    Nodes {
        loss: at.iter().map(|n| n.0).collect(),
        weight: at.iter().map(|n| n.1).collect(),
        loss_error: vec![loss_error / U; at.len()],
        weight_error: vec![weight_error / U; at.len()],
    }
}

fn law(steps: f64, lost: f64, infinite: f64) -> SegmentedLaw {
    SegmentedLaw { segments: Vec::new(), atoms: Vec::new(), infinite, lost, steps }
}

/// M(c) and φ(k du) of the nodes, with the rest of probability one at loss 0.
fn direct(at: &[(f64, f64)], c: f64) -> (f64, Vec<(f64, f64)>) {
    let m = 1.0 + at.iter().map(|(l, w)| w * libm::expm1(c * l)).sum::<f64>();
    let phi = |k: usize| {
        let u = k as f64 * DU;
        at.iter().fold((1.0, 0.0), |(re, im), (l, w)| {
            let size = w * libm::exp(c * l) / m;
            (re + size * (libm::cos(u * l) - 1.0), im + size * libm::sin(u * l))
        })
    };
    (m, (0..POINTS).map(phi).collect())
}

const AT: [(f64, f64); 3] = [(-0.6, 0.3), (0.4, 0.3), (1.1, 0.2)];

/// Whether a factor's logarithms cover the φ of other nodes, and M(c) theirs.
fn covers(factor: &Factor, others: &[(f64, f64)], c: f64) -> (bool, bool) {
    let (m, phi) = direct(others, c);
    let mut sums: Vec<FactorSum> =
        (0..POINTS).map(|_| FactorSum { log_amplitude: 0.0, angle: 0.0, error: 0.0, size: 0.0 }).collect();
    factor.add_to(&mut sums, &mut vec![(0.0, 0.0); POINTS], DU, c);
    let steps = factor.law.steps;
    let near = |(sum, (re, im)): (&FactorSum, &(f64, f64))| {
        let log = steps * 0.5 * libm::log(re * re + im * im) - sum.log_amplitude;
        let turn = steps * libm::atan2(*im, *re) - sum.angle;
        let turn = turn - std::f64::consts::TAU * (turn / std::f64::consts::TAU).round();
        log.hypot(turn) <= sum.error + 1e-12
    };
    let moment = (1.0 + factor.moment.excess - m).abs() <= factor.moment.error + 1e-14;
    (moment, sums.iter().zip(&phi).all(near))
}

fn factor<'a>(law: &'a SegmentedLaw, nodes: Nodes, quadrature: f64, c: f64) -> Factor<'a> {
    let moment = moment(&nodes, c, quadrature, law);
    Factor { law, panels: Vec::new(), nodes, quadrature, moment }
}

/// Losses and weights that are off by what is said of them: M(c) and φ are covered, and would not be otherwise.
#[test]
fn errors_of_losses_and_weights_reach_the_moment_and_the_integrand() {
    let (c, many) = (2.0, law(3.0, 0.0, 0.0));
    for sign in [-1.0, 1.0] {
        let moved = AT.map(|(l, w)| (l + sign * 1e-4, w));
        let heavier = AT.map(|(l, w)| (l, w * (1.0 + sign * 1e-4)));
        assert_eq!(covers(&factor(&many, nodes(&AT, 1e-4, 0.0), 0.0, c), &moved, c), (true, true));
        assert_eq!(covers(&factor(&many, nodes(&AT, 0.0, 1e-4), 0.0, c), &heavier, c), (true, true));
        let known = factor(&many, nodes(&AT, 0.0, 0.0), 0.0, c);
        assert_eq!(covers(&known, &moved, c), (false, false));
        assert_eq!(covers(&known, &heavier, c), (false, false));
        assert_eq!(covers(&known, &AT, c), (true, true));
    }
}

/// Two losses of either sign, of which one is heavier than it seems and the other lighter: M(c) hardly moves, and φ turns.
#[test]
fn weights_that_are_off_in_both_directions_turn_the_integrand() {
    let (c, many) = (0.1, law(3.0, 0.0, 0.0));
    let at = [(-0.5, 0.3), (0.5, 0.3)];
    let turned = [(-0.5, 0.3 * (1.0 - 1e-4)), (0.5, 0.3 * (1.0 + 1e-4))];
    assert_eq!(covers(&factor(&many, nodes(&at, 0.0, 1e-4), 0.0, c), &turned, c), (true, true));
    let only_moment = Factor { nodes: nodes(&at, 0.0, 0.0), ..factor(&many, nodes(&at, 0.0, 1e-4), 0.0, c) };
    assert_eq!(covers(&only_moment, &turned, c), (true, false));
    // The same law, moved: at a small tilt the weights hardly move, and φ turns by the move.
    let moved = at.map(|(l, w)| (l + 1e-4, w));
    assert_eq!(covers(&factor(&many, nodes(&at, 1e-4, 0.0), 0.0, c), &moved, c), (true, true));
}

/// A node that the quadrature has missed, and an outcome that was cut.
#[test]
fn what_the_nodes_miss_reaches_the_moment_and_the_integrand() {
    let (c, many) = (2.0, law(3.0, 0.0, 0.0));
    let missed = [AT.as_slice(), &[(0.9, 1e-4)]].concat();
    // Its integrals: w(e^{cl} − 1), and w e^{cl}|e^{iul} − 1|.
    let size = 1e-4 * (libm::exp(2.0 * 0.9) * 2.0);
    assert_eq!(covers(&factor(&many, nodes(&AT, 0.0, 0.0), size, c), &missed, c), (true, true));
    assert_eq!(covers(&factor(&many, nodes(&AT, 0.0, 0.0), 0.0, c), &missed, c), (false, false));
    // Beside a law that is almost all at loss 0, M(c) covers what is missed of it and φ does not.
    let (light, missed) = ([(0.4, 1e-3)], [(0.4, 1e-3), (0.9, 1e-4)]);
    let known = factor(&many, nodes(&light, 0.0, 0.0), size, c);
    assert_eq!(covers(&known, &missed, c), (true, true));
    assert_eq!(covers(&Factor { quadrature: 0.0, ..known }, &missed, c), (true, false));
    // Cut mass has no place in M(c) − 1 = ∫ (e^{cl} − 1) − η'.
    let cut = law(3.0, 1e-4, 0.0);
    let with = moment(&nodes(&AT, 0.0, 0.0), c, 0.0, &cut);
    let less = with.excess - 1e-4;
    assert!((with.excess - less).abs() <= with.error);
    // And what has an infinite loss is not in M(c) at all.
    let infinite = moment(&nodes(&AT, 0.0, 0.0), c, 0.0, &law(3.0, 0.0, 0.05));
    assert!((infinite.excess - (with.excess - 0.05)).abs() < 1e-12);
}

/// What is not known of M(c) is divided out of φ, and is a common factor of all.
#[test]
fn the_error_of_the_moment_reaches_the_integrand() {
    let (c, many) = (2.0, law(3.0, 0.0, 0.0));
    let known = factor(&many, nodes(&AT, 0.0, 0.0), 0.0, c);
    let (m, phi) = direct(&AT, c);
    let off = 1e-3;
    let vague = Factor { moment: Moment { error: off, ..known.moment }, ..known };
    let mut sums: Vec<FactorSum> =
        (0..POINTS).map(|_| FactorSum { log_amplitude: 0.0, angle: 0.0, error: 0.0, size: 0.0 }).collect();
    vague.add_to(&mut sums, &mut vec![(0.0, 0.0); POINTS], DU, c);
    for ((re, im), sum) in phi.iter().zip(&sums) {
        // φ − 1 with another M.
        let share = m / (m - off);
        let (a, b) = ((re - 1.0) * share, im * share);
        let (log, arg) = (0.5 * libm::log((1.0 + a) * (1.0 + a) + b * b), libm::atan2(b, 1.0 + a));
        let gap = 3.0 * (log - 0.5 * libm::log(re * re + im * im)).hypot(arg - libm::atan2(*im, *re));
        assert!(gap <= sum.error + 1e-12, "{gap:e} {:e}", sum.error);
    }
    assert!(sums[POINTS - 1].error > 1e-4);
}

/// Plain sums of many nodes: M(c) − 1 in about 106 bits.
#[test]
fn the_rounding_of_the_moment_is_covered() {
    let (c, one, mut shown) = (1.3, law(1.0, 0.0, 0.0), 0);
    for n in 1..60_u32 {
        let at: Vec<(f64, f64)> = (0..7 * n).map(|i| (f64::from(i) * 0.013 - 1.0, 0.7 / f64::from(7 * n))).collect();
        let found = moment(&nodes(&at, 0.0, 0.0), c, 0.0, &one);
        let exact = at.iter().fold(Double::of(0.0), |sum, (l, w)| {
            let grown = Double::of(c).times(Double::of(*l)).exp().minus(Double::of(1.0));
            sum.plus(grown.times(Double::of(*w)))
        });
        let off = exact.off(found.excess).abs();
        assert!(off <= found.error && found.error < 1e-10, "{n}: {off:e} {:e}", found.error);
        shown += usize::from(off > UNDERFLOW);
    }
    assert!(shown > 30, "{shown}: the rounding must show");
    // A tilt so steep that weights which have underflowed would matter has no bound.
    assert_eq!(moment(&nodes(&[(1.0, 0.5)], 0.0, 0.0), 601.0, 0.0, &one).error, f64::INFINITY);
}

/// A true φ that is off by a tenth in any direction; and one that has vanished.
#[test]
fn logarithms_of_what_is_known_roughly_are_covered() {
    for (a, b) in [(-0.1, 0.2), (-0.9, 0.3), (-1.4, -0.2), (0.0, 0.0)] {
        // |true φ / φ − 1| is a tenth of 1/|φ| at most, and at most e^error − 1.
        let (found, known) = (Logarithm::new(a, b, 0.1), Logarithm::new(a, b, 0.0));
        let ratio = 0.1 / libm::hypot(1.0 + a, b);
        assert!(ratio <= libm::expm1(found.error) * (1.0 + 1e-12), "{a} {b}: {}", found.error);
        assert!(ratio > 1e6 * known.error, "{a} {b}: it must show");
    }
    for (a, b) in [(-1.0, 0.0), (-1.0, 1e-13), (-1.0 + 1e-14, 0.0)] {
        let Logarithm { log, error, .. } = Logarithm::new(a, b, 0.0);
        let stands_for = libm::exp(log);
        let off = libm::hypot(1.0 + a, b) + stands_for;
        assert!(off <= stands_for * libm::expm1(error) * (1.0 + 1e-9), "{a} {b}: {off:e}");
    }
}

/// log|φ| and arg φ in about 106 bits, near one and far from it.
#[test]
fn the_rounding_of_logarithms_is_covered() {
    let mut shown = [0; 2];
    for i in 0..400 {
        let (a, b) = match i % 2 {
            0 => (-1e-5 * f64::from(i), 3e-4 * libm::sin(f64::from(i))),
            _ => (-0.7 - 5e-4 * f64::from(i), 0.3 * libm::cos(f64::from(i))),
        };
        let found = Logarithm::new(a, b, 0.0);
        let (re, im) = (Double::of(1.0).plus(Double::of(a)), Double::of(b));
        let log = re.times(re).plus(im.times(im)).ln().times(Double::of(0.5));
        // Turned back by the angle that was found, φ is real but for what the angle is off by.
        let (cos, sin) = Double::of(found.arg).cos_sin();
        let turned = im.times(cos).minus(re.times(sin)).over(log.exp());
        let off = log.off(found.log).hypot(turned.0);
        assert!(off <= found.error, "{a} {b}: {off:e} {:e}", found.error);
        shown[i as usize % 2] += usize::from(off > 0.0);
    }
    assert!(shown.iter().all(|n| *n > 100), "{shown:?}: the rounding must show");
}

/// Panels so wide that the rule is off by a hundredth: its error is in M(c), which has a closed form.
#[test]
fn the_error_of_wide_panels_is_covered() {
    let (q, s) = (0.2, 1.3);
    let laws = Laws::new(&[(DominatingPair::GaussianRemove { q, s }, Steps::ONE)], 1e-30);
    let (law, segment) = (&laws.laws[0], &laws.laws[0].segments[0]);
    let exact = q * q * libm::expm1(1.0 / (s * s));
    let mut shown = 0;
    for parts in 1..9 {
        let panels = Panel::equal(segment, parts);
        let mut nodes = Nodes::default();
        nodes.add_panels(segment, &panels);
        assert_eq!(nodes.len(), PER_PANEL * panels.len());
        let quadrature = quadrature_error(law, &[panels], 1.0, 0.0);
        let found = moment(&nodes, 1.0, quadrature, law);
        let off = (found.excess - exact).abs();
        assert!(off <= found.error, "{parts}: {off:e} {:e}", found.error);
        let bare = moment(&nodes, 1.0, 0.0, law);
        shown += usize::from(off > bare.error);
    }
    assert!(shown > 0, "the rule must be seen to be off");
}
