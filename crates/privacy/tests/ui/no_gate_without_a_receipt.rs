//! A pending charge opens no gate: it must be appended and confirmed first.
use privacy::noise::{NoiseContext, Seeded};

fn hurry(pending: privacy::PendingCharge<'_>, shape: privacy::Shape) {
    let (mut source, context) = (Seeded::new(1), NoiseContext::default());
    let _gate = privacy::LocalGate::simulated(pending, shape, &mut source, &context);
}

fn main() {}
