//! Texts of the libraries in words of the command line: keys become flags, and what to do becomes a command.
//!
//! Libraries name keys and meanings, because Rust and Python users have no flags. Here, and nowhere else, a hint gets the
//! flag or the command that does what it says.

use crate::arguments::Arguments;
use clap::CommandFactory;

/// What a library tells somebody to do, and how it is done here.
const COMMANDS: &[(&str, &str)] = &[
    ("name a new or empty directory", "name a new or empty directory with --out"),
    ("name another directory", "name another directory with --out"),
    ("choose another directory", "choose another directory with --out"),
    ("simulate the study again into ", "posterity simulate STUDY.toml --out "),
    ("simulate the study", "use `posterity simulate`"),
    ("reproduce the study ", "posterity reproduce "),
    ("reproduce the figure", "use `posterity reproduce`"),
    ("serve the study", "posterity serve"),
    ("fetch the data set ", "posterity datasets fetch "),
    ("the list of tables", "`posterity reproduce --list`"),
    ("a calibration", "`posterity account calibrate`"),
    ("a search for steps", "`posterity account steps`"),
    ("the reference of accounting", "`posterity account epsilon --help`"),
    ("a list of events", "--events FILE"),
    ("write one from the header", "`posterity init` writes one from the header"),
    ("then check it again", "then `posterity check` reads it again"),
    ("choose one by its name", "choose one with --method"),
    ("create an authority first", "create an authority with `posterity ca init`"),
    ("renew the authority", "run `posterity ca renew`"),
    ("a new home folder", "a new --home"),
    ("a new policy has", "`posterity agent policy init` prints a policy with"),
];

/// The first of [`COMMANDS`] that a hint has, as a command.
pub(crate) fn in_commands(hint: &str) -> String {
    match COMMANDS.iter().find(|(meaning, _)| hint.contains(meaning)) {
        Some((meaning, command)) => hint.replacen(meaning, command, 1),
        None => hint.to_owned(),
    }
}

/// Keys in backticks as flags, where there is a flag of that name: `noise_multiplier` is --noise-multiplier, and
/// `sampling = poisson` is --sampling poisson. Everything else stays as it is.
pub(crate) fn in_flags(text: &str) -> String {
    let flags = flags();
    let mut told = String::new();
    for (place, part) in text.split('`').enumerate() {
        let (key, value) = part.split_once(" = ").map_or((part, None), |(key, value)| (key, Some(value)));
        let flag = key.replace('_', "-");
        match (place % 2 == 1, flags.contains(&flag), value) {
            (true, true, None) => told += &format!("--{flag}"),
            (true, true, Some(value)) => told += &format!("--{flag} {value}"),
            (true, false, _) => told += &format!("`{part}`"),
            (false, ..) => told += part,
        }
    }
    told
}

/// The long names of all flags of all commands.
fn flags() -> Vec<String> {
    fn of(command: &clap::Command, into: &mut Vec<String>) {
        into.extend(command.get_arguments().filter_map(clap::Arg::get_long).map(str::to_owned));
        command.get_subcommands().for_each(|inner| of(inner, into));
    }
    let mut all = Vec::new();
    of(&Arguments::command(), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_flags_where_there_is_one() {
        assert_eq!(
            in_flags("add `sampling = poisson`, or leave `rate` out"),
            "add --sampling poisson, or leave --rate out"
        );
        assert_eq!(in_flags("it takes `noise_multiplier`"), "it takes --noise-multiplier");
        assert_eq!(in_flags("did you mean `abalone`? `pld` has two"), "did you mean `abalone`? `pld` has two");
    }

    #[test]
    fn a_longer_meaning_is_not_taken_for_a_shorter_one() {
        for (place, (meaning, _)) in COMMANDS.iter().enumerate() {
            let earlier = COMMANDS[..place].iter().find(|(other, _)| meaning.contains(other));
            assert!(earlier.is_none(), "{meaning:?} is never reached");
        }
        assert_eq!(in_commands("fetch the data set adult"), "posterity datasets fetch adult");
        assert_eq!(
            in_commands("simulate the study again into out: it goes on"),
            "posterity simulate STUDY.toml --out out: it goes on"
        );
    }
}
