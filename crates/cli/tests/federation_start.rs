//! What is checked before a federation begins, and what is said when something is not as it should be.
#![cfg(unix)]

use crate::town::Town;
use crate::town::caller::{agent, home, invite, join, kept, plot, serve, ward};
use federation::identity::{Invite, InviteSecret};
use federation::store::{self, InviteRow};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// Exit code and standard error of a line that must fail.
fn refused(town: &Town, line: &str) -> (i32, String) {
    let output = town.output("", line);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{line}\n{told}");
    assert_eq!(told.matches("hint").count(), 1, "{told}");
    (output.status.code().unwrap(), told)
}

#[test]
fn a_study_that_cannot_be_served_is_refused_before_anybody_is_waited_for() {
    let town = plot("unserved", 4);
    let line = serve(&town);
    let study = fs::read_to_string(town.folder.join("study.toml")).unwrap();
    let without = |part: &str| study.lines().filter(|line| !line.starts_with(part)).collect::<Vec<_>>().join("\n");
    let alone = without("sites = ")
        .replace("[federation]", "")
        .replace("schema = \"schema", "split = { test = 0.2 }\nschema = \"schema");
    let cases = [
        (study.clone(), " --method nope", "F101", "there is no method \"nope\""),
        (study.replace("privacy = {", "#"), "", "F101", "promises privacy"),
        (alone + "\n[partition]\nkind = \"even\"\nclients = 2\n", "", "F101", "has no [federation]"),
    ];
    for (text, more, code, words) in cases {
        fs::write(town.folder.join("study.toml"), text).unwrap();
        let (exit, told) = refused(&town, &format!("{line}{more}"));
        assert!(exit == 2 && told.contains(&format!("error[{code}]")) && told.contains(words), "{told}");
    }
    assert!(!town.folder.join("server").exists(), "nothing was made");
}

#[test]
fn a_folder_that_cannot_take_the_results_is_refused_at_the_start() {
    let town = plot("room", 4);
    fs::write(town.folder.join("out"), "").unwrap();
    let (exit, told) = refused(&town, &serve(&town));
    assert!(exit == 2 && told.contains("error[C003]") && told.contains("cannot write out"), "{told}");
    fs::remove_file(town.folder.join("out")).unwrap();
    fs::create_dir(town.folder.join("out")).unwrap();
    fs::write(town.folder.join("out/results.json"), "{\"run\": \"00\"}").unwrap();
    let (exit, told) = refused(&town, &serve(&town));
    assert!(exit == 2 && told.contains("error[S013]") && told.contains("--out"), "{told}");
}

#[test]
fn another_run_needs_another_folder_and_all_runs_are_listed() {
    let mut town = ward("again", 2);
    let before = kept(&town).2.run();
    for site in ["north", "south"] {
        town.start(site, "", &agent(site, "automatic.toml"));
    }
    for site in ["north", "south"] {
        assert_eq!(town.ended(site), Some(0), "{}", town.log(site));
    }
    town.until_said("server", "report      out/report.html");
    for words in ["waiting for signatures of site north, site south", "round 1 of 2", "after 2 rounds"] {
        assert!(town.log("server").contains(words), "{words}: {}", town.log("server"));
    }
    assert!(!town.log("server").contains("round 0"), "{}", town.log("server"));
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0));
    let ledger = town.files("north/ledger");
    let line = serve(&town);
    let (exit, told) = refused(&town, &format!("{line} --again"));
    assert!(exit == 2 && told.contains("error[S013]"), "{told}");
    assert_eq!(town.files("north/ledger"), ledger, "nothing was spent");
    let line = line.replace("--out out", "--out other");
    town.start("server again", "", &format!("{line} --again"));
    town.until_said("server again", "waiting for signatures");
    let token = town.told("", "cat server/dashboard.token");
    let page = town.page("/", Some(token.trim()));
    assert_eq!(page.matches("<td").count() / 5, 2, "{page}");
    let id: String = before.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(page.contains("all rounds were made") && page.contains("waiting for signatures"), "{page}");
    assert!(page.matches("href=\"/runs/").count() == 1 && !page.contains(&id), "{page}");
}

/// Puts a file where the folder of the results was.
fn spoil(town: &Town) {
    fs::remove_dir(town.folder.join("out")).unwrap();
    fs::write(town.folder.join("out"), "").unwrap();
}

#[test]
fn results_that_cannot_be_written_keep_nobody_from_hearing_of_the_end() {
    let mut town = ward("spoilt", 2);
    spoil(&town);
    for site in ["north", "south"] {
        town.start(site, "", &agent(site, "automatic.toml"));
    }
    for site in ["north", "south"] {
        assert_eq!(town.ended(site), Some(0), "{}", town.log(site));
    }
    town.until_said("server", "the results cannot be written");
    assert!(town.log("server").contains("another --out, and without --again"), "{}", town.log("server"));
    assert_eq!(town.running(), ["server"]);
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0));
    let line = serve(&town).replace("--out out", "--out other");
    town.start("server again", "", &line);
    town.until_said("server again", "report      other/report.html");
    town.told("", "posterity predict other --data north.csv");
}

#[test]
fn a_server_that_goes_with_its_run_ends_with_the_error_of_its_results() {
    let mut town = ward("spoilt-end", 2);
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0));
    let line = serve(&town);
    town.start("server again", "", &format!("{line} --until-finished"));
    town.until_said("server again", "waiting for signatures");
    spoil(&town);
    for site in ["north", "south"] {
        town.start(site, "", &agent(site, "automatic.toml"));
    }
    assert_eq!(town.ended("server again"), Some(2), "{}", town.log("server again"));
    assert!(town.log("server again").contains("the results cannot be written"), "{}", town.log("server again"));
    for site in ["north", "south"] {
        assert_eq!(town.ended(site), Some(0), "{}", town.log(site));
    }
}

