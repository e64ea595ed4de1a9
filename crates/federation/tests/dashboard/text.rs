//! What the dashboard writes: HTML in which a name is only a name, and metrics that a monitor can read.

use crate::hospitals::RUN;
use crate::routes::{after, get, text};
use federation::dashboard::DashboardSource;
use federation::dashboard::{RunPhase, report_html};

#[tokio::test]
async fn a_name_that_looks_like_a_script_is_only_a_name() {
    let (source, router) = after(3);
    let evil = "<script>alert(1)</script><img src=x onerror=\"alert(2)\">'&";
    source.change(|view| {
        view.name = evil.into();
        view.promise = evil.into();
        view.phase = RunPhase::Finished(evil.into());
        view.sites[1].name = evil.into();
        view.nodes[0].name = evil.into();
        view.posterior[2].name = evil.into();
        view.inputs[0] = evil.into();
        view.checks.replayed = Some(Err(evil.into()));
    });
    for path in
        ["/".to_owned(), format!("/runs/{RUN}"), format!("/runs/{RUN}/fragment"), format!("/runs/{RUN}/report.html")]
    {
        let page = text(get(&router, &path).await).await;
        assert!(page.contains("&lt;script&gt;alert(1)"), "{path}");
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{path}");
    }
    let metrics = text(get(&router, "/metrics").await).await;
    assert!(metrics.contains("onerror=\\\"alert(2)\\\""), "{metrics}");
}

#[tokio::test]
async fn a_report_is_one_file_without_scripts_links_or_what_only_matters_live() {
    let (source, _) = after(20);
    let view = source.run(RUN).unwrap();
    let report = report_html(&view);
    assert_eq!(report, report_html(&view), "the same view gives the same bytes");
    assert!(report.contains("commit 0123abcd, at 2026-09-21"), "when and by what it was made");
    for words in
        ["Promise: ", "ε ≤ 2 at δ = 1e-5", "helsinki", "Posterior means by round", "heart rate", "finished: all rounds"]
    {
        assert!(report.contains(words), "{words}");
    }
    for words in ["<script", "<a ", "last heard", "staleness", "EventSource", "src=", "@import"] {
        assert!(!report.contains(words), "{words}");
    }
}

#[tokio::test]
async fn the_page_before_the_first_round_and_a_strange_one_are_drawn() {
    let (source, router) = after(0);
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    assert!(page.contains("No round has completed yet.") && page.contains("There is no posterior yet."));
    source.step();
    source.change(|view| {
        view.curve[0].coefficients.clear();
        view.curve[0].epsilon = vec![f64::NAN];
        view.sites[0].epsilon_granted = f64::INFINITY;
        view.posterior[0].deviation = f64::NAN;
        view.rounds = 0;
    });
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    assert!(!page.contains("NaN") && page.contains("of ∞"));
}

#[tokio::test]
async fn rounds_are_counted_from_one_and_sites_that_are_alike_are_not_named() {
    let (source, router) = after(0);
    source.change(|view| view.phase = RunPhase::Running);
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    assert!(page.contains(">1 of 20<") && page.contains("round 1<"), "{page}");
    assert!(page.contains("<span>all sites, δ = "), "{page}");
    source.change(|view| {
        view.sites[1].epsilon_spent = 1.25;
        view.sites[1].epsilon_granted = 2.000_000_000_000_000_4;
    });
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    assert!(page.contains("1.25 of 2.001") && !page.contains("all sites"), "{page}");
}

#[tokio::test]
async fn a_run_of_which_only_a_line_is_kept_has_no_link() {
    let (_, router) = after(1);
    let page = text(get(&router, "/").await).await;
    assert!(page.contains("Length of stay") && !page.contains("/runs/00aa") && page.contains(&format!("/runs/{RUN}")));
}

#[tokio::test]
async fn the_fragment_is_what_the_page_has_inside() {
    let (_, router) = after(5);
    let page = text(get(&router, &format!("/runs/{RUN}")).await).await;
    let fragment = text(get(&router, &format!("/runs/{RUN}/fragment")).await).await;
    assert!(page.contains(&fragment) && !fragment.contains("<html"));
    assert!(page.contains(&format!("data-events=\"/runs/{RUN}/events\"")));
}

