//! Budget per site: what was granted and what was spent, certified.

use super::numbers::bound;
use super::page::{figure, note, section as titled};
use super::standing::{Placed, Standing};
use crate::svg::{Axis, Bar, RowPlot, Shown, SvgRow};
use inference::results::{ClientSpending, PrivacyResult};
use study::digits::shortest;

/// Most sites that have a bar each.
const BARS: usize = 24;

/// One figure for each private method; nothing without any.
pub(crate) fn section(standing: &Standing) -> String {
    let private = || standing.methods().filter_map(|m| Some((m, m.method.privacy.as_ref()?)));
    let widest = private().flat_map(|(_, p)| p.clients.iter().map(|c| c.certified).chain([p.epsilon]));
    let widest = widest.filter(|e| e.is_finite()).fold(0.0, f64::max);
    let figures: String = private().map(|(placed, privacy)| one(placed, privacy, widest)).collect();
    if figures.is_empty() {
        return String::new();
    }
    let words =
        "The frame is the site's grant. The bar is the certified upper bound of what the events in its ledger cost.";
    titled("budget", "Budget per site", &format!("<div class=\"figures\">\n{figures}</div>\n{}", note(words)))
}

fn one(placed: Placed, privacy: &PrivacyResult, widest: f64) -> String {
    let name = &placed.method.name;
    let rows: Vec<SvgRow> = shown(&privacy.clients)
        .into_iter()
        .map(|(label, client)| {
            let granted = client.granted(privacy.epsilon);
            let bar = Bar { used: client.certified, granted, mark: placed.mark };
            SvgRow { name: label, shown: Shown::Bar(bar), words: words(client, granted) }
        })
        .collect();
    let described: Vec<&str> = rows.iter().map(|row| row.words.as_str()).collect();
    let described = described.join(" ");
    let plot = RowPlot { title: format!("Budget of {name}"), axis: Axis::between("ε", 0.0, widest * 1.02), rows };
    figure(&plot.figure(&format!("budget-{}", placed.number), &described), &caption(name, privacy))
}

/// Every site, or the extremes and the middle of many.
fn shown(clients: &[ClientSpending]) -> Vec<(String, &ClientSpending)> {
    if clients.len() <= BARS {
        return clients.iter().map(|client| (client.name.clone(), client)).collect();
    }
    let mut sorted: Vec<&ClientSpending> = clients.iter().collect();
    sorted.sort_by(|a, b| b.certified.total_cmp(&a.certified).then_with(|| a.name.cmp(&b.name)));
    let quantiles = [("most", 0), ("upper quarter", 1), ("middle", 2), ("lower quarter", 3), ("least", 4)];
    let last = sorted.len() - 1;
    quantiles.into_iter().map(|(label, quarter)| (label.to_owned(), sorted[last * quarter / 4])).collect()
}

fn words(client: &ClientSpending, granted: f64) -> String {
    format!("{}: {} of {} spent.", client.name, bound(client.certified), shortest(granted))
}

fn caption(name: &str, privacy: &PrivacyResult) -> String {
    match privacy.clients.len() {
        many if many > BARS => format!("{name}: {many} sites, in the order of what they spent"),
        0 => format!("{name}: no ledger was kept"),
        _ => name.to_owned(),
    }
}
