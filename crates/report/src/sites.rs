//! Scores at each site: what it reaches alone, and what the methods reach on its own held-out rows.

use super::differences;
use super::numbers::{NOTHING, count};
use super::page::{Table, folded, note, section as titled};
use super::scores::{self, caption, in_text};
use super::standing::{Placed, Role, Standing};
use crate::svg::escape;
use inference::comparison::Difference;
use inference::results::ClientSummary;
use inference::score::{MAIN, Prominence, Score};

/// More sites than this are folded away.
const SHOWN: usize = 24;

/// A table of the sites; nothing where no score is a site's own.
pub(crate) fn section(standing: &Standing) -> String {
    let methods: Vec<Placed> = ordered(standing).into_iter().filter(|m| !m.method.sites.is_empty()).collect();
    if methods.is_empty() {
        return String::new();
    }
    let shown = scores::shown(standing, Prominence::Leading);
    let table: String = shown.into_iter().map(|score| table(standing, &methods, score)).collect();
    let sites = standing.results.data.clients.len();
    let shown = if sites > SHOWN { folded(&format!("All {sites} sites"), &table) } else { table };
    titled("sites", "Scores at each site", &(shown + &note(&explained(standing)) + &gained(standing)))
}

/// What each site gains on its own fit by the best private method, paired over seeds; nothing where either is missing.
fn gained(standing: &Standing) -> String {
    let (Some(best), Some(alone)) = (standing.best(), standing.alone()) else { return String::new() };
    let of =
        |placed: Placed, name: &str| placed.method.sites.iter().find(|site| site.name == name)?.scores.main().cloned();
    let rows: Vec<(&str, Difference)> = standing
        .results
        .data
        .clients
        .iter()
        .filter_map(|client| {
            Some((client.name.as_str(), Difference::paired(&of(best, &client.name)?, &of(alone, &client.name)?)?))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let heading = format!("What each site gains by {}", best.method.name);
    let caption = format!("{} less that of the site\u{2019}s own fit: above 0, the site gains", scores::caption(MAIN));
    let mut table = Table::new(&caption, ["site", "gain"].map(str::to_owned).to_vec());
    for (name, difference) in &rows {
        table.push("", vec![escape(name), differences::html_cell(*difference)]);
    }
    let told =
        if rows.len() > SHOWN { folded(&format!("All {} sites", rows.len()), &table.html()) } else { table.html() };
    format!("<h3>{}</h3>\n{told}", escape(&heading))
}

/// "Local only" first, then the others in their order, the constant apart.
fn ordered<'a>(standing: &Standing<'a>) -> Vec<Placed<'a>> {
    let of = |wanted: fn(Role) -> bool| standing.methods().filter(move |m| wanted(standing.role(m.number)));
    let alone = of(|role| role == Role::LocalOnly);
    alone.chain(of(|role| !matches!(role, Role::LocalOnly | Role::Constant))).collect()
}

fn table(standing: &Standing, methods: &[Placed], score: &Score) -> String {
    let owned = owned(standing);
    let mut head = vec!["site".to_owned(), "training rows".to_owned()];
    head.extend(owned.then(|| "held out".to_owned()));
    head.extend(methods.iter().map(|m| escape(&m.method.name)));
    let mut table = Table::new(&format!("{}, by site", caption(score)), head);
    for client in &standing.results.data.clients {
        let mut cells = vec![escape(&client.name), count(client.rows as f64)];
        cells.extend(owned.then(|| count(client.test_rows as f64)));
        cells.extend(methods.iter().map(|m| cell(m, client, score)));
        table.push("", cells);
    }
    table.html()
}

fn cell(placed: &Placed, client: &ClientSummary, score: &Score) -> String {
    let found = placed.method.sites.iter().find(|site| site.name == client.name);
    found.and_then(|site| site.scores.get(score.name)).map_or_else(|| NOTHING.into(), |summary| in_text(score, summary))
}

/// Whether held-out rows belong to sites.
fn owned(standing: &Standing) -> bool {
    standing.results.data.clients.iter().any(|client| client.test_rows > 0)
}

fn explained(standing: &Standing) -> String {
    let rows = if owned(standing) {
        "On each site's own held-out rows. Local only is the site's own fit. "
    } else {
        "Every site's own fit, on all held-out rows, since these belong to no site. "
    };
    let seeds = if standing.seeds() > 1 {
        "Means ± standard deviation over seeds, rows of the first seed. Few rows make such a score rough."
    } else {
        "Few rows make such a score rough."
    };
    format!("{rows}{seeds}")
}
