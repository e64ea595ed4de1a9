//! The command line as typed: numbers are still text, so that a bad one is answered by name, code and hint.

use crate::identity::{AuthorityCommand, PartyCommand};
mod federation;

pub(crate) use federation::{
    AgentCommand, AgentRun, DemoArguments, Demonstration, LedgerQuestion, NodeCommand, PolicyCommand, ServeArguments,
};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use study::account::{
    AdjacencyAsTyped, AdversaryAsTyped, Choice, MechanismAsTyped, MechanismKind, SamplingAsTyped, UnitAsTyped,
};

const ABOUT: &str = "Differentially private federated Bayesian learning";

const EXIT_CODES: &str = "\
Exit codes:
  0  answered
  1  the machine failed: a disk, a port, the network
  2  the input is wrong, or a file is not there
  3  refused: no theorem covers it, no number can be certified, or a budget would be exceeded
Errors go to standard error, each with a code that `posterity explain` explains.
With --json an error is one object there: {\"error\": {\"code\", \"message\", \"hint\"}}.";

/// Shown by `posterity account --help`; a test runs them.
const EXAMPLES: &str = "\
Examples:
  What do 10,000 steps of DP-SGD cost, with batches of 1 % of the rows?
    posterity account epsilon --delta 1e-5 --mechanism gaussian --noise-multiplier 1 \\
      --steps 1e4 --sampling poisson --rate 0.01 --adjacency add-remove
  How much noise brings 20 releases of a clipped sum within a budget?
    posterity account calibrate --epsilon 1 --delta 1e-6 --mechanism gaussian --steps 20 \\
      --adjacency substitute
  How many answers of a randomised response may one person give?
    posterity account steps --epsilon 3 --delta 1e-6 --mechanism randomised-response \\
      --categories 4 --gamma 0.8";

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
    /// Tell what a plan costs in privacy, or which plan a budget affords
    #[command(after_help = EXAMPLES)]
    Account {
        #[command(subcommand)]
        question: Box<Question>,
    },
    /// Make the report of a finished run again
    Report(Report),
    /// Read a study, and header and schema of its data, and say in plain words what it would run
    #[command(
        after_help = "No row is read. Exit code 0 if the study is sound, with or without warnings; 2 if it is not, or if a \
                      file is not there."
    )]
    Check {
        /// The study
        #[arg(value_name = "STUDY.toml")]
        study: PathBuf,
    },
    /// Tell what a study will cost each client, without touching a row
    Plan {
        /// The study
        #[arg(value_name = "STUDY.toml")]
        study: PathBuf,
    },
    /// Simulate a study, and write its results and report
    Run(RunArguments),
    /// Draw from the posterior by the chains of a study, and write the draws as Stan CSV and Arrow
    Sample(RunArguments),
    /// Run a published table again, beside the paper's numbers
    Reproduce(ReproduceArguments),
    /// Predict new rows from the posterior of a run
    Predict(PredictArguments),
    /// Keep a site's part of a federation
    Agent {
        #[command(subcommand)]
        asked: AgentCommand,
    },
    /// List, show or fetch data sets
    Datasets {
        #[command(subcommand)]
        asked: Shelf,
    },
    /// Write skeletons of a study and a schema, from the header of a table and never from its values
    Init {
        /// A folder that has neither file yet; it is made if need be
        #[arg(value_name = "NEWDIR")]
        folder: PathBuf,
        /// The table, of which only the first line is read
        #[arg(long, value_name = "FILE.csv")]
        header: PathBuf,
    },
    /// Show or check the ledger of a site; it is only read, so an agent may be at work
    Ledger {
        #[command(subcommand)]
        asked: LedgerQuestion,
    },
    /// Serve a study to agents at sites: rounds, secure sums, results, and a dashboard
    Serve(ServeArguments),
    /// Be a compute node of secure sums
    Node {
        #[command(subcommand)]
        asked: NodeCommand,
    },
    /// Show a whole federation on this machine
    Demo {
        #[command(subcommand)]
        what: Demonstration,
    },
    /// Make, renew or show the certificate authority of a federation
    Ca {
        #[command(subcommand)]
        asked: AuthorityCommand,
    },
    /// Invite, list or revoke the parties of a federation
    Site {
        #[command(subcommand)]
        asked: PartyCommand,
    },
    /// Explain an error code, or list all of them
    Explain {
        /// The code, such as P002; all codes are listed without it
        code: Option<String>,
    },
    /// Print a script that completes this command in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The arguments of `posterity run` and `posterity sample`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Directory of the results, runs/NAME without it; a run that was stopped there goes on
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run this seed instead of the study's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The arguments of `posterity reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArguments {
    /// Name of the table, or a study file with columns; all names are listed without it
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List the tables
    #[arg(long)]
    pub(crate) list: bool,
    /// Directory of the results, runs/NAME without it; a run that was stopped there goes on
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run this seed instead of the study's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The arguments of `posterity predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    /// Directory of a finished run
    #[arg(value_name = "RESULTS_DIR")]
    pub(crate) results: PathBuf,
    /// Rows to predict, with the columns of the study's data; an outcome is not needed
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) data: PathBuf,
    /// Read the rows by this schema instead of the one that the run stored
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Which method's posterior; not needed if the study has one
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// The site that the rows are of, where the method has an intercept of each site's own; without it, an unknown one
    #[arg(long, value_name = "NAME")]
    pub(crate) site: Option<String>,
}

