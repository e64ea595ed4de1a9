//! What went wrong, as people and programs see it: a code, a message, a hint and an exit code.

use crate::federation::{codes, of_home};
use crate::say;
use crate::wording::{in_commands, in_flags};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use federation::fit::FitError;
use federation::identity::{AuthorityError, FileError};
use federation::log::{DiskError, LogError};
use federation::policy::PolicyError;
use federation::store::StoreError;
use federation::studies::StudyRunError;
use inference::{DataError, RunError, nearest};
use privacy::PrivacyError;
use serde_json::json;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use study::{Fault, ROOM, StudyError, is_full};

/// Everything that can end this command without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A study, a plan, a file or a data set that cannot be used.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A federation that cannot be, or a site that cannot take part.
    #[error("{message}")]
    Federation { code: &'static str, message: String, hint: String },
    /// A site's policy that cannot be read, or does not allow a run.
    #[error(transparent)]
    Policy(#[from] PolicyError),
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
    /// Somebody stopped a run; what is kept, and how to go on.
    #[error("{line}")]
    Stopped { line: String },
}

impl From<StudyRunError> for Failure {
    fn from(error: StudyRunError) -> Self {
        match error {
            StudyRunError::Study(error) => Self::Study(error),
            other => Self::Federation { code: other.code(), hint: other.hint(), message: other.to_string() },
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Study(error) => error.into(),
            FitError::Home(error) => of_home(error),
            FitError::Log(error) => error.into(),
            FitError::Policy(error) => error.into(),
            other => Self::Stopped { line: other.to_string() },
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Study(fault.into())
    }
}

impl From<PrivacyError> for Failure {
    fn from(error: PrivacyError) -> Self {
        Self::Study(error.into())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Study(error.into())
    }
}

impl Failure {
    /// Flags that do not fit together, and what would fit.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Study(StudyError::usage(message, hint))
    }

    /// A file that could not be used.
    pub(crate) fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        let path =
            if action == "cannot write" && path == Path::new("-") { "standard output".into() } else { input(path) };
        Self::Study(StudyError::File { action, path, source })
    }

    /// Data that do not fit, and the file or data set that they are in.
    pub(crate) fn data(file: impl Into<String>, error: DataError) -> Self {
        Self::Study(StudyError::data(file, error))
    }

    /// A party that is not there, or is there already.
    pub(crate) fn party(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Party { message: message.into(), hint: hint.into() }
    }

    /// Stable code, explained by `posterity explain`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Study(error) => error.code(),
            Self::Unwritten { failure } => failure.code(),
            Self::Federation { code, .. } => code,
            Self::Policy(error) => error.code(),
            Self::NoLedger { .. } => "L001",
            Self::Ledger(error) => ledger_code(error),
            Self::Authority(AuthorityError::File(FileError::Failed { source, .. })) if is_full(source) => "C004",
            Self::Authority(AuthorityError::File(FileError::Exposed { .. })) => "F002",
            Self::Authority(_) => "F001",
            Self::Store(_) => "F003",
            Self::Party { .. } => "F004",
            Self::Stopped { .. } => StudyError::Stopped.code(),
        }
    }

    /// What to do next, in words of the command line.
    pub(crate) fn hint(&self) -> String {
        let hint = in_commands(&self.library_hint());
        if self.is_about_flags() { in_flags(&hint) } else { hint }
    }

    /// Whether keys of its text are flags here. Those of a study, of a list of events and of a policy are keys of files.
    fn is_about_flags(&self) -> bool {
        matches!(
            self,
            Self::Study(
                StudyError::Usage { .. }
                    | StudyError::Privacy(_)
                    | StudyError::Dataset { .. }
                    | StudyError::Download { .. }
            )
        )
    }

    /// What to do next, as the libraries say it.
    fn library_hint(&self) -> String {
        match self {
            Self::Study(error) => error.hint(),
            Self::Policy(error) => error.hint().into(),
            Self::Federation { hint, .. } | Self::Party { hint, .. } => hint.clone(),
            Self::Authority(AuthorityError::File(FileError::Failed { source, .. })) if is_full(source) => ROOM.into(),
            Self::Authority(error) => error.hint(),
            Self::Store(error) => error.hint().to_owned(),
            Self::Unwritten { .. } => {
                "the run is kept: start the server again with another --out, and without --again".into()
            }
            Self::NoLedger { .. } => {
                "name the home folder of the site by --home; its ledger is in the folder ledger there".into()
            }
            Self::Ledger(error) if is_in_use(error) => "another agent uses this home; stop it first".into(),
            Self::Ledger(error) => error.hint().to_owned(),
            Self::Stopped { .. } => StudyError::Stopped.hint(),
        }
    }

    /// 1: the machine failed, and starting again may help. 2: something is to be put right first. 3: refused. 130: stopped.
    pub(crate) fn exit(&self) -> u8 {
        match self {
            Self::Study(error) => exit(error),
            Self::Authority(AuthorityError::File(FileError::Failed { source, .. })) if is_for_people(source) => 2,
            Self::Store(
                StoreError::Missing { .. }
                | StoreError::Place { .. }
                | StoreError::Locked { .. }
                | StoreError::Unreadable { .. },
            ) => 2,
            Self::Store(_)
            | Self::Authority(AuthorityError::File(FileError::Failed { .. }) | AuthorityError::Randomness) => 1,
            Self::Authority(_) | Self::Party { .. } | Self::NoLedger { .. } => 2,
            Self::Ledger(error) if is_in_use(error) => 2,
            Self::Ledger(error) if matches!(ledger_code(error), "L002" | "L007") => 1,
            Self::Ledger(_) => 3,
            Self::Federation { code, .. } => codes::exit(code),
            Self::Policy(PolicyError::Unreadable { .. }) => 2,
            Self::Policy(PolicyError::Refused { .. }) => 3,
            Self::Unwritten { failure } => failure.exit(),
            Self::Stopped { .. } => 130,
        }
    }

    /// Prints the failure on standard error and gives its exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        let lines = self.lines();
        if let Self::Stopped { line } = self {
            complain(&format!("{line}\n"));
        } else if json {
            complain(&object(&lines));
        } else if say::is_json() {
            let each = lines.iter().map(|line| say::error(line.code, &line.to_string(), &line.hint) + "\n");
            complain(&each.collect::<String>());
        } else {
            complain(&text(&lines));
        }
        ExitCode::from(self.exit())
    }

    /// What is wrong, one thing or more: everything about a study or a schema is told at once.
    fn lines(&self) -> Vec<ErrorLine> {
        if let Self::Study(StudyError::Data { file, error }) = self
            && error.all().count() > 1
        {
            let line = |one: &DataError| {
                let (message, hint) = (format!("{file}: {one}"), in_commands(one.hint()));
                ErrorLine { code: one.code(), place: None, message, hint }
            };
            return error.all().map(line).collect();
        }
        if let Self::Study(StudyError::Faults(faults)) = self {
            let line = |Fault { code, place, message, hint }: &Fault| {
                let (place, message, hint) = (Some(place.clone()), message.clone(), in_commands(hint));
                ErrorLine { code, place, message, hint }
            };
            return faults.iter().map(line).collect();
        }
        let place = if let Self::Study(error) = self { error.place().map(str::to_owned) } else { None };
        let message = if self.is_about_flags() { in_flags(&self.to_string()) } else { self.to_string() };
        let after_place = place.as_ref().and_then(|place| message.strip_prefix(place.as_str())?.strip_prefix(": "));
        let message = after_place.unwrap_or(&message).to_owned();
        vec![ErrorLine { code: self.code(), place, message, hint: self.hint() }]
    }
}

