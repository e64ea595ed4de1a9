//! What the reader of TOML found wrong, in plain words: which key, what was found, what was expected, an example.

use inference::nearest;

/// A message with its code and hint.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlainMessage {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: String,
}

/// Words of the papers that this version has no code for.
const NOT_HERE: [&str; 1] = ["dp-mcmc"];

/// What to write in place of the old `aggregator = { shares = { colluders = 0, dropouts = 0 } }`.
const SHARES: &str = "beside each other in `privacy`: aggregator = \"secure-sum\", nodes = 2, noise = \"discrete-gaussian\" \
     (or \"skellam\"), colluders = 0, dropouts = 0";

/// How a key is written, for those that are easily got wrong or forgotten.
const EXAMPLES: [(&str, &str); 26] = [
    ("study", "[study] has name = \"my-study\" and seeds = [1, 2, 3]"),
    ("seeds", "seeds = [1, 2, 3]"),
    ("data", "[data] has source = \"csv:rows.csv\" and split = { test = 0.2 }"),
    ("source", "source = \"heart\", or source = \"csv:rows.csv\" for a file of your own"),
    (
        "split",
        "split = { test = 0.2 }, { test_rows = 500 }, { half = true } or { column = \"split\", test_level = \"test\" }",
    ),
    ("model", "[model] has kind = \"logistic\" or kind = \"linear\""),
    ("prior", "prior = { precision = 1.0 } in [model]"),
    ("expectation", "expectation = \"mixture\" or { draws = 100 }"),
    ("predictive", "predictive = \"mixture\", \"probit\" or { draws = 100 }"),
    ("method", "every method begins with [[method]], in two pairs of brackets"),
    ("column", "every column of a table begins with [[column]], in two pairs of brackets"),
    (
        "algorithm",
        "algorithm = \"pvi\", \"committee\", \"global-vi\", \"global-vi-at-clients\", \"noise-aware\", \"statistics\", \"conjugate\" or \"chain\"",
    ),
    (
        "solver",
        "solver = \"dp-optimisation\" noises every step (DP-SGD); perturb, average, virtual noise a change; clear nothing",
    ),
    ("rounds", "rounds = 20, or rounds = \"until-spent\""),
    ("local", "local = { steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }"),
    ("optimiser", "optimiser = \"adam\", \"adagrad\", \"sgd\" or \"natural\""),
    ("batch", "batch = \"all\", or rate = 0.05 for a twentieth of the rows at random"),
    ("unit", "unit = \"example\" protects one row, \"client\" all rows of a client"),
    ("adjacency", "adjacency = \"substitute\": a row is replaced by another; \"add-remove\": a row is there or not"),
    ("epsilon", "epsilon = 1.0"),
    ("delta", "delta = 1e-5, well under one over the number of rows"),
    ("clip", "clip = 2.0, the largest norm of one row's gradient, or of a change"),
    (
        "aggregator",
        "aggregator = \"none\", \"curator\", or \"secure-sum\" with nodes = 2, noise = \"nodes\", dropouts = 0",
    ),
    ("federation", "[federation] has sites = [{ name = \"north\", rows = 200 }, { name = \"south\", rows = 150 }]"),
    ("sites", "sites = [{ name = \"north\", rows = 200 }, { name = \"south\", rows = 150 }]"),
    ("accountant", "accountant = \"certified\" or \"moments\""),
];

/// The words of the reader about the text at `span`, in ours.
pub(super) fn plain(words: &str, text: &str, span: std::ops::Range<usize>) -> PlainMessage {
    let words = words.trim().replace('\n', ", ");
    let (key, found) = (key_before(text, span.start), found(text, span));
    if let Some(rest) = words.strip_prefix("unknown field ") {
        return unknown_key(rest);
    }
    if let Some(rest) = words.strip_prefix("unknown variant ") {
        return unknown_word(rest, key);
    }
    let unread = |message: String, hint: String| PlainMessage { code: "S001", message, hint };
    if let Some(missing) = words.strip_prefix("missing field ").map(|rest| rest.trim_matches('`')) {
        let hint = example(missing).map_or_else(|| format!("add the key `{missing}`"), str::to_owned);
        return unread(format!("`{missing}` is missing"), format!("{hint}; `studies/` holds complete examples"));
    }
    if let Some((_, expected)) = words.split_once("expected ").filter(|(before, _)| of_kind(before)) {
        let subject = key.map_or_else(|| "this".to_owned(), |key| format!("`{key}`"));
        let hint = key.and_then(example).map_or_else(|| "change the value to that kind".to_owned(), str::to_owned);
        return unread(format!("{subject} is {found}, expected {}", kind(expected)), hint);
    }
    let hint = match words.as_str() {
        quoted if quoted.contains("quoted") => "words stand in double quotes: name = \"my-study\"",
        unassigned if unassigned.contains("key with no value") => "a line is KEY = VALUE, or a [table]",
        _ => "a line is KEY = VALUE; words stand in double quotes, lists in [ ], tables in { }",
    };
    unread(words, hint.to_owned())
}

/// Whether words before "expected" are about the kind of a value: serde's own, or nothing for our own expectations.
fn of_kind(before: &str) -> bool {
    before.is_empty() || before.starts_with("invalid type") || before.starts_with("invalid value")
}

/// Serde's names of kinds in words.
fn kind(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "u64" | "u32" | "usize" => "a whole number, 0 or more",
        "i64" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" => "a word in quotes",
        table if table.starts_with("struct ") || table == "a map" => "a table, such as { key = value }",
        other => other,
    }
}

