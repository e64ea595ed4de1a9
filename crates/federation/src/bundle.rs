//! A finished run as one file: what was agreed, who signed it, what every site has answered, and the posterior that follows.
//!
//! Whoever has the file can check it without the server and without a row. Everything in it is released: answers carry the
//! noise of their sites. The signatures of the members bind the manifest; the server's signature binds the rest. What the
//! answers make of the posterior is computed again, so that a server cannot publish one that does not follow from them.

use crate::coordinator::{AcceptedAnswer, CoordinatorPhase, Fold, FoldInput, refold};
use crate::identity::{IdentityKey, PublicKey, Signature};
use crate::log::{Position, RunId};
use crate::manifest::{Manifest, ManifestError, RunBuilder, RunParts};
use crate::message::{Attempt, RunOutcome, Update};
use crate::store::{ServerStore, StoreError};
use crate::studies::SpentCache;
use inference::algorithm::Answers;
use privacy::noise::Digest;
use privacy::{Event, Grant};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a domain-separated signature of a bundle is over.
const DOMAIN: &str = "bundle";

/// How a bundle begins.
const MAGIC: &[u8; 8] = b"POSTRUN\0";

/// The version of bundles that this program writes and reads.
pub const VERSION: u32 = 1;

/// Everything that a bundle says, before the server's signature of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundleContent {
    /// The manifest, in canonical bytes.
    pub manifest: Vec<u8>,
    /// The signatures of all sites, nodes and the server under the manifest's digest, in its order.
    pub signatures: Vec<Signature>,
    /// How the run ended.
    pub outcome: RunOutcome,
    /// What the server knows of every site.
    pub sites: Vec<BundledSite>,
    /// Answers, in the order in which they were accepted.
    pub answers: Vec<BundledAnswer>,
    /// What was folded, in order.
    pub folds: Vec<Fold>,
    /// The algorithm's last state, which has the posterior.
    pub state: Vec<u8>,
}

/// A site at the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundledSite {
    /// Charged answers that the server knows of.
    pub answers: u64,
    /// The last place of its ledger that the server has seen.
    pub head: Option<Position>,
}

/// An answer that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundledAnswer {
    /// The site.
    pub site: usize,
    /// Its answer.
    pub update: Update,
    /// Digest of the signed bytes.
    pub digest: Digest,
}

/// Content and the server's signature of its digest.
#[derive(Serialize, Deserialize)]
struct SignedBundle {
    content: Vec<u8>,
    signature: Signature,
}

/// A bundle in which everything fits.
pub struct VerifiedBundle {
    /// What it says.
    pub content: BundleContent,
    /// What all have signed.
    pub manifest: Manifest,
    /// The run's parts, built from the manifest.
    pub parts: Arc<RunParts>,
    /// Every site's account, as far as the server knows it.
    pub sites: Vec<SiteSpending>,
}

/// What a site was granted and has spent, by its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteSpending {
    /// ε that was granted; infinite without a limit.
    pub granted: f64,
    /// δ that was granted.
    pub delta: f64,
    /// Certified ε of the answers.
    pub spent: f64,
    /// What the answers were charged as.
    pub events: Vec<Event>,
}

/// Why there is no bundle, or one is refused.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The store failed, or has no such run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run goes on.
    #[error("the run has not ended: {rounds} rounds are made")]
    Unfinished {
        /// Rounds that were made.
        rounds: u64,
    },
    /// The server's home is not that of the run's server.
    #[error("the key of this home is not that of the run's server")]
    OtherServer,
    /// The bytes are no bundle of this version.
    #[error("{found} bytes are not a bundle of version {VERSION}")]
    Malformed {
        /// How many bytes.
        found: usize,
    },
    /// The manifest is refused, or somebody has not signed it.
    #[error("the bundle's manifest is refused: {0}")]
    Manifest(#[from] ManifestError),
    /// The server has not signed this content.
    #[error("the server's signature does not match the content of the bundle")]
    Signature,
    /// Something in it does not follow from the rest.
    #[error("the bundle contradicts itself: {what}")]
    Contradiction {
        /// What does not fit.
        what: String,
    },
}

impl BundleError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Store(error) => error.hint(),
            Self::Unfinished { .. } => "wait until the run has ended",
            Self::OtherServer => "give the home of the server that has proposed the run",
            Self::Malformed { .. } => "get the file again, or use the version of posterity that wrote it",
            Self::Manifest(_) | Self::Signature | Self::Contradiction { .. } => {
                "do not rely on the file; ask the server's operator for it again, and tell the sites if it stays so"
            }
        }
    }
}

