//! Arguments of the commands that run a federation: agents, nodes, ledgers, a server, a demonstration.

use clap::{Args, Subcommand};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The subcommands of `posterity ledger`.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerQuestion {
    /// Show the runs, their charges, and the privacy budget granted and spent
    Show {
        /// Home folder of the site, with its ledger in DIR/ledger
        #[arg(long, value_name = "DIR", default_value = ".")]
        home: PathBuf,
    },
    /// Check every record, every run's account and the site's memory; if a record is damaged, print its number and exit with code 3
    ///
    /// With --bundle, check a finished run's file instead, without server and rows
    Verify {
        /// Home folder of the site, with its ledger in DIR/ledger
        #[arg(long, value_name = "DIR", default_value = ".")]
        home: PathBuf,
        /// The file of a finished run (`posterity study bundle`): its signatures, its answers, and the posterior that follows from them
        #[arg(long, value_name = "FILE.run", conflicts_with = "home")]
        bundle: Option<PathBuf>,
    },
}

/// The subcommands of `posterity study`.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Write a finished run into one file, which anyone can check with `posterity ledger verify --bundle`
    #[command(
        after_help = "The file has the manifest with everyone's signatures, all released answers with their places in the sites' ledgers, \
                      and the posterior. The server signs it. It contains nothing that the server does not publish anyway: no rows, \
                      and no site's total over its other runs."
    )]
    Bundle {
        /// The run, as results.json and the dashboard name it; its first digits are enough
        #[arg(value_name = "RUN")]
        run: String,
        /// Home folder of the server, with its key
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
        /// The server's database [default: server.sqlite in the home folder]
        #[arg(long, value_name = "STORE")]
        store: Option<String>,
        /// The file to write
        #[arg(long, value_name = "FILE.run")]
        out: PathBuf,
    },
}

/// The subcommands of `posterity agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Validate a site's file locally, before the site joins a federation
    #[command(
        after_help = "Nothing is sent. The command lists cells that do not match the schema. They are not errors: an agent treats them \
                      as missing. Exit code 2 if the schema does not describe the file at all, or a column has no cell that it allows."
    )]
    Check {
        /// The site's rows: a CSV file, plain or gzipped
        #[arg(long, value_name = "FILE.csv")]
        data: PathBuf,
        /// The schema, which describes the columns
        #[arg(long, value_name = "FILE.toml")]
        schema: PathBuf,
        /// Number of rows that the study declares for this site; the command warns if the file has another number
        #[arg(long, value_name = "N")]
        declared_rows: Option<u64>,
    },
    /// Join a federation with an invite; the site's key is created here and never leaves
    Join {
        /// The invite, one line; `-` reads it from standard input, so that it does not appear in the process list
        #[arg(value_name = "INVITE")]
        invite: String,
        /// Home folder of the site; created if it does not exist
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Run the agent: answer what the site's policy allows, until the run ends
    Run(AgentRun),
    /// Approve a proposed study, if the policy requires approval; without a digest, list the proposals that wait
    Approve {
        /// Digest of the manifest, as `posterity agent run` prints it; its first digits are enough, at least eight
        #[arg(value_name = "DIGEST")]
        digest: Option<String>,
        /// Home folder of the site
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Show what would leave the site in a proposed study, to whom, and what it would cost; no row is read
    #[command(
        after_help = "The answer follows from the manifest that the server proposed, the site's ledger and its policy. With --policy the \
                      command also says what all runs together would count as, and whether the policy allows the run."
    )]
    Preview {
        /// Digest of the manifest, as `posterity agent run` prints it; its first digits are enough, at least eight
        #[arg(value_name = "DIGEST")]
        digest: String,
        /// Home folder of the site
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
        /// The site's policy
        #[arg(long, value_name = "site.toml")]
        policy: Option<PathBuf>,
    },
    /// Leave a run for good; stop the agent first
    #[command(
        after_help = "The run is closed in the site's own ledger: nothing more is charged or sent, and what the run had reserved beyond \
                      its charges is free for other runs. The server need not be there; it hears of it when it asks for the next \
                      answer. Answers that have left the site stay in the posterior."
    )]
    Withdraw {
        /// The run, as `posterity ledger show` names it; its first digits are enough, at least eight
        #[arg(value_name = "RUN")]
        run: String,
        /// Home folder of the site
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Print the site's fingerprint, which its owner reads out to the other owners
    Fingerprint {
        /// Home folder of the site
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// The site's policy: what the site allows, whatever a study requests
    Policy {
        #[command(subcommand)]
        asked: PolicyCommand,
    },
}

/// The arguments of `posterity agent run`.
#[derive(Debug, Args)]
pub(crate) struct AgentRun {
    /// Home folder of the site
    #[arg(long, value_name = "DIR")]
    pub(crate) home: PathBuf,
    /// The site's rows: a CSV file, plain or gzipped; they never leave this machine
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) data: PathBuf,
    /// The site's policy, which overrides any study (`posterity agent policy init`)
    #[arg(long, value_name = "site.toml")]
    pub(crate) policy: PathBuf,
}

