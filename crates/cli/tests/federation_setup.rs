//! The guide to federations, followed as a new user would: its own commands, each organisation in a folder of its own.
#![cfg(unix)]

use crate::town::Town;
use std::path::Path;

/// A command of the guide, and whose it is; nobody's are typed where the clone is.
struct Typed {
    place: String,
    line: String,
}

/// The commands of the guide's console blocks, in order.
fn commands() -> Vec<Typed> {
    let guide = include_str!("../../../docs/guide/federation.md");
    let (mut inside, mut found) = (false, Vec::new());
    for line in guide.lines() {
        match line.strip_prefix("```") {
            Some(language) => inside = language == "console",
            None if inside => {
                let (place, line) = line.split_once("$ ").unwrap_or_else(|| panic!("no prompt in {line:?}"));
                found.push(Typed { place: place.to_owned(), line: line.to_owned() });
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

fn clinics() -> Town {
    let town = Town::new("guide");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::os::unix::fs::symlink(docs, town.folder.join("docs")).unwrap();
    town
}

/// Types a line of the guide; true if it stays.
fn stays(line: &str) -> bool {
    ["posterity serve ", "posterity agent run "].iter().any(|start| line.starts_with(start))
}

#[test]
fn the_guide_can_be_followed_word_by_word_through_a_second_study() {
    let mut town = clinics();
    let (mut invites, mut predicted, mut ledgers, mut listed) =
        (Vec::<(String, String)>::new(), false, 0, String::new());
    let ports = ["7443", "7444", "7445"].map(|port| format!("127.0.0.1:{port}"));
    for Typed { place, line } in commands().into_iter().filter(|typed| typed.place != "laptop") {
        let mut line = ports.iter().enumerate().fold(line, |line, (at, port)| line.replace(port, &town.address(at)));
        let folder = if place.is_empty() { String::new() } else { format!("clinics/{place}") };
        if line.contains("agent join INVITE") {
            let (_, invite) = invites.iter().find(|(name, _)| *name == place).unwrap();
            line = line.replace("INVITE", invite);
        }
        if line.contains("agent approve") {
            town.until_said(&place, "to take part: posterity agent approve");
            if !predicted {
                approve_is_waited_for(&mut town, &place);
            }
            // All digits for the first study, the first ones of what is listed for the second.
            let log = town.log(&place);
            let digest = if predicted { listed.get(..8).unwrap_or("") } else { after(&log, "approve") };
            line = line.replace("DIGEST", digest);
        }
        if stays(&line) {
            if town.running().contains(&place) {
                town.signal(&place, "TERM");
                assert_eq!(town.ended(&place), Some(0), "{}", town.log(&place));
            }
            town.start(&place, &folder, &line);
            town.until(&line, |town| !town.log(&place).is_empty());
            continue;
        }
        if line.starts_with("posterity predict") {
            clinics_go_home(&mut town, "results");
        }
        let told = town.told(&folder, &line);
        match line.split_whitespace().take(3).collect::<Vec<_>>()[..] {
            ["posterity", "site", "invite"] => {
                invites.push((after(&line, "invite").to_owned(), told.lines().next().unwrap().to_owned()));
            }
            ["posterity", "site", "list"] => assert_eq!(told.matches(" good").count(), 3, "{told}"),
            ["posterity", "predict", _] => {
                assert!(told.starts_with("row,probability,lower,upper\n") && told.lines().count() == 4, "{told}");
                predicted = true;
            }
            ["posterity", "agent", "approve"] if line.ends_with("approve --home site") => {
                assert!(told.lines().count() == 3 && told.contains("  readmission, proposed "), "{told}");
                listed = told;
            }
            ["posterity", "ledger", _] => ledgers += 1,
            ["cat", "server/dashboard.token"] => the_dashboard_shows_the_run(&town, told.trim()),
            _ => {}
        }
    }
    assert!(predicted && ledgers == 2);
    clinics_go_home(&mut town, "results-2");
    let shown = town.told("clinics/north", "posterity ledger show --home site --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (shown["runs"].as_array().unwrap().len(), shown["granted"]["epsilon"].as_f64()),
        (2, Some(4.0)),
        "{shown}"
    );
    town.signal("operator", "TERM");
    assert_eq!(town.ended("operator"), Some(0));
    assert!(town.running().is_empty());
}

/// Nothing happens at a clinic that wants to be asked: no signature, no charge.
fn approve_is_waited_for(town: &mut Town, place: &str) {
    town.until_said("south", "signed; waiting for the others");
    assert!(!town.log(place).contains("signed;"), "{}", town.log(place));
    assert!(town.told("clinics/north", "ls site/proposals").contains(".toml"));
    let shown = town.output("clinics/north", "posterity ledger show --home site --json");
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("\"runs\":[]"), "{text} {}", String::from_utf8_lossy(&shown.stderr));
}

fn clinics_go_home(town: &mut Town, results: &str) {
    for clinic in ["north", "south", "west"] {
        assert_eq!(town.ended(clinic), Some(0), "{}", town.log(clinic));
    }
    town.until_said("operator", &format!("report      {results}/report.html"));
}

fn the_dashboard_shows_the_run(town: &Town, token: &str) {
    assert!(town.page("/healthz", None).starts_with("HTTP/1.1 200"));
    assert!(town.page("/metrics", None).starts_with("HTTP/1.1 401"));
    assert!(town.page("/metrics", Some(token)).starts_with("HTTP/1.1 200"));
    let page = town.page("/", Some(token));
    assert!(page.contains("readmission"), "{page}");
}
