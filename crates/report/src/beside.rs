//! A published table beside ours, as one page that leads to the reports of its columns.

use super::charts::charts;
use super::curves::ColumnCurves;
use super::figures::figures;
use super::measured::MeasuredTable;
use super::numbers::{divergence, error};
use super::page;
use super::promise::listed;
use super::summary::sentence;
use crate::svg::escape;
use inference::score::{Middle, Prominence, Score};
use std::path::PathBuf;
use study::{Cell, Chart, DIVERGENCE, Figure, Traced, differing};

/// Numbers of draws that have a table each, where there are any, before the scores on held-out rows.
const DRAWN: [(&str, &str); 4] = [
    ("mean_error", "Error of posterior means"),
    ("variance_error", "Error of posterior variances"),
    ("moved", "Share of draws that moved"),
    ("bulk_ess", "Effective sample size of all chains together, least of all parameters"),
];

/// What a page shows.
pub struct Beside<'a> {
    /// The table.
    pub name: &'a str,
    /// Its numbers.
    pub cells: &'a [Cell],
    /// What was measured beside scores.
    pub measured: &'a [MeasuredTable],
    /// Which of them are drawn.
    pub figures: &'a [Figure],
    /// Figures of other kinds, and the single runs that they show.
    pub charts: (&'a [Chart], &'a [Traced]),
    /// Figures along the way, and the rules of their legend.
    pub courses: Option<(String, String)>,
    /// The scores of each column against messages, where they were recorded.
    pub curves: &'a [ColumnCurves],
    /// Lines on what draws cost by other theorems, and what they are worth.
    pub theorems: &'a [String],
    /// Each column, and where its report is.
    pub reports: &'a [(String, PathBuf)],
}

/// The page: the figures, one table for each metric, and links to the reports.
pub fn beside(shown: &Beside<'_>) -> String {
    let Beside { name, cells, figures: asked, reports, .. } = *shown;
    let (mut toggles, courses) = shown.courses.clone().unwrap_or_default();
    toggles += shown.curves.first().map_or("", |first| &first.toggles);
    let published = cells.iter().any(|c| c.paper.is_some());
    let heading = if published { "Ours beside the paper" } else { "Methods compared" };
    let single = cells.iter().all(|c| c.seeds < 2);
    let mut body = format!("<header>\n<p class=\"kind\">Table</p>\n<h1>{}</h1>\n</header>\n", escape(name));
    let drawn = figures(asked, cells) + &charts(shown.charts.0, cells, shown.charts.1);
    if !drawn.is_empty() || !courses.is_empty() {
        body += &format!("<section><h2>Figures</h2>{courses}{drawn}</section>");
    }
    shown.measured.iter().for_each(|table| body += &table.html());
    body += &curves(shown.curves);
    body += &format!("<section><h2>{heading}</h2>");
    let held_out = scores(cells);
    for (metric, title) in DRAWN.into_iter().chain(held_out.iter().map(|score| (score.name, score.title))) {
        if cells.iter().any(|c| c.metric == metric) {
            body += &format!("<h3>{title}</h3>{}", table(metric, cells));
        }
    }
    if cells.iter().any(|c| c.metric == DIVERGENCE) {
        let medians = "Medians over seeds, with the values under and over which a tenth of them lies; of each seed the mean of \
                       its last ten rounds.";
        let words = if single { "The mean of the last ten rounds." } else { medians };
        body += &format!("<h3>KL(q ‖ exact posterior)</h3>{}<p>{words}</p>", table(DIVERGENCE, cells));
    }
    body += &if single {
        "<p>One seed was run: every number is that of one split and one draw of the noise, and how much another would differ is \
         not known."
            .to_owned()
    } else {
        format!("<p>{}", explained(&held_out))
    };
    body += if published { " A dash: the paper has no such number.</p></section>" } else { "</p></section>" };
    if !shown.theorems.is_empty() {
        let lines: String = shown.theorems.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
        body += &format!("<section><h2>What draws cost and are worth</h2><ul>{lines}</ul></section>");
    }
    let apart = differing(cells);
    if !apart.is_empty() {
        let lines: String = apart.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
        body += &format!("<section><h2>Where ours and the paper's differ</h2><ul>{lines}</ul></section>");
    }
    body += "<section><h2>Reports of the columns</h2><ul>";
    for (column, path) in reports {
        let path = path.display().to_string();
        body += &format!("<li><a href=\"{}\">{}</a></li>", escape(&path), escape(column));
    }
    body += "</ul></section>";
    page::document(name, &toggles, &body, env!("CARGO_PKG_VERSION"))
}

