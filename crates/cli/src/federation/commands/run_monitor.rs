//! What the dashboard shows of the run that this server serves: everything here is public.

use crate::clock;
use crate::provenance;
use federation::coordinator::{CoordinatorPhase, Fold, SiteStanding, refold};
use federation::dashboard::{
    CoefficientView, DashboardSource, LedgerHead, NodeView, ReplayCheck, RoundPoint, RunDetail, RunEnd, RunPhase,
    RunSummary, RunView, SiteStatus, SiteView,
};
use federation::identity::{PartyRole, PublicKey};
use federation::manifest::{Manifest, RunParts};
use federation::message::{MemberId, RunOutcome};
use federation::server::{RunService, RunSnapshot};
use federation::store::{PartyRow, ServerStore};
use federation::studies::{FinishedRun, RunWarnings, SpentCache, Studies, described, read_schema, refused};
use inference::Summing;
use inference::algorithm::Answers;
use inference::chain::Collected;
use inference::results::ChainResult;
use inference::warning::PublicWarnings;
use privacy::Grant;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use study::digits::hexadecimal;
use study::words;
use tokio::sync::watch;

/// How a run ended, in words; and because of whom, where a member is to blame.
pub(crate) fn outcome(outcome: RunOutcome, member: Option<&str>) -> String {
    match outcome {
        RunOutcome::Complete => "all rounds completed".into(),
        RunOutcome::Spent => "no site has budget left for another answer".into(),
        RunOutcome::QuorumLost => "fewer sites than the quorum are left".into(),
        RunOutcome::Failed => "an update could not be applied, or a sum could not be opened".into(),
        RunOutcome::SumFailed(_) => {
            format!("the sum of a round could not be opened because of {}", member.unwrap_or("a member"))
        }
    }
}

/// The run of this server.
pub(crate) struct RunMonitor {
    service: Arc<RunService>,
    store: Arc<dyn ServerStore>,
    manifest: Arc<Manifest>,
    parts: Arc<RunParts>,
    spent: SpentCache,
    name: String,
    model: String,
    names: Vec<String>,
    warned: RunWarnings,
    started: u64,
    seen: Mutex<MonitorState>,
}

/// What was gathered on the way.
#[derive(Clone, Default)]
struct MonitorState {
    curve: Vec<RoundPoint>,
    checks: ReplayCheck,
    /// What was drawn, as the last replay found it; outer none where the method does not draw.
    draws: Option<Option<ChainResult>>,
}

impl RunMonitor {
    /// Watches a run; what happened before is made again from what is kept.
    pub(crate) fn new(
        studies: &Studies,
        service: Arc<RunService>,
        store: Arc<dyn ServerStore>,
        manifest: Arc<Manifest>,
        parts: Arc<RunParts>,
        started: u64,
    ) -> Self {
        let study = studies.of(&manifest).ok();
        let schema = read_schema(&manifest.schema).ok();
        let inputs = study.as_ref().zip(schema.as_ref()).map(|(study, schema)| schema.inputs(study.model.intercept));
        let names = match (&study, inputs) {
            (Some(study), Some(inputs)) => study.model.names(&inputs, schema.as_ref()),
            _ => Vec::new(),
        };
        let warned = RunWarnings::new(study.as_ref(), schema.as_ref(), &names, &parts);
        let watch = Self {
            service,
            store,
            manifest,
            spent: SpentCache::default(),
            name: study.as_ref().map_or_else(String::new, |study| study.name.clone()),
            model: study.as_ref().map_or_else(String::new, |study| study.model.describe()),
            names,
            warned,
            parts,
            started,
            seen: Mutex::default(),
        };
        watch.replay();
        watch
    }

    /// Makes the state again from the kept answers, and with it the curve; the ledger check of the page.
    pub(crate) fn replay(&self) {
        let last_checked = Some(clock::seconds());
        *self.seen() = match self.replayed() {
            Ok((folds, seen)) => {
                MonitorState { checks: ReplayCheck { replayed: Some(Ok(())), folds, last_checked }, ..seen }
            }
            Err(why) => {
                tracing::error!(%why, "the stored state of the run does not follow from the stored answers");
                let checks = ReplayCheck { replayed: Some(Err(why)), folds: 0, last_checked };
                MonitorState { checks, ..MonitorState::default() }
            }
        };
    }

