//! What happens to a federation while it runs: revocations, policies that say no, a server that is stopped and comes back.
#![cfg(unix)]

use crate::cluster;
use crate::cluster::caller::{CallResult, agent, agreement, call, home, join, kept, own_tls, plot, serve, ward};
use federation::identity::PartyRole;
use federation::transport::ConnectionError;
use sha2::{Digest as _, Sha256};
use std::time::{Duration, Instant};

#[test]
fn a_site_that_is_revoked_is_turned_away_while_it_is_connected() {
    let mut cluster = ward("revoked", 4);
    cluster.start("north", "", &agent("north", "automatic.toml"));
    cluster.until_said("north", "signed; waiting for the other parties");
    let (north, manifest) = (home(&cluster, "north"), kept(&cluster).2);
    let say = agreement(&manifest, PartyRole::Site, "north", north.key());
    assert_eq!(call(&cluster.address(0), own_tls(&north), &say), CallResult::Taken);
    cluster.told("", "posterity site revoke north --store server/server.sqlite");
    let revoked = Instant::now();
    let fate = loop {
        let fate = call(&cluster.address(0), own_tls(&north), &say);
        if fate != CallResult::Taken || revoked.elapsed() > Duration::from_secs(5) {
            break fate;
        }
    };
    assert_eq!(fate, CallResult::Failed(ConnectionError::NotPermitted));

    let token = cluster.told("", "cat server/dashboard.token");
    let id: String = manifest.run().iter().map(|byte| format!("{byte:02x}")).collect();
    let page = cluster.page(&format!("/runs/{id}"), Some(token.trim()));
    assert!(page.contains("The certificate of north was revoked."), "{page}");
    assert!(!page.contains("The certificate of south was revoked."), "{page}");

    cluster.signal("north", "TERM");
    assert_eq!(cluster.ended("north"), Some(0));
    let output = cluster.output("", &agent("north", "automatic.toml"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("error[F203]") && told.contains("revoked"), "{told}");
}

#[test]
fn an_agent_waits_for_the_approval_that_its_policy_asks_for() {
    let mut cluster = ward("manual", 4);
    cluster.start("north", "", &agent("north", "manual.toml"));
    cluster.start("south", "", &agent("south", "automatic.toml"));
    cluster.until_said("north", "to take part: posterity agent approve");
    cluster.until_said("south", "signed; waiting for the other parties");
    let digest: String = kept(&cluster).2.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(cluster.log("north").contains(&digest));
    let before = cluster.files("north/ledger");
    let wrong = cluster.output("", &format!("posterity agent approve {} --home north", "0".repeat(64)));
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("error[F206]"));
    assert!(!cluster.log("north").contains("signed") && cluster.files("north/ledger") == before);
    cluster.told("", &format!("posterity agent approve {digest} --home north"));
    for site in ["north", "south"] {
        assert_eq!(cluster.ended(site), Some(0), "{}", cluster.log(site));
        assert!(cluster.log(site).contains("the run has ended: all rounds completed"), "{}", cluster.log(site));
    }
    assert_ne!(cluster.files("north/ledger"), before);
}

