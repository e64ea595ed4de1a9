//! Where the results come from: data, study and versions.

use super::numbers::count;
use super::page::{Table, folded, section as titled};
use super::standing::Standing;
use crate::svg::escape;

/// Data, the study as it was read, and versions.
pub(crate) fn section(standing: &Standing) -> String {
    let results = standing.results;
    let made = results.provenance.iter().flat_map(|made| {
        let digest = made.data_digest.clone().map(|digest| ("SHA-256 of rows and schema", digest));
        [("written", made.date.clone()), ("commit", made.commit.clone())].into_iter().chain(digest)
    });
    let rows = [
        ("program", format!("posterity {}", results.version)),
        ("shape of the results", format!("schema {}", results.schema)),
        ("data", results.data.source.clone()),
        (
            "rows",
            format!(
                "{} for training, {} held out",
                count(results.data.train_rows as f64),
                count(results.data.test_rows as f64)
            ),
        ),
        ("seeds", standing.seeds().to_string()),
    ];
    let list: String = rows
        .into_iter()
        .chain(made)
        .map(|(term, words)| format!("<dt>{term}</dt><dd>{}</dd>\n", escape(&words)))
        .collect();
    let study = format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(&results.study_toml));
    let body = format!(
        "<dl class=\"origin\">\n{list}</dl>\n{}{}{}",
        folded(&format!("Sites ({})", results.data.clients.len()), &sites(standing)),
        folded(&format!("Inputs ({})", results.data.inputs.len()), &inputs(standing)),
        folded("The study, as it was read (TOML)", &study)
    );
    titled("origin", "Study, data and versions", &body)
}

fn sites(standing: &Standing) -> String {
    let data = &standing.results.data;
    let persons = data.persons().is_some();
    let mut head = vec!["site".to_owned(), "rows".to_owned()];
    head.extend(persons.then(|| "persons".to_owned()));
    let mut table = Table::new("Training rows of every site, first seed", head);
    for client in &data.clients {
        let mut cells = vec![escape(&client.name), count(client.rows as f64)];
        cells.extend(client.persons.filter(|_| persons).map(|persons| count(persons as f64)));
        table.push("", cells);
    }
    table.html()
}

fn inputs(standing: &Standing) -> String {
    let names: Vec<String> =
        standing.results.data.inputs.iter().map(|name| format!("<code>{}</code>", escape(name))).collect();
    format!("<p class=\"inputs\">{}</p>\n", names.join(" "))
}
