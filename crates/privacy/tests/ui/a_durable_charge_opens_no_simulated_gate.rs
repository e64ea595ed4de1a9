//! A charge of a real ledger cannot end in a gate that shows its sums to a tape.
use privacy::noise::{NoiseContext, OsKeyed};
use privacy::record::Tape;

fn tape(receipt: privacy::ChargeReceipt<privacy::Durable>, shape: privacy::Shape) {
    let (mut source, context) = (OsKeyed::new([0; 32]), NoiseContext::default());
    let _gate = privacy::LocalGate::recorded(receipt, shape, &mut source, &context, &Tape::record());
}

fn main() {}
