//! What commands that stay say as they go on: lines for a terminal, or one JSON object a line for a collector of logs.
//!
//! `POSTERITY_LOG_FORMAT=json` holds for everything that such a command writes: what it tells on standard output, its log and its
//! errors on standard error. The objects have the keys of the log's own lines.

use crate::clock;
use federation::calendar::timestamp;
use serde_json::{Value, json};
use std::fmt::Display;
use std::io::Write;

/// Whether lines are to be JSON objects.
pub(crate) fn is_json() -> bool {
    std::env::var("POSTERITY_LOG_FORMAT").is_ok_and(|format| format == "json")
}

/// Says a line on standard output. Who has closed it does not listen.
pub(crate) fn line(words: impl Display) {
    let text = if is_json() { object("INFO", &words.to_string(), Value::Null) } else { words.to_string() };
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Says something with named values beside it, as one object. To be used where [`is_json`].
pub(crate) fn with(words: &str, fields: Value) {
    let _ = writeln!(std::io::stdout().lock(), "{}", object("INFO", words, fields));
}

/// An error as one line of the log.
pub(crate) fn error(code: &str, message: &str, hint: &str) -> String {
    object("ERROR", message, json!({ "code": code, "hint": hint }))
}

/// One line with the keys that the log's own lines have.
fn object(level: &str, message: &str, more: Value) -> String {
    let mut fields = serde_json::Map::from_iter([("message".to_owned(), message.into())]);
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    let time = timestamp(clock::seconds());
    json!({ "timestamp": time, "level": level, "fields": fields, "target": "posterity" }).to_string()
}

/// A panic becomes an object too, where lines are objects.
pub(crate) fn hook_panics() {
    if is_json() {
        std::panic::set_hook(Box::new(|panic| {
            let _ = writeln!(std::io::stderr().lock(), "{}", object("ERROR", &panic.to_string(), Value::Null));
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_one_line_whatever_is_said() {
        let text = object("INFO", "stopped: two\nlines", json!({ "hint": "a \"quoted\"\nword" }));
        assert_eq!(text.lines().count(), 1, "{text}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["fields"]["message"], "stopped: two\nlines");
        assert_eq!(read["fields"]["hint"], "a \"quoted\"\nword");
        assert!(read["timestamp"].as_str().unwrap().ends_with('Z') && read["level"] == "INFO");
    }
}
