//! What went wrong, as people and programs see it: a code, a message, a hint and an exit code.

use crate::federation::codes;
use crate::say;
use crate::study::Fault;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use federation::identity::{AuthorityError, FileError};
use federation::log::{DiskError, LogError};
use federation::policy::PolicyError;
use federation::store::StoreError;
use inference::{DataError, RunError, nearest};
use privacy::PrivacyError;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Everything that can end this command without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The flags do not fit together.
    #[error("{message}")]
    Usage { message: String, hint: String },
    /// The list of events cannot be understood.
    #[error("{message}")]
    Events { message: String, hint: String },
    /// One entry of a list of events was refused.
    #[error("event {number} of the list: {failure}")]
    Entry { number: usize, failure: Box<Failure> },
    /// A file of results cannot be understood.
    #[error("{path} is not a file of results: {message}")]
    Results { path: String, message: String },
    /// A study that cannot be run, with its place.
    #[error(transparent)]
    Study(#[from] Fault),
    /// A federation that cannot be, or a site that cannot take part.
    #[error("{message}")]
    Federation { code: &'static str, message: String, hint: String },
    /// A site's policy that cannot be read, or does not allow a run.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A run that cannot begin or go on.
    #[error(transparent)]
    Run(RunError),
    /// A method of a study was refused.
    #[error("{place}: method {name:?}: {failure}")]
    Method { place: String, name: String, failure: Box<Failure> },
    /// A line of a figure of accounting was refused.
    #[error("{place}: line {name:?}: {failure}")]
    Line { place: String, name: String, failure: Box<Failure> },
    /// A file cannot be read or written.
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: String, source: std::io::Error },
    /// A table, a schema, or what a study wants of them.
    #[error("{file}: {error}")]
    Data { file: String, error: Box<DataError> },
    /// A data set that is not known, not there, or not the right file.
    #[error("{message}")]
    Dataset { message: String, hint: String },
    /// A data set that cannot be downloaded.
    #[error("{message}")]
    Download { message: String, hint: String },
    /// A folder without a ledger.
    #[error("there is no ledger in {path}")]
    NoLedger { path: String },
    /// A ledger that cannot be read, or is not sound.
    #[error(transparent)]
    Ledger(#[from] LogError),
    /// A certificate authority that cannot be made or used.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// A server's store that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A party that is not there, or is there already.
    #[error("{message}")]
    Party { message: String, hint: String },
    /// A run of a federation whose results did not find their place.
    #[error("the results cannot be written: {failure}")]
    Unwritten { failure: Box<Failure> },
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Privacy(error) => Self::Privacy(error),
            other => Self::Run(other),
        }
    }
}