    fn replayed(&self) -> Result<(u64, MonitorState), String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let run = self.manifest.run();
        let history = self.store.history(&run).map_err(|error| told(&error))?;
        let saved = self.store.load(&run).map_err(|error| told(&error))?;
        let protocol = self.parts.built.protocol.as_ref();
        let (mut curve, mut answers) = (Vec::new(), vec![0; self.manifest.sites.len()]);
        let mut drawn = Collected::new(&self.parts.method);
        let folds: Vec<Fold> = history.folds.into_iter().filter(|fold| fold.number < saved.header.folds).collect();
        let state = refold(protocol, &history.accepted, &folds, &mut |fold, folded, state| {
            match folded {
                Answers::Each(each) => each.iter().for_each(|(site, _)| count(&mut answers, *site)),
                Answers::Sum { from, .. } => from.iter().for_each(|site| count(&mut answers, *site)),
            }
            self.extend(&mut curve, fold.round + 1, state, &answers);
            drawn.take(protocol.last_draw(state).map_err(|error| told(&error))?);
            Ok(())
        })?;
        let RunParts { method, built, .. } = self.parts.as_ref();
        let draws = described(method, built.problem.family.dimension(), drawn);
        match state == saved.state {
            true => Ok((saved.header.folds, MonitorState { curve, draws, ..MonitorState::default() })),
            false => Err("the stored state differs from the state recomputed from the stored answers".into()),
        }
    }

    /// One point a round: the last fold of a round counts.
    fn extend(&self, curve: &mut Vec<RoundPoint>, round: u64, state: &[u8], answers: &[u64]) {
        let Some((means, deviations)) = self.posterior(state) else { return };
        curve.retain(|point| point.round < round);
        let change = curve.last().map_or(0.0, |last| distance(&last.coefficients, &means));
        let mean_deviation = deviations.iter().sum::<f64>() / deviations.len().max(1) as f64;
        let epsilon = answers.iter().enumerate().map(|(site, &count)| self.epsilon(site, count)).collect();
        curve.push(RoundPoint { round, change, mean_deviation, coefficients: means, epsilon });
    }

    fn posterior(&self, state: &[u8]) -> Option<(Vec<f64>, Vec<f64>)> {
        let eta = self.parts.built.protocol.posterior(state).ok()?;
        let q = self.parts.built.problem.family.gaussian(&eta)?;
        Some((q.mean().to_vec(), q.deviations()))
    }

    /// What the run itself warns of: while it goes on, of its plan alone.
    pub(crate) fn warnings(&self) -> PublicWarnings {
        let snapshot = self.service.snapshot();
        let ended = matches!(snapshot.header.phase, CoordinatorPhase::Finished(_));
        let Some((mean, deviations)) = self.posterior(&snapshot.state).filter(|_| ended) else {
            return self.warned.of(&self.parts, None);
        };
        let MonitorState { curve, draws, .. } = self.seen().clone();
        let before = curve.len().checked_sub(2).and_then(|place| curve.get(place));
        let end = FinishedRun {
            mean: &mean,
            deviations: &deviations,
            before: before.map(|point| point.coefficients.as_slice()),
            draws: draws.as_ref().map(Option::as_ref),
            of_method: self.parts.built.protocol.warning(&snapshot.state).ok().flatten(),
        };
        self.warned.of(&self.parts, Some(&end))
    }

    fn epsilon(&self, site: usize, answers: u64) -> f64 {
        self.spent.after(&self.parts.built, site, answers).unwrap_or(f64::INFINITY)
    }

    /// Takes note of a round that was made.
    pub(crate) fn look(&self) {
        let snapshot = self.service.snapshot();
        let answers: Vec<u64> = snapshot.header.sites.iter().map(|seat| seat.answers).collect();
        let mut curve = std::mem::take(&mut self.seen().curve);
        if snapshot.header.folds > 0 && curve.last().is_none_or(|last| last.round < snapshot.header.round) {
            self.extend(&mut curve, snapshot.header.round, &snapshot.state, &answers);
        }
        self.seen().curve = curve;
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, MonitorState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self) -> String {
        hexadecimal(&self.manifest.run())
    }

    fn site(&self, at: usize, snapshot: &RunSnapshot, parties: &[PartyRow]) -> Option<SiteView> {
        let (member, seat) = (self.manifest.sites.get(at)?, snapshot.header.sites.get(at)?);
        let (granted, delta) = match self.parts.built.grants.get(at)? {
            Grant::Limited { epsilon, delta, .. } => (epsilon.get(), delta.get()),
            Grant::Unlimited => (f64::INFINITY, 1.0),
        };
        let party = party(parties, PartyRole::Site, &member.key);
        let revoked = party.is_some_and(|row| row.revoked.is_some());
        Some(SiteView {
            name: member.name.to_string(),
            standing: match seat.standing {
                _ if revoked => SiteStatus::Revoked,
                SiteStanding::Active => SiteStatus::Online,
                SiteStanding::Spent => SiteStatus::Spent,
                SiteStanding::Withdrawn => SiteStatus::Withdrawn,
                SiteStanding::Frozen => SiteStatus::Frozen,
            },
            signed: seat.signature.is_some(),
            epsilon_spent: self.epsilon(at, seat.answers),
            epsilon_granted: granted,
            delta,
            answers: seat.answers,
            staleness: seat.asked.map_or(0, |asked| snapshot.header.folds.saturating_sub(asked.folds)),
            asked: seat.asked.map(|asked| asked.at),
            last_heard: heard(snapshot, MemberId::Site(at)),
            ledger: seat.seen.map(|seen| LedgerHead {
                sequence: seen.sequence,
                digest: hexadecimal(&seen.digest).chars().take(12).collect(),
            }),
            certificate_ends: party.map(|row| row.expires),
            failed_attempts: failed(snapshot, MemberId::Site(at)),
        })
    }

    fn node(&self, number: u32, snapshot: &RunSnapshot, parties: &[PartyRow]) -> Option<NodeView> {
        let node = self.manifest.nodes.get(number as usize)?;
        let party = party(parties, PartyRole::Node, &node.key);
        Some(NodeView {
            name: node.name.to_string(),
            signed: snapshot.header.nodes.get(number as usize).is_some_and(Option::is_some),
            last_heard: heard(snapshot, MemberId::Node(number)),
            certificate_ends: party.map(|row| row.expires),
            failed_attempts: failed(snapshot, MemberId::Node(number)),
        })
    }

    /// The run in the list of all runs.
    pub(crate) fn summary(&self) -> RunSummary {
        let header = self.service.snapshot().header;
        RunSummary {
            id: self.id(),
            name: self.name.clone(),
            method: self.manifest.method.clone(),
            phase: phase(&header.phase, &self.manifest),
            round: header.round,
            rounds: self.manifest.pace.rounds,
            sites: self.manifest.sites.len(),
            started: self.started,
            detail: RunDetail::Page,
        }
    }

    fn view(&self) -> RunView {
        let snapshot = self.service.snapshot();
        let parties = self.store.parties().unwrap_or_default();
        let sites = (0..self.manifest.sites.len()).filter_map(|at| self.site(at, &snapshot, &parties)).collect();
        let nodes = (0..).zip(&self.manifest.nodes).filter_map(|(number, _)| self.node(number, &snapshot, &parties));
        let warnings = self.warnings();
        let served = refused(&warnings).is_none();
        let (means, deviations) = self.posterior(&snapshot.state).filter(|_| served).unwrap_or_default();
        let quantiles = self.parts.built.protocol.quantiles(&snapshot.state).ok().flatten().unwrap_or_default();
        let ends = |place: usize| quantiles.get(place).map(|one| one.ends().into());
        let named = self.names.iter().zip(means.iter().zip(&deviations)).enumerate();
        let MonitorState { curve, checks, .. } = self.seen().clone();
        let method = &self.parts.method;
        RunView {
            id: self.id(),
            name: self.name.clone(),
            method: self.manifest.method.clone(),
            model: self.model.clone(),
            promise: method.promise.as_ref().map_or_else(String::new, |promise| words::promised(method, promise)),
            schedule: words::schedule(method.schedule).to_owned(),
            summing: match self.parts.built.summing {
                Summing::Secure { nodes, .. } => format!("secure sum over {nodes} nodes"),
                Summing::Nobody | Summing::Curator => "each site adds noise to its own answer".to_owned(),
            },
            phase: phase(&snapshot.header.phase, &self.manifest),
            end: end(&snapshot.header.phase, &self.manifest),
            round: snapshot.header.round,
            round_age: snapshot.round_since.map(|since| since.elapsed().as_secs()),
            rounds: self.manifest.pace.rounds,
            folds: snapshot.header.folds,
            quorum: self.manifest.pace.quorum,
            started: self.started,
            taken: clock::seconds(),
            commit: provenance::COMMIT.to_owned(),
            watched: snapshot.opened.elapsed().as_secs(),
            sites,
            nodes: nodes.collect(),
            curve,
            inputs: self.names.clone(),
            posterior: named
                .map(|(place, (name, (&mean, &deviation)))| CoefficientView {
                    name: name.clone(),
                    mean,
                    deviation,
                    ends: ends(place),
                })
                .collect(),
            intervals: Some(method.intervals()),
            checks,
            warnings,
        }
    }
}

