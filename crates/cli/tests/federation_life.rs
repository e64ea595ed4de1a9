//! What happens to a federation while it runs: revocations, policies that say no, a server that is stopped and comes back.
#![cfg(unix)]

use crate::town;
use crate::town::caller::{Fate, agent, agreement, call, home, join, kept, papers, plot, serve, ward};
use federation::identity::Role;
use federation::transport::LineError;
use sha2::{Digest as _, Sha256};
use std::time::{Duration, Instant};

#[test]
fn a_site_that_is_revoked_is_turned_away_while_it_is_connected() {
    let mut town = ward("revoked", 4);
    town.start("north", "", &agent("north", "automatic.toml"));
    town.until_said("north", "signed; waiting for the others");
    let (north, manifest) = (home(&town, "north"), kept(&town).2);
    let say = agreement(&manifest, Role::Site, "north", north.key());
    assert_eq!(call(&town.address(0), papers(&north), &say), Fate::Taken);
    town.told("", "posterity site revoke north --store server/server.sqlite");
    let revoked = Instant::now();
    let fate = loop {
        let fate = call(&town.address(0), papers(&north), &say);
        if fate != Fate::Taken || revoked.elapsed() > Duration::from_secs(5) {
            break fate;
        }
    };
    assert_eq!(fate, Fate::Failed(LineError::NotPermitted));

    let token = town.told("", "cat server/dashboard.token");
    let id: String = manifest.run().iter().map(|byte| format!("{byte:02x}")).collect();
    let page = town.page(&format!("/runs/{id}"), Some(token.trim()));
    assert!(page.contains("The certificate of north was revoked."), "{page}");
    assert!(!page.contains("The certificate of south was revoked."), "{page}");

    town.signal("north", "TERM");
    assert_eq!(town.ended("north"), Some(0));
    let output = town.output("", &agent("north", "automatic.toml"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("error[F203]") && told.contains("revoked"), "{told}");
}

#[test]
fn an_agent_waits_for_the_approval_that_its_policy_asks_for() {
    let mut town = ward("manual", 4);
    town.start("north", "", &agent("north", "manual.toml"));
    town.start("south", "", &agent("south", "automatic.toml"));
    town.until_said("north", "to take part: posterity agent approve");
    town.until_said("south", "signed; waiting for the others");
    let digest: String = kept(&town).2.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(town.log("north").contains(&digest));
    let before = town.files("north/ledger");
    let wrong = town.output("", &format!("posterity agent approve {} --home north", "0".repeat(64)));
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("error[F206]"));
    assert!(!town.log("north").contains("signed") && town.files("north/ledger") == before);
    town.told("", &format!("posterity agent approve {digest} --home north"));
    for site in ["north", "south"] {
        assert_eq!(town.ended(site), Some(0), "{}", town.log(site));
        assert!(town.log(site).contains("the run is over: all rounds were made"), "{}", town.log(site));
    }
    assert_ne!(town.files("north/ledger"), before);
}