fn contradiction(what: impl Into<String>) -> BundleError {
    BundleError::Contradiction { what: what.into() }
}

/// The bundle of a finished run, signed by its server.
pub fn bundle(store: &dyn ServerStore, run: &RunId, key: &IdentityKey) -> Result<Vec<u8>, BundleError> {
    let row = store.runs()?.into_iter().find(|row| row.run == *run).ok_or(StoreError::NoRun)?;
    let manifest = Manifest::read(&row.manifest)?;
    if manifest.server != key.public() {
        return Err(BundleError::OtherServer);
    }
    let (saved, history) = (store.load(run)?, store.history(run)?);
    let header = saved.header;
    let CoordinatorPhase::Finished(outcome) = header.phase else {
        return Err(BundleError::Unfinished { rounds: header.round });
    };
    let of_sites = header.sites.iter().map(|site| site.signature.clone());
    let signatures = of_sites.chain(header.nodes.iter().cloned()).flatten().chain([header.server.clone()]).collect();
    let sites = header.sites.iter().map(|site| BundledSite { answers: site.answers, head: site.known() }).collect();
    let answer = |one: AcceptedAnswer| BundledAnswer { site: one.site, update: one.update, digest: one.digest };
    let content = BundleContent {
        manifest: row.manifest,
        signatures,
        outcome,
        sites,
        answers: history.accepted.into_iter().map(answer).collect(),
        folds: history.folds,
        state: saved.state,
    };
    sealed(&content, key)
}

/// The bytes of a content with the signature of this key.
pub fn sealed(content: &BundleContent, key: &IdentityKey) -> Result<Vec<u8>, BundleError> {
    let unwritable = |_| contradiction("it has no canonical bytes");
    let content = postcard::to_allocvec(content).map_err(unwritable)?;
    let signature = key.sign(DOMAIN, &Sha256::digest(&content));
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend(postcard::to_allocvec(&SignedBundle { content, signature }).map_err(unwritable)?);
    Ok(bytes)
}

/// Reads a bundle's content and checks its server's signature. The server is the one that the manifest names.
pub fn opened(bytes: &[u8]) -> Result<(BundleContent, Manifest), BundleError> {
    let malformed = || BundleError::Malformed { found: bytes.len() };
    let body =
        bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(&VERSION.to_le_bytes())).ok_or_else(malformed)?;
    let signed: SignedBundle = whole(body).ok_or_else(malformed)?;
    let content: BundleContent = whole(&signed.content).ok_or_else(malformed)?;
    let manifest = Manifest::read(&content.manifest)?;
    let server: &PublicKey = &manifest.server;
    server.verify(DOMAIN, &Sha256::digest(&signed.content), &signed.signature).map_err(|_| BundleError::Signature)?;
    Ok((content, manifest))
}

/// A value in the one form that its bytes can have: nothing is left over, and nothing is written otherwise than we would.
fn whole<T: Serialize + for<'a> Deserialize<'a>>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes::<T>(bytes).ok()?;
    (rest.is_empty() && postcard::to_allocvec(&value).ok()? == bytes).then_some(value)
}

/// Checks a bundle: signatures of all, the plan of every site, every answer's place, and that the posterior follows.
pub fn verify(bytes: &[u8], builder: &dyn RunBuilder) -> Result<VerifiedBundle, BundleError> {
    let (content, manifest) = opened(bytes)?;
    let parts = manifest.check(builder)?;
    manifest.check_signatures(&content.signatures)?;
    if content.sites.len() != manifest.sites.len() {
        return Err(contradiction("it has another number of sites than the manifest"));
    }
    check_answers(&content)?;
    check_folds(&content, &manifest, &parts)?;
    let spending = SpentCache::default();
    let sites = (0..content.sites.len()).map(|site| spent(&content, &parts, site, &spending));
    let sites = sites.collect::<Result<Vec<_>, _>>()?;
    Ok(VerifiedBundle { content, manifest, parts, sites })
}

