//! The page of a table shows the scores of all its columns against messages, with one legend.

use super::{sample, well_formed};
use crate::{Beside, MeasuredTable, against_messages, beside};
use inference::comparison::Difference;
use study::{EpsilonStep, RegretCell};

fn page(columns: &[&str]) -> String {
    page_with(columns, &[])
}

fn page_with(columns: &[&str], measured: &[MeasuredTable]) -> String {
    let curves: Vec<_> = columns.iter().filter_map(|column| against_messages(column, &sample())).collect();
    beside(&Beside {
        name: "table",
        cells: &[],
        measured,
        figures: &[],
        charts: (&[], &[]),
        courses: None,
        curves: &curves,
        theorems: &[],
        reports: &[],
    })
}

#[test]
fn a_table_shows_the_curves_of_every_column_with_one_legend() {
    let columns = ["balanced", "unbalanced <2>"];
    let html = page(&columns);
    well_formed(&html);
    assert_eq!(html.matches("Scores against messages").count(), 1);
    assert_eq!(html.matches("class=\"legend\"").count(), 1, "the methods are the study's");
    assert_eq!(html.matches("<figcaption>Log-likelihood against messages").count(), 2);
    assert_eq!(html.matches("<figcaption>Accuracy against messages").count(), 2);
    assert!(html.contains("<h3>balanced</h3>") && html.contains("<h3>unbalanced &lt;2&gt;</h3>"), "{html}");
    let mut ids: Vec<&str> = html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is used twice");
    assert!(html.contains("section:has(#show"), "the legend hides nothing");
}

#[test]
fn without_scores_along_the_way_there_is_no_such_section() {
    let mut results = sample();
    results.methods.iter_mut().for_each(|method| method.curves.clear());
    assert!(against_messages("balanced", &results).is_none());
    assert!(!page(&[]).contains("Scores against messages"));
}

/// Found: regret and steps of ε stood on the terminal alone, and were lost when it was closed.
#[test]
fn what_was_measured_beside_scores_stands_on_the_page_as_on_the_terminal() {
    let difference = |mean: f64| Difference { mean, standard_error: Some(0.001), seeds: 5, seen: Some(true) };
    let step = |epsilon: f64, step: Option<f64>| EpsilonStep {
        column: "heart <alone>".into(),
        method: "default".into(),
        epsilon,
        score: -0.41,
        step: step.map(difference),
        to_non_private: Some(difference(-0.02)),
        to_constant: None,
    };
    let steps = [step(1.0, None), step(3.0, Some(-0.03))];
    let regret = RegretCell {
        column: "heart".into(),
        method: "DP optimisation".into(),
        derived: -0.42,
        best: "clip 2".into(),
        regret: difference(0.02),
        chosen_afterwards: 0.03,
        least_over_constant: Some(-0.01),
    };
    let tables = || {
        [MeasuredTable::epsilon_steps(&steps), MeasuredTable::regret(std::slice::from_ref(&regret))].map(Option::unwrap)
    };
    let html = page_with(&[], &tables());
    well_formed(&html);
    for words in ["heart &lt;alone&gt;; default", "<td class=\"n\">-0.0300 ± 0.0010</td>", "What every ε gains"] {
        assert!(html.contains(words), "{words}: {html}");
    }
    let [steps, regret] = tables().map(|table| table.text(None));
    assert!(steps.contains("YES") && steps.contains("1 of 1 steps to a larger ε lose"), "{steps}");
    assert!(regret.contains("1 of 1 cells lose more") && regret.contains("1 have a seed behind"), "{regret}");
    assert!(MeasuredTable::coverage(&[]).is_none());
}
