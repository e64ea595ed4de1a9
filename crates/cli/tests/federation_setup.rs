//! The guide to federations, followed as a new user would: its own commands, each organisation in a folder of its own.
#![cfg(unix)]

use crate::cluster::Cluster;
use std::path::Path;

/// A command of the guide, and whose it is; nobody's are typed where the clone is.
struct GuideCommand {
    place: String,
    line: String,
}

/// The commands of the guide's console blocks, in order.
fn commands() -> Vec<GuideCommand> {
    let guide = include_str!("../../../docs/guide/federation.md");
    let (mut inside, mut found) = (false, Vec::new());
    for line in guide.lines() {
        match line.strip_prefix("```") {
            Some(language) => inside = language == "console",
            None if inside => {
                let (place, line) = line.split_once("$ ").unwrap_or_else(|| panic!("no prompt in {line:?}"));
                found.push(GuideCommand { place: place.to_owned(), line: line.to_owned() });
            }
            None => {}
        }
    }
    found
}

/// The word after this one.
fn after<'a>(text: &'a str, word: &str) -> &'a str {
    text.split_whitespace().skip_while(|found| *found != word).nth(1).unwrap_or_else(|| panic!("{word} in {text}"))
}

fn clinics() -> Cluster {
    let cluster = Cluster::new("guide");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::os::unix::fs::symlink(docs, cluster.folder.join("docs")).unwrap();
    cluster
}

/// Types a line of the guide; true if it stays.
fn stays(line: &str) -> bool {
    ["posterity serve ", "posterity agent run "].iter().any(|start| line.starts_with(start))
}

#[test]
fn the_guide_can_be_followed_word_by_word_through_a_second_study() {
    let mut cluster = clinics();
    let (mut invites, mut predicted, mut ledgers, mut listed) =
        (Vec::<(String, String)>::new(), false, 0, String::new());
    let ports = ["7443", "7444", "7445"].map(|port| format!("127.0.0.1:{port}"));
    for GuideCommand { place, line } in commands().into_iter().filter(|typed| typed.place != "laptop") {
        let mut line = ports.iter().enumerate().fold(line, |line, (at, port)| line.replace(port, &cluster.address(at)));
        let folder = if place.is_empty() { String::new() } else { format!("clinics/{place}") };
        if line.contains("agent join INVITE") {
            let (_, invite) = invites.iter().find(|(name, _)| *name == place).unwrap();
            line = line.replace("INVITE", invite);
        }
        line = with_run(&cluster, line);
        if line.contains("agent approve") || line.contains("agent preview") {
            cluster.until_said(&place, "to take part: posterity agent approve");
            if !predicted {
                approve_is_waited_for(&mut cluster, &place);
            }
            // All digits for the first study, the first ones of what is listed for the second.
            let log = cluster.log(&place);
            let digest = if predicted { listed.get(..8).unwrap_or("") } else { after(&log, "approve") };
            line = line.replace("DIGEST", digest);
        }
        if stays(&line) {
            if cluster.running().contains(&place) {
                cluster.signal(&place, "TERM");
                assert_eq!(cluster.ended(&place), Some(0), "{}", cluster.log(&place));
            }
            cluster.start(&place, &folder, &line);
            cluster.until(&line, |cluster| !cluster.log(&place).is_empty());
            continue;
        }
        if line.starts_with("posterity predict") {
            clinics_go_home(&mut cluster, "results");
        }
        let told = cluster.told(&folder, &line);
        match line.split_whitespace().take(3).collect::<Vec<_>>()[..] {
            ["posterity", "site", "invite"] => {
                invites.push((after(&line, "invite").to_owned(), told.lines().next().unwrap().to_owned()));
            }
            ["posterity", "site", "list"] => assert_eq!(told.matches(" good").count(), 3, "{told}"),
            ["posterity", "predict", _] => {
                assert!(told.starts_with("row,probability\n") && told.lines().count() == 4, "{told}");
                predicted = true;
            }
            ["posterity", "agent", "approve"] if line.ends_with("approve --home site") => {
                assert!(told.lines().count() == 3 && told.contains("  readmission, proposed "), "{told}");
                listed = told;
            }
            ["posterity", "agent", "preview"] | ["posterity", "study", "bundle"] => expected(&line, &told),
            ["posterity", "ledger", "verify"] if line.contains("--bundle") => expected(&line, &told),
            ["posterity", "ledger", _] => ledgers += 1,
            ["cat", "server/dashboard.token"] => the_dashboard_shows_the_run(&cluster, told.trim()),
            _ => {}
        }
    }
    assert!(predicted && ledgers == 2);
    clinics_go_home(&mut cluster, "results-2");
    let shown = cluster.told("clinics/north", "posterity ledger show --home site --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (shown["runs"].as_array().unwrap().len(), shown["granted"]["epsilon"].as_f64()),
        (2, Some(4.0)),
        "{shown}"
    );
    cluster.signal("operator", "TERM");
    assert_eq!(cluster.ended("operator"), Some(0));
    assert!(cluster.running().is_empty());
}

/// What the commands about a proposed and about a finished run say.
fn expected(line: &str, told: &str) {
    let preview = ["10 answers in 10 rounds", "north", "the server, which sees", "ε = 2 at δ = 1e-5", "allows the run"];
    let words = match line.split_whitespace().nth(2) {
        Some("preview") => &preview[..],
        Some("bundle") => &["30 answers"],
        _ => &["sound", "bit for bit"],
    };
    words.iter().for_each(|words| assert!(told.contains(words), "{words}: {told}"));
}

/// A line that names the first run, with the first digits that its results give.
fn with_run(cluster: &Cluster, line: String) -> String {
    if !line.contains("study bundle RUN") {
        return line;
    }
    let results = std::fs::read_to_string(cluster.folder.join("clinics/operator/results/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    line.replace("RUN", &results["run"].as_str().unwrap()[..8])
}

/// Nothing happens at a clinic that wants to be asked: no signature, no charge.
fn approve_is_waited_for(cluster: &mut Cluster, place: &str) {
    cluster.until_said("south", "signed; waiting for the other parties");
    assert!(!cluster.log(place).contains("signed;"), "{}", cluster.log(place));
    assert!(cluster.told("clinics/north", "ls site/proposals").contains(".toml"));
    let shown = cluster.output("clinics/north", "posterity ledger show --home site --json");
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("\"runs\":[]"), "{text} {}", String::from_utf8_lossy(&shown.stderr));
}

fn clinics_go_home(cluster: &mut Cluster, results: &str) {
    for clinic in ["north", "south", "west"] {
        assert_eq!(cluster.ended(clinic), Some(0), "{}", cluster.log(clinic));
    }
    cluster.until_said("operator", &format!("report      {results}/report.html"));
}

fn the_dashboard_shows_the_run(cluster: &Cluster, token: &str) {
    assert!(cluster.page("/healthz", None).starts_with("HTTP/1.1 200"));
    assert!(cluster.page("/metrics", None).starts_with("HTTP/1.1 401"));
    assert!(cluster.page("/metrics", Some(token)).starts_with("HTTP/1.1 200"));
    let page = cluster.page("/", Some(token));
    assert!(page.contains("readmission"), "{page}");
}
