//! What is checked before a federation begins, and what is said when something is not as it should be.
#![cfg(unix)]

use crate::cluster::Cluster;
use crate::cluster::caller::{agent, home, invite, join, kept, plot, serve, ward};
use federation::identity::{Invite, InviteSecret};
use federation::store::{self, InviteRow};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// Exit code and standard error of a line that must fail.
fn refused(cluster: &Cluster, line: &str) -> (i32, String) {
    let output = cluster.output("", line);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{line}\n{told}");
    assert_eq!(told.matches("hint").count(), 1, "{told}");
    (output.status.code().unwrap(), told)
}

#[test]
fn a_study_that_cannot_be_served_is_refused_before_anybody_is_waited_for() {
    let cluster = plot("unserved", 4);
    let line = serve(&cluster);
    let study = fs::read_to_string(cluster.folder.join("study.toml")).unwrap();
    let without = |part: &str| study.lines().filter(|line| !line.starts_with(part)).collect::<Vec<_>>().join("\n");
    let alone = without("sites = ")
        .replace("[federation]", "")
        .replace("schema = \"schema", "split = { test = 0.2 }\nschema = \"schema");
    let cases = [
        (study.clone(), " --method nope", "F101", "there is no method \"nope\""),
        (study.replace("privacy = {", "#"), "", "F101", "is private"),
        (alone + "\n[partition]\nkind = \"even\"\nclients = 2\n", "", "F101", "has no [federation]"),
    ];
    for (text, more, code, words) in cases {
        fs::write(cluster.folder.join("study.toml"), text).unwrap();
        let (exit, told) = refused(&cluster, &format!("{line}{more}"));
        assert!(exit == 2 && told.contains(&format!("error[{code}]")) && told.contains(words), "{told}");
    }
    assert!(!cluster.folder.join("server").exists(), "nothing was made");
}

#[test]
fn a_folder_that_cannot_take_the_results_is_refused_at_the_start() {
    let cluster = plot("room", 4);
    fs::write(cluster.folder.join("out"), "").unwrap();
    let (exit, told) = refused(&cluster, &serve(&cluster));
    assert!(exit == 2 && told.contains("error[C003]") && told.contains("cannot write out"), "{told}");
    fs::remove_file(cluster.folder.join("out")).unwrap();
    fs::create_dir(cluster.folder.join("out")).unwrap();
    fs::write(cluster.folder.join("out/results.json"), "{\"run\": \"00\"}").unwrap();
    let (exit, told) = refused(&cluster, &serve(&cluster));
    assert!(exit == 2 && told.contains("error[S013]") && told.contains("--out"), "{told}");
}

#[test]
fn another_run_needs_another_folder_and_all_runs_are_listed() {
    let mut cluster = ward("again", 2);
    let before = kept(&cluster).2.run();
    for site in ["north", "south"] {
        cluster.start(site, "", &agent(site, "automatic.toml"));
    }
    for site in ["north", "south"] {
        assert_eq!(cluster.ended(site), Some(0), "{}", cluster.log(site));
    }
    cluster.until_said("server", "report      out/report.html");
    for words in ["waiting for signatures of site north, site south", "round 1 of 2", "after 2 rounds"] {
        assert!(cluster.log("server").contains(words), "{words}: {}", cluster.log("server"));
    }
    assert!(!cluster.log("server").contains("round 0"), "{}", cluster.log("server"));
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0));
    let ledger = cluster.files("north/ledger");
    let line = serve(&cluster);
    let (exit, told) = refused(&cluster, &format!("{line} --again"));
    assert!(exit == 2 && told.contains("error[S013]"), "{told}");
    assert_eq!(cluster.files("north/ledger"), ledger, "nothing was spent");
    let line = line.replace("--out out", "--out other");
    cluster.start("server again", "", &format!("{line} --again"));
    cluster.until_said("server again", "waiting for signatures");
    let token = cluster.told("", "cat server/dashboard.token");
    let page = cluster.page("/", Some(token.trim()));
    assert_eq!(page.matches("<td").count() / 5, 2, "{page}");
    let id: String = before.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(page.contains("all rounds completed") && page.contains("waiting for signatures"), "{page}");
    assert!(page.matches("href=\"/runs/").count() == 1 && !page.contains(&id), "{page}");
}

