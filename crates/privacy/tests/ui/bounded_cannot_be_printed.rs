//! A sum has no `Display`; its `Debug` shows the public shape.
fn print(sum: &privacy::Bounded) -> String {
    format!("{sum}")
}

fn main() {}