#[test]
fn a_policy_that_says_no_ends_the_agent_with_its_key_and_a_hint() {
    let town = ward("policy", 4);
    let policy = federation::policy::DEFAULT.replace("max_epsilon = 6.0", "max_epsilon = 0.5");
    std::fs::write(town.folder.join("strict.toml"), policy).unwrap();
    let before = kept(&town).0;
    for json in ["", " --json"] {
        let output = town.output("", &format!("{}{json}", agent("north", "strict.toml")));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{told}");
        for part in ["F111", "max_epsilon", "found", "expected", "0.5", "hint"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    let ledger = town.files("north/ledger");
    let output = town.output("", &agent("north", "strict.toml"));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(town.files("north/ledger"), ledger);
    let shown = town.told("", "posterity ledger show --home north --json");
    assert!(shown.contains("\"runs\":[]"), "{shown}");
    assert_eq!(kept(&town).0, before);
}

#[test]
fn a_server_that_is_stopped_in_the_middle_of_a_run_goes_on_when_it_is_back() {
    let mut town = ward("stopped", 100);
    for site in ["north", "south"] {
        town.start(site, "", &agent(site, "automatic.toml"));
    }
    town.until_said("server", "round 2 of 100");
    // Without south no round is made: the run cannot be over before the server is.
    town.signal("south", "STOP");
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0), "{}", town.log("server"));
    assert!(!town.log("server").contains("the run is over"), "{}", town.log("server"));
    let line = serve(&town);
    town.start("server again", "", &format!("{line} --until-finished"));
    town.signal("south", "CONT");
    for who in ["north", "south", "server again"] {
        assert_eq!(town.ended(who), Some(0), "{who}\n{}", town.log(who));
    }
    let told = town.log("server again");
    assert!(told.contains("taking up run") && told.contains("the run is over after 100 rounds"), "{told}");
    for site in ["north", "south"] {
        town.told("", &format!("posterity ledger verify --home {site}"));
    }
}

#[test]
fn every_site_that_is_killed_takes_up_its_run_with_its_own_rows_and_policy() {
    let mut town = ward("killed", 100);
    for site in ["north", "south"] {
        town.start(site, "", &agent(site, "automatic.toml"));
    }
    town.until_said("server", "round 2 of 100");
    for site in ["north", "south"] {
        town.signal(site, "KILL");
        assert_eq!(town.ended(site), None);
    }
    // Whose rows they are is known from the manifest, also without a new signature: another site's file is refused.
    let line = agent("south", "automatic.toml").replace("south.csv", "north.csv");
    let output = town.output("", &line);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("error[F105]") && told.contains("declares 50"), "{told}");
    // An owner who has changed their mind is heard.
    let policy = federation::policy::DEFAULT.replace("max_epsilon = 6.0", "max_epsilon = 0.5");
    std::fs::write(town.folder.join("strict.toml"), policy).unwrap();
    let output = town.output("", &agent("south", "strict.toml"));
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    for site in ["north", "south"] {
        town.start(site, "", &agent(site, "automatic.toml"));
    }
    for site in ["north", "south"] {
        assert_eq!(town.ended(site), Some(0), "{}", town.log(site));
        town.told("", &format!("posterity ledger verify --home {site}"));
    }
    // A ledger in another's home is found out by its name.
    std::fs::remove_dir_all(town.folder.join("north/ledger")).unwrap();
    std::fs::rename(town.folder.join("south/ledger"), town.folder.join("north/ledger")).unwrap();
    let shown = town.told("", "posterity ledger show --home north");
    assert!(shown.contains("south"), "{shown}");
}

/// Every line of a log that must be JSON.
fn objects(town: &town::Town, name: &str) -> Vec<serde_json::Value> {
    let log = town.log(name);
    assert!(!log.is_empty(), "{name} has said nothing");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
    log.lines().map(read).collect()
}