fn ledger_code(error: &LogError) -> &'static str {
    match error {
        LogError::Disk(error) if error.is_full() => "L007",
        LogError::Disk(_) | LogError::Unwritten | LogError::Viewed | LogError::TooLarge { .. } => "L002",
        LogError::Damaged { .. } => "L003",
        LogError::Version { .. } => "L004",
        LogError::Ledger { .. } | LogError::NoSuchSite { .. } | LogError::OtherSite { .. } => "L005",
        LogError::ClosedRun { .. } => "L005",
        LogError::Lifetime { .. } => "F111",
        LogError::Memory { .. } => "L006",
    }
}

/// The exit code of what a library of studies refused.
fn exit(error: &StudyError) -> u8 {
    match error {
        StudyError::File { source, .. } if is_for_people(source) => 2,
        StudyError::File { .. } | StudyError::Download { .. } | StudyError::Run(RunError::Message { .. }) => 1,
        StudyError::Privacy(PrivacyError::Journal { .. } | PrivacyError::Randomness) => 1,
        StudyError::Privacy(PrivacyError::Parameter { .. } | PrivacyError::MixedRelations { .. }) => 2,
        StudyError::Privacy(_) => 3,
        StudyError::Entry { error, .. } | StudyError::Line { error, .. } | StudyError::Method { error, .. } => {
            exit(error)
        }
        StudyError::Stopped => 130,
        _ => 2,
    }
}

/// Whether another process of the same party has the ledger's folder: nothing is wrong with the disk.
fn is_in_use(error: &LogError) -> bool {
    matches!(error, LogError::Disk(error) if error.what == DiskError::IN_USE)
}

/// Whether starting again cannot help before somebody has done something: a file is not there, or not for this user.
fn is_for_people(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as StudyKind;
    let kinds = [
        StudyKind::NotFound,
        StudyKind::PermissionDenied,
        StudyKind::NotADirectory,
        StudyKind::IsADirectory,
        StudyKind::AlreadyExists,
    ];
    kinds.contains(&error.kind())
}

/// One thing that is wrong.
struct ErrorLine {
    code: &'static str,
    /// File, line and column, where it is a text that is wrong.
    place: Option<String>,
    message: String,
    hint: String,
}

impl fmt::Display for ErrorLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Each with its hint; under all of them where to read more about each code.
fn text(lines: &[ErrorLine]) -> String {
    let mut text = String::new();
    let mut codes: Vec<&str> = Vec::new();
    for line in lines {
        text += &format!("error[{}]: {line}\nhint: {}\n", line.code, line.hint);
        if !codes.contains(&line.code) {
            codes.push(line.code);
        }
    }
    let more: String = codes.iter().map(|code| format!("more: posterity explain {code}\n")).collect();
    text + &more
}

/// The one JSON object of a failure: `error` is the first thing that is wrong, `errors` are all of them.
fn object(lines: &[ErrorLine]) -> String {
    let first = lines.first().map(|line| json!({ "code": line.code, "message": line.to_string(), "hint": line.hint }));
    let each = |line: &ErrorLine| json!({ "code": line.code, "place": line.place, "message": line.message, "hint": line.hint });
    let errors: Vec<serde_json::Value> = lines.iter().map(each).collect();
    format!("{}\n", json!({ "error": first, "errors": errors }))
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
