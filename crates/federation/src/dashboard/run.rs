//! What is said of one run, section by section: the live page and the report are made of the same ones.

use super::figures::figures;
use super::table::{HtmlTable, TableCell, bar, interval_bar};
use super::view::{CoefficientView, RunEnd, RunPhase, RunView, SiteStatus, SiteView};
use super::words::{NOTHING, ago, bound, counted, fixed, given, moment, span};
use crate::identity::PARTY_LATE;
use inference::Intervals;
use maud::{Markup, html};

/// Half the width of a 95 % interval, in deviations.
const REACH: f64 = 1.96;

/// Seconds after which a member is silent: a poll is held back for one minute at most.
const SILENT: u64 = 180;

/// Whether a reader sees the run as it goes on, or as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edition {
    /// A page that follows the run, with links to what can be fetched.
    Live,
    /// A file of its own.
    Still,
}

/// Everything between the page's head and its foot.
pub(super) fn sections(view: &RunView, edition: Edition) -> Markup {
    html! {
        (head(view))
        (warnings(view))
        (tiles(view))
        section #curves { h2 { "Rounds" } (figures(view)) }
        section #sites { h2 { "Sites" } (sites(view, edition)) }
        @if !view.nodes.is_empty() { section #nodes { h2 { "Compute nodes" } (nodes(view, edition)) } }
        section #posterior { h2 { "Posterior" } (posterior(view)) }
        section #checks { h2 { "Consistency check" } (checks(view)) }
        @if edition == Edition::Live { section #files { h2 { "Files" } (files(view)) } }
    }
}

/// Name, phase and promise.
fn head(view: &RunView) -> Markup {
    html! {
        header {
            p.kind { "Federated run" }
            h1 { (view.name) " " (phase(&view.phase)) }
            p.facts {
                (view.method) " · " (view.model) " · " (view.schedule) " · " (view.summing) br;
                "Run " code { (view.id) } ", started " (moment(view.started)) ", as of " (moment(view.taken))
            }
            p { strong { "Promise: " } (view.promise) }
        }
    }
}

/// A phase in words.
pub(super) fn phase(phase: &RunPhase) -> Markup {
    let words = match phase {
        RunPhase::Signing => "▷ waiting for signatures".to_owned(),
        RunPhase::Running => "▶ running".to_owned(),
        RunPhase::Finished(outcome) => format!("■ finished: {outcome}"),
    };
    html! { span class={ "badge " (phase.word()) } { (words) } }
}

/// What somebody should look at, if there is anything.
fn warnings(view: &RunView) -> Markup {
    let mut found = Vec::new();
    for site in &view.sites {
        match site.standing {
            SiteStatus::Frozen => found.push(format!(
                "{} is frozen: two copies of it were running, or its ledger was restored from an old copy.",
                site.name
            )),
            SiteStatus::Revoked => found.push(format!("The certificate of {} was revoked.", site.name)),
            _ => {}
        }
        if site.epsilon_spent > site.epsilon_granted {
            found.push(format!("{} has spent more than it granted.", site.name));
        }
        found.extend(ending(&site.name, site.certificate_ends, view.taken));
    }
    found.extend(view.nodes.iter().filter_map(|node| ending(&node.name, node.certificate_ends, view.taken)));
    found.extend(troubled_members(view));
    if view.phase == RunPhase::Running && online(view) < view.quorum {
        found.push(format!("{} online, below the quorum of {}.", counted(online(view), "site"), view.quorum));
    }
    if let Some(Err(differs)) = &view.checks.replayed {
        found.push(format!("The stored state does not follow from the stored answers: {differs}"));
    }
    found.extend(view.warnings.iter().map(|w| format!("{}: {}. Hint: {}.", w.code.as_str(), w.what, w.hint)));
    html! {
        @if !found.is_empty() {
            aside.warnings { h2 { "Warnings" } ul { @for words in &found { li { (words) } } } }
        }
    }
}

/// What is to be said of a certificate that has ended, or will before anybody expects it.
fn ending(name: &str, ends: Option<u64>, now: u64) -> Option<String> {
    let ends = ends?;
    if ends <= now {
        return Some(format!("The certificate of {name} has expired: {name} must join again with a new invite."));
    }
    let left = ends - now;
    (left < PARTY_LATE).then(|| {
        format!(
            "The certificate of {name} expires in {} and has not been renewed. {name} renews it while it runs.",
            span(left)
        )
    })
}

/// Members because of whom sums have failed, and those of whom nothing is heard while a run goes on.
fn troubled_members(view: &RunView) -> Vec<String> {
    let sites = view.sites.iter().map(|site| (&site.name, site.failed_attempts, site.last_heard));
    let nodes = view.nodes.iter().map(|node| (&node.name, node.failed_attempts, node.last_heard));
    let mut found = Vec::new();
    for (name, failed, heard) in sites.chain(nodes) {
        if failed > 0 {
            found.push(format!("{} at a secure sum failed because of {name}.", counted(failed, "attempt")));
        }
        let silence = heard.unwrap_or(view.watched);
        if view.phase == RunPhase::Running && silence >= SILENT {
            found.push(format!("The server has not heard from {name} for {}.", span(silence)));
        }
    }
    if let Some(RunEnd { member: Some(member), .. }) = &view.end {
        found.push(format!("The run ended because of {member}."));
    }
    found
}

fn online(view: &RunView) -> u64 {
    view.sites.iter().filter(|site| site.standing_at(view.taken) == SiteStatus::Online).count() as u64
}

/// The four numbers that people ask for first.
fn tiles(view: &RunView) -> Markup {
    let largest = view.sites.iter().max_by(|a, b| a.epsilon_spent.total_cmp(&b.epsilon_spent));
    let alike = |one: &SiteView| view.sites.iter().all(|site| site.epsilon_spent == one.epsilon_spent);
    let whose = |one: &SiteView| if view.sites.len() > 1 && alike(one) { "all sites".into() } else { one.name.clone() };
    let signed = view.sites.iter().filter(|site| site.signed).count();
    html! {
        div.tiles {
            div.tile {
                span.label { "Round" }
                strong { (present(view)) " of " (view.rounds) }
                (bar(view.round as f64, view.rounds as f64))
            }
            div.tile { span.label { "Updates" } strong { (view.folds) } span { "of the posterior" } }
            div.tile {
                span.label { "Sites" }
                strong { (online(view)) " of " (view.sites.len()) " online" }
                span { (signed) " signed; quorum " (view.quorum) }
            }
            @if let Some(site) = largest {
                div.tile {
                    span.label { "Largest ε of accepted answers" }
                    strong { (bound(site.epsilon_spent)) " of " (bound(site.epsilon_granted)) }
                    span { (whose(site)) ", δ = " (given(site.delta)) }
                }
            }
        }
    }
}

/// The round that is being made, from one on; of a run that is over, how many were made.
fn present(view: &RunView) -> u64 {
    match view.phase {
        RunPhase::Running => view.round.saturating_add(1).min(view.rounds.max(view.round)),
        RunPhase::Signing | RunPhase::Finished(_) => view.round,
    }
}

fn sites(view: &RunView, edition: Edition) -> Markup {
    let mut columns = vec!["site", "status", "manifest", "ε spent of granted", "answers"];
    if edition == Edition::Live {
        columns.extend(["asked", "staleness", "last heard"]);
    }
    columns.push("ledger head");
    columns.extend((edition == Edition::Live).then_some("certificate"));
    let mut table = HtmlTable::new("sites-table", "Sites, in the order of the manifest", columns);
    for site in &view.sites {
        table.push(site_cells(view, site, edition));
    }
    html! {
        (table.html())
        p.note {
            "ε is an upper bound at the site's δ for the answers that the server has accepted. "
            @if edition == Edition::Live {
                "Staleness counts the updates of the posterior since the server asked the site its current question. "
            }
            "The ledger head is the last record of the site's own ledger that the server has countersigned."
        }
    }
}

fn site_cells(view: &RunView, site: &SiteView, edition: Edition) -> Vec<TableCell> {
    let budget = html! {
        (bar(site.epsilon_spent, site.epsilon_granted))
        span.numbers { (bound(site.epsilon_spent)) " of " (bound(site.epsilon_granted)) ", δ = " (given(site.delta)) }
    };
    let mut cells = vec![
        TableCell::name(&site.name),
        TableCell::of(standing(site.standing_at(view.taken))),
        TableCell::text(signed(site.signed)),
        TableCell::of(budget),
        TableCell::text(site.answers),
    ];
    if edition == Edition::Live {
        let asked = site.asked.map(|at| match at.attempt {
            0 => format!("round {}", at.round.saturating_add(1)),
            again => format!("round {}, attempt {}", at.round.saturating_add(1), again + 1),
        });
        cells.push(TableCell::text(asked.unwrap_or_else(|| NOTHING.into())));
        cells.push(TableCell::text(site.asked.map_or_else(|| NOTHING.into(), |_| site.staleness.to_string())));
        cells.push(TableCell::text(ago(site.last_heard)));
    }
    cells.push(TableCell::of(match &site.ledger {
        Some(head) => html! { (head.sequence) " · " code.digest { (head.digest) } },
        None => html! { (NOTHING) },
    }));
    cells.extend((edition == Edition::Live).then(|| TableCell::of(certificate(site.certificate_ends, view.taken))));
    cells
}

/// A standing by word and sign; its colour is not needed to read it.
fn standing(standing: SiteStatus) -> Markup {
    let sign = match standing {
        SiteStatus::Online => "●",
        SiteStatus::Spent => "◆",
        SiteStatus::Withdrawn => "○",
        SiteStatus::Frozen => "■",
        SiteStatus::Revoked | SiteStatus::Expired => "✕",
    };
    html! { span class={ "standing " (standing.word()) } { span aria-hidden="true" { (sign) } " " (standing.word()) } }
}

fn signed(signed: bool) -> &'static str {
    if signed { "signed" } else { "not signed" }
}

fn certificate(ends: Option<u64>, now: u64) -> Markup {
    let Some(ends) = ends else { return html! { (NOTHING) } };
    html! {
        span title=(moment(ends)) {
            @if ends >= now + PARTY_LATE { "expires in " (span(ends - now)) }
            @else if ends > now { span.soon { "expires in " (span(ends - now)) } }
            @else { span.alarm { "expired " (span(now - ends)) " ago" } }
        }
    }
}

fn nodes(view: &RunView, edition: Edition) -> Markup {
    let mut columns = vec!["node", "manifest", "failed attempts"];
    if edition == Edition::Live {
        columns.extend(["last heard", "certificate"]);
    }
    let mut table = HtmlTable::new("nodes-table", "Compute nodes of the secure sum", columns);
    for node in &view.nodes {
        let mut cells = vec![
            TableCell::name(&node.name),
            TableCell::text(signed(node.signed)),
            TableCell::text(node.failed_attempts),
        ];
        if edition == Edition::Live {
            cells.push(TableCell::text(ago(node.last_heard)));
            cells.push(TableCell::of(certificate(node.certificate_ends, view.taken)));
        }
        table.push(cells);
    }
    html! {
        (table.html())
        p.note { "The secure sum hides each site's answer unless all of these nodes collude." }
    }
}

/// The coefficients; with intervals where the method's are to be relied on, and with the reason where they are not.
fn posterior(view: &RunView) -> Markup {
    if view.posterior.is_empty() {
        return html! { p.note { "There is no posterior yet." } };
    }
    let about = match &view.intervals {
        Some(intervals) => intervals.sentence(),
        None => {
            "Intervals are not shown: it is not known whether they count the noise that was added for privacy.".into()
        }
    };
    let shown = view.intervals.as_ref().is_some_and(Intervals::are_shown);
    html! {
        (if shown { with_intervals(&view.posterior) } else { means_alone(&view.posterior) })
        p.note { (about) }
        @if !view.inputs.is_empty() {
            p.inputs { "Inputs: " @for input in &view.inputs { code { (input) } " " } }
        }
    }
}

fn with_intervals(posterior: &[CoefficientView]) -> Markup {
    let normal = |one: &CoefficientView| [one.mean - REACH * one.deviation, one.mean + REACH * one.deviation];
    let ends = |one: &CoefficientView| one.ends.unwrap_or_else(|| normal(one));
    let all = posterior.iter().flat_map(ends).filter(|end| end.is_finite());
    let scale = all.fold(0.0_f64..0.0_f64, |scale, end| scale.start.min(end)..scale.end.max(end));
    let columns = vec!["coefficient", "mean", "standard deviation", "95 % interval", "interval (dotted line: 0)"];
    let mut table = HtmlTable::new("posterior-table", "Posterior means and standard deviations", columns);
    for one in posterior {
        let [low, high] = ends(one);
        table.push(vec![
            TableCell::name(&one.name),
            TableCell::text(fixed(one.mean, 3)),
            TableCell::text(fixed(one.deviation, 3)),
            TableCell::text(format!("[{}, {}]", fixed(low, 3), fixed(high, 3))),
            TableCell::of(interval_bar(low, one.mean, high, &scale)),
        ]);
    }
    table.html()
}

/// Means without standard deviations: these would be read as intervals.
fn means_alone(posterior: &[CoefficientView]) -> Markup {
    let mut table = HtmlTable::new("posterior-table", "Posterior means", vec!["coefficient", "mean"]);
    for one in posterior {
        table.push(vec![TableCell::name(&one.name), TableCell::text(fixed(one.mean, 3))]);
    }
    table.html()
}

fn checks(view: &RunView) -> Markup {
    let checks = &view.checks;
    let words = match &checks.replayed {
        None => "Not checked yet.".to_owned(),
        Some(Ok(())) => {
            let folds = counted(checks.folds, "update");
            format!("✓ The stored state equals the state recomputed from the stored answers ({folds}).")
        }
        Some(Err(differs)) => {
            format!("✕ The stored state differs from the state recomputed from the stored answers: {differs}")
        }
    };
    html! {
        p class=[matches!(checks.replayed, Some(Err(_))).then_some("alarm")] { (words) }
        @if let Some(at) = checks.last_checked { p.note { "Last checked " (moment(at)) "." } }
        p.note { "A site verifies its own ledger with " code { "posterity ledger verify" } "." }
    }
}

fn files(view: &RunView) -> Markup {
    html! {
        ul.files {
            @for (file, words) in [
                ("posterior.json", "the posterior, for programs"),
                ("report.html", "this page as one file"),
                ("manifest.json", "the manifest that all parties signed"),
            ] {
                li { a href={ "/runs/" (view.id) "/" (file) } download=(file) { (file) } " – " (words) }
            }
        }
    }
}
