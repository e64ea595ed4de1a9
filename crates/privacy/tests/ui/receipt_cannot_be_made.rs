//! A receipt comes from a confirmed charge only.
fn forge(event: privacy::Event) -> privacy::ChargeReceipt<privacy::Durable> {
    privacy::ChargeReceipt { event, left: 1, kept: std::marker::PhantomData }
}

fn main() {}