/// The curves of all columns with one legend, as a paper has them; nothing where none were recorded.
fn curves(columns: &[ColumnCurves]) -> String {
    let Some(first) = columns.first() else { return String::new() };
    let mut html = format!("<section><h2>Scores against messages</h2>{}", first.legend);
    for of in columns {
        html += &format!("<h3>{}</h3><div class=\"figures\">\n{}</div>\n", escape(&of.column), of.figures);
    }
    let bands = if first.bands { " Bands: mean ± standard deviation over seeds." } else { "" };
    html += &format!("<p>Horizontal lines show the final score of methods without a curve.{bands}</p></section>");
    html
}

/// The scores of these cells, in their order.
fn scores(cells: &[Cell]) -> Vec<&'static Score> {
    Score::shown_in(Prominence::Reproduced).filter(|score| cells.iter().any(|cell| cell.metric == score.name)).collect()
}

/// What of the seeds stands in the tables, and what the scores are.
fn explained(scores: &[&Score]) -> String {
    let of = |middle: Middle, shown: &str| {
        let labels: Vec<&str> = scores.iter().filter(|score| score.middle == middle).map(|score| score.label).collect();
        (!labels.is_empty()).then(|| format!("{}: {shown}.", sentence(&listed(&labels))))
    };
    let medians = of(Middle::Median, "medians over seeds, with their quartiles");
    let means = of(Middle::Mean, "means over seeds, with the standard deviation over seeds");
    let about = scores.iter().map(|score| score.about.to_owned()).filter(|about| !about.is_empty());
    medians.into_iter().chain(means).chain(about).collect::<Vec<_>>().join(" ")
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
    let published = cells.iter().any(|c| c.paper.is_some());
    let paper = if published { "<th>paper</th>" } else { "" };
    columns.iter().for_each(|c| html += &format!("<th>{}</th>{paper}", escape(c)));
    html += "</tr></thead><tbody>";
    for row in rows {
        html += &format!("<tr><th>{}</th>", escape(row));
        for column in &columns {
            let found = chosen.iter().find(|c| c.row == *row && c.column == **column);
            let ours = found.map_or_else(|| "–".to_owned(), |c| ours(c));
            html += &format!("<td>{ours}</td>");
            if published {
                let paper = found.and_then(|c| c.paper).map_or_else(|| "–".to_owned(), |p| format!("{p:.4}"));
                html += &format!("<td>{paper}</td>");
            }
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

fn ours(cell: &Cell) -> String {
    if cell.metric == "bulk_ess" {
        return if cell.seeds < 2 {
            format!("{:.0}", cell.ours)
        } else {
            format!("{:.0} ± {:.0}", cell.ours, cell.sd)
        };
    }
    if cell.metric == DIVERGENCE {
        let [median, low, high] = [cell.median, cell.low, cell.high].map(divergence);
        return if cell.seeds < 2 { median } else { format!("{median} ({low} to {high})") };
    }
    if cell.shows_median() {
        let [median, low, high] = [cell.median, cell.quarter, cell.three_quarters].map(error);
        return if cell.seeds < 2 { median } else { format!("{median} ({low} to {high})") };
    }
    if cell.seeds < 2 { format!("{:.4}", cell.ours) } else { format!("{:.4} ± {:.4}", cell.ours, cell.sd) }
}
