//! How tests of `posterity account` ask and look at answers.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod room;

use assert_cmd::Command;
use serde_json::Value;
use std::process::Output;

pub(crate) const SUM: &str = "--mechanism gaussian --noise-multiplier 1.1 --adjacency substitute";
pub(crate) const SAMPLED: &str =
    "--mechanism gaussian --noise-multiplier 1 --steps 1e4 --sampling poisson --rate 0.01 --adjacency add-remove";

pub(crate) fn posterity(words: &str) -> Output {
    piped(words, "")
}

pub(crate) fn piped(words: &str, input: &str) -> Output {
    let mut command = Command::cargo_bin("posterity").unwrap();
    command.args(words.split_whitespace()).write_stdin(input).output().unwrap()
}

/// Standard output of a command that must succeed.
pub(crate) fn answer(words: &str) -> String {
    succeeded(words, posterity(words))
}

pub(crate) fn succeeded(words: &str, output: Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}\n{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn object(words: &str) -> Value {
    serde_json::from_str(&answer(&format!("{words} --json"))).unwrap()
}

pub(crate) fn number(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("{key} in {object}"))
}

/// Runs a command that must fail, for people and for programs, and checks code, exit code and a hint with these words.
pub(crate) fn refused(words: &str, code: &str, exit: i32, hint: &str) {
    refused_with(words, "", code, exit, hint);
}

pub(crate) fn refused_with(words: &str, input: &str, code: &str, exit: i32, hint: &str) {
    let output = piped(words, input);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(exit), "{words}\n{text}");
    assert!(output.stdout.is_empty(), "{words}: an answer beside an error");
    assert!(text.starts_with(&format!("error[{code}]: ")), "{words}\n{text}");
    assert!(text.contains("\nhint: ") && text.contains(hint), "{words}\n{text}");

    let output = piped(&format!("{words} --json"), input);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(exit), 0), "{words}");
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"]["code"], code, "{words}");
    assert!(error["error"]["hint"].as_str().unwrap().contains(hint), "{words}\n{error}");
    assert!(!error["error"]["message"].as_str().unwrap().is_empty());
}
