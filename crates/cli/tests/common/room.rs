//! A directory with a study in it, in which the program is called; and the studies that come with the program, made short.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of one test's own, gone when it goes.
pub(crate) struct Room(pub(crate) PathBuf);

impl Room {
    pub(crate) fn new(name: &str, study: &str) -> Self {
        static ROOMS: AtomicU32 = AtomicU32::new(0);
        let number = ROOMS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("posterity-room-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("study.toml"), study).unwrap();
        Self(path)
    }

    pub(crate) fn posterity(&self, words: &[&str]) -> Output {
        Command::cargo_bin("posterity").unwrap().current_dir(&self.0).args(words).output().unwrap()
    }

    /// Standard output of a command that must succeed.
    pub(crate) fn told(&self, words: &[&str]) -> String {
        let output = self.posterity(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same of one that answers with an object.
    pub(crate) fn answer(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.told(words)).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A study of the program with two seeds.
pub(crate) fn study(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let (head, rest) = text.split_once("seeds = [").unwrap();
    let rest = rest.split_once(']').unwrap().1;
    format!("{head}seeds = [1, 2]{rest}")
}
