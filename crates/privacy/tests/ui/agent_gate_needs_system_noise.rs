//! Seeded noise does not open an agent's gate.
use privacy::noise::{NoiseContext, Seeded};

fn agent(receipt: privacy::ChargeReceipt<privacy::Durable>, shape: privacy::Shape) {
    let mut source = Seeded::new(1);
    let _gate = privacy::AgentGate::local(receipt, shape, &mut source, &NoiseContext::default());
}

fn main() {}