/// What is asked about data sets.
#[derive(Debug, Subcommand)]
pub(crate) enum Shelf {
    /// List the data sets that are known by name
    List,
    /// Show where a data set comes from and which inputs it gives; a file is checked against its schema
    Show {
        /// Its name, or csv:PATH
        source: String,
        /// The schema to use instead of its own, or of PATH with the ending .toml
        #[arg(long, value_name = "FILE")]
        schema: Option<PathBuf>,
    },
    /// Get a data set that is not bundled, check it, and store it in $POSTERITY_DATA or ~/.local/share/posterity
    Fetch {
        /// Its name
        name: String,
        /// Take this file, clean or as its publisher hands it out, instead of downloading
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Store it in this folder instead
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// The questions to an accountant.
#[derive(Debug, Subcommand)]
pub(crate) enum Question {
    /// Find the ε of a plan, given δ
    #[command(allow_negative_numbers = true)]
    Epsilon {
        /// δ of the (ε, δ) promise
        #[arg(long, value_name = "D")]
        delta: String,
        #[command(flatten)]
        asked: Asked,
    },
    /// Find the δ of a plan, given ε
    #[command(allow_negative_numbers = true)]
    Delta {
        /// Largest privacy loss that counts as kept
        #[arg(long, value_name = "E")]
        epsilon: String,
        #[command(flatten)]
        asked: Asked,
    },
    /// Find the least noise multiplier that keeps a plan within (ε, δ)
    #[command(allow_negative_numbers = true)]
    Calibrate {
        #[command(flatten)]
        budget: Budget,
        #[command(flatten)]
        asked: Asked,
    },
    /// Find how many steps fit within (ε, δ)
    #[command(allow_negative_numbers = true)]
    Steps {
        #[command(flatten)]
        budget: Budget,
        #[command(flatten)]
        asked: Asked,
    },
    /// Tabulate or plot δ as a function of ε, for one or several accountants
    #[command(allow_negative_numbers = true)]
    Profile(ProfileArguments),
}

/// A budget as typed.
#[derive(Debug, Args)]
pub(crate) struct Budget {
    /// Largest ε that may be spent
    #[arg(long, value_name = "E")]
    pub(crate) epsilon: String,
    /// δ of the (ε, δ) promise
    #[arg(long, value_name = "D")]
    pub(crate) delta: String,
}

/// A plan and the one accountant that is asked about it.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// The method of accounting
    #[arg(long, value_name = "NAME", default_value = "pld", value_parser = accountants())]
    pub(crate) accountant: String,
    /// Ask two evaluators of `pld` and refuse if their intervals do not meet, or only one answers
    #[arg(long)]
    pub(crate) verify: bool,
}

/// A plan as typed: one mechanism by flags, or a file of many.
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) mechanism: MechanismArguments,
    /// JSON list of mechanisms, each an object with the names of these flags; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// The same person may be at up to K clients that each run the plan
    #[arg(long, value_name = "K")]
    pub(crate) overlap: Option<String>,
    /// Protect any K units together instead of one
    #[arg(long, value_name = "K")]
    pub(crate) group: Option<String>,
}

/// The arguments of `posterity account profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// Write the table as CSV to FILE, or to standard output without FILE (the default)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a plot of δ(ε) as SVG to FILE, or to standard output without FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) svg: Option<PathBuf>,
    /// The values of ε: first, last and how many
    #[arg(long, value_name = "MIN:MAX:COUNT", default_value = "0:10:41")]
    pub(crate) epsilons: String,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// The methods of accounting to compare, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "pld", value_delimiter = ',', value_parser = accountants())]
    pub(crate) accountant: Vec<String>,
}

/// The arguments of `posterity report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The directory of a run, or its results.json
    #[arg(value_name = "DIR|FILE")]
    pub(crate) results: PathBuf,
    /// Where to write the HTML; report.html beside the results without it, - writes to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

fn accountants() -> PossibleValuesParser {
    let value = |about: &privacy::AboutAccountant| PossibleValue::new(about.name).help(about.to_string());
    PossibleValuesParser::new(study::account::accountants().iter().map(value).collect::<Vec<_>>())
}

/// One mechanism by flags.
#[derive(Debug, Args)]
pub(crate) struct MechanismArguments {
    /// What is done to the data
    #[arg(long, value_name = "KIND", value_parser = one_of::<MechanismKind>())]
    pub(crate) mechanism: Option<MechanismKind>,
    /// gaussian: noise deviation / sensitivity; laplace: noise scale / sensitivity
    #[arg(long, value_name = "Z")]
    pub(crate) noise_multiplier: Option<String>,
    /// How often it is done
    #[arg(long, value_name = "T")]
    pub(crate) steps: Option<String>,
    /// How the rows of a step are drawn; every row takes part without it
    #[arg(long, value_name = "HOW", value_parser = one_of::<SamplingAsTyped>())]
    pub(crate) sampling: Option<SamplingAsTyped>,
    /// The share of the rows in a step; shuffle-clones, shuffle-krr: the share of all users in a shuffle
    #[arg(long, value_name = "Q")]
    pub(crate) rate: Option<String>,
    /// Which data sets are neighbours: one unit more or less, or one replaced
    #[arg(long, value_name = "RELATION", value_parser = one_of::<AdjacencyAsTyped>())]
    pub(crate) adjacency: Option<AdjacencyAsTyped>,
    /// Who is protected: one row (the default), or all rows of a client
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
