//! The command line as typed: numbers are still text, so that a bad one is answered by name, code and hint.

use crate::identity::{AuthorityCommand, PartyCommand};
mod federation;
mod finished;

pub(crate) use federation::{
    AgentCommand, AgentRun, DemoArguments, Demonstration, LedgerQuestion, NodeCommand, PolicyCommand, ServeArguments,
    StudyCommand,
};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub(crate) use finished::{
    ExportArguments, ExportFormat, ExportName, PredictArguments, ReportArguments, SampleArguments,
};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use finished::{COMPARE_HELP, SAMPLE_HELP};
use std::path::PathBuf;
use study::account::{
    AdjacencyAsTyped, AdversaryAsTyped, Choice, MechanismAsTyped, MechanismKind, SamplingAsTyped, UnitAsTyped,
};

const ABOUT: &str = "Differentially private federated Bayesian learning";

const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    the machine failed: a disk, a port or the network
  2    invalid input, or a file is missing
  3    refused: no theorem applies, no bound can be certified, or a budget would be exceeded
  130  a simulation was interrupted with Ctrl-C; the same command resumes it
Errors are written to standard error, each with a code; `posterity explain CODE` explains it.
With --json, errors are one object: {\"error\": {\"code\", \"message\", \"hint\"}, \"errors\": [...]}.
A study may have several errors: \"error\" is the first, \"errors\" are all,
each with its \"place\" in the file.";

/// Shown by `posterity account --help`; a test runs them.
const EXAMPLES: &str = "\
Examples:
  What is the ε of 10,000 steps of DP-SGD with batches of 1 % of the rows?
    posterity account epsilon --delta 1e-5 --mechanism gaussian --noise-multiplier 1 \\
      --steps 1e4 --sampling poisson --rate 0.01 --adjacency add-remove
  How much noise keeps 20 releases of a clipped sum within a budget?
    posterity account calibrate --epsilon 1 --delta 1e-6 --mechanism gaussian --steps 20 \\
      --adjacency substitute
  How many randomised responses may one person give?
    posterity account steps --epsilon 3 --delta 1e-6 --mechanism randomised-response \\
      --categories 4 --gamma 0.8";

/// Shown by `posterity fit --help`.
const FIT_HELP: &str = "\
All rows are fitted; none is held out. The noise comes from the operating system, and every fit is
charged to the ledger of the home, on top of earlier fits. HOME/fit.toml limits their sum. If a fit
is interrupted, the same command resumes it. `posterity ledger show --home DIR` shows the ledger.";

/// Everything typed after `posterity`.
#[derive(Debug, Parser)]
#[command(name = "posterity", version, about = ABOUT, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compute the privacy cost of a plan, or the plan that fits a budget
    #[command(after_help = EXAMPLES)]
    Account {
        #[command(subcommand)]
        question: Box<AccountQuestion>,
    },
    /// Rewrite the report of a finished run
    Report(ReportArguments),
    /// Write the tables of a finished run as CSV or LaTeX: effects, parameters, scores and privacy
    Export(ExportArguments),
    /// Compare two finished runs: scores paired by seed, privacy, and effects
    #[command(after_help = COMPARE_HELP)]
    Compare {
        /// Directory of the first run, or its results.json
        #[arg(value_name = "RUN")]
        one: PathBuf,
        /// Directory of the second run, or its results.json
        #[arg(value_name = "RUN")]
        other: PathBuf,
    },
    /// Validate a study against its schema and table, and describe what it would run
    #[command(
        after_help = "The cells of a CSV file of your own are compared with the schema; what they hold is never shown. Exit code 0 if the \
                      study is valid, with or without warnings; 2 if it or its table is invalid or a file is missing."
    )]
    Check {
        /// The study
        #[arg(value_name = "STUDY.toml")]
        study: PathBuf,
    },
    /// Show what a study will cost each client, from public numbers
    Plan {
        /// The study
        #[arg(value_name = "STUDY.toml")]
        study: PathBuf,
    },
    /// Simulate a study in one process, and write its results and report
    #[command(visible_alias = "run")]
    Simulate(RunArguments),
    /// Fit one owner's table with real noise and a ledger, and write a posterior that may be published
    #[command(after_help = FIT_HELP)]
    Fit(FitArguments),
    /// Draw from the posteriors of a study or of a finished run, and write the draws as Stan CSV and Arrow
    #[command(after_help = SAMPLE_HELP)]
    Sample(SampleArguments),
    /// Reproduce a published table or figure, and show it beside the paper's numbers
    Reproduce(ReproduceArguments),
    /// Predict outcomes of new rows from the posterior of a run
    Predict(PredictArguments),
    /// Run a site's agent: join, check data, set the policy, approve and run studies
    Agent {
        #[command(subcommand)]
        asked: AgentCommand,
    },
    /// List, show or download data sets
    Datasets {
        #[command(subcommand)]
        asked: Shelf,
    },
    /// Write a study and a schema to fill in, from the header of a table; values are not read
    Init {
        /// Folder for the two files; created if it does not exist. Existing files are not overwritten
        #[arg(value_name = "NEWDIR", default_value = ".")]
        folder: PathBuf,
        /// The table; only its first line is read
        #[arg(long, value_name = "FILE.csv")]
        header: PathBuf,
        /// The column that is predicted; the last one by default
        #[arg(long, value_name = "COLUMN")]
        outcome: Option<String>,
        /// The column that says which site a row comes from; by default the study simulates four sites of equal size
        #[arg(long, value_name = "COLUMN")]
        sites: Option<String>,
    },
    /// Show or verify a site's ledger, or verify the file of a finished run; read-only, so the agent may be running
    Ledger {
        #[command(subcommand)]
        asked: LedgerQuestion,
    },
    /// Run the server of a federation: rounds, secure sums, results and a dashboard
    Serve(ServeArguments),
    /// Write a finished run of a federation into one file that anyone can check
    Study {
        #[command(subcommand)]
        asked: StudyCommand,
    },
    /// Run a secure-sum node
    Node {
        #[command(subcommand)]
        asked: NodeCommand,
    },
    /// Run a demonstration federation on this machine
    Demo {
        #[command(subcommand)]
        what: Demonstration,
    },
    /// Create, renew or show the certificate authority of a federation
    Ca {
        #[command(subcommand)]
        asked: AuthorityCommand,
    },
    /// Invite, list or revoke the members of a federation
    Site {
        #[command(subcommand)]
        asked: PartyCommand,
    },
    /// Print the JSON Schema of a file, for editors
    Schema {
        #[command(subcommand)]
        file: SchemaFile,
    },
    /// Explain an error or warning code, or list all codes
    Explain {
        /// The code, such as P002; lists all codes if omitted
        code: Option<String>,
    },
    /// Write the manual pages of all commands
    Man {
        /// Folder for the pages; created if it does not exist
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print a shell completion script
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The subcommands of `posterity schema`.
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaFile {
    /// Study files: studies, histograms and accounting figures
    Study {
        /// Print the reference of all keys as Markdown instead
        #[arg(long)]
        markdown: bool,
    },
    /// Data schemas, which describe the columns of a table
    Schema,
    /// Site policies
    Policy,
}

/// The arguments of `posterity simulate`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Output directory [default: runs/NAME]; resumes an interrupted run found there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use this seed instead of the study's seeds
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The arguments of `posterity fit`.
#[derive(Debug, Args)]
pub(crate) struct FitArguments {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Home folder of the table's owner, with keys and ledger; created if it does not exist. Keep it private
    #[arg(long, value_name = "DIR")]
    pub(crate) home: PathBuf,
    /// The table: a CSV file, plain or gzipped [default: the study's source]
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) table: Option<PathBuf>,
    /// Output directory, which may be published [default: fits/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Method to fit [default: the study's first private method]
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// Also write scores, baselines and warnings computed from the rows, to not-for-publication.json
    #[arg(long)]
    pub(crate) with_baselines: bool,
}