#[test]
fn a_policy_that_says_no_ends_the_agent_with_its_key_and_a_hint() {
    let cluster = ward("policy", 4);
    let policy = federation::policy::DEFAULT.replace("max_epsilon = 6.0", "max_epsilon = 0.5");
    std::fs::write(cluster.folder.join("strict.toml"), policy).unwrap();
    let before = kept(&cluster).0;
    for json in ["", " --json"] {
        let output = cluster.output("", &format!("{}{json}", agent("north", "strict.toml")));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{told}");
        for part in ["F111", "max_epsilon", "found", "expected", "0.5", "hint"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    let ledger = cluster.files("north/ledger");
    let output = cluster.output("", &agent("north", "strict.toml"));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(cluster.files("north/ledger"), ledger);
    let shown = cluster.told("", "posterity ledger show --home north --json");
    assert!(shown.contains("\"runs\":[]"), "{shown}");
    assert_eq!(kept(&cluster).0, before);
}

#[test]
fn a_server_that_is_stopped_in_the_middle_of_a_run_goes_on_when_it_is_back() {
    let mut cluster = ward("stopped", 100);
    for site in ["north", "south"] {
        cluster.start(site, "", &agent(site, "automatic.toml"));
    }
    cluster.until_said("server", "round 2 of 100");
    // Without south no round is made: the run cannot be over before the server is.
    cluster.signal("south", "STOP");
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0), "{}", cluster.log("server"));
    assert!(!cluster.log("server").contains("the run ended"), "{}", cluster.log("server"));
    let line = serve(&cluster);
    cluster.start("server again", "", &format!("{line} --until-finished"));
    cluster.signal("south", "CONT");
    for who in ["north", "south", "server again"] {
        assert_eq!(cluster.ended(who), Some(0), "{who}\n{}", cluster.log(who));
    }
    let told = cluster.log("server again");
    assert!(told.contains("resuming run") && told.contains("the run ended after 100 rounds"), "{told}");
    for site in ["north", "south"] {
        cluster.told("", &format!("posterity ledger verify --home {site}"));
    }
}

#[test]
fn every_site_that_is_killed_takes_up_its_run_with_its_own_rows_and_policy() {
    let mut cluster = ward("killed", 100);
    for site in ["north", "south"] {
        cluster.start(site, "", &agent(site, "automatic.toml"));
    }
    cluster.until_said("server", "round 2 of 100");
    for site in ["north", "south"] {
        cluster.signal(site, "KILL");
        assert_eq!(cluster.ended(site), None);
    }
    // Whose rows they are is known from the manifest, also without a new signature: another site's file is refused.
    let line = agent("south", "automatic.toml").replace("south.csv", "north.csv");
    let output = cluster.output("", &line);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("error[F105]") && told.contains("declares 50"), "{told}");
    // An owner who has changed their mind is heard.
    let policy = federation::policy::DEFAULT.replace("max_epsilon = 6.0", "max_epsilon = 0.5");
    std::fs::write(cluster.folder.join("strict.toml"), policy).unwrap();
    let output = cluster.output("", &agent("south", "strict.toml"));
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    for site in ["north", "south"] {
        cluster.start(site, "", &agent(site, "automatic.toml"));
    }
    for site in ["north", "south"] {
        assert_eq!(cluster.ended(site), Some(0), "{}", cluster.log(site));
        cluster.told("", &format!("posterity ledger verify --home {site}"));
    }
    // A ledger in another's home is found out by its name.
    std::fs::remove_dir_all(cluster.folder.join("north/ledger")).unwrap();
    std::fs::rename(cluster.folder.join("south/ledger"), cluster.folder.join("north/ledger")).unwrap();
    let shown = cluster.told("", "posterity ledger show --home north");
    assert!(shown.contains("south"), "{shown}");
}

/// Every line of a log that must be JSON.
fn objects(cluster: &cluster::Cluster, name: &str) -> Vec<serde_json::Value> {
    let log = cluster.log(name);
    assert!(!log.is_empty(), "{name} has said nothing");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
    log.lines().map(read).collect()
}