/// Every attempt is answered once, by a site of the run, at a place of its ledger that comes after the one before.
fn check_answers(content: &BundleContent) -> Result<(), BundleError> {
    let mut attempts = BTreeSet::<(usize, Attempt)>::new();
    let mut places: Vec<u64> = vec![0; content.sites.len()];
    for answer in &content.answers {
        let Some(place) = places.get_mut(answer.site) else {
            return Err(contradiction(format!("an answer is of site {}, which is not in the run", answer.site)));
        };
        let position = answer.update.position.sequence;
        if !attempts.insert((answer.site, answer.update.at)) {
            return Err(contradiction(format!("site {} answers one attempt twice", answer.site)));
        }
        if position <= *place {
            return Err(contradiction(format!("the ledger of site {} goes back", answer.site)));
        }
        *place = position;
    }
    for (site, known) in content.sites.iter().enumerate() {
        let last = places.get(site).copied().unwrap_or_default();
        let is_behind = last > 0 && known.head.is_none_or(|head| head.sequence < last);
        if is_behind {
            return Err(contradiction(format!("the last place of site {site}'s ledger is before an answer")));
        }
    }
    Ok(())
}

/// The state is what the answers make of it, in rounds of the manifest, each answer folded once; and no site is in more sums, or
/// has given more answers, than are counted for it.
fn check_folds(content: &BundleContent, manifest: &Manifest, parts: &RunParts) -> Result<(), BundleError> {
    let accept =
        |one: &BundledAnswer| AcceptedAnswer { site: one.site, update: one.update.clone(), digest: one.digest };
    let accepted: Vec<AcceptedAnswer> = content.answers.iter().map(accept).collect();
    let (mut folded, mut round) = (BTreeSet::<(usize, Attempt)>::new(), 0);
    let mut counts: Vec<u64> = vec![0; content.sites.len()];
    let state = refold(parts.built.protocol.as_ref(), &accepted, &content.folds, &mut |fold: &Fold, _: &Answers, _| {
        if fold.round < round || fold.round >= manifest.pace.rounds {
            return Err(format!("fold {} is of round {}", fold.number, fold.round));
        }
        round = fold.round;
        let sites: Vec<usize> = match &fold.of {
            FoldInput::Each(attempts) => {
                if let Some((site, _)) = attempts.iter().find(|attempt| !folded.insert(**attempt)) {
                    return Err(format!("an answer of site {site} is folded twice"));
                }
                attempts.iter().map(|(site, _)| *site).collect()
            }
            FoldInput::Sum { from, .. } => from.clone(),
        };
        for site in sites {
            *counts.get_mut(site).ok_or_else(|| format!("fold {} has a site {site}", fold.number))? += 1;
        }
        Ok(())
    });
    if state.map_err(contradiction)? != content.state {
        return Err(contradiction("the posterior is not what the answers make of it"));
    }
    let summing = !manifest.nodes.is_empty();
    for (site, (folds, known)) in counts.into_iter().zip(&content.sites).enumerate() {
        let answers = content.answers.iter().filter(|answer| answer.site == site).count() as u64;
        if known.answers < folds || (!summing && known.answers != answers) {
            return Err(contradiction(format!("site {site} is said to have given {} answers", known.answers)));
        }
    }
    Ok(())
}

/// What a site has spent by its answers, within its grant.
fn spent(
    content: &BundleContent,
    parts: &RunParts,
    site: usize,
    known: &SpentCache,
) -> Result<SiteSpending, BundleError> {
    let answers = content.sites.get(site).map_or(0, |site| site.answers);
    let (granted, delta) = match parts.built.grants.get(site) {
        Some(Grant::Limited { epsilon, delta, .. }) => (epsilon.get(), delta.get()),
        Some(Grant::Unlimited) | None => (f64::INFINITY, 1.0),
    };
    let unknown = |error: String| contradiction(format!("what site {site} has spent is not known: {error}"));
    let plan = parts.built.plan.clients.get(site);
    let events = match plan {
        Some(plan) if answers > 0 => plan.first(answers).map_err(|error| unknown(error.to_string()))?,
        _ => Vec::new(),
    };
    let spent = match plan {
        Some(plan) if answers > plan.charges() => f64::INFINITY,
        Some(_) => known.after(&parts.built, site, answers).map_err(|error| unknown(error.line()))?,
        None => f64::INFINITY,
    };
    if spent > granted {
        return Err(contradiction(format!("site {site} has given more answers than it was granted")));
    }
    Ok(SiteSpending { granted, delta, spent, events })
}
