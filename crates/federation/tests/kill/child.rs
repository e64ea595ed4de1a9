//! What a process of the federation does: a server, a site or a node over TLS, disks and stores, until it is killed or done.

use crate::common::message_kind::{content, kind};
use crate::common::study::{PAIR, cap, shard};
use crate::run_folder::{ProcessParts, RunFolder, now};
use federation::dashboard::Metrics;
use federation::drive::{DriverHooks, drive};
use federation::identity::{IdentityKey, PARTY_LIFE, PartyName, PartyRole, certificates, client_config, server_config};
use federation::log::{Account, FolderDisk, Log};
use federation::manifest::{Manifest, RunParts};
use federation::message::{Attempt, Instruction, RefusalCode, Request};
use federation::party::{NodeOwner, NodeParty, PartyError, PartyMachine, PartyPhase, SiteOwner, SiteParty, Verdict};
use federation::server::{Gateway, RunEngine, RunService};
use federation::store::{self, ServerStore, StoreError};
use federation::transport::{self, Connection, ConnectionError, ConnectionLimits, TlsSource};
use federation::wire::{UnverifiedContent, proto};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use privacy::{LifetimeCap, PrivacyError};
use rustls::pki_types::CertificateDer;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Plays the part that the parent has put into the environment.
pub(crate) fn play() {
    end_with_the_parent();
    let told = |name: &str| std::env::var(name).unwrap();
    let stage = RunFolder::at(Path::new(&told("POSTERITY_STAGE")), &told("POSTERITY_SCENE"));
    let part = told("POSTERITY_PART");
    let words: Vec<&str> = part.split(' ').collect();
    match words[..] {
        ["server", port, place] => serve(&stage, port.parse().unwrap(), place),
        ["site", number, port] => attend(&stage, PartyRole::Site, number.parse().unwrap(), port),
        ["node", number, port] => attend(&stage, PartyRole::Node, number.parse().unwrap(), port),
        _ => panic!("no part: {part}"),
    }
}

/// The parent holds the other end of the standard input.
fn end_with_the_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(9);
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A certificate for a key, and the authority's root.
fn credentials(
    stage: &RunFolder,
    role: PartyRole,
    name: &PartyName,
    key: &IdentityKey,
) -> (Vec<CertificateDer<'static>>, CertificateDer<'static>) {
    let authority = stage.authority();
    let issued = authority.issue(role, name, &key.public(), now(), PARTY_LIFE).unwrap();
    (certificates(&issued.chain).unwrap(), authority.root().clone())
}