/// The name of a sample's family, its labels and its value; the line is what the format's grammar says.
fn sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let name: String = line.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let mut rest = &line[name.len()..];
    let mut labels = Vec::new();
    while let Some(inside) = rest.strip_prefix(if labels.is_empty() { '{' } else { ',' }) {
        let (label, quoted) = inside.split_once("=\"").unwrap();
        assert!(!label.is_empty() && label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
        let (mut value, mut letters) = (String::new(), quoted.char_indices());
        let end = loop {
            match letters.next().unwrap() {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(match letters.next().unwrap().1 {
                    'n' => '\n',
                    same @ ('\\' | '"') => same,
                    other => panic!("\\{other} in {line}"),
                }),
                (_, letter) => value.push(letter),
            }
        };
        labels.push((label.to_owned(), value));
        rest = &quoted[end..];
    }
    let rest = if labels.is_empty() { rest } else { rest.strip_prefix('}').unwrap() };
    let value = rest.strip_prefix(' ').unwrap().replace("+Inf", "inf");
    (name, labels, value.parse().unwrap())
}

#[tokio::test]
async fn metrics_follow_the_grammar_line_by_line() {
    let (source, router) = after(5);
    let strange = "a\\b\"c\nd{e}=ü";
    source.change(|view| view.sites[1].name = strange.into());
    let metrics = text(get(&router, "/metrics").await).await;
    let body = metrics.strip_suffix("# EOF\n").unwrap();
    let (mut family, mut kind, mut seen, mut found) = (String::new(), String::new(), Vec::new(), Vec::new());
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, word) = rest.split_once(' ').unwrap();
            assert!(!seen.contains(&name.to_owned()), "{name} is one family");
            (family, kind) = (name.into(), word.into());
            seen.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# UNIT ")) {
            assert!(rest.starts_with(&format!("{family} ")), "{line}");
        } else {
            let (name, labels, value) = sample(line);
            let suffixes: &[&str] = match kind.as_str() {
                "counter" => &["_total"],
                "gauge" => &[""],
                "histogram" => &["_bucket", "_count", "_sum"],
                "info" => &["_info"],
                other => panic!("{other}"),
            };
            assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line} in {family}");
            assert!(value >= 0.0, "{line}");
            found.push((name, labels, value));
        }
    }
    let one = |name: &str, label: (&str, &str)| {
        let wanted = (label.0.to_owned(), label.1.to_owned());
        found.iter().find(|(found, labels, _)| found == name && labels.contains(&wanted)).map(|found| found.2)
    };
    assert_eq!(one("posterity_answers_accepted_total", ("site", strange)), Some(5.0));
    assert_eq!(one("posterity_epsilon_granted", ("site", "oulu")), None, "it has another name now");
    assert_eq!(one("posterity_round", ("run", RUN)), Some(5.0));
    assert_eq!(one("posterity_runs", ("phase", "running")), Some(1.0));
    assert_eq!(one("posterity_runs", ("phase", "signing")), Some(1.0));
    assert_eq!(one("posterity_commit_seconds_bucket", ("le", "+Inf")), Some(0.0));
    assert_eq!(one("posterity_round_seconds_bucket", ("le", "86400")), Some(0.0));
    assert_eq!(one("posterity_round_age_seconds", ("run", RUN)), Some(12.0));
    assert_eq!(one("posterity_silence_seconds", ("name", "node-a")), Some(1.0));
    assert_eq!(one("posterity_attempts_failed_total", ("name", "node-b")), Some(0.0));
    assert_eq!(one("posterity_certificate_end_timestamp_seconds", ("name", "oulu")), Some(1_790_345_600.0));
    let standings = found.iter().filter(|(name, _, value)| name == "posterity_site_standing" && *value == 1.0);
    assert_eq!(standings.count(), 4, "each site stands in one way");
}