#[test]
fn with_json_logs_every_line_is_json_and_no_agent_tells_a_digest_of_its_rows() {
    let mut town = plot("json", 3);
    let json = |line: &str| format!("env POSTERITY_LOG_FORMAT=json POSTERITY_LOG=trace {line}");
    town.start("server", "", &json(&format!("{} --until-finished", serve(&town))));
    town.until_said("server", "to join");
    join(&town, "north");
    join(&town, "south");
    town.start("north", "", &json(&agent("north", "manual.toml")));
    town.start("south", "", &json(&agent("south", "automatic.toml")));
    town.until_said("north", "posterity agent approve");
    let log = town.log("north");
    let proposed = log.lines().find(|line| line.contains("a study is proposed")).unwrap();
    let proposed: serde_json::Value = serde_json::from_str(proposed).unwrap();
    let digest = proposed["fields"]["digest"].as_str().unwrap().to_owned();
    assert!(proposed["fields"]["terms"]["the server sees"].as_str().unwrap().starts_with("single answers"));
    town.told("", &format!("posterity agent approve {} --home north", &digest[..10]));
    for who in ["north", "south", "server"] {
        assert_eq!(town.ended(who), Some(0), "{}", town.log(who));
        let lines = objects(&town, who);
        assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()), "{who}");
    }
    // Errors too: of the command itself, of its arguments, and of what it was given.
    for (line, code) in [
        (agent("nobody", "automatic.toml"), "F201"),
        ("posterity agent run --hoem north".into(), "C001"),
        ("posterity agent".into(), "C001"),
        (agent("north", "nowhere.toml"), "C003"),
    ] {
        let output = town.output("", &json(&line));
        let told = String::from_utf8(output.stderr).unwrap();
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let lines: Vec<serde_json::Value> = told.lines().map(read).collect();
        let last = &lines.last().unwrap()["fields"];
        assert!(last["code"] == code && last["message"].is_string() && last["hint"].is_string(), "{told}");
        assert!(output.stdout.is_empty() && output.status.code() == Some(2), "{told}");
    }
    no_digest_of_rows(&town);
}

/// Who knows all rows but one could try what the last is until a digest fits: so none of a site's file is told anywhere, not even
/// with all logs on.
fn no_digest_of_rows(town: &town::Town) {
    let said = |line: &str| {
        let output = town.output("", line);
        [output.stdout, output.stderr].concat()
    };
    let schema = std::fs::read(town.folder.join("schema.toml")).unwrap();
    for site in ["north", "south"] {
        let rows = std::fs::read(town.folder.join(format!("{site}.csv"))).unwrap();
        let with_lengths = |parts: [&[u8]; 2]| {
            let mut digest = Sha256::new();
            for part in parts {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
            digest.finalize().to_vec()
        };
        let digests = [Sha256::digest(&rows).to_vec(), with_lengths([&rows, &schema])];
        let mut told: Vec<Vec<u8>> = ["north", "south", "server"].map(|who| town.log(who).into_bytes()).into();
        for line in [
            format!("posterity agent check --data {site}.csv --schema schema.toml"),
            format!("posterity agent check --data {site}.csv --schema schema.toml --json"),
            format!("posterity ledger show --home {site} --json"),
            format!("posterity ledger verify --home {site}"),
            format!("posterity agent fingerprint --home {site}"),
        ] {
            told.push(said(&line));
        }
        told.extend(town.files("out").into_iter().chain(town.files("server")).map(|(_, bytes)| bytes));
        for digest in digests {
            let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            for text in &told {
                let shown = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
                assert!(!shown(&digest) && !shown(&hexadecimal.as_bytes()[..16]), "{}", String::from_utf8_lossy(text));
            }
        }
    }
}

#[test]
fn an_agent_of_another_run_is_told_so_and_does_not_ask_without_pause() {
    let mut town = ward("other", 4);
    town.start("north", "", &agent("north", "automatic.toml"));
    town.until_said("north", "signed; waiting for the others");
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0));
    let study = std::fs::read_to_string(town.folder.join("study.toml")).unwrap();
    std::fs::write(town.folder.join("study.toml"), study.replace("rounds = 4", "rounds = 5")).unwrap();
    let line = serve(&town);
    town.start("server again", "", &line);
    town.until_said("north", "it serves another run than this one");
    let token = town.told("", "cat server/dashboard.token");
    let asked = |town: &town::Town| {
        let page = town.page("/metrics", Some(token.trim()));
        let line = page.lines().find(|line| line.contains("kind=\"attend\"")).unwrap_or_default().to_owned();
        line.rsplit(' ').next().and_then(|count| count.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let before = asked(&town);
    std::thread::sleep(Duration::from_secs(2));
    let more = asked(&town) - before;
    assert!(more < 10.0, "{more} polls in two seconds");
}