impl Failure {
    /// Flags that do not fit together, and what would fit.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// A file that could not be used.
    pub(crate) fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        let path =
            if action == "cannot write" && path == Path::new("-") { "standard output".into() } else { input(path) };
        Self::File { action, path, source }
    }

    /// Data that do not fit, and the file or data set that they are in.
    pub(crate) fn data(file: impl Into<String>, error: DataError) -> Self {
        Self::Data { file: file.into(), error: Box::new(error) }
    }

    /// A data set that cannot be had.
    pub(crate) fn dataset(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Dataset { message: message.into(), hint: hint.into() }
    }

    /// A party that is not there, or is there already.
    pub(crate) fn party(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Party { message: message.into(), hint: hint.into() }
    }

    /// A data set that did not come over the network.
    pub(crate) fn download(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Download { message: message.into(), hint: hint.into() }
    }

    /// The same failure, with its place in a list of events (counted from one).
    pub(crate) fn in_entry(self, index: usize) -> Self {
        Self::Entry { number: index + 1, failure: Box::new(self) }
    }

    /// Stable code, explained by `posterity explain`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Privacy(error) => error.code(),
            Self::Usage { .. } => "C001",
            Self::Events { .. } => "C002",
            Self::Entry { failure, .. }
            | Self::Line { failure, .. }
            | Self::Method { failure, .. }
            | Self::Unwritten { failure } => failure.code(),
            Self::File { source, .. } if is_full(source) => "C004",
            Self::File { .. } => "C003",
            Self::Results { .. } => "C020",
            Self::Study(fault) => fault.code,
            Self::Federation { code, .. } => code,
            Self::Policy(error) => error.code(),
            Self::Run(RunError::Message { .. }) => "R001",
            Self::Run(_) => "R002",
            Self::Data { error, .. } => error.code(),
            Self::Dataset { .. } => "D009",
            Self::Download { .. } => "D010",
            Self::NoLedger { .. } => "L001",
            Self::Ledger(error) => ledger_code(error),
            Self::Authority(AuthorityError::File(FileError::Failed { source, .. })) if is_full(source) => "C004",
            Self::Authority(AuthorityError::File(FileError::Exposed { .. })) => "F002",
            Self::Authority(_) => "F001",
            Self::Store(_) => "F003",
            Self::Party { .. } => "F004",
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Privacy(PrivacyError::Budget { fits: 0, .. }) => {
                "not one step fits: use more noise (`posterity account calibrate` finds how much) or a larger budget"
                    .into()
            }
            Self::Privacy(error) => error.hint().unwrap_or_else(|| parameter_hint(error).to_owned()),
            Self::Policy(error) => error.hint().into(),
            Self::Usage { hint, .. }
            | Self::Federation { hint, .. }
            | Self::Events { hint, .. }
            | Self::Dataset { hint, .. }
            | Self::Party { hint, .. }
            | Self::Download { hint, .. } => hint.clone(),
            Self::File { source, .. } | Self::Authority(AuthorityError::File(FileError::Failed { source, .. }))
                if is_full(source) =>
            {
                ROOM.into()
            }
            Self::Authority(error) => error.hint(),
            Self::Store(error) => error.hint().to_owned(),
            Self::Unwritten { .. } => {
                "the run is kept: start the server again with another --out, and without --again".into()
            }
            Self::Data { error, .. } => error.hint().to_owned(),
            Self::Method { failure, .. } => in_a_study(failure).map_or_else(|| failure.hint(), str::to_owned),
            Self::Entry { failure, .. } | Self::Line { failure, .. } => failure.hint(),
            Self::Results { .. } => "name the directory of a finished run of this version of posterity".into(),
            Self::Study(fault) => fault.hint.clone(),
            Self::Run(RunError::Message { .. }) => "delete the run's directory `state` and run again".into(),
            Self::Run(_) => "change the study's method as the message says; `posterity check` reads it again".into(),
            Self::File { action, .. } if action.ends_with("the schema") => {
                "`posterity init` writes one from the header of a table; [data] schema names it in a study".into()
            }
            Self::NoLedger { .. } => {
                "name the home folder of the site by --home; its ledger is in the folder ledger there".into()
            }
            Self::Ledger(error) if is_in_use(error) => "another agent uses this home; stop it first".into(),
            Self::Ledger(error) => error.hint().to_owned(),
            Self::File { .. } => "check that the path exists and that you may use it".into(),
        }
    }

    /// 1: the machine failed, and starting again may help. 2: something is to be put right first. 3: refused.
    pub(crate) fn exit(&self) -> u8 {
        match self {
            Self::File { source, .. } if is_for_people(source) => 2,
            Self::Authority(AuthorityError::File(FileError::Failed { source, .. })) if is_for_people(source) => 2,
            Self::Store(
                StoreError::Missing { .. }
                | StoreError::Place { .. }
                | StoreError::Locked { .. }
                | StoreError::Unreadable { .. },
            ) => 2,
            Self::File { .. }
            | Self::Download { .. }
            | Self::Store(_)
            | Self::Authority(AuthorityError::File(FileError::Failed { .. }) | AuthorityError::Randomness)
            | Self::Run(RunError::Message { .. })
            | Self::Privacy(PrivacyError::Journal { .. } | PrivacyError::Randomness) => 1,
            Self::Usage { .. } | Self::Events { .. } | Self::Results { .. } | Self::Study(_) | Self::Run(_) => 2,
            Self::Authority(_) | Self::Party { .. } => 2,
            Self::Data { .. } | Self::Dataset { .. } | Self::NoLedger { .. } => 2,
            Self::Ledger(error) if is_in_use(error) => 2,
            Self::Ledger(error) if matches!(ledger_code(error), "L002" | "L007") => 1,
            Self::Ledger(_) => 3,
            Self::Federation { code, .. } => codes::exit(code),
            Self::Policy(PolicyError::Unreadable { .. }) => 2,
            Self::Policy(PolicyError::Refused { .. }) => 3,
            Self::Entry { failure, .. }
            | Self::Line { failure, .. }
            | Self::Method { failure, .. }
            | Self::Unwritten { failure } => failure.exit(),
            Self::Privacy(PrivacyError::Parameter { .. } | PrivacyError::MixedRelations { .. }) => 2,
            Self::Privacy(_) => 3,
        }
    }

    /// Prints the failure on standard error and gives its exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        let (code, hint) = (self.code(), self.hint());
        if json {
            complain(&object(code, &self.to_string(), &hint));
        } else if say::is_json() {
            complain(&format!("{}\n", say::error(code, &self.to_string(), &hint)));
        } else {
            complain(&format!("error[{code}]: {self}\nhint: {hint}\nmore: posterity explain {code}\n"));
        }
        ExitCode::from(self.exit())
    }
}

fn ledger_code(error: &LogError) -> &'static str {
    match error {
        LogError::Disk(error) if error.is_full() => "L007",
        LogError::Disk(_) | LogError::Unwritten | LogError::Viewed | LogError::TooLarge { .. } => "L002",
        LogError::Damaged { .. } => "L003",
        LogError::Version { .. } => "L004",
        LogError::Ledger { .. } | LogError::NoSuchSite { .. } | LogError::OtherSite { .. } => "L005",
        LogError::Vault { .. } => "L006",
    }
}

