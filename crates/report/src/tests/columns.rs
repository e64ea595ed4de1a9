//! The page of a table shows the scores of all its columns against messages, with one legend.

use super::{sample, well_formed};
use crate::{Beside, against_messages, beside};

fn page(columns: &[&str]) -> String {
    let curves: Vec<_> = columns.iter().filter_map(|column| against_messages(column, &sample())).collect();
    beside(&Beside {
        name: "table",
        cells: &[],
        coverage: &[],
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
