//! What is wrong with a study, with its line in the file and what to do about it.

use super::plain::{PlainMessage, plain};
use inference::describe::Conflict;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A coded error about a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Stable code.
    pub code: &'static str,
    /// File, and line and column counted from one, where there is one.
    pub place: String,
    /// What was found, and what was expected.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// Where in its file it is.
    pub(crate) fn line_and_column(&self) -> (usize, usize) {
        let mut numbers = self.place.rsplit(':').map(|number| number.parse().unwrap_or(0));
        let column = numbers.next().unwrap_or(0);
        (numbers.next().unwrap_or(0), column)
    }
}

/// Everything that is wrong with a study, one or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// These, if there is one.
    pub(crate) fn of(found: Vec<Fault>) -> Result<(), Self> {
        if found.is_empty() { Ok(()) } else { Err(Self(found)) }
    }

    /// The one that is told first.
    pub fn first(&self) -> &Fault {
        &self.0[0]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Fault::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Faults {}

/// The text of a study, and where in it each key stands.
#[derive(Debug)]
pub(crate) struct StudyText<'a> {
    file: String,
    text: &'a str,
    keys: Option<Spanned<DeTable<'a>>>,
}

impl<'a> StudyText<'a> {
    /// A text with the name of its file.
    pub(crate) fn new(file: String, text: &'a str) -> Self {
        Self { file, text, keys: DeTable::parse(text).ok() }
    }

    /// The file's name.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The file's text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// A fault at a key, such as `method.1.privacy.epsilon`; at the innermost table on its way if it is not there.
    pub(crate) fn fault(&self, path: &str, code: &'static str, message: String, hint: impl Into<String>) -> Fault {
        Fault { code, place: self.at(path), message, hint: hint.into() }
    }

    /// A conflict of a method or a model, at the key of the table that was read.
    pub(crate) fn conflict(&self, at: &str, subject: &str, conflict: &Conflict) -> Fault {
        let path = match (at, conflict.key.as_str()) {
            ("", key) => key.to_owned(),
            (at, "") => at.to_owned(),
            (at, key) => format!("{at}.{key}"),
        };
        self.fault(&path, conflict.code, format!("{subject}{}", conflict.what), conflict.hint.clone())
    }

    /// What the reader of TOML found wrong.
    pub(crate) fn unreadable(&self, error: &toml::de::Error) -> Fault {
        let span = error.span().unwrap_or(0..0);
        let place = self.place(span.start);
        let PlainMessage { code, message, hint } = plain(error.message(), self.text, span);
        Fault { code, place, message, hint }
    }

    /// `file:line:column` of a key.
    pub(crate) fn at(&self, path: &str) -> String {
        self.place(self.offset(path))
    }

    /// `file:line:column`.
    fn place(&self, offset: usize) -> String {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{}:{line}:{column}", self.file)
    }

    /// Where a key begins.
    fn offset(&self, path: &str) -> usize {
        let Some(table) = &self.keys else { return 0 };
        let mut found = table.span().start;
        let mut here: Option<&DeValue<'_>> = None;
        for step in path.split('.') {
            let table = match here {
                None => Some(table.get_ref()),
                Some(DeValue::Table(inner)) => Some(inner),
                _ => None,
            };
            let next = match here {
                Some(DeValue::Array(list)) => {
                    step.parse().ok().and_then(|at: usize| list.get(at)).map(|value| (value.span().start, value))
                }
                _ => table.and_then(|table| {
                    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == step)?;
                    Some((key.span().start, value))
                }),
            };
            let Some((start, value)) = next else { break };
            (found, here) = (start, Some(value.get_ref()));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_line() {
        let text = "schema = 1\n[[method]]\nname = 'a'\n[[method]]\nname = 'b'\nprivacy = { epsilon = 0 }\n";
        let source = StudyText::new("s.toml".into(), text);
        let at = |path| source.fault(path, "S004", String::new(), "").place;
        assert_eq!(at("method.1.privacy.epsilon"), "s.toml:6:13");
        assert_eq!(at("method.1.privacy.delta"), "s.toml:6:1", "a key that is not there");
        assert_eq!(at("method.0.name"), "s.toml:3:1");
        assert_eq!(at("schema"), "s.toml:1:1");
    }
}