#[test]
fn with_json_logs_every_line_is_json_and_no_agent_tells_a_digest_of_its_rows() {
    let mut cluster = plot("json", 3);
    let json = |line: &str| format!("env POSTERITY_LOG_FORMAT=json POSTERITY_LOG=trace {line}");
    cluster.start("server", "", &json(&format!("{} --until-finished", serve(&cluster))));
    cluster.until_said("server", "to join");
    join(&cluster, "north");
    join(&cluster, "south");
    cluster.start("north", "", &json(&agent("north", "manual.toml")));
    cluster.start("south", "", &json(&agent("south", "automatic.toml")));
    cluster.until_said("north", "posterity agent approve");
    let log = cluster.log("north");
    let proposed = log.lines().find(|line| line.contains("a study is proposed")).unwrap();
    let proposed: serde_json::Value = serde_json::from_str(proposed).unwrap();
    let digest = proposed["fields"]["digest"].as_str().unwrap().to_owned();
    assert!(proposed["fields"]["terms"]["the server sees"].as_str().unwrap().starts_with("every site's answers"));
    cluster.told("", &format!("posterity agent approve {} --home north", &digest[..10]));
    for who in ["north", "south", "server"] {
        assert_eq!(cluster.ended(who), Some(0), "{}", cluster.log(who));
        let lines = objects(&cluster, who);
        assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()), "{who}");
    }
    // Errors too: of the command itself, of its arguments, and of what it was given.
    for (line, code) in [
        (agent("nobody", "automatic.toml"), "F201"),
        ("posterity agent run --hoem north".into(), "C001"),
        ("posterity agent".into(), "C001"),
        (agent("north", "nowhere.toml"), "C003"),
    ] {
        let output = cluster.output("", &json(&line));
        let told = String::from_utf8(output.stderr).unwrap();
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let lines: Vec<serde_json::Value> = told.lines().map(read).collect();
        let last = &lines.last().unwrap()["fields"];
        assert!(last["code"] == code && last["message"].is_string() && last["hint"].is_string(), "{told}");
        assert!(output.stdout.is_empty() && output.status.code() == Some(2), "{told}");
    }
    no_digest_of_rows(&cluster);
}

/// Who knows all rows but one could try what the last is until a digest fits: so none of a site's file is told anywhere, not even
/// with all logs on.
fn no_digest_of_rows(cluster: &cluster::Cluster) {
    let said = |line: &str| {
        let output = cluster.output("", line);
        [output.stdout, output.stderr].concat()
    };
    let schema = std::fs::read(cluster.folder.join("schema.toml")).unwrap();
    for site in ["north", "south"] {
        let rows = std::fs::read(cluster.folder.join(format!("{site}.csv"))).unwrap();
        let with_lengths = |parts: [&[u8]; 2]| {
            let mut digest = Sha256::new();
            for part in parts {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
            digest.finalize().to_vec()
        };
        let digests = [Sha256::digest(&rows).to_vec(), with_lengths([&rows, &schema])];
        let mut told: Vec<Vec<u8>> = ["north", "south", "server"].map(|who| cluster.log(who).into_bytes()).into();
        for line in [
            format!("posterity agent check --data {site}.csv --schema schema.toml"),
            format!("posterity agent check --data {site}.csv --schema schema.toml --json"),
            format!("posterity ledger show --home {site} --json"),
            format!("posterity ledger verify --home {site}"),
            format!("posterity agent fingerprint --home {site}"),
        ] {
            told.push(said(&line));
        }
        told.extend(cluster.files("out").into_iter().chain(cluster.files("server")).map(|(_, bytes)| bytes));
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
    let mut cluster = ward("other", 4);
    cluster.start("north", "", &agent("north", "automatic.toml"));
    cluster.until_said("north", "signed; waiting for the other parties");
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0));
    let study = std::fs::read_to_string(cluster.folder.join("study.toml")).unwrap();
    std::fs::write(cluster.folder.join("study.toml"), study.replace("rounds = 4", "rounds = 5")).unwrap();
    let line = serve(&cluster);
    cluster.start("server again", "", &line);
    cluster.until_said("north", "the server serves another run");
    let token = cluster.told("", "cat server/dashboard.token");
    let asked = |cluster: &cluster::Cluster| {
        let page = cluster.page("/metrics", Some(token.trim()));
        let line = page.lines().find(|line| line.contains("kind=\"attend\"")).unwrap_or_default().to_owned();
        line.rsplit(' ').next().and_then(|count| count.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let before = asked(&cluster);
    std::thread::sleep(Duration::from_secs(2));
    let more = asked(&cluster) - before;
    assert!(more < 10.0, "{more} polls in two seconds");
}
