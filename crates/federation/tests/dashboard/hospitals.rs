//! A made-up federation of four hospitals, whose run goes on when it is told to: for tests of the dashboard and for work on it.

use federation::dashboard::{
    CertificateView, CoefficientView, DashboardSource, LedgerHead, NodeView, ReplayCheck, RoundPoint, RunDetail,
    RunEnd, RunPhase, RunSummary, RunView, SiteStatus, SiteView,
};
use federation::message::Attempt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// The run that is shown.
pub(crate) const RUN: &str = "3f9c2a7be1d04586";

/// When it began.
const STARTED: u64 = 1_790_000_000;

const NAMES: [&str; 4] = ["helsinki", "oulu", "tampere", "turku"];

const INPUTS: [&str; 6] = ["age", "creatinine", "heart rate", "lactate", "sex", "systolic pressure"];

/// Where the means go.
const GOALS: [f64; 7] = [-1.6, 0.82, 0.55, 0.21, 1.14, -0.08, -0.63];

/// The federation.
pub(crate) struct Hospitals {
    view: Mutex<RunView>,
    moved: watch::Sender<u64>,
    healthy: AtomicBool,
}

impl Hospitals {
    /// Four hospitals that have signed, before the first of so many rounds.
    pub(crate) fn new(rounds: u64) -> Self {
        let view = RunView {
            id: RUN.into(),
            name: "Mortality in intensive care".into(),
            method: "PVI, DP optimisation".into(),
            model: "logistic regression".into(),
            promise: "ε ≤ 2 at δ = 1e-5 for every site, when one admission is substituted for another.".into(),
            schedule: "synchronous, 30 s a round".into(),
            summing: "secure sum over 2 nodes".into(),
            phase: RunPhase::Running,
            end: None,
            round: 0,
            round_age: Some(12),
            rounds,
            folds: 0,
            quorum: 3,
            started: STARTED,
            taken: STARTED,
            commit: "0123abcd".into(),
            watched: 40,
            sites: NAMES.iter().enumerate().map(|(m, name)| site(m, name)).collect(),
            nodes: ["node-a", "node-b"].map(node).into(),
            curve: Vec::new(),
            inputs: INPUTS.map(Into::into).into(),
            posterior: Vec::new(),
            intervals: Some(inference::Intervals::CountNoise {
                measured: "90 % intervals held 86 to 94 % of the coefficients of made-up rows".into(),
            }),
            checks: ReplayCheck::default(),
            warnings: inference::warning::PublicWarnings::default(),
        };
        Self { view: Mutex::new(view), moved: watch::channel(0).0, healthy: AtomicBool::new(true) }
    }

    /// Changes what is shown, and says so.
    pub(crate) fn change(&self, how: impl FnOnce(&mut RunView)) {
        how(&mut self.view.lock().unwrap());
        self.moved.send_modify(|number| *number += 1);
    }

    /// Makes a round; the last one ends the run.
    pub(crate) fn step(&self) {
        self.change(|view| {
            if view.round < view.rounds {
                advance(view);
            }
        });
    }

    /// The server works, or does not.
    #[allow(dead_code, reason = "tests set it, the example does not")]
    pub(crate) fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::Relaxed);
    }
}

fn site(number: usize, name: &str) -> SiteView {
    SiteView {
        name: name.into(),
        standing: SiteStatus::Online,
        signed: true,
        epsilon_spent: 0.0,
        epsilon_granted: 2.0,
        delta: 1e-5,
        answers: 0,
        staleness: 0,
        asked: Some(Attempt { round: 0, attempt: 0 }),
        last_heard: Some(3 * number as u64),
        ledger: None,
        certificate_ends: Some(STARTED + 86_400 * (3 + number as u64)),
        failed_attempts: 0,
    }
}

fn node(name: &str) -> NodeView {
    let certificate_ends = Some(STARTED + 86_400 * 6);
    NodeView { name: name.into(), signed: true, last_heard: Some(1), certificate_ends, failed_attempts: 0 }
}

