//! What is typed after the commands of a federation: agents, nodes, ledgers, a server, a demonstration.

use clap::{Args, Subcommand};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What is asked about a ledger.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerQuestion {
    /// Show the runs, their charges, and what was granted and spent
    Show {
        /// Home folder of the site, with its ledger in DIR/ledger
        #[arg(long, value_name = "DIR", default_value = ".")]
        home: PathBuf,
    },
    /// Check every record, every run's account and what the site remembers; exit code 3 and the record's number on damage
    Verify {
        /// Home folder of the site, with its ledger in DIR/ledger
        #[arg(long, value_name = "DIR", default_value = ".")]
        home: PathBuf,
    },
}

/// What is asked of a site's agent.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Hold a site's file against a schema, on this terminal alone, before the site joins anything
    #[command(
        after_help = "Nothing is sent. Cells that do not fit are told and are no error: an agent takes them for missing. Exit code 2 \
                            if the file cannot be read by the schema at all."
    )]
    Check {
        /// The site's rows, gzipped or not
        #[arg(long, value_name = "FILE.csv")]
        data: PathBuf,
        /// What the columns mean
        #[arg(long, value_name = "FILE.toml")]
        schema: PathBuf,
        /// How many rows the study declares for this site: a warning says if the file has others
        #[arg(long, value_name = "N")]
        declared_rows: Option<u64>,
    },
    /// Join a federation by an invite: the key is made here and stays here
    Join {
        /// The invite, one line; `-` reads it from standard input, where no list of processes shows it
        #[arg(value_name = "INVITE")]
        invite: String,
        /// Home folder of the site; it is made if need be
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Take part: answer what the site's policy allows, until the run is over
    Run(AgentRun),
    /// Approve a study that was proposed, where the policy says that somebody must; without a digest, list what waits
    Approve {
        /// The digest of its manifest, as `posterity agent run` prints it, or as many of its first digits as only one has
        #[arg(value_name = "DIGEST")]
        digest: Option<String>,
        /// Home folder of the site
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Print what the site's owner reads out to others who must know its key
    Fingerprint {
        /// Home folder of the site
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// What the site allows, whatever a study asks for
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
    /// The site's rows, gzipped or not; they are read here and stay here
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) data: PathBuf,
    /// The site's own rules, which win over any study (`posterity agent policy init`)
    #[arg(long, value_name = "site.toml")]
    pub(crate) policy: PathBuf,
}

/// What is asked of a compute node.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Join a federation by an invite: the keys are made here and stay here
    Join {
        /// The invite, one line; `-` reads it from standard input, where no list of processes shows it
        #[arg(value_name = "INVITE")]
        invite: String,
        /// Home folder of the node; it is made if need be
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Print what the node's owner reads out to the sites, which write it into their policies
    Fingerprint {
        /// Home folder of the node
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
    /// Hold shares of secure sums, until the run is over
    Run {
        /// Home folder of the node
        #[arg(long, value_name = "DIR")]
        home: PathBuf,
    },
}

/// What is demonstrated.
#[derive(Debug, Subcommand)]
pub(crate) enum Demonstration {
    /// A server, two compute nodes and four hospitals as processes of their own on this machine
    Federation(DemoArguments),
}

/// The arguments of `posterity demo federation`.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Folder of the demonstration; one that an earlier demonstration has left is removed first
    #[arg(long, value_name = "DIR", default_value = "runs/demo-federation")]
    pub(crate) folder: PathBuf,
    /// Keep the server and its dashboard when the run is over, until Ctrl-C
    #[arg(long)]
    pub(crate) stay: bool,
}

/// The arguments of `posterity serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArguments {
    /// The study, with a table [federation]
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study: PathBuf,
    /// Folder of the certificate authority (`posterity ca init`)
    #[arg(long, value_name = "DIR")]
    pub(crate) ca: PathBuf,
    /// Home folder of the server; it is made if need be
    #[arg(long, value_name = "DIR")]
    pub(crate) home: PathBuf,
    /// Where runs are kept: a SQLite file (HOME/server.sqlite without it), or postgres://…
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) store: Option<String>,
    /// Where agents and nodes call, with their certificates
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7443")]
    pub(crate) listen: String,
    /// Where invites are redeemed
    #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7444")]
    pub(crate) enrol: String,
    /// The dashboard; plain on loopback, with TLS elsewhere
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7445")]
    pub(crate) dashboard: String,
    /// The address that parties are told, where it is another than --listen
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// Most connections at a time from one address that have shown no certificate, on each port; the one that was idle longest
    /// gives way. 256 for agents and nodes, 128 for invites and the dashboard, unless said here
    #[arg(long, value_name = "COUNT")]
    pub(crate) connections_per_address: Option<NonZeroUsize>,
    /// Most connections at a time of one party that has shown its certificate; the one that was idle longest gives way
    #[arg(long, value_name = "COUNT", default_value = "4")]
    pub(crate) connections_per_party: NonZeroUsize,
    /// Which of the study's methods is run; needed where several promise privacy
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// Directory of the results, runs/NAME without it
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Propose another run where the last one of this study is over
    #[arg(long)]
    pub(crate) again: bool,
    /// End when the run is over, instead of keeping the dashboard
    #[arg(long)]
    pub(crate) until_finished: bool,
}

/// What is asked about a site's policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print a policy to begin with, every key explained: posterity agent policy init > site.toml
    Init,
}