/// Puts a file where the folder of the results was.
fn spoil(cluster: &Cluster) {
    fs::remove_dir(cluster.folder.join("out")).unwrap();
    fs::write(cluster.folder.join("out"), "").unwrap();
}

#[test]
fn results_that_cannot_be_written_keep_nobody_from_hearing_of_the_end() {
    let mut cluster = ward("spoilt", 2);
    spoil(&cluster);
    for site in ["north", "south"] {
        cluster.start(site, "", &agent(site, "automatic.toml"));
    }
    for site in ["north", "south"] {
        assert_eq!(cluster.ended(site), Some(0), "{}", cluster.log(site));
    }
    cluster.until_said("server", "the results cannot be written");
    assert!(cluster.log("server").contains("another --out, and without --again"), "{}", cluster.log("server"));
    assert_eq!(cluster.running(), ["server"]);
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0));
    let line = serve(&cluster).replace("--out out", "--out other");
    cluster.start("server again", "", &line);
    cluster.until_said("server again", "report      other/report.html");
    cluster.told("", "posterity predict other --data north.csv");
}

#[test]
fn a_server_that_goes_with_its_run_ends_with_the_error_of_its_results() {
    let mut cluster = ward("spoilt-end", 2);
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0));
    let line = serve(&cluster);
    cluster.start("server again", "", &format!("{line} --until-finished"));
    cluster.until_said("server again", "waiting for signatures");
    spoil(&cluster);
    for site in ["north", "south"] {
        cluster.start(site, "", &agent(site, "automatic.toml"));
    }
    assert_eq!(cluster.ended("server again"), Some(2), "{}", cluster.log("server again"));
    assert!(cluster.log("server again").contains("the results cannot be written"), "{}", cluster.log("server again"));
    for site in ["north", "south"] {
        assert_eq!(cluster.ended(site), Some(0), "{}", cluster.log(site));
    }
}

#[test]
fn a_server_says_who_has_not_joined_and_who_has_not_signed() {
    let mut cluster = plot("missing", 4);
    let line = serve(&cluster);
    cluster.start("server", "", &line);
    cluster.until_said("server", "waiting for site north, site south to join");
    let token = cluster.told("", "cat server/dashboard.token");
    let page = cluster.page("/", Some(token.trim()));
    assert!(page.contains("Waiting for site north, site south to join."), "{page}");
    join(&cluster, "south");
    cluster.until_said("server", "waiting for site north to join");
    join(&cluster, "north");
    cluster.until_said("server", "waiting for signatures of site north, site south");
    assert!(!cluster.page("/", Some(token.trim())).contains("to join."));
    cluster.start("north", "", &agent("north", "automatic.toml"));
    cluster.until_said("server", "waiting for signatures of site south\n");
}

#[test]
fn an_invite_that_was_used_is_over_or_unknown_says_so_and_leaves_no_home() {
    let cluster = ward("invites", 4);
    let used = join(&cluster, "east");
    let good = Invite::parse(&used).unwrap();
    let unknown = Invite { secret: InviteSecret::of_bytes(&[7; 16]).unwrap(), ..good.clone() };
    let over = Invite { secret: InviteSecret::of_bytes(&[8; 16]).unwrap(), ..good.clone() };
    let row = InviteRow { secret: over.secret.digest(), role: good.role, name: good.name.clone(), expires: 1000 };
    store::open(cluster.folder.join("server/server.sqlite").to_str().unwrap()).unwrap().invite(&row).unwrap();
    let cases =
        [(used, "was used before"), (unknown.text().to_string(), "not known"), (over.text().to_string(), "is over")];
    for (line, words) in cases {
        let (exit, told) = refused(&cluster, &format!("posterity agent join {line} --home thief"));
        assert!(exit == 2 && told.contains("error[F202]") && told.contains(words), "{told}");
        assert!(!told.contains("revoked") && !cluster.folder.join("thief").exists(), "{told}");
        let secret = line.split('.').nth(1).unwrap();
        assert!(!cluster.log("server").contains(secret));
    }
    // One line in ten seconds, however often somebody knocks.
    assert_eq!(cluster.log("server").matches("enrolled nobody").count(), 1, "{}", cluster.log("server"));
}

