//! The arguments of `posterity ca` and `posterity site`, as typed.

use clap::{Args, Subcommand, ValueEnum};
use federation::identity::PartyRole;
use std::path::PathBuf;

/// The subcommands of `posterity ca`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthorityCommand {
    /// Create a certificate authority: a root for five years, to be kept offline, and an issuing certificate for 90 days
    Init {
        /// Folder for the new authority; created if it does not exist
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Name of the federation in the certificates
        #[arg(long, value_name = "NAME", default_value = "federation")]
        name: String,
    },
    /// Renew the issuing certificate; root.key must be in the folder
    Renew {
        /// Folder of the authority
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Create a new issuing key, too
        #[arg(long)]
        new_key: bool,
    },
    /// Show the fingerprint of the root and when the certificates expire
    Show {
        /// Folder of the authority
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// The subcommands of `posterity site`.
#[derive(Debug, Subcommand)]
pub(crate) enum PartyCommand {
    /// Create an invite: one line with which a new party joins, once
    Invite(InviteArguments),
    /// List the parties and the status of their certificates
    List {
        /// The server's store: a path, or postgres://…
        #[arg(long, value_name = "STORE")]
        store: String,
    },
    /// Revoke a party: the server refuses it from then on
    Revoke {
        /// Name of the party
        #[arg(value_name = "NAME")]
        name: String,
        /// Role of the party
        #[arg(long, value_enum, default_value = "site")]
        role: RoleAsTyped,
        /// The server's store: a path, or postgres://…
        #[arg(long, value_name = "STORE")]
        store: String,
    },
}

/// The arguments of `posterity site invite`.
#[derive(Debug, Args)]
pub(crate) struct InviteArguments {
    /// Name of the new party
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Role of the new party
    #[arg(long, value_enum, default_value = "site")]
    pub(crate) role: RoleAsTyped,
    /// Folder of the authority
    #[arg(long, value_name = "DIR")]
    pub(crate) ca: PathBuf,
    /// The server's store: a path, or postgres://…
    #[arg(long, value_name = "STORE")]
    pub(crate) store: String,
    /// Address of the server's enrolment port, as the new party reaches it
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) server: String,
    /// How long the invite is valid: minutes, hours or days, such as 30m, 24h or 7d
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub(crate) valid: String,
    /// Print only the invite, for another program to read
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The roles that a party can be invited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleAsTyped {
    /// Holds rows and answers questions about them
    Site,
    /// Holds shares of secure sums
    Node,
}

impl RoleAsTyped {
    /// The role as meant.
    pub(crate) fn role(self) -> PartyRole {
        match self {
            Self::Site => PartyRole::Site,
            Self::Node => PartyRole::Node,
        }
    }
}
