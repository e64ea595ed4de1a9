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
    assert!(said.contains("the posterior is that of the simulation, bit for bit"), "{said}");
    assert_eq!(said.matches("joined ").count(), 4, "{said}");
    for site in ["cleveland", "hungary", "switzerland", "va_long_beach"] {
        let mut verify = Command::cargo_bin("posterity").unwrap();
        verify.args(["ledger", "verify", "--home"]).arg(folder.join(site)).assert().success();
    }
    for file in ["results/report.html", "results/results.json"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let report = std::fs::read_to_string(folder.join("results/report.html")).unwrap();
    assert!(report.contains("cleveland") && report.contains("all rounds were made"));
    assert!(!report.contains("http://") || report.contains("http://www.w3.org/2000/svg"), "nothing from the network");
}
