//! Warnings for people: on the page and on the terminal, each with its code, its source and what to do.

use super::numbers::bound;
use super::standing::Standing;
use crate::layout;
use crate::svg::escape;
use inference::results::{PrivacyResult, Results};
use inference::warning::Warning;
use study::digits::shortest;

/// Warnings of all methods and of the data, those about a broken promise first; nothing without any.
pub(super) fn section(standing: &Standing) -> String {
    let named = |name: &str, words: String| format!("<li><b>{}</b>: {words}</li>\n", escape(name));
    let broken = standing.methods().filter_map(|m| Some((m, overspent(m.method.privacy.as_ref()?)?)));
    let mut items: String = broken.map(|(m, words)| named(&m.method.name, escape(&words))).collect();
    for (name, warning) in all(standing.results) {
        items +=
            &named(name, format!("{} <span class=\"how\">{}</span>", escape(&warning.what), escape(&about(warning))));
    }
    if items.is_empty() {
        return String::new();
    }
    format!("<aside class=\"warnings\" role=\"note\">\n<h2>Warnings</h2>\n<ul>\n{items}</ul>\n</aside>\n")
}

/// The same for a terminal: two lines each.
pub fn lines(results: &Results, width: Option<usize>) -> String {
    let mut text = String::new();
    for (name, warning) in all(results) {
        let words = format!("{name}: {}", warning.what);
        text += &layout::rows([("warning", words.as_str()), ("", &about(warning))], width);
    }
    text
}

/// Those of the data, then those of each method, with whose they are.
fn all(results: &Results) -> impl Iterator<Item = (&str, &Warning)> {
    let of_data = results.warnings.iter().map(|warning| ("data", warning));
    let of_methods = results.methods.iter().flat_map(|m| m.warnings.iter().map(|w| (m.name.as_str(), w)));
    of_data.chain(of_methods)
}

/// "W002, public: more rounds …"
pub(super) fn about(warning: &Warning) -> String {
    let (code, source) = (warning.code.as_str(), warning.source());
    match warning.hint.as_str() {
        "" => format!("{code}, {source}"),
        hint => format!("{code}, {source}: {hint}"),
    }
}

/// A client whose certified ε is over what was granted.
fn overspent(privacy: &PrivacyResult) -> Option<String> {
    let over: Vec<_> = privacy.clients.iter().filter(|c| c.certified > c.granted(privacy.epsilon)).collect();
    let first = over.first()?;
    Some(format!(
        "The promise is not certified for {} of {} sites: {} may have spent ε = {}, granted were {}.",
        over.len(),
        privacy.clients.len(),
        first.name,
        bound(first.certified),
        shortest(first.granted(privacy.epsilon))
    ))
}
