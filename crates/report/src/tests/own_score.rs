//! A score that the list does not have goes from predictions to the page by its description alone.

use super::*;
use inference::Prediction;
use inference::score::{ALL, Better, Digits, HeldOut, Middle, Prominence, ScoreUnit, ScoredOutcome, Scores};

/// The mean squared distance of the probability of class 1 from what was found.
const BRIER: &Score = &Score {
    name: "own_brier",
    word: "own-brier",
    label: "own Brier score",
    short: "Brier",
    title: "Brier score",
    about: "The Brier score is a mean squared distance of probabilities.",
    legend: "Brier mean squared distance of probabilities",
    better: Better::Lower,
    outcome: ScoredOutcome::Class,
    unit: ScoreUnit::Plain,
    digits: Digits { table: 4, text: 3 },
    middle: Middle::Mean,
    prominence: Prominence::Leading,
    compared: true,
    compute: |held_out| {
        let squares = held_out.probabilities().map(|(p, one)| (p - f64::from(u8::from(one))).powi(2));
        let squares: Vec<f64> = squares.collect();
        (!squares.is_empty()).then(|| squares.iter().sum::<f64>() / squares.len() as f64)
    },
};

/// Scores of three rows of class 1 that all got this probability.
fn scores(probability: f64) -> Scores<f64> {
    let predictions = vec![Prediction::Probability(probability); 3];
    let held_out = HeldOut { predictions: &predictions, outcomes: &[1.0; 3] };
    Scores::of(ALL.iter().copied().chain([BRIER]), &held_out)
}

#[test]
fn a_score_of_ones_own_is_in_results_tables_curves_and_comparisons() {
    let mut results = sample();
    for (number, method) in results.methods.iter_mut().enumerate() {
        let seeds = [0.5, 0.75].map(|p| scores(p - 0.01 * number as f64));
        method.scores = Scores::summarised(&seeds.each_ref());
        method.sites = results
            .data
            .clients
            .iter()
            .map(|client| SiteResult { name: client.name.clone(), scores: method.scores.clone() })
            .collect();
        for point in method.curves.iter_mut().flat_map(|curve| &mut curve.points) {
            point.scores = seeds[0].clone();
        }
    }
    let found = results.methods[0].scores.get("own_brier").unwrap();
    assert_eq!(found.per_seed, [0.25, 0.0625]);

    let text = serde_json::to_string(&results).unwrap();
    assert!(text.contains("\"own_brier\":{\"mean\":0.15625"), "in results.json");
    let page = sound(&results);
    for words in [
        "own Brier score</th>",
        "0.1562<span class=\"sd\">± 0.1326</span>",
        "The Brier score is a mean squared distance of probabilities.",
        "Own Brier score against messages",
        "Own Brier score, by site",
        "Own Brier score less that of the baselines: under 0 is better",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let shown = table(&results, Terminal { width: 200, colour: false });
    assert!(shown.contains("Brier") && shown.contains("0.1562 ± 0.1326"), "{shown}");
    assert!(shown.contains("Brier mean squared distance of probabilities;"), "{shown}");
}
