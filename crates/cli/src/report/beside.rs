//! A published table beside ours, as one page that leads to the reports of its columns.

use super::figures::figures;
use super::numbers::divergence;
use super::page;
use crate::study::{Cell, Figure};
use crate::svg::escape;
use std::path::PathBuf;

/// The page: the figures, one table for each metric, and links to the reports.
pub(crate) fn beside(name: &str, cells: &[Cell], asked: &[Figure], reports: &[(String, PathBuf)]) -> String {
    let mut body = format!("<section><h2>Ours beside the paper</h2>{}", figures(asked, cells));
    for (metric, title) in [("accuracy", "Accuracy"), ("log_likelihood", "Mean held-out log-likelihood")] {
        if cells.iter().any(|c| c.metric == metric) {
            body += &format!("<h3>{title}</h3>{}", table(metric, cells));
        }
    }
    if cells.iter().any(|c| c.metric == "kl") {
        body += &format!(
            "<h3>KL(q ‖ exact posterior)</h3>{}<p>Medians over seeds, with the values under and over which a tenth of \
             them lies; of each seed the mean of its last ten rounds.</p>",
            table("kl", cells)
        );
    }
    body += "<p>Means over seeds, with the deviation over seeds. A dash: the paper has no such number.</p></section>";
    body += "<section><h2>Reports of the columns</h2><ul>";
    for (column, path) in reports {
        let path = path.display().to_string();
        body += &format!("<li><a href=\"{}\">{}</a></li>", escape(&path), escape(column));
    }
    body += "</ul></section>";
    page::document(name, "", &body, env!("CARGO_PKG_VERSION"))
}

fn table(metric: &str, cells: &[Cell]) -> String {
    let chosen: Vec<&Cell> = cells.iter().filter(|c| c.metric == metric).collect();
    let distinct = |of: fn(&Cell) -> &String| {
        let mut seen: Vec<&String> = Vec::new();
        chosen.iter().map(|c| of(c)).for_each(|v| {
            if !seen.contains(&v) {
                seen.push(v)
            }
        });
        seen
    };
    let (rows, columns) = (distinct(|c| &c.row), distinct(|c| &c.column));
    let mut html = String::from("<div class=\"wide\"><table><thead><tr><th>method</th>");
    columns.iter().for_each(|c| html += &format!("<th>{}</th><th>paper</th>", escape(c)));
    html += "</tr></thead><tbody>";
    for row in rows {
        html += &format!("<tr><th>{}</th>", escape(row));
        for column in &columns {
            html += &match chosen.iter().find(|c| c.row == *row && c.column == **column) {
                Some(c) => format!(
                    "<td>{}</td><td>{}</td>",
                    if metric == "kl" {
                        let [median, low, high] = [c.median, c.low, c.high].map(divergence);
                        format!("{median} ({low} to {high})")
                    } else {
                        format!("{:.4} ± {:.4}", c.ours, c.sd)
                    },
                    c.paper.map_or_else(|| "–".to_owned(), |p| format!("{p:.4}"))
                ),
                None => "<td>–</td><td>–</td>".to_owned(),
            };
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}
