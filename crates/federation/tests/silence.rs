//! Nothing that is logged, said, sent or printed in an error holds a private number: one that stands out is looked for everywhere.

mod common;
#[path = "silence/neighbours.rs"]
mod neighbours;

use common::scripted_server::{ScriptedServer, TestOwner, ask, ledger, owner, said};
use federation::log::{FailureEffect, SimulatedDisk};
use federation::message::{Attempt, Instruction, RefusalCode, Request};
use federation::party::{PartyError, PartyMachine, PartyPhase, SiteParty};
use inference::{Row, RowKeys, Rows, Shard};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The number that stands out.
const SENTINEL: f64 = 7.771_23e77;

/// Its digits, as numbers are printed with and without an exponent.
const DIGITS: [&str; 2] = ["7.77123", "777123"];

/// Everything that was logged, at every level.
#[derive(Clone, Default)]
struct LogCapture(Arc<Mutex<String>>);

struct LogFields<'a>(&'a mut String);

impl Visit for LogFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Subscriber for LogCapture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut LogFields(&mut self.0.lock().unwrap()));
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut LogFields(&mut self.0.lock().unwrap()));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut LogFields(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Whether the number is in a text, or its bytes are in bytes.
fn tells(text: &str, bytes: &[u8]) -> bool {
    let lossy = String::from_utf8_lossy(bytes);
    let digits = DIGITS.iter().any(|digits| text.contains(digits) || lossy.contains(digits));
    let whole = [SENTINEL.to_le_bytes(), SENTINEL.to_be_bytes()];
    digits || whole.iter().any(|number| bytes.windows(8).any(|eight| eight == number))
}

/// Rows with the number in an input, in an outcome, and nowhere.
fn shard() -> Shard {
    let mut rows = Rows::new(2, 2).unwrap();
    for (x, outcome) in [
        ([SENTINEL, 0.5], 1.0),
        ([0.5, -SENTINEL], 0.0),
        ([0.1, 0.2], SENTINEL),
        ([0.1, 0.2], 0.0),
        ([0.3, 0.2], 1.0),
        ([0.1, 0.7], 0.0),
    ] {
        rows.push(Row { numbers: &x, ones: &[], outcome }).unwrap();
    }
    Shard::new(rows, RowKeys::of_slots((0..6).collect())).unwrap()
}

/// What an agent has let out by any way.
#[derive(Default)]
struct Disclosures {
    text: String,
    bytes: Vec<u8>,
}

impl Disclosures {
    fn hear(&mut self, party: &SiteParty<SimulatedDisk>, heard: Result<Vec<Vec<u8>>, PartyError>) {
        match heard {
            Ok(next) => {
                let _ = write!(self.text, "{:?}", said(&next));
                next.iter().for_each(|bytes| self.bytes.extend(bytes));
            }
            Err(error) => {
                let _ = write!(self.text, "{error} {error:?}");
                if let PartyError::Log(error) = &error {
                    let _ = write!(self.text, "{}", error.hint());
                }
            }
        }
        let standing = party.standing();
        let _ = write!(self.text, "{standing:?}");
        if let PartyPhase::Stopped(stop) = standing {
            let _ = write!(self.text, "{stop} {}", stop.hint());
        }
    }
}

fn site(script: &ScriptedServer, disk: &SimulatedDisk) -> SiteParty<SimulatedDisk> {
    let owner = TestOwner { shard: Arc::new(shard()), ..owner(0) };
    let mut party = script.site(0, disk, owner);
    let begun = script.tell(&mut party, script.beginning());
    assert!(begun.is_ok());
    party
}

/// An agent with such rows on every path: answered, settled, refused, burnt, stopped, taken up again.
fn all_paths(script: &ScriptedServer) -> Disclosures {
    let mut outside = Disclosures::default();
    let (disk, query) = (SimulatedDisk::new(), script.question());
    let mut party = site(script, &disk);
    for bad in [Vec::new(), vec![0xff; 30]] {
        let heard = script.tell(&mut party, ask(0, 0, &bad));
        outside.hear(&party, heard);
    }
    let heard = script.tell(&mut party, ask(0, 0, &query)).unwrap();
    let answered = matches!(said(&heard).as_slice(), [Request::Update(_) | Request::Letters(_)]);
    assert!(answered, "{:?}", said(&heard));
    outside.hear(&party, Ok(heard));
    let at = Attempt { round: 0, attempt: 0 };
    let heard = script.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]);
    outside.hear(&party, heard);
    // The disk fails at every operation of an answer in turn; what is taken up again says what became of it.
    for n in 1..=8 {
        let copy = disk.copy();
        let mut party = site(script, &copy);
        copy.fail_at(n, FailureEffect::Everything);
        let heard = script.tell(&mut party, ask(1, 0, &query));
        outside.hear(&party, heard);
        copy.restart();
        let mut again = site(script, &copy);
        let heard = script.tell(&mut again, ask(1, 0, &query));
        outside.hear(&again, heard);
        let sent = again.again();
        outside.hear(&again, sent);
        outside.bytes.extend(ledger(&copy));
    }
    let heard = script.tell(&mut party, vec![Instruction::Refuse(RefusalCode::Conflict)]);
    outside.hear(&party, heard);
    let heard = script.tell(&mut party, ask(1, 0, &query));
    outside.hear(&party, heard);
    outside.bytes.extend(ledger(&disk));
    outside
}

#[test]
fn a_number_of_a_private_row_is_in_nothing_that_an_agent_logs_says_sends_or_keeps_in_its_ledger() {
    for script in [ScriptedServer::new("synchronous/2/0", 3, 0, 2), ScriptedServer::new("sum/2/1", 4, 2, 3)] {
        let ear = LogCapture::default();
        let outside = tracing::subscriber::with_default(ear.clone(), || all_paths(&script));
        assert!(outside.text.len() > 1000 && outside.bytes.len() > 1000, "nothing was looked at");
        assert!(!tells(&outside.text, &outside.bytes), "{} tells", script.manifest.study);
        assert!(!tells(&ear.0.lock().unwrap(), &[]), "{} logs", script.manifest.study);
    }
}

#[test]
fn rows_that_do_not_fit_are_refused_without_a_word_of_what_is_in_them() {
    let mut rows = Rows::new(2, 2).unwrap();
    let error = rows.push(Row { numbers: &[SENTINEL], ones: &[], outcome: SENTINEL }).unwrap_err();
    assert!(!tells(&format!("{error} {error:?}"), &[]));
}

#[test]
fn mutant_m30_a_log_line_with_a_gradient_norm_is_caught() {
    let ear = LogCapture::default();
    tracing::subscriber::with_default(ear.clone(), || tracing::trace!(norm = SENTINEL, "one step"));
    assert!(tells(&ear.0.lock().unwrap(), &[]));
    let ear = LogCapture::default();
    tracing::subscriber::with_default(ear.clone(), || tracing::info!("a gradient of norm {SENTINEL}"));
    assert!(tells(&ear.0.lock().unwrap(), &[]));
    assert!(tells("", &[&[1, 2, 3], &SENTINEL.to_le_bytes()[..]].concat()));
    assert!(!tells("7.7", &[0; 40]));
}
