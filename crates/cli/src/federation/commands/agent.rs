//! `posterity agent run`: a site's own policy decides, its rows stay, and its answers leave through its gate and its ledger.

use super::approve;
use super::hooks::PartyHooks;
use super::rehearsal::noise;
use crate::account_table::{TableRows, lines};
use crate::arguments::AgentRun;
use crate::failure::Failure;
use crate::federation::net::{client, failure, home, home_of, logs, of_drive, of_home, runtime, stopped};
use crate::say;
use federation::drive::drive;
use federation::identity::{Home, PartyName, PartyRole};
use federation::log::{Account, FolderDisk, Log};
use federation::manifest::{self, Manifest, RunParts};
use federation::party::{PartyPhase, SiteOwner, SiteParty, Verdict};
use federation::policy::{Approval, Policy, columns_of};
use federation::studies::Studies;
use federation::transport::Connection;
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use privacy::{Grant, LifetimeCap, PrivacyError, PromisePair};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use study::digits::{hexadecimal, up};
use tokio::sync::watch;
use zeroize::Zeroizing;

/// Runs a site's agent until its run is over or it is stopped.
pub(crate) fn run(asked: &AgentRun, json: bool) -> Result<String, Failure> {
    logs();
    let home = Arc::new(home(&asked.home)?);
    let credentials = home.credentials().map_err(of_home)?;
    let text = std::fs::read_to_string(&asked.policy).map_err(|e| Failure::file("cannot read", &asked.policy, e))?;
    let secret = home.noise_secret().map_err(of_home)?.clone();
    let (policy, data) = (Policy::read(&text)?, asked.data.clone());
    let refusal = Arc::new(Mutex::new(None));
    let (studies, told) = (Arc::new(Studies::default()), None);
    let (home_folder, reader) = (home.clone(), studies.clone());
    let owner = AgentOwner { policy, data, studies: reader, home: home_folder, secret, told, refusal: refusal.clone() };
    std::fs::File::open(&asked.data).map_err(|error| Failure::file("cannot read", &asked.data, error))?;
    let log = Log::open(FolderDisk::open(&home.folder().join("ledger")).map_err(federation::log::LogError::from)?)?;
    let name = credentials.party.name.clone();
    if owner.policy.version < federation::policy::VERSION {
        let PromisePair { adjacency, unit } = owner.policy.pair(&Account::of(&log)?);
        tracing::warn!(%adjacency, %unit, "the policy has schema 1, which the next release will not read; runs with another pair are refused");
    }
    let party = SiteParty::new(name.clone(), home.key().clone(), studies, Box::new(owner), log);
    let (sender, tls) = watch::channel(client(&home)?);
    let standing = runtime()?.block_on(async {
        let mut connection =
            Connection::new(credentials.server.as_str().to_owned(), tls, u64::from(std::process::id()));
        let mut hooks = PartyHooks::new(home, PartyRole::Site, name.clone(), sender);
        let standing = drive(Box::new(party), &mut connection, &mut hooks, stopped()).await;
        standing.map(|standing| (standing, hooks.ended_by))
    });
    let why = |error| {
        refusal.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_else(|| of_drive(error, &credentials))
    };
    let (standing, by) = standing.map_err(why)?;
    ended("site", name.as_str(), standing, by.as_deref(), json)
}

/// The last words of a party.
pub(super) fn ended(
    role: &str,
    name: &str,
    standing: PartyPhase,
    by: Option<&str>,
    json: bool,
) -> Result<String, Failure> {
    match standing {
        PartyPhase::Stopped(stop) => Err(failure("F204", stop.to_string(), stop.hint())),
        PartyPhase::Finished(outcome) if json => {
            let outcome = super::run_monitor::outcome(outcome, by);
            Ok(format!("{}\n", serde_json::json!({ "role": role, "name": name, "outcome": outcome })))
        }
        _ if json => Ok(format!("{}\n", serde_json::json!({ "role": role, "name": name, "outcome": null }))),
        _ => Ok(String::new()),
    }
}

/// A site's owner: policy, rows and approval.
struct AgentOwner {
    policy: Policy,
    data: PathBuf,
    studies: Arc<Studies>,
    home: Arc<Home>,
    secret: Zeroizing<[u8; 32]>,
    /// The manifest that somebody was asked to approve.
    told: Option<Digest>,
    /// Why the site does not take part, with its own code and hint.
    refusal: Arc<Mutex<Option<Failure>>>,
}

impl SiteOwner for AgentOwner {
    fn consider(&mut self, manifest: &Manifest, parts: &RunParts, site: usize, account: &Account) -> Verdict {
        if let Err(error) = self.policy.check(manifest, parts, site, account) {
            return self.refuse(error.into());
        }
        // Before anything is signed: do the rows fit what is declared?
        if let Err(error) = self.studies.open_rows(&self.data, manifest, parts, site) {
            return self.refuse(error.into());
        }
        match self.policy.approval {
            Approval::Automatic => Verdict::Sign,
            Approval::Manual if approve::is_approved(self.home.folder(), &manifest.digest()) => Verdict::Sign,
            Approval::Manual => {
                self.ask(&RunProposal { manifest, parts, site, account });
                Verdict::Wait
            }
        }
    }

