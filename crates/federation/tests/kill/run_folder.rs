//! Where a federation of real processes lives: a folder with an authority, keys, ledgers and a store.

use crate::common::study::{TestBuilder, TestKeys};
use federation::identity::{Authority, IdentityKey, PARTY_LIFE, PartyName, PartyRole, SealingKey};
use federation::manifest::{Manifest, Pace, RunBuilder, RunParts};
use federation::store::{PartyRow, ServerStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A study with who takes part in it, in one line: `synchronous/12/0 3 0 3 -` is three sites, no node, a quorum of three and
/// no deadline.
#[derive(Debug, Clone)]
pub(crate) struct StudyLine {
    pub(crate) study: String,
    pub(crate) sites: usize,
    pub(crate) nodes: usize,
    pace: Pace,
}

impl StudyLine {
    pub(crate) fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let [study, sites, nodes, quorum, deadline] = words[..] else { panic!("no scene: {text}") };
        let rounds = study.split('/').nth(1).unwrap().parse().unwrap();
        let pace = Pace { rounds, quorum: quorum.parse().unwrap(), deadline: deadline.parse().ok() };
        Self { study: study.into(), sites: sites.parse().unwrap(), nodes: nodes.parse().unwrap(), pace }
    }
}

/// The folder, and what is played in it.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
    pub(crate) scene: StudyLine,
}

/// What every process of a run makes for itself.
pub(crate) struct ProcessParts {
    pub(crate) keys: TestKeys,
    pub(crate) builder: Arc<dyn RunBuilder>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) parts: Arc<RunParts>,
}

impl RunFolder {
    /// A stage that was built.
    pub(crate) fn at(folder: &Path, text: &str) -> Self {
        Self { folder: folder.into(), text: text.into(), scene: StudyLine::of(text) }
    }

    /// Builds a stage: an authority, and a key for everybody.
    pub(crate) fn build(folder: &Path, text: &str) -> Self {
        let stage = Self::at(folder, text);
        fs::create_dir_all(folder).unwrap();
        Authority::init(&folder.join("ca"), &PartyName::new("kills").unwrap(), now()).unwrap();
        for name in stage.names("site", stage.scene.sites).chain(stage.names("node", stage.scene.nodes)) {
            stage.make_key(&name);
        }
        stage.make_key(&PartyName::new("server").unwrap());
        stage
    }

    fn names(&self, kind: &'static str, count: usize) -> impl Iterator<Item = PartyName> + use<> {
        (0..count).map(move |number| PartyName::new(&format!("{kind}-{number}")).unwrap())
    }

    fn make_key(&self, name: &PartyName) {
        fs::write(self.folder.join(format!("{name}.key")), IdentityKey::generate().unwrap().pkcs8()).unwrap();
    }

    fn key(&self, name: &PartyName) -> Arc<IdentityKey> {
        let bytes = fs::read(self.folder.join(format!("{name}.key"))).unwrap();
        Arc::new(IdentityKey::from_pkcs8(&bytes).unwrap())
    }

    /// Everybody's keys, and the run.
    pub(crate) fn play(&self) -> ProcessParts {
        let sites = self.names("site", self.scene.sites).map(|name| (name.clone(), self.key(&name)));
        let nodes = (1..).zip(self.names("node", self.scene.nodes)).map(|(number, name)| {
            let key = self.key(&name);
            (name, key, Arc::new(SealingKey::of_bytes(&[number; 32]).unwrap()))
        });
        let keys = TestKeys {
            server: self.key(&PartyName::new("server").unwrap()),
            sites: sites.collect(),
            nodes: nodes.collect(),
        };
        let builder: Arc<dyn RunBuilder> = Arc::new(TestBuilder::default());
        let manifest = keys.manifest(&self.scene.study, 1, self.scene.pace, builder.as_ref());
        let parts = manifest.check(builder.as_ref()).unwrap();
        ProcessParts { keys, builder, manifest, parts }
    }

    /// All sites and nodes are enrolled.
    pub(crate) fn enrol(&self, store: &dyn ServerStore) {
        let play = self.play();
        let row = |role, name: &PartyName, key: &IdentityKey, sealing| PartyRow {
            role,
            name: name.clone(),
            key: key.public(),
            sealing,
            expires: now() + PARTY_LIFE,
            revoked: None,
        };
        for (name, key) in &play.keys.sites {
            store.enrol(&row(PartyRole::Site, name, key, None)).unwrap();
        }
        for (name, key, sealing) in &play.keys.nodes {
            store.enrol(&row(PartyRole::Node, name, key, Some(sealing.public()))).unwrap();
        }
    }

    pub(crate) fn authority(&self) -> Authority {
        Authority::open(&self.folder.join("ca")).unwrap()
    }

    /// The folder of a site's ledger or a node's sums.
    pub(crate) fn disk(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("disk")
    }

    /// What a party was seen to send and to hear, beside everything that it keeps itself.
    pub(crate) fn witnessed(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.seen"))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