#[test]
fn a_server_says_who_has_not_joined_and_who_has_not_signed() {
    let mut town = plot("missing", 4);
    let line = serve(&town);
    town.start("server", "", &line);
    town.until_said("server", "waiting for site north, site south to join");
    let token = town.told("", "cat server/dashboard.token");
    let page = town.page("/", Some(token.trim()));
    assert!(page.contains("Waiting for site north, site south to join."), "{page}");
    join(&town, "south");
    town.until_said("server", "waiting for site north to join");
    join(&town, "north");
    town.until_said("server", "waiting for signatures of site north, site south");
    assert!(!town.page("/", Some(token.trim())).contains("to join."));
    town.start("north", "", &agent("north", "automatic.toml"));
    town.until_said("server", "waiting for signatures of site south\n");
}

#[test]
fn an_invite_that_was_used_is_over_or_unknown_says_so_and_leaves_no_home() {
    let town = ward("invites", 4);
    let used = join(&town, "east");
    let good = Invite::parse(&used).unwrap();
    let unknown = Invite { secret: InviteSecret::of_bytes(&[7; 16]).unwrap(), ..good.clone() };
    let over = Invite { secret: InviteSecret::of_bytes(&[8; 16]).unwrap(), ..good.clone() };
    let row = InviteRow { secret: over.secret.digest(), role: good.role, name: good.name.clone(), expires: 1000 };
    store::open(town.folder.join("server/server.sqlite").to_str().unwrap()).unwrap().invite(&row).unwrap();
    let cases =
        [(used, "was used before"), (unknown.text().to_string(), "not known"), (over.text().to_string(), "is over")];
    for (line, words) in cases {
        let (exit, told) = refused(&town, &format!("posterity agent join {line} --home thief"));
        assert!(exit == 2 && told.contains("error[F202]") && told.contains(words), "{told}");
        assert!(!told.contains("revoked") && !town.folder.join("thief").exists(), "{told}");
        let secret = line.split('.').nth(1).unwrap();
        assert!(!town.log("server").contains(secret));
    }
    // One line in ten seconds, however often somebody knocks.
    assert_eq!(town.log("server").matches("nobody was enrolled").count(), 1, "{}", town.log("server"));
}

#[test]
fn a_home_that_was_revoked_does_not_use_up_its_next_invite() {
    let town = ward("revoked-home", 4);
    join(&town, "east");
    town.told("", "posterity site revoke east --store server/server.sqlite");
    let line = invite(&town, "east");
    let (exit, told) = refused(&town, &format!("posterity agent join {line} --home east"));
    assert!(exit == 2 && told.contains("error[F203]") && told.contains("was revoked"), "{told}");
    home(&town, "east").papers().unwrap();
    town.told("", &format!("posterity agent join {line} --home east-anew"));
}

#[test]
fn only_a_server_makes_a_store() {
    let town = plot("stores", 4);
    let commands = ["list", "revoke north", "invite north --ca ca --server 127.0.0.1:1"];
    for (place, words) in [("missing.sqlite", "there is no store in missing.sqlite"), ("mysql://host/x", "mysql://")] {
        for command in commands {
            let (exit, told) = refused(&town, &format!("posterity site {command} --store {place}"));
            assert!(exit == 2 && told.contains("error[F003]") && told.contains(words), "{told}");
        }
    }
    assert!(!town.folder.join("missing.sqlite").exists() && !town.folder.join("mysql:").exists());
    let (exit, told) = refused(&town, "posterity site invite eve --role viewer --ca ca --store x --server 127.0.0.1:1");
    assert!(exit == 2 && told.contains("viewer"), "{told}");
}

#[test]
fn a_home_in_use_of_another_role_or_unseen_is_named_as_such() {
    let mut town = ward("homes", 4);
    town.start("north", "", &agent("north", "manual.toml"));
    town.until_said("north", "to take part");
    let (exit, told) = refused(&town, &agent("north", "manual.toml"));
    assert!(exit == 2 && told.contains("another agent uses this home; stop it first"), "{told}");
    let (exit, told) = refused(&town, "posterity node run --home north");
    assert!(exit == 2 && told.contains("the home of the site north") && told.contains("agent run"), "{told}");
    let (exit, told) = refused(&town, "posterity node run --home nowhere");
    assert!(exit == 2 && told.contains("nobody lives") && told.contains("posterity node join"), "{told}");
    let (exit, told) = refused(&town, &agent("north.csv/home", "manual.toml"));
    assert!(exit == 2 && !told.contains("nobody lives") && told.contains("cannot look at"), "{told}");
    let (exit, told) = refused(&town, &agent("south", "nowhere.toml"));
    assert!(exit == 2 && told.contains("error[C003]") && told.contains("nowhere.toml"), "{told}");
}

#[test]
fn a_dashboards_token_that_others_can_read_is_refused() {
    let mut town = ward("token", 4);
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0));
    let path = town.folder.join("server/dashboard.token");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (exit, told) = refused(&town, &serve(&town));
    assert!(exit == 2 && told.contains("dashboard.token is open to others") && told.contains("chmod 600"), "{told}");
}

#[test]
fn a_port_that_is_taken_is_a_failure_of_the_machine() {
    let town = ward("port", 4);
    let line = serve(&town).replace("--home server", "--home second").replace("--out out", "--out second/out");
    let (exit, told) = refused(&town, &line);
    assert!(exit == 1 && told.contains("error[F205]") && told.contains("cannot listen on"), "{told}");
    let (exit, told) = refused(&town, &serve(&town));
    assert!(exit == 2 && told.contains("error[F003]") && told.contains("is served by process"), "{told}");
}
