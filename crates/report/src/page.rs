//! The page around the sections, and the few HTML shapes that they share.

use crate::svg::escape;

/// Colours for light and dark, for print and for small screens.
const STYLE: &str = include_str!("style.css");

/// The whole document. No scripts, no fonts, no addresses; the policy in the head lets a browser enforce it.
pub(crate) fn document(title: &str, rules: &str, body: &str, version: &str) -> String {
    let (title, version) = (escape(title), escape(version));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – Posterity</title>\n\
         <style>\n{STYLE}{rules}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <footer>Made by Posterity {version}. This file needs no network and runs no scripts.</footer>\n</body>\n</html>\n"
    )
}

/// A section under its heading, which also is its address in the page.
pub(crate) fn section(id: &str, heading: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{body}</section>\n", escape(heading))
}

/// A paragraph, escaped.
pub(crate) fn paragraph(words: &str) -> String {
    format!("<p>{}</p>\n", escape(words))
}

/// A remark in smaller letters, escaped.
pub(crate) fn note(words: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escape(words))
}

/// Something that opens when its heading is clicked.
pub(crate) fn folded(heading: &str, body: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{body}</details>\n", escape(heading))
}

/// A figure with its caption.
pub(crate) fn figure(svg: &str, caption: &str) -> String {
    format!("<figure>\n<figcaption>{}</figcaption>\n{svg}</figure>\n", escape(caption))
}

/// A table of HTML cells, which scrolls where it is too wide. The first cell of a row names the row.
pub(crate) struct Table {
    caption: String,
    head: Vec<String>,
    rows: Vec<(&'static str, Vec<String>)>,
}

impl Table {
    /// A table with this caption (escaped here) and these columns (HTML).
    pub(crate) fn new(caption: &str, head: Vec<String>) -> Self {
        Self { caption: escape(caption), head, rows: Vec::new() }
    }

    /// Adds a row of HTML cells, with a class for the row.
    pub(crate) fn push(&mut self, class: &'static str, cells: Vec<String>) {
        self.rows.push((class, cells));
    }

    /// The HTML.
    pub(crate) fn html(&self) -> String {
        let head: String = self.head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
        let rows: String = self.rows.iter().map(|(class, cells)| row(class, cells)).collect();
        let caption = &self.caption;
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\n\
             <caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
        )
    }
}

fn row(class: &str, cells: &[String]) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let first = cells.first().map(|cell| format!("<th scope=\"row\">{cell}</th>")).unwrap_or_default();
    let rest: String = cells.iter().skip(1).map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr{class}>{first}{rest}</tr>\n")
}