/// Where a run stands, for the dashboard.
pub(crate) fn phase(phase: &CoordinatorPhase, manifest: &Manifest) -> RunPhase {
    match phase {
        CoordinatorPhase::Signing => RunPhase::Signing,
        CoordinatorPhase::Running => RunPhase::Running,
        CoordinatorPhase::Finished(how) => RunPhase::Finished(outcome(*how, manifest.blamed(*how).as_deref())),
    }
}

/// How a run has ended, for monitors.
fn end(phase: &CoordinatorPhase, manifest: &Manifest) -> Option<RunEnd> {
    match phase {
        CoordinatorPhase::Signing | CoordinatorPhase::Running => None,
        CoordinatorPhase::Finished(how) => {
            Some(RunEnd { outcome: how.word().to_owned(), member: manifest.blamed(*how) })
        }
    }
}

/// Attempts at sums that failed because of a member.
fn failed(snapshot: &RunSnapshot, member: MemberId) -> u64 {
    snapshot.header.failures.total.get(&member).copied().unwrap_or_default()
}

fn count(answers: &mut [u64], site: usize) {
    if let Some(count) = answers.get_mut(site) {
        *count += 1;
    }
}

fn heard(snapshot: &RunSnapshot, member: MemberId) -> Option<u64> {
    snapshot.heard.get(&member).map(|at| at.elapsed().as_secs())
}