/// What to do about a full disk.
const ROOM: &str = "make room on the disk of that path, then run the same command again: a run goes on where it stopped, and no file \
                    was left half written";

/// Whether all it needs is room: the disk or the user's share of it is full.
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// Whether another process of the same party has the ledger's folder: nothing is wrong with the disk.
fn is_in_use(error: &LogError) -> bool {
    matches!(error, LogError::Disk(error) if error.what == DiskError::IN_USE)
}

/// Whether starting again cannot help before somebody has done something: a file is not there, or not for this user.
fn is_for_people(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    let kinds = [Kind::NotFound, Kind::PermissionDenied, Kind::NotADirectory, Kind::IsADirectory, Kind::AlreadyExists];
    kinds.contains(&error.kind())
}

/// What to do about a refusal of the library, in words of a study; none where its own hint says it.
fn in_a_study(failure: &Failure) -> Option<&'static str> {
    match failure {
        Failure::Privacy(PrivacyError::Budget { fits: 0, .. }) => Some(
            "not one update fits: leave noise_multiplier out to have it calibrated, or grant a larger epsilon in `privacy`",
        ),
        Failure::Privacy(PrivacyError::Parameter { name: "cohort", .. }) => {
            Some("fewer colluders or dropouts in `privacy`, or more clients in [partition]")
        }
        Failure::Privacy(PrivacyError::Parameter { name: "share deviation" | "noise multiplier", .. }) => {
            Some("leave noise_multiplier out to have it calibrated; it is usually between 0.5 and 50")
        }
        _ => None,
    }
}

/// What to do about a parameter outside its range, in words of the command line.
fn parameter_hint(error: &PrivacyError) -> &'static str {
    let PrivacyError::Parameter { name, .. } = error else { return "see `posterity explain` for this code" };
    match *name {
        "rate" | "sampling rate" => {
            "--rate is the share of the rows in a batch, such as 0.01; for every row leave --sampling out"
        }
        "delta" | "step-delta" => {
            "take δ well under one over the number of people, such as 1e-6; 0 has a meaning only without Gaussian noise"
        }
        "epsilon" | "step-epsilon" | "local-epsilon" => "ε is usually between 0.1 and 10",
        "steps" => "write the number of uses in digits, such as 10000 or 1e4",
        "noise-multiplier" | "noise multiplier" => {
            "it is noise deviation / sensitivity, usually between 0.5 and 10; `posterity account calibrate` finds it"
        }
        "gamma" => "γ is the probability of answering at random, such as 0.25",
        _ => "give a value in the named range",
    }
}

/// The one JSON object of a failure.
fn object(code: &str, message: &str, hint: &str) -> String {
    let error = serde_json::json!({ "code": code, "message": message, "hint": hint });
    format!("{}\n", serde_json::json!({ "error": error }))
}

/// Reports what clap could not parse, or prints the help that was asked for.
pub(crate) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return print(&text);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !say::is_json() {
        complain(&text);
        return ExitCode::from(2);
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    Failure::usage(message.trim_end(), parser_hint(error, rest)).report(json)
}

/// What to do next, from what clap says under its message: its tips, and how the command is used.
fn parser_hint(error: &clap::Error, rest: &str) -> String {
    let flag = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(flag)) if flag == "--verify");
    if flag && error.kind() == ErrorKind::UnknownArgument {
        return "--verify goes with `account epsilon`, `delta`, `calibrate` and `steps`; ask one of them for a point of a \
                profile"
            .into();
    }
    let lines = rest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more"));
    let guess = misspelt(error).map(|command| format!("a similar subcommand exists: `{command}`"));
    let mut hints: Vec<String> = guess.into_iter().collect();
    hints.extend(lines.map(|line| line.strip_prefix("tip: ").unwrap_or(line).replacen("Usage: ", "usage: ", 1)));
    hints.push("--help tells more".into());
    hints.join("; ")
}

/// The command that a misspelt one was meant to be. The parser has suggestions of its own, but none for two letters that
/// changed places in a short word.
fn misspelt(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let mut command = crate::arguments::Arguments::command();
    for word in std::env::args().skip(1).take_while(|word| word != typed) {
        if let Some(inner) = command.find_subcommand(&word) {
            command = inner.clone();
        }
    }
    let names: Vec<&str> = command.get_subcommands().flat_map(clap::Command::get_name_and_visible_aliases).collect();
    nearest(typed, names).map(str::to_owned)
}

/// A path to read, in words.
pub(crate) fn input(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// Prints the answer on standard output; a reader that went away is not an error worth a message.
pub(crate) fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}

/// Standard error may be closed; then there is nobody to tell.
fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