/// The subcommands of `posterity node`.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Join a federation with an invite; the node's keys are created here and never leave
    Join {
        /// The invite, one line; `-` reads it from standard input, so that it does not appear in the process list
        #[arg(value_name = "INVITE")]
        invite: String,
        /// Home folder of the node; created if it does not exist
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Print the node's fingerprint, which its owner reads out to the sites for their policies
    Fingerprint {
        /// Home folder of the node
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Run the node: hold shares of secure sums, until the run ends
    Run {
        /// Home folder of the node
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
}

/// The subcommands of `posterity demo`.
#[derive(Debug, Subcommand)]
pub(crate) enum Demonstration {
    /// Run a server, two compute nodes and four hospitals as separate processes on this machine
    Federation(DemoArguments),
}

/// The arguments of `posterity demo federation`.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Folder of the demonstration; the files of an earlier demonstration are removed first
    #[arg(long, value_name = "DIR", default_value = "runs/demo-federation")]
    pub(crate) folder: PathBuf,
    /// Keep the server and its dashboard running after the run ends, until Ctrl-C
    #[arg(long)]
    pub(crate) stay: bool,
}

/// The arguments of `posterity serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArguments {
    /// The study, which needs a [federation] table
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Folder of the certificate authority (`posterity ca init`)
    #[arg(long, value_name = "DIR")]
    pub(crate) ca: PathBuf,
    /// Home folder of the server; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub(crate) home: PathBuf,
    /// Where runs are stored: a SQLite file (default: HOME/server.sqlite), or postgres://…
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) store: Option<String>,
    /// Address on which agents and nodes connect, with their certificates
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7443")]
    pub(crate) listen: String,
    /// Address on which new parties redeem their invites
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7444")]
    pub(crate) enrol: String,
    /// Address of the dashboard; plain HTTP on loopback, TLS elsewhere
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7445")]
    pub(crate) dashboard: String,
    /// Address that parties are told to connect to, if it differs from --listen
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// Limit of simultaneous connections without a certificate from one address, on each port; over the limit, the connection
    /// idle longest is closed. Default: 256 for agents and nodes, 128 for invites and the dashboard
    #[arg(long, value_name = "COUNT")]
    pub(crate) connections_per_address: Option<NonZeroUsize>,
    /// Limit of simultaneous connections of one party, known by its certificate; over the limit, the one idle longest is closed
    #[arg(long, value_name = "COUNT", default_value = "4")]
    pub(crate) connections_per_party: NonZeroUsize,
    /// Method of the study to run; required if several methods are private
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// Directory of the results (default: runs/NAME)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Propose another run if the last run of this study has ended
    #[arg(long)]
    pub(crate) again: bool,
    /// Exit when the run ends, instead of keeping the dashboard
    #[arg(long)]
    pub(crate) until_finished: bool,
}

/// The subcommands of `posterity agent policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print a default policy with every key explained: posterity agent policy init > site.toml
    Init,
}