/// Tries for as long as a database may be away.
fn insist<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> T {
    for _ in 0..600 {
        match attempt() {
            Ok(value) => return value,
            Err(StoreError::Failed { .. }) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the store does not come back");
}

fn serve(stage: &RunFolder, port: u16, place: &str) {
    let store: Arc<dyn ServerStore> = Arc::from(insist(|| store::serve(place)));
    let ProcessParts { keys, manifest, parts, .. } = stage.play();
    insist(|| match RunEngine::create(&store, manifest.clone(), parts.clone(), keys.server.clone(), 0) {
        Ok(_) | Err(StoreError::Exists) => Ok(()),
        Err(error) => Err(error),
    });
    let name = PartyName::new("server").unwrap();
    let (manifest, key) = (manifest, keys.server.clone());
    let engine = insist(|| RunEngine::open(store.clone(), manifest.clone(), parts.clone(), key.clone(), name.clone()));
    let metrics = Arc::new(Metrics::default());
    let service = Arc::new(RunService::open(engine, metrics.clone()).unwrap());
    let (_open, opened) = watch::channel(Some(service));
    let authority = Arc::new(stage.authority());
    let address = format!("127.0.0.1:{port}");
    let gateway =
        Gateway::new(store, authority, key.clone(), name.clone(), address.clone(), Arc::new(now), opened, metrics);
    let (chain, root) = credentials(stage, PartyRole::Server, &name, &key);
    let (_tls, tls) = watch::channel(Arc::new(server_config(chain, &key, &[root]).unwrap()));
    runtime().block_on(async {
        let listener = TcpListener::bind(address).await.unwrap();
        let gateway = Arc::new(gateway);
        transport::serve(
            listener,
            TlsSource::new(tls),
            gateway,
            ConnectionLimits::default(),
            Arc::default(),
            std::future::pending(),
        )
        .await
        .unwrap();
    });
}

fn attend(stage: &RunFolder, role: PartyRole, number: usize, port: &str) {
    let ProcessParts { keys, builder, .. } = stage.play();
    let (name, key) = match role {
        PartyRole::Site => keys.sites[number].clone(),
        _ => (keys.nodes[number].0.clone(), keys.nodes[number].1.clone()),
    };
    let disk = FolderDisk::open(&stage.disk(name.as_str())).unwrap();
    let seat = WillingOwner { site: number, secret: [number as u8 + 1; 32] };
    let party: Box<dyn PartyMachine> = match role {
        PartyRole::Site => {
            let log = Log::open(disk).unwrap();
            Box::new(SiteParty::new(name.clone(), key.clone(), builder, Box::new(seat), log))
        }
        _ => {
            let sealing = keys.nodes[number].2.clone();
            Box::new(NodeParty::new(name.clone(), key.clone(), sealing, builder, Box::new(seat), disk))
        }
    };
    let file = OpenOptions::new().append(true).create(true).open(stage.witnessed(name.as_str())).unwrap();
    let party = Box::new(Witness { party, file });
    let (chain, root) = credentials(stage, role, &name, &key);
    let (_tls, tls) = watch::channel(Arc::new(client_config(chain, &key, &root).unwrap()));
    let (_stop, stop) = watch::channel(false);
    let mut line = Connection::new(format!("127.0.0.1:{port}"), tls, u64::from(std::process::id()));
    let ended = runtime().block_on(drive(party, &mut line, &mut NoHooks, stop));
    match ended {
        Ok(PartyPhase::Finished(_)) => {}
        other => panic!("{name} has left the run: {other:?}"),
    }
}

/// A site or a node that takes part in everything.
struct WillingOwner {
    site: usize,
    secret: [u8; 32],
}

impl SiteOwner for WillingOwner {
    fn consider(&mut self, _: &Manifest, _: &RunParts, _: usize, _: &Account) -> Verdict {
        Verdict::Sign
    }
    fn cap(&self, _: &Account) -> Result<LifetimeCap, PrivacyError> {
        Ok(cap(PAIR))
    }
    fn rows(&mut self, _: &Manifest, _: &RunParts, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((Arc::new(shard(self.site)), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        OsKeyed::new(self.secret)
    }
}

impl NodeOwner for WillingOwner {
    fn consider(&mut self, _: &Manifest) -> Verdict {
        Verdict::Sign
    }
    fn noise(&mut self) -> OsKeyed {
        OsKeyed::new(self.secret)
    }
}

struct NoHooks;

impl DriverHooks for NoHooks {
    fn renewal(&mut self) -> Option<Vec<u8>> {
        None
    }
    fn renewed(&mut self, _: &str) {}
    fn tell(&mut self, standing: PartyPhase) {
        println!("{standing:?}");
    }
    fn lost(&mut self, error: &ConnectionError) {
        println!("{error}");
    }
    fn refused(&mut self, refusal: RefusalCode) {
        println!("{refusal:?}");
    }
}

/// Writes down which answers leave a party and what it is told of them. What is written survives a kill of the process.
struct Witness {
    party: Box<dyn PartyMachine>,
    file: File,
}

impl Witness {
    fn note(&mut self, line: &str) {
        self.file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn sends(&mut self, all: &[Vec<u8>]) {
        let hex = |digest: Digest| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        for bytes in all {
            let said = UnverifiedContent::read(bytes).unwrap();
            match said.claimed_request().unwrap() {
                Request::Update(update) => {
                    self.note(&format!("sent {} {} {}", update.at.round, update.at.attempt, hex(said.digest())));
                }
                Request::Letters(letters) => {
                    for letter in letters {
                        let (Attempt { round, attempt }, content) = (letter.at, hex(content(&letter)));
                        let which = format!("{:?}-{:?}", kind(&letter), letter.to);
                        self.note(&format!("letter {round} {attempt} {content} {which}"));
                    }
                }
                _ => {}
            }
        }
    }
}

impl PartyMachine for Witness {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        self.party.attend(wait)
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        let next = self.party.again()?;
        self.sends(&next);
        Ok(next)
    }

    fn hear(&mut self, reply: proto::Signed, to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        let read = UnverifiedContent::of(reply.clone()).and_then(|reply| reply.claimed_reply(to));
        for instruction in read.map(|reply| reply.instructions).unwrap_or_default() {
            if let Instruction::Held { at } | Instruction::Receipt { at, applied: Some(_) } = instruction {
                self.note(&format!("held {} {}", at.round, at.attempt));
            }
        }
        let next = self.party.hear(reply, to)?;
        self.sends(&next);
        Ok(next)
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        self.party.renew(request)
    }

    fn certificate(&mut self) -> Option<String> {
        self.party.certificate()
    }

    fn refused(&mut self) -> Option<RefusalCode> {
        self.party.refused()
    }

    fn standing(&self) -> PartyPhase {
        self.party.standing()
    }
}
