//! A guarantee of differential privacy in words for readers who have not heard of it.

use super::numbers::{bound, count};

/// What a guarantee speaks of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Protection<'a> {
    /// `example`, `person` or `client`.
    pub(crate) unit: &'a str,
    /// `substitute` or `add-remove`.
    pub(crate) adjacency: &'a str,
    /// The ε that is promised to each unit.
    pub(crate) epsilon: f64,
    /// The δ that is promised with it.
    pub(crate) delta: f64,
    /// What the rows of a client are: "the table as a whole", "all rows of a site".
    pub(crate) client: &'a str,
}

impl Protection<'_> {
    /// Who is protected: "every single row".
    pub(crate) fn whom(&self) -> &str {
        match self.unit {
            "client" => self.client,
            "person" => "every person",
            _ => "every single row",
        }
    }

    /// What may differ: "if one row were different".
    pub(crate) fn difference(&self) -> &'static str {
        match (self.unit, self.adjacency) {
            ("client", _) => "if all of these rows were different",
            ("person", "add-remove") => {
                "if all rows of one person were missing, or those of one more person were there"
            }
            ("person", _) => "if all rows of one person were different, and their number",
            (_, "add-remove") => "if one row were missing, or one more were there",
            (_, _) => "if one row were different",
        }
    }

    /// How little that would change, of whatever `nothing` names: "nothing on this page would become more than 2.719 times as likely
    /// …". δ is rounded upwards.
    pub(crate) fn effect(&self, nothing: &str) -> String {
        let factor = bound(self.epsilon.exp());
        let but = match (1.0 / self.delta * (1.0 + 1e-12)).floor() {
            odds if odds.is_finite() && odds >= 2.0 => format!(", except with a probability of 1 in {}", count(odds)),
            _ => String::new(),
        };
        format!("{nothing} would become more than {factor} times as likely or as unlikely{but}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarantee_is_told_without_its_letters() {
        let row = Protection {
            unit: "example",
            adjacency: "substitute",
            epsilon: 1.0,
            delta: 3e-5,
            client: "the table as a whole",
        };
        let words = row.effect("nothing");
        assert_eq!(
            words,
            "nothing would become more than 2.719 times as likely or as unlikely, except with a probability of 1 in 33\u{202f}333"
        );
        assert_eq!((row.whom(), row.difference()), ("every single row", "if one row were different"));
        assert!(
            Protection { delta: 1e-5, ..row }.effect("it").ends_with("1 in 100\u{202f}000"),
            "1/1e-5 is a little under that"
        );
        let client = Protection { unit: "client", delta: 0.0, ..row };
        assert!(client.whom() == row.client && !client.effect("nothing").contains("except"));
    }
}