/// A party by its key: one of another role, or one that has joined anew, may have the same name.
fn party<'a>(parties: &'a [PartyRow], role: PartyRole, key: &PublicKey) -> Option<&'a PartyRow> {
    parties.iter().find(|row| row.role == role && row.key == *key)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

impl DashboardSource for RunMonitor {
    fn runs(&self) -> Vec<RunSummary> {
        vec![self.summary()]
    }

    fn run(&self, id: &str) -> Option<RunView> {
        (id == self.id()).then(|| self.view())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.service.changes()
    }

    fn posterior_json(&self, id: &str) -> Option<String> {
        let view = self.run(id)?;
        let coefficients: Vec<_> = view
            .posterior
            .iter()
            .map(|one| json!({ "name": one.name, "mean": one.mean, "deviation": one.deviation }))
            .collect();
        Some(
            json!({
                "run": view.id, "round": view.round, "promise": view.promise, "intervals": view.intervals,
                "posterior": coefficients,
            })
            .to_string(),
        )
    }

    fn manifest_json(&self, id: &str) -> Option<String> {
        (id == self.id()).then(|| {
            let m = &self.manifest;
            let sites: Vec<_> = m
                .sites
                .iter()
                .map(|site| {
                    let (fingerprint, key) = (site.fingerprint(), hexadecimal(&site.key.0));
                    json!({ "name": site.name.as_str(), "fingerprint": fingerprint, "key": key, "rows": site.rows })
                })
                .collect();
            let nodes: Vec<_> = m
                .nodes
                .iter()
                .map(|node| {
                    let (fingerprint, key) = (node.fingerprint(), hexadecimal(&node.key.0));
                    json!({ "name": node.name.as_str(), "fingerprint": fingerprint, "key": key })
                })
                .collect();
            let header = self.service.snapshot().header;
            let sign = |signature: &Option<federation::identity::Signature>| {
                signature.as_ref().map(|signature| hexadecimal(signature.bytes()))
            };
            json!({
                "run": self.id(), "digest": hexadecimal(&m.digest()), "method": m.method, "study": m.study,
                "schema": m.schema, "sites": sites, "nodes": nodes, "server": hexadecimal(&m.server.0),
                "rounds": m.pace.rounds, "quorum": m.pace.quorum, "deadline": m.pace.deadline,
                "signatures": {
                    "sites": header.sites.iter().map(|seat| sign(&seat.signature)).collect::<Vec<_>>(),
                    "nodes": header.nodes.iter().map(sign).collect::<Vec<_>>(),
                    "server": hexadecimal(header.server.bytes()),
                },
            })
            .to_string()
        })
    }

    fn healthy(&self) -> bool {
        self.store.version(&self.manifest.run()).is_ok()
    }
}
