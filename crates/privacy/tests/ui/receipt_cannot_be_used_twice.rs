//! One receipt, one gate.
use privacy::noise::{NoiseContext, Seeded};

fn twice(receipt: privacy::ChargeReceipt<privacy::InMemory>, shape: privacy::Shape) {
    let (mut source, context) = (Seeded::new(1), NoiseContext::default());
    let _first = privacy::LocalGate::simulated(receipt, shape, &mut source, &context);
    let _second = privacy::LocalGate::simulated(receipt, shape, &mut source, &context);
}

fn main() {}
