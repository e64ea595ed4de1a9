//! `posterity node run`: a compute node of secure sums.

use super::agent::ended;
use super::hooks::PartyHooks;
use super::rehearsal::noise;
use crate::failure::Failure;
use crate::federation::net::{client, failure, home_of, logs, of_drive, of_home, runtime, stopped};
use federation::drive::drive;
use federation::identity::PartyRole;
use federation::log::{FolderDisk, LogError};
use federation::manifest::Manifest;
use federation::party::{NodeOwner, NodeParty, Verdict};
use federation::studies::Studies;
use federation::transport::Connection;
use privacy::noise::OsKeyed;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use zeroize::Zeroizing;

/// Where a node keeps its records of sums, in its home.
const RECORDS: &str = "sums";

/// Makes the folder of records for a node that is about to get its keys. It is made with them and never again: records are what
/// keeps a node from opening a sum twice, so a home without them is one that has lost them.
pub(super) fn prepare(folder: &Path) -> Result<(), Failure> {
    FolderDisk::open(&folder.join(RECORDS)).map_err(LogError::from)?;
    Ok(())
}

/// Removes the folder of records of a node that has never joined: there is nothing in it.
pub(super) fn forget(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder.join(RECORDS));
}

/// The folder of records, which a node that has joined has.
fn records(folder: &Path) -> Result<FolderDisk, Failure> {
    let path = folder.join(RECORDS);
    if !path.is_dir() {
        let message = format!("this node's records of sums are missing: there is no folder {}", path.display());
        let hint = "without them the node could open a sum twice, with different noise. Ask the server's operator to revoke the node \
                    (`posterity site revoke NAME --role node`), then join with a new invite and a new --home";
        return Err(failure("F201", message, hint));
    }
    Ok(FolderDisk::open(&path).map_err(LogError::from)?)
}

/// Runs a node until its run is over or it is stopped.
pub(crate) fn run(folder: &Path, json: bool) -> Result<String, Failure> {
    logs();
    let home = Arc::new(home_of(folder, PartyRole::Node)?);
    let disk = records(folder)?;
    let credentials = home.credentials().map_err(of_home)?;
    let (name, sealing) = (credentials.party.name.clone(), home.sealing().map_err(of_home)?.clone());
    let owner = Box::new(NodeOperator(home.noise_secret().map_err(of_home)?.clone()));
    let party = NodeParty::new(name.clone(), home.key().clone(), sealing, Arc::new(Studies::default()), owner, disk);
    let (sender, tls) = watch::channel(client(&home)?);
    let standing = runtime()?.block_on(async {
        let mut connection =
            Connection::new(credentials.server.as_str().to_owned(), tls, u64::from(std::process::id()));
        let mut hooks = PartyHooks::new(home, PartyRole::Node, name.clone(), sender);
        let standing = drive(Box::new(party), &mut connection, &mut hooks, stopped()).await;
        standing.map(|standing| (standing, hooks.ended_by))
    });
    let (standing, by) = standing.map_err(|error| of_drive(error, &credentials))?;
    ended("node", name.as_str(), standing, by.as_deref(), json)
}

/// A node's operator, who lets it take part in every study that names it.
struct NodeOperator(Zeroizing<[u8; 32]>);

impl NodeOwner for NodeOperator {
    fn consider(&mut self, _: &Manifest) -> Verdict {
        Verdict::Sign
    }

    fn noise(&mut self) -> OsKeyed {
        noise(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::join::join;
    use super::*;
    use federation::identity::{Address, Home, Invite, InviteSecret, PartyName};

    /// Removed when the test is over.
    struct NodeFolder(std::path::PathBuf);

    impl Drop for NodeFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_node_whose_records_are_gone_does_not_start_and_joining_again_does_not_bring_them_back() {
        let folder = NodeFolder(std::env::temp_dir().join(format!("posterity-node-{}", std::process::id())));
        let home = folder.0.join("node");
        let invite = Invite {
            // Nobody listens there.
            server: Address::new("127.0.0.1:9").unwrap(),
            secret: InviteSecret::generate().unwrap(),
            root: [7; 32],
            role: PartyRole::Node,
            name: PartyName::new("node-1").unwrap(),
        };
        let call = || join(&invite.text(), PartyRole::Node, &home, false).unwrap_err().code();
        assert_eq!(call(), "F203");
        assert!(!home.exists(), "nobody has joined");
        prepare(&home).unwrap();
        Home::create(&home, PartyRole::Node).unwrap();
        let joined = run(&home, false).unwrap_err();
        assert!(joined.to_string().contains("no certificate yet"), "{joined}");
        std::fs::remove_dir_all(home.join(RECORDS)).unwrap();
        for _ in 0..2 {
            let refused = run(&home, false).unwrap_err();
            assert_eq!(refused.code(), "F201");
            assert!(refused.to_string().contains("records of sums are missing"), "{refused}");
            assert!(refused.hint().contains("revoke") && refused.hint().contains("new --home"), "{}", refused.hint());
            assert_eq!(call(), "F203");
            assert!(!home.join(RECORDS).exists(), "another invite does not bring back what was lost");
        }
    }
}