    fn cap(&self, account: &Account) -> Result<LifetimeCap, PrivacyError> {
        self.policy.cap(account)
    }

    fn rows(&mut self, manifest: &Manifest, parts: &RunParts, site: usize) -> Result<(Arc<Shard>, Digest), String> {
        let opened = self.studies.open_rows(&self.data, manifest, parts, site);
        let opened = opened.map_err(|error| error.line())?;
        Ok((Arc::new(opened.shard), opened.data_version))
    }

    fn noise(&mut self) -> OsKeyed {
        noise(&self.secret)
    }
}

impl AgentOwner {
    /// Keeps why, for the last words of the agent.
    fn refuse(&self, failure: Failure) -> Verdict {
        let why = failure.to_string();
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        Verdict::Refuse(why)
    }

    /// Tells the site's owner, once, what is proposed and how to approve it.
    fn ask(&mut self, proposed: &RunProposal<'_>) {
        let manifest = proposed.manifest;
        if self.told == Some(manifest.digest()) {
            return;
        }
        self.told = Some(manifest.digest());
        let (digest, home) = (hexadecimal(&manifest.digest()), self.home.folder());
        let terms = proposed.terms(&self.policy);
        let next = format!("to take part: posterity agent approve {digest} --home {}", home.display());
        let kept = approve::keep(home, &manifest.digest(), &manifest.study, &manifest.schema).ok();
        let preview = approve::keep_manifest(home, manifest)
            .ok()
            .map(|()| format!("to see what would leave: posterity agent preview {digest} --home {}", home.display()));
        let files = kept.map(|(study, schema)| (study.display().to_string(), schema.display().to_string()));
        if say::is_json() {
            let (study, schema) = files.unzip();
            let words: serde_json::Map<_, _> =
                terms.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect();
            let fields = json!({ "digest": digest, "terms": words, "study": study, "schema": schema, "preview": preview, "next": next });
            say::with("a study is proposed", fields);
            return;
        }
        say::line(format!("a study is proposed; its manifest has the digest {digest}"));
        say::line(lines(&terms).trim_end());
        if let Some((study, schema)) = files {
            say::line(format!("the study is in {study}, its schema in {schema}"));
        }
        if let Some(preview) = preview {
            say::line(preview);
        }
        say::line(next);
    }
}

/// What an owner is asked about.
struct RunProposal<'a> {
    manifest: &'a Manifest,
    parts: &'a RunParts,
    site: usize,
    account: &'a Account,
}

impl RunProposal<'_> {
    /// What it would cost, who takes part, and who sees what.
    fn terms(&self, policy: &Policy) -> TableRows {
        let Self { manifest, parts, site, account } = self;
        let promise = match parts.built.grants.get(*site) {
            Some(Grant::Limited { epsilon, delta, .. }) => {
                let PromisePair { adjacency, unit } = parts.pair(*site).unwrap_or(policy.pair(account));
                let after = policy.lifetime_with(manifest, parts, *site, account).ok().flatten();
                let counts = after.and_then(|after| after.counts_as());
                let together =
                    counts.map_or_else(|| "more than any ε".into(), |gauge| format!("ε = {}", up(gauge.epsilon)));
                format!(
                    "ε = {} at δ = {} per {unit} ({adjacency}); all runs together would count as {together} of {} at δ = {}",
                    up(epsilon.get()),
                    up(delta.get()),
                    up(policy.max_epsilon),
                    up(policy.max_delta)
                )
            }
            _ => "no limit".to_owned(),
        };
        let named = |name: &PartyName, fingerprint: String| format!("{name} ({fingerprint})");
        let sites: Vec<String> = manifest.sites.iter().map(|site| named(&site.name, site.fingerprint())).collect();
        let nodes: Vec<String> = manifest.nodes.iter().map(|node| named(&node.name, node.fingerprint())).collect();
        let seen = match nodes.is_empty() {
            true => "every site's answers, each with noise".to_owned(),
            false => format!("only sums, opened by {}", nodes.join(", ")),
        };
        let rounds = format!("{} of {}", manifest.pace.rounds, manifest.method);
        let mut rows =
            vec![("promise", promise), ("rounds", rounds), ("the server sees", seen), ("sites", sites.join(", "))];
        rows.extend(columns_of(&manifest.schema).map(|columns| ("columns", columns.join(", "))));
        rows
    }
}

/// `posterity agent fingerprint`, `posterity node fingerprint`: what an owner reads out to those who must know whom they trust.
pub(crate) fn fingerprint(role: PartyRole, folder: &Path, json: bool) -> Result<String, Failure> {
    let found = fingerprint_of(&home_of(folder, role)?, role)?;
    Ok(match json {
        true => format!("{}\n", serde_json::json!({ "role": role.word(), "fingerprint": found })),
        false => format!("{found}\n"),
    })
}

/// The fingerprint of the party that lives in this home.
pub(super) fn fingerprint_of(home: &Home, role: PartyRole) -> Result<String, Failure> {
    let sealing = match role {
        PartyRole::Node => Some(home.sealing().map_err(of_home)?.public()),
        _ => None,
    };
    Ok(manifest::fingerprint(role, &home.key().public(), sealing.as_ref()))
}
