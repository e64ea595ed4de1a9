//! What must not compile: each file in `tests/ui` is one way around the gate, and the compiler's answer to it.

#[test]
fn ways_around_the_gate_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
