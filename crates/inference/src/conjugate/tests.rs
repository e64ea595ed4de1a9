//! What of a row is summed, and how far one row moves the sum.

use super::*;

const ALL: [RowStatistics; 4] = [
    RowStatistics::Value { low: 0.0, high: 1.0 },
    RowStatistics::Value { low: -3.0, high: 40.0 },
    RowStatistics::Level { levels: 4 },
    RowStatistics::Moments { low: -2.0, high: 5.0 },
];

/// Every pair of rows, outcomes outside of the bounds among them, moves a sum by no more than it states; and some pair by as much.
#[test]
fn the_sensitivity_is_that_of_the_worst_pair_of_rows() {
    for asked in ALL {
        let outcomes: Vec<f64> = (-60..=240).map(|i| 0.25 * f64::from(i)).collect();
        let vectors: Vec<Vec<f64>> = outcomes
            .iter()
            .map(|y| {
                let mut vector = Vec::new();
                asked.of(*y, &mut vector);
                vector
            })
            .collect();
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        let pairs = vectors.iter().flat_map(|a| vectors.iter().map(move |b| (a, b)));
        let worst = pairs.map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
        assert!((worst - asked.sensitivity()).abs() < 1e-12, "{asked:?}: {worst}");
        let bound = if asked.is_non_negative() { SQRT_2 } else { 1.0 };
        let (centre, none) = (asked.centre(), vec![0.0; asked.numbers()]);
        for vector in &vectors {
            let moved: Vec<f64> = vector.iter().zip(&centre).map(|(v, c)| (v - c) / asked.reach()).collect();
            assert!(distance(&moved, &none) <= bound + 1e-12, "{asked:?}: {vector:?}");
        }
    }
}

#[test]
fn questions_without_a_meaning_are_told_apart() {
    assert!(ALL.iter().all(RowStatistics::is_sound));
    for wrong in [
        RowStatistics::Value { low: 1.0, high: 1.0 },
        RowStatistics::Value { low: f64::NAN, high: 1.0 },
        RowStatistics::Moments { low: f64::MIN, high: f64::MAX },
        RowStatistics::Level { levels: 1 },
    ] {
        assert!(!wrong.is_sound(), "{wrong:?}");
    }
}