#[test]
fn a_home_that_was_revoked_does_not_use_up_its_next_invite() {
    let cluster = ward("revoked-home", 4);
    join(&cluster, "east");
    cluster.told("", "posterity site revoke east --store server/server.sqlite");
    let line = invite(&cluster, "east");
    let (exit, told) = refused(&cluster, &format!("posterity agent join {line} --home east"));
    assert!(exit == 2 && told.contains("error[F203]") && told.contains("was revoked"), "{told}");
    home(&cluster, "east").credentials().unwrap();
    cluster.told("", &format!("posterity agent join {line} --home east-anew"));
}

#[test]
fn only_a_server_makes_a_store() {
    let cluster = plot("stores", 4);
    let commands = ["list", "revoke north", "invite north --ca ca --server 127.0.0.1:1"];
    for (place, words) in [("missing.sqlite", "there is no store in missing.sqlite"), ("mysql://host/x", "mysql://")] {
        for command in commands {
            let (exit, told) = refused(&cluster, &format!("posterity site {command} --store {place}"));
            assert!(exit == 2 && told.contains("error[F003]") && told.contains(words), "{told}");
        }
    }
    assert!(!cluster.folder.join("missing.sqlite").exists() && !cluster.folder.join("mysql:").exists());
    let (exit, told) =
        refused(&cluster, "posterity site invite eve --role viewer --ca ca --store x --server 127.0.0.1:1");
    assert!(exit == 2 && told.contains("viewer"), "{told}");
}

#[test]
fn a_home_in_use_of_another_role_or_unseen_is_named_as_such() {
    let mut cluster = ward("homes", 4);
    cluster.start("north", "", &agent("north", "manual.toml"));
    cluster.until_said("north", "to take part");
    let (exit, told) = refused(&cluster, &agent("north", "manual.toml"));
    assert!(exit == 2 && told.contains("another agent uses this home; stop it first"), "{told}");
    let (exit, told) = refused(&cluster, "posterity node run --home north");
    assert!(exit == 2 && told.contains("the home of the site north") && told.contains("agent run"), "{told}");
    let (exit, told) = refused(&cluster, "posterity node run --home nowhere");
    assert!(exit == 2 && told.contains("is not the home folder") && told.contains("posterity node join"), "{told}");
    let (exit, told) = refused(&cluster, &agent("north.csv/home", "manual.toml"));
    assert!(exit == 2 && !told.contains("is not the home folder") && told.contains("cannot look at"), "{told}");
    let (exit, told) = refused(&cluster, &agent("south", "nowhere.toml"));
    assert!(exit == 2 && told.contains("error[C003]") && told.contains("nowhere.toml"), "{told}");
}

#[test]
fn a_dashboards_token_that_others_can_read_is_refused() {
    let mut cluster = ward("token", 4);
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0));
    let path = cluster.folder.join("server/dashboard.token");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (exit, told) = refused(&cluster, &serve(&cluster));
    assert!(
        exit == 2 && told.contains("other users can access server/dashboard.token") && told.contains("chmod 600"),
        "{told}"
    );
}

#[test]
fn a_port_that_is_taken_is_a_failure_of_the_machine() {
    let cluster = ward("port", 4);
    let line = serve(&cluster).replace("--home server", "--home second").replace("--out out", "--out second/out");
    let (exit, told) = refused(&cluster, &line);
    assert!(exit == 1 && told.contains("error[F205]") && told.contains("cannot listen on"), "{told}");
    let (exit, told) = refused(&cluster, &serve(&cluster));
    assert!(exit == 2 && told.contains("error[F003]") && told.contains("is already served by process"), "{told}");
}
