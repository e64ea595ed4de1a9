//! `posterity demo federation`: seven processes, one run, and the simulation's posterior bit for bit.
#![cfg(feature = "rehearsal")]

use assert_cmd::Command;
use std::path::Path;

#[test]
fn the_demonstration_ends_with_the_posterior_of_its_simulation() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-federation");
    let mut demo = Command::cargo_bin("posterity").unwrap();
    demo.args(["demo", "federation", "--folder"]).arg(&folder).env("POSTERITY_REHEARSAL", "5");
    let output = demo.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the posterior equals that of the simulation, bit for bit"), "{said}");
    assert_eq!(said.matches("joined ").count(), 4, "{said}");
    for site in ["cleveland", "hungary", "switzerland", "va_long_beach"] {
        let mut verify = Command::cargo_bin("posterity").unwrap();
        verify.args(["ledger", "verify", "--home"]).arg(folder.join(site)).assert().success();
    }
    for file in ["results/report.html", "results/results.json"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    assert!(said.contains("--stay keeps it"), "{said}");
    let predict = said.lines().find_map(|line| line.strip_prefix("predict     posterity ")).unwrap();
    Command::cargo_bin("posterity").unwrap().args(predict.split(' ')).assert().success();
    let report = std::fs::read_to_string(folder.join("results/report.html")).unwrap();
    assert!(report.contains("cleveland") && report.contains("all rounds completed"));
    assert!(!report.contains("http://") || report.contains("http://www.w3.org/2000/svg"), "nothing from the network");
}

/// A demonstration in a folder of its own; what it says is left aside.
#[cfg(unix)]
fn started(folder: &Path) -> std::process::Child {
    let mut demo = std::process::Command::new(env!("CARGO_BIN_EXE_posterity"));
    demo.args(["demo", "federation", "--folder"]).arg(folder).stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// How many processes have this folder in their command lines.
#[cfg(target_os = "linux")]
fn left(folder: &Path) -> usize {
    let lines = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    lines.filter(|line| line.contains(folder.to_str().unwrap())).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_demonstration_that_is_told_to_stop_leaves_nobody_behind() {
    for (number, file) in
        ["logs", "logs/server.log", "server/addresses.json", "logs/alice.log", "logs/cleveland.log"].iter().enumerate()
    {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("demo-stopped-{number}"));
        let _ = std::fs::remove_dir_all(&folder);
        let mut demo = started(&folder);
        while !folder.join(file).exists() {
            assert!(demo.try_wait().unwrap().is_none(), "{file}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = std::process::Command::new("kill").arg(demo.id().to_string()).status().unwrap();
        assert!(sent.success());
        assert_eq!(demo.wait().unwrap().code(), Some(0), "{file}");
        assert_eq!(left(&folder), 0, "{file}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_folder_of_a_demonstration_that_runs_is_left_alone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-in-use");
    let _ = std::fs::remove_dir_all(&folder);
    let mut demo = started(&folder);
    while !folder.join("server/addresses.json").exists() {
        assert!(demo.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut second = Command::cargo_bin("posterity").unwrap();
    let output = second.args(["demo", "federation", "--folder"]).arg(&folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && told.contains("error[F207]: another demonstration is running in"),
        "{told}"
    );
    assert!(folder.join("server/addresses.json").exists());
    assert!(std::process::Command::new("kill").arg(demo.id().to_string()).status().unwrap().success());
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    std::fs::remove_dir_all(&folder).unwrap();
}
