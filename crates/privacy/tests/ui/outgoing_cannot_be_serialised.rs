//! Only what a gate has opened can be serialised, not a contribution on its way to a sum.
fn save(outgoing: &privacy::Outgoing) -> String {
    serde_json::to_string(outgoing).unwrap()
}

fn main() {}
