//! A charge kept in memory does not open an agent's gate.
use privacy::noise::{NoiseContext, OsKeyed};

fn agent(receipt: privacy::ChargeReceipt<privacy::InMemory>, shape: privacy::Shape) {
    let mut source = OsKeyed::new([0; 32]);
    let _gate = privacy::AgentGate::local(receipt, shape, &mut source, &NoiseContext::default());
}

fn main() {}
