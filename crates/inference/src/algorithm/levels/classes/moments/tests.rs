//! Scores and slopes against simulated inputs, against the logistic model, and against each other.

use super::*;
use crate::draws::standard_normals;
use chacha20::ChaCha8Rng;
use rand_core::SeedableRng;

/// Three numbers and an intercept.
fn inputs() -> InputMoments {
    InputMoments::new(50.0, vec![0.81, 0.45, 0.74, -0.2, 0.1, 0.5], 3)
}

fn theta(classes: usize) -> Vec<f64> {
    (0..4 * (classes - 1)).map(|k| 0.8 * libm::sin(1.0 + 2.3 * k as f64)).collect()
}

fn close(what: &str, found: &[f64], expected: &[f64], slack: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() < slack, "{what} {k}: {x}, expected {y}");
    }
}

#[test]
fn two_classes_are_a_logistic_model() {
    let (inputs, logits) = (inputs(), ClassLogits::new(2));
    let moments = ClassMoments { inputs: &inputs, logits: &logits };
    let contrasts = theta(2);
    // a₁ − a₀ = √2·contrast, and the contrast of (1 − σ, σ) is (2σ − 1)/√2.
    let root = 2_f64.sqrt();
    let single: Vec<f64> = contrasts.iter().map(|t| root * t).collect();
    let (at, one) = (moments.at(&contrasts).unwrap(), inputs.at(&single));
    let expected: Vec<f64> =
        one.score().iter().enumerate().map(|(j, g)| root * g - if j == 3 { 50.0 / root } else { 0.0 }).collect();
    close("score", &moments.score(&at), &expected, 1e-6);
    let slope: Vec<f64> = one.slope(&inputs).iter().map(|h| 2.0 * h).collect();
    close("slope", &moments.slope(&at).packed(), &slope, 1e-3);
    assert!((at.secant() - 2.0 * one.bound() / 50.0).abs() < 1e-3, "{} {}", at.secant(), one.bound());
}

#[test]
fn scores_and_slopes_are_those_of_gaussian_inputs() {
    for classes in [3, 5] {
        let (inputs, logits) = (inputs(), ClassLogits::new(classes));
        let moments = ClassMoments { inputs: &inputs, logits: &logits };
        let (theta, count) = (theta(classes), classes - 1);
        let factor = cholesky(inputs.covariance(), 3).unwrap();
        let (draws, mut rng) = (100_000, ChaCha8Rng::from_seed([5; 32]));
        let mut normals = vec![0.0; 3 * draws];
        standard_normals(&mut rng, &mut normals);
        let (mut score, mut slope) = (vec![0.0; 4 * count], vec![0.0; packed(4 * count)]);
        let (mut p, mut contrasts) = (vec![0.0; classes], vec![0.0; count]);
        for g in normals.chunks(3) {
            let mut z: Vec<f64> = (0..3).map(|i| dot(&factor[place(i, 0)..=place(i, i)], &g[..=i])).collect();
            z.push(1.0);
            let a: Vec<f64> = theta.chunks(4).map(|one| dot(one, &z)).collect();
            logits.contrasts.spread(&a, &mut p);
            softmax(&mut p);
            logits.contrasts.of(&p, &mut contrasts);
            let mut w = vec![0.0; packed(count)];
            logits.contrasts.add_curvature(50.0 / draws as f64, &p, &contrasts, &mut w);
            for i in 0..4 * count {
                score[i] += 50.0 * contrasts[i / 4] * z[i % 4] / draws as f64;
                (0..=i).for_each(|j| slope[place(i, j)] += w[place(i / 4, j / 4)] * z[i % 4] * z[j % 4]);
            }
        }
        let at = moments.at(&theta).unwrap();
        // Four standard errors of the simulation; frames of five classes err by as much again.
        close("score", &moments.score(&at), &score, if classes == 3 { 0.4 } else { 0.6 });
        close("slope", &moments.slope(&at).packed(), &slope, 0.4);
    }
}

#[test]
fn the_slope_is_the_derivative_of_the_score_and_products_are_of_it() {
    let (inputs, logits) = (inputs(), ClassLogits::new(3));
    let moments = ClassMoments { inputs: &inputs, logits: &logits };
    let theta = theta(3);
    let at = moments.at(&theta).unwrap();
    let (slope, size) = (moments.slope(&at), theta.len());
    let h = slope.packed();
    for j in 0..size {
        let moved = |by: f64| {
            let mut theta = theta.clone();
            theta[j] += by;
            moments.score(&moments.at(&theta).unwrap())
        };
        let found: Vec<f64> = moved(1e-4).iter().zip(moved(-1e-4)).map(|(up, down)| (up - down) / 2e-4).collect();
        let exact: Vec<f64> = (0..size).map(|i| h[place(i.max(j), i.min(j))]).collect();
        close("derivative", &found, &exact, 0.02);
    }
    let v: Vec<f64> = (0..size).map(|k| libm::cos(k as f64)).collect();
    close("product", &slope.times(&v), &symmetric_times(&h, &v), 1e-9);
}