/// The arguments of `posterity reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Name of a table, or a study file with columns; lists all names if omitted
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List the tables
    #[arg(long)]
    pub(crate) list: bool,
    /// Output directory [default: runs/NAME]; resumes an interrupted run found there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use this seed instead of the study's seeds
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run seeds 1 to N instead of the study's seeds
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) replicates: Option<u64>,
}

/// The subcommands of `posterity datasets`.
#[derive(Debug, Subcommand)]
pub(crate) enum Shelf {
    /// List the named data sets
    List,
    /// Show a data set's origin and inputs; a file is validated against its schema
    Show {
        /// Name of the data set, or csv:PATH
        source: String,
        /// Schema to use instead of the data set's own, or of PATH with the extension .toml
        #[arg(long, value_name = "FILE")]
        schema: Option<PathBuf>,
    },
    /// Download a data set that is not bundled, verify it, and store it in $POSTERITY_DATA or ~/.local/share/posterity
    Fetch {
        /// Name of the data set
        name: String,
        /// Use this file (cleaned, or as published) instead of downloading
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Folder to store it in
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// The subcommands of `posterity account`.
#[derive(Debug, Subcommand)]
pub(crate) enum AccountQuestion {
    /// Find the ε of a plan, given δ
    #[command(allow_negative_numbers = true)]
    Epsilon {
        /// δ of the (ε, δ) guarantee
        #[arg(long, value_name = "D")]
        delta: String,
        #[command(flatten)]
        asked: AccountArguments,
    },
    /// Find the δ of a plan, given ε
    #[command(allow_negative_numbers = true)]
    Delta {
        /// ε of the (ε, δ) guarantee
        #[arg(long, value_name = "E")]
        epsilon: String,
        #[command(flatten)]
        asked: AccountArguments,
    },
    /// Find the smallest noise multiplier that keeps a plan within (ε, δ)
    #[command(allow_negative_numbers = true)]
    Calibrate {
        #[command(flatten)]
        budget: Budget,
        #[command(flatten)]
        asked: AccountArguments,
    },
    /// Find how many steps fit within (ε, δ)
    #[command(allow_negative_numbers = true)]
    Steps {
        #[command(flatten)]
        budget: Budget,
        #[command(flatten)]
        asked: AccountArguments,
    },
    /// Tabulate or plot δ as a function of ε, for one or several accountants
    #[command(allow_negative_numbers = true)]
    Profile(ProfileArguments),
}

/// A budget as typed.
#[derive(Debug, Args)]
pub(crate) struct Budget {
    /// ε of the budget
    #[arg(long, value_name = "E")]
    pub(crate) epsilon: String,
    /// δ of the (ε, δ) guarantee
    #[arg(long, value_name = "D")]
    pub(crate) delta: String,
}

/// A plan, and the accountant that costs it.
#[derive(Debug, Args)]
pub(crate) struct AccountArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// Accounting method
    #[arg(long, value_name = "NAME", default_value = "pld", value_parser = accountants())]
    pub(crate) accountant: String,
    /// Compute the answer with two evaluators of `pld`; fails if their intervals do not intersect or only one applies
    #[arg(long)]
    pub(crate) verify: bool,
}

/// A plan as typed: one mechanism by flags, or a file of many.
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) mechanism: MechanismArguments,
    /// JSON list of mechanisms, each an object with these flags as keys; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// A person may have rows at up to K clients, each of which runs the plan
    #[arg(long, value_name = "K")]
    pub(crate) overlap: Option<String>,
    /// Protect any K units jointly instead of one
    #[arg(long, value_name = "K")]
    pub(crate) group: Option<String>,
}

