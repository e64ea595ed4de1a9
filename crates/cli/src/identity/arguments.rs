//! The arguments of `posterity ca` and `posterity site`, as typed.

use clap::{Args, Subcommand, ValueEnum};
use federation::identity::PartyRole;
use std::path::PathBuf;

/// What is asked of an authority.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthorityCommand {
    /// Make an authority: a root for five years, to be kept offline, and an issuing certificate for 90 days
    Init {
        /// A folder that has no authority yet; it is made if need be
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Name of the federation, as it stands in the certificates
        #[arg(long, value_name = "NAME", default_value = "federation")]
        name: String,
    },
    /// Make a new issuing certificate; root.key must be back in the folder
    Renew {
        /// The folder of the authority
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Make a new issuing key too
        #[arg(long)]
        new_key: bool,
    },
    /// Show the fingerprint of the root, and when the certificates end
    Show {
        /// The folder of the authority
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// What is asked about parties.
#[derive(Debug, Subcommand)]
pub(crate) enum PartyCommand {
    /// Make an invite: one line with which a new party joins, once
    Invite(InviteArguments),
    /// List who has joined, and whose certificate has ended or was revoked
    List {
        /// The server's store: a path, or postgres://…
        #[arg(long, value_name = "STORE")]
        store: String,
    },
    /// Revoke a party: the server no longer listens to it
    Revoke {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Its role
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
    /// What it will be
    #[arg(long, value_enum, default_value = "site")]
    pub(crate) role: RoleAsTyped,
    /// The folder of the authority
    #[arg(long, value_name = "DIR")]
    pub(crate) ca: PathBuf,
    /// The server's store: a path, or postgres://…
    #[arg(long, value_name = "STORE")]
    pub(crate) store: String,
    /// Where the new party reaches the server's port for joining
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) server: String,
    /// How long the invite is good: minutes, hours or days, such as 30m, 24h or 7d
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub(crate) valid: String,
    /// Print the invite alone, for another program to read
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// What a party can be invited as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleAsTyped {
    /// Keeps rows and answers questions about them
    Site,
    /// Holds shares of a secure sum
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
