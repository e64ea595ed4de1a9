//! What must not compile: each file in `tests/ui` is one way around the gate, and the compiler's answer to it.

use std::process::Command;

#[test]
fn ways_around_the_gate_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// As in a release, but for this crate alone: what it depends on is built already.
#[test]
fn seeded_noise_in_agents_does_not_compile_without_debug_assertions() {
    let as_released = "profile.dev.package.posterity-privacy.debug-assertions=false";
    let arguments = ["build", "--offline", "--lib", "--features", "rehearsal", "--config", as_released];
    let built = Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(!built.status.success() && said.contains("seeded noise in an agent is for test builds"), "{said}");
}
