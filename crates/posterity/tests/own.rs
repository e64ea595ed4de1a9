//! The examples of a method and of a model of one's own are run, and stay as short as they are said to be.

#[path = "../examples/own_method.rs"]
mod own_method;
#[path = "../examples/own_model.rs"]
mod own_model;

#[test]
fn a_method_of_ones_own_is_planned_simulated_served_predicted_from_and_lawful() {
    own_method::main().unwrap();
}

#[test]
fn a_model_of_ones_own_is_planned_simulated_served_predicted_from_and_lawful() {
    own_model::main().unwrap();
}

#[test]
fn each_is_one_file_of_at_most_80_lines() {
    for text in [include_str!("../examples/own_method.rs"), include_str!("../examples/own_model.rs")] {
        assert!(text.lines().count() <= 80, "{} lines", text.lines().count());
    }
}