/// One more round: means approach their goals with a little unrest, and every site but a frozen one spends.
fn advance(view: &mut RunView) {
    view.round += 1;
    view.folds += 1;
    view.taken += 31;
    let t = view.round as f64;
    let unrest = |i: usize| (t * 1.7 + 2.3 * i as f64).sin() / (1.0 + t);
    let means: Vec<f64> =
        GOALS.iter().enumerate().map(|(i, goal)| goal * (1.0 - 0.82_f64.powf(t)) + 0.25 * unrest(i)).collect();
    let deviation = |i: usize| 0.06 + 0.02 * i as f64 + 0.9 * 0.8_f64.powf(t);
    for (m, site) in view.sites.iter_mut().enumerate().filter(|(_, site)| site.standing == SiteStatus::Online) {
        site.answers += 1;
        site.epsilon_spent = (0.2 + 0.015 * m as f64) * (site.answers as f64).sqrt();
        site.asked = (m != 2).then_some(Attempt { round: view.round, attempt: u64::from(m == 1) });
        site.last_heard = Some((5 * m as u64 + view.round) % 17);
        site.ledger = Some(LedgerHead {
            sequence: 3 * site.answers + 2,
            digest: format!("{:08x}", 0x9e37_79b9_u64 * (site.answers + m as u64) % (1 << 32)),
        });
    }
    let before = view.curve.last().map_or(vec![0.0; GOALS.len()], |point| point.coefficients.clone());
    let change = means.iter().zip(&before).map(|(now, then)| (now - then).powi(2)).sum::<f64>().sqrt();
    let names = ["intercept"].into_iter().chain(INPUTS).enumerate();
    view.posterior = names
        .map(|(i, name)| CoefficientView { name: name.into(), mean: means[i], deviation: deviation(i), ends: None })
        .collect();
    view.curve.push(RoundPoint {
        round: view.round,
        change,
        mean_deviation: (0..GOALS.len()).map(deviation).sum::<f64>() / GOALS.len() as f64,
        coefficients: means,
        epsilon: view.sites.iter().map(|site| site.epsilon_spent).collect(),
    });
    view.checks = ReplayCheck { replayed: Some(Ok(())), folds: view.folds, last_checked: Some(view.taken) };
    if view.round == view.rounds {
        view.phase = RunPhase::Finished("all rounds completed".into());
        (view.end, view.round_age) = (Some(RunEnd { outcome: "complete".into(), member: None }), None);
        view.sites.iter_mut().for_each(|site| site.asked = None);
    }
}

impl DashboardSource for Hospitals {
    fn runs(&self) -> Vec<RunSummary> {
        let view = self.view.lock().unwrap();
        let waiting = RunSummary {
            id: "00aa".into(),
            name: "Length of stay".into(),
            method: "statistics".into(),
            phase: RunPhase::Signing,
            round: 0,
            rounds: 1,
            sites: 2,
            started: STARTED - 86_400,
            detail: RunDetail::Line,
        };
        let (id, name, method, phase) = (view.id.clone(), view.name.clone(), view.method.clone(), view.phase.clone());
        let sites = view.sites.len();
        vec![
            RunSummary {
                id,
                name,
                method,
                phase,
                round: view.round,
                rounds: view.rounds,
                sites,
                started: view.started,
                detail: RunDetail::Page,
            },
            waiting,
        ]
    }

    fn run(&self, id: &str) -> Option<RunView> {
        (id == RUN).then(|| self.view.lock().unwrap().clone())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    fn posterior_json(&self, id: &str) -> Option<String> {
        self.run(id).and_then(|view| serde_json::to_string(&view.posterior).ok())
    }

    fn manifest_json(&self, id: &str) -> Option<String> {
        self.run(id).map(|view| serde_json::json!({ "run": view.id, "sites": NAMES }).to_string())
    }

    fn certificates(&self) -> Vec<CertificateView> {
        let of = |(m, name): (usize, &&str)| CertificateView {
            role: "site".into(),
            name: (*name).into(),
            ends: STARTED + 86_400 * (3 + m as u64),
        };
        NAMES.iter().enumerate().map(of).collect()
    }

    fn healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }
}