/// A key that is not known, among those that are.
fn unknown_key(rest: &str) -> PlainMessage {
    let (found, known) = names(rest);
    let message = format!("there is no key `{found}` here, expected one of {}", known.join(", "));
    let hint = match nearest(found, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "leave it out; an unknown key would be a setting that nobody reads".to_owned(),
    };
    PlainMessage { code: "S002", message, hint }
}

/// A word that is not known, among those that are. Who is protected is not guessed by letters.
fn unknown_word(rest: &str, key: Option<&str>) -> PlainMessage {
    let (found, known) = names(rest);
    let subject = key.unwrap_or("this");
    if found == "shares" && known.contains(&"secure-sum") {
        let message =
            "`aggregator` is \"shares\", as an earlier version had it; noise shares belong to a secure sum now";
        return PlainMessage { code: "S002", message: message.to_owned(), hint: SHARES.to_owned() };
    }
    if NOT_HERE.contains(&found) {
        let message = format!("`{subject}` is \"{found}\", which is not in this version");
        return PlainMessage { code: "S010", message, hint: format!("one of {}", known.join(", ")) };
    }
    let close = nearest(found, known.iter().copied()).filter(|_| subject != "unit");
    let hint = match (close, key.and_then(example)) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, Some(example)) => example.to_owned(),
        (None, None) => "`docs/guide/studies.md` says what each of them does".to_owned(),
    };
    let message = format!("`{subject}` is \"{found}\", expected one of {}", known.join(", "));
    PlainMessage { code: "S002", message, hint }
}

/// What was found and what is known, out of "`a`, expected one of `b`, `c`".
fn names(rest: &str) -> (&str, Vec<&str>) {
    let mut names = rest.split('`').skip(1).step_by(2);
    (names.next().unwrap_or_default(), names.collect())
}

/// How this key is written, if it is easily got wrong or forgotten.
pub(super) fn example(key: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(known, _)| *known == key).map(|(_, example)| *example)
}

/// The key whose value begins at this place: the name before its `=`, or that of a `[table]`.
fn key_before(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?.trim_end();
    let name = match before.strip_suffix('=') {
        Some(name) => name.trim_end(),
        None => text.get(at..)?.lines().next()?.trim_start_matches('[').split(']').next()?,
    };
    name.rsplit(|letter: char| !(letter.is_alphanumeric() || "_-".contains(letter)))
        .next()
        .filter(|key| !key.is_empty())
}

/// The text of a value, cut where it is long.
fn found(text: &str, span: std::ops::Range<usize>) -> String {
    let value = text.get(span).unwrap_or_default().trim();
    match value.lines().next().unwrap_or_default() {
        "" => "nothing".to_owned(),
        table
            if table.starts_with('[')
                && table.trim_end().ends_with(']')
                && table.contains(char::is_alphabetic)
                && !table.contains(['"', '\'']) =>
        {
            format!("the table {}", table.trim_end())
        }
        line if line.chars().count() > 40 => line.chars().take(39).chain(['…']).collect(),
        line => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of the word that stands at `at` in the text.
    fn said(words: &str, text: &str, at: &str) -> PlainMessage {
        let start = text.find(at).unwrap();
        plain(words, text, start..start + at.len())
    }

    #[test]
    fn kinds_are_said_in_words_with_key_and_value() {
        let text = "seeds = 3\nprivacy = { epsilon = \"1\" }\nsplit = 0.2\n";
        let seeds = said("invalid type: integer `3`, expected a sequence", text, "3");
        assert_eq!((seeds.code, seeds.message.as_str()), ("S001", "`seeds` is 3, expected a list"));
        assert_eq!(seeds.hint, "seeds = [1, 2, 3]");
        let epsilon = said("invalid type: string \"1\", expected f64", text, "\"1\"");
        assert_eq!(epsilon.message, "`epsilon` is \"1\", expected a number");
        let split = said("invalid type: floating point `0.2`, expected struct SplitAsTyped", text, "0.2");
        assert!(split.message.contains("expected a table") && !split.message.contains("AsTyped"), "{split:?}");
        let method = said("invalid type: map, expected a sequence", "[method]\nname = 'a'\n", "[method]");
        assert_eq!(method.message, "`method` is the table [method], expected a list");
        assert!(method.hint.contains("[[method]]"), "{method:?}");
    }

    #[test]
    fn what_is_not_here_is_not_offered() {
        let text = "solver = \"dp-mcmc\"\n";
        let found = said("unknown variant `dp-mcmc`, expected `clear` or `perturb`", text, "\"dp-mcmc\"");
        assert_eq!((found.code, found.hint.as_str()), ("S010", "one of clear, perturb"));
    }

    #[test]
    fn who_is_protected_is_not_guessed_by_letters() {
        let text = "privacy = { unit = \"patient\" }";
        let found = said("unknown variant `patient`, expected `example` or `client`", text, "\"patient\"");
        assert!(found.hint.contains("protects one row") && !found.hint.contains("did you mean"), "{found:?}");
    }

    #[test]
    fn a_missing_key_has_its_example() {
        let found = plain("missing field `clip`", "privacy = {}", 10..12);
        assert_eq!(found.message, "`clip` is missing");
        assert!(found.hint.starts_with("clip = 2.0"), "{found:?}");
    }
}