/// The arguments of `posterity account profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// Write the table as CSV to FILE, or to standard output if FILE is omitted (the default)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a plot of δ(ε) as SVG to FILE, or to standard output if FILE is omitted
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) svg: Option<PathBuf>,
    /// Values of ε: first, last and count
    #[arg(long, value_name = "MIN:MAX:COUNT", default_value = "0:10:41")]
    pub(crate) epsilons: String,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// Accounting methods to compare, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "pld", value_delimiter = ',', value_parser = accountants())]
    pub(crate) accountant: Vec<String>,
}

fn accountants() -> PossibleValuesParser {
    let value = |about: &privacy::AboutAccountant| PossibleValue::new(about.name).help(about.to_string());
    PossibleValuesParser::new(study::account::accountants().iter().map(value).collect::<Vec<_>>())
}

/// One mechanism by flags.
#[derive(Debug, Args)]
pub(crate) struct MechanismArguments {
    /// The privacy mechanism
    #[arg(long, value_name = "KIND", value_parser = one_of::<MechanismKind>())]
    pub(crate) mechanism: Option<MechanismKind>,
    /// gaussian: noise standard deviation / sensitivity; laplace: noise scale / sensitivity
    #[arg(long, value_name = "Z")]
    pub(crate) noise_multiplier: Option<String>,
    /// Number of times the mechanism is applied
    #[arg(long, value_name = "T")]
    pub(crate) steps: Option<String>,
    /// How the rows of a step are sampled [default: none]
    #[arg(long, value_name = "HOW", value_parser = one_of::<SamplingAsTyped>())]
    pub(crate) sampling: Option<SamplingAsTyped>,
    /// Fraction of the rows in a step; shuffle-clones, shuffle-krr: fraction of all users in a shuffle
    #[arg(long, value_name = "Q")]
    pub(crate) rate: Option<String>,
    /// Neighbouring relation: one unit added or removed, or one replaced
    #[arg(long, value_name = "RELATION", value_parser = one_of::<AdjacencyAsTyped>())]
    pub(crate) adjacency: Option<AdjacencyAsTyped>,
    /// Unit of protection: one row (the default) or all rows of a client
    #[arg(long, value_name = "WHO", value_parser = one_of::<UnitAsTyped>())]
    pub(crate) unit: Option<UnitAsTyped>,
    /// randomised-response, shuffle-krr: number of possible answers
    #[arg(long, value_name = "K")]
    pub(crate) categories: Option<String>,
    /// randomised-response, shuffle-krr: probability of answering at random
    #[arg(long, value_name = "G")]
    pub(crate) gamma: Option<String>,
    /// shuffle-clones, shuffle-krr: users in one shuffle
    #[arg(long, value_name = "N")]
    pub(crate) users: Option<String>,
    /// shuffle-clones: ε of each user's own answer
    #[arg(long, value_name = "E0")]
    pub(crate) local_epsilon: Option<String>,
    /// shuffle-krr: what is known beside the shuffled answers
    #[arg(long, value_name = "WHICH", value_parser = one_of::<AdversaryAsTyped>())]
    pub(crate) adversary: Option<AdversaryAsTyped>,
    /// approximate: ε of one step
    #[arg(long, value_name = "E")]
    pub(crate) step_epsilon: Option<String>,
    /// approximate: δ of one step
    #[arg(long, value_name = "D")]
    pub(crate) step_delta: Option<String>,
    /// barker: rows in the batch of one test, drawn without replacement
    #[arg(long, value_name = "B")]
    pub(crate) batch: Option<String>,
    /// barker: rows that a batch is drawn from
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<String>,
}

/// The words of a short list, each with its meaning in the help.
fn one_of<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |(_, name, about): &(T, &'static str, &'static str)| PossibleValue::new(*name).help(*about);
    PossibleValuesParser::new(T::ALL.iter().map(value)).try_map(|typed| {
        let found = T::ALL.iter().find(|(_, name, _)| *name == typed);
        found.map(|(choice, ..)| *choice).ok_or_else(|| format!("there is no {typed}"))
    })
}

impl From<&MechanismArguments> for MechanismAsTyped {
    fn from(typed: &MechanismArguments) -> Self {
        Self {
            mechanism: typed.mechanism,
            noise_multiplier: typed.noise_multiplier.clone(),
            steps: typed.steps.clone(),
            sampling: typed.sampling,
            rate: typed.rate.clone(),
            adjacency: typed.adjacency,
            unit: typed.unit,
            categories: typed.categories.clone(),
            gamma: typed.gamma.clone(),
            users: typed.users.clone(),
            local_epsilon: typed.local_epsilon.clone(),
            adversary: typed.adversary,
            step_epsilon: typed.step_epsilon.clone(),
            step_delta: typed.step_delta.clone(),
            batch: typed.batch.clone(),
            rows: typed.rows.clone(),
        }
    }
}
