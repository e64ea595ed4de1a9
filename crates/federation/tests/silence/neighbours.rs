//! Neighbouring data: whatever a site's rows are, it logs and says the same, but for what its gate has noised.
//!
//! Two sites with neighbouring rows hear the same and are compared line by line: polls, answers, letters, refusals and
//! errors, in number, order, kind and size. Only numbers under noise, seals, signatures and digests of these are blanked.

use super::LogCapture;
use crate::common::local_run::LocalRun;
use crate::common::scripted_server::{ScriptedServer, TestOwner, ask, owner};
use crate::common::study::ROWS;
use federation::identity::Signature;
use federation::log::{FailureEffect, SimulatedDisk};
use federation::message::{Attempt, Instruction, MemberId, Request, SealedMessage, Update};
use federation::party::{PartyError, PartyMachine, SiteParty};
use federation::wire::UnverifiedContent;
use inference::Method;
use inference::settings::Schedule;
use inference::{Row, RowKeys, RowReading, Rows, Schema, Shard, read};
use privacy::GridVector;
use std::sync::Arc;

/// A study with a local gate and one with a secure sum.
const STUDIES: [(&str, usize, usize, u64); 3] =
    [("synchronous/2/0", 3, 0, 2), ("sum/2/1", 4, 2, 3), ("asynchronous/2/0", 3, 0, 1)];

/// So many rows, the last of which is this one.
fn rows(count: usize, last: ([f64; 2], f64)) -> Shard {
    let mut rows = Rows::new(2, 2).unwrap();
    for row in 0..count {
        let usual = ([0.3 * row as f64 - 0.7, -0.1], f64::from(row % 2 == 0));
        let (x, outcome) = if row + 1 == count { last } else { usual };
        rows.push(Row { numbers: &x, ones: &[], outcome }).unwrap();
    }
    Shard::new(rows, RowKeys::of_slots((0..count as u64).collect())).unwrap()
}

/// A row like the others.
const USUAL: ([f64; 2], f64) = ([0.8, -0.1], 0.0);

/// Rows that stand out, as far as any can be encoded: huge, tiny, of another sign, and outcomes that are none of a yes or no.
const STRANGE: [([f64; 2], f64); 7] = [
    ([1e308, -1e308], 1.0),
    ([f64::MAX, f64::MIN], 0.0),
    ([f64::MIN_POSITIVE, -0.0], 1.0),
    ([0.0, 0.0], 0.0),
    ([0.8, -0.1], 7.5),
    ([0.8, -0.1], -1e300),
    ([-3.0, 1e9], f64::MAX),
];

/// Lines of a site's file that are no rows: an agent makes a legal row of each.
const NO_ROWS: [&str; 7] =
    ["NaN,-0.1,no", "1e999,-inf,yes", "many,,maybe", "", "1,2,3,4,5", "0x10,\u{fffd},no", "\"a,b"];

/// Rows of a file whose last line is this one, as an agent reads it.
fn read_rows(count: usize, last: &str, method: &Method) -> Shard {
    let schema = "outcome = { column = 'y', levels = ['no', 'yes'] }\n\
                  column = [{ name = 'a', kind = 'numeric', centre = 0, scale = 1 },\n\
                  { name = 'b', kind = 'numeric', centre = 0, scale = 1 }]\n";
    let usual = (1..count).map(|row| format!("{},-0.1,{}\n", 0.3 * row as f64 - 1.0, ["no", "yes"][row % 2]));
    let file = format!("a,b,y\n{}{last}\n", usual.collect::<String>());
    let schema = Schema::from_toml(schema).unwrap();
    let table = read(file.as_bytes(), &schema, false, &[], RowReading::Lenient).unwrap();
    assert_eq!((table.rows.len(), table.rows.width()), (count, 2));
    Shard::of(table, method).unwrap()
}

/// Rows that a site may have in the place of others, for a study of this relation: what is public of them is the same.
fn neighbours(add_remove: bool, method: &Method) -> Vec<Shard> {
    let mut all: Vec<Shard> = STRANGE.into_iter().map(|last| rows(ROWS, last)).collect();
    all.extend(NO_ROWS.map(|last| read_rows(ROWS, last, method)));
    if add_remove {
        all.extend(NO_ROWS.map(|last| read_rows(ROWS + 1, last, method)));
        all.extend([ROWS - 1, ROWS + 1, 1].map(|count| rows(count, USUAL)));
        all.extend(STRANGE.into_iter().map(|last| rows(ROWS + 1, last)));
    }
    all
}

/// What was said, without what noise, seals and signatures make of it.
fn blanked(request: Request) -> Request {
    let zeros = |bytes: &[u8]| vec![0; bytes.len()];
    match request {
        Request::Update(mut update) => {
            let Update { question, position, answer, .. } = &mut update;
            (*question, position.digest) = ([0; 32], [0; 32]);
            *answer = GridVector::new(answer.grid(), vec![0; answer.units().len()]);
            Request::Update(update)
        }
        Request::Attend { position, wait, begun, unsettled, mail, closed } => {
            let position = position.map(|mut position| {
                position.digest = [0; 32];
                position
            });
            Request::Attend { position, wait, begun, unsettled, mail, closed }
        }
        Request::Contributed { at, mut position, .. } => {
            position.digest = [0; 32];
            Request::Contributed { at, question: [0; 32], position }
        }
        Request::Letters(letters) => {
            let blank = |letter: SealedMessage| {
                let (key, sealed, signature) = (zeros(&letter.key), zeros(&letter.sealed), Signature::from_bytes(&[]));
                SealedMessage { key, sealed, signature, question: [0; 32], ..letter }
            };
            Request::Letters(letters.into_iter().map(blank).collect())
        }
        other => other,
    }
}

/// One line of what was said. Numbers under noise are spelt in as many bytes as they need: the length of an answer is theirs.
fn line(bytes: &[u8]) -> String {
    let request = blanked(UnverifiedContent::read(bytes).unwrap().claimed_request().unwrap());
    match request {
        Request::Update(_) => format!("{request:?}"),
        other => format!("{} bytes: {other:?}", bytes.len()),
    }
}

/// What one site lets out, in its order.
#[derive(Default)]
struct SiteTranscript(Vec<String>);

impl SiteTranscript {
    fn hear(&mut self, party: &mut SiteParty<SimulatedDisk>, heard: Result<Vec<Vec<u8>>, PartyError>) {
        match heard {
            Ok(next) => self.0.extend(next.iter().map(|bytes| line(bytes))),
            Err(error) => self.0.push(format!("{error} {error:?}")),
        }
        self.0.push(line(&party.attend(0)));
        self.0.push(format!("{:?}", party.standing()));
    }
}

fn site(script: &ScriptedServer, disk: &SimulatedDisk, shard: &Arc<Shard>) -> SiteParty<SimulatedDisk> {
    let owner = TestOwner { shard: shard.clone(), ..owner(0) };
    let mut party = script.site(0, disk, owner);
    script.tell(&mut party, script.beginning()).unwrap();
    party
}

/// A site by hand: refused, answered, settled, sent again, taken up again after its disk failed, and asked until it charges no more.
fn by_hand(script: &ScriptedServer, shard: &Arc<Shard>) -> Vec<String> {
    let (disk, query, mut transcript) = (SimulatedDisk::new(), script.question(), SiteTranscript::default());
    let mut party = site(script, &disk, shard);
    let at = Attempt { round: 0, attempt: 0 };
    let settled = || vec![Instruction::Receipt { at, applied: None }];
    for told in [ask(0, 0, &[]), ask(0, 0, &[0xff; 30]), ask(0, 0, &query), ask(0, 0, &query), settled()] {
        let heard = script.tell(&mut party, told);
        transcript.hear(&mut party, heard);
        let again = party.again();
        transcript.hear(&mut party, again);
    }
    for n in 1..=8 {
        let copy = disk.copy();
        let mut party = site(script, &copy, shard);
        copy.fail_at(n, FailureEffect::Everything);
        let heard = script.tell(&mut party, ask(1, 0, &query));
        transcript.hear(&mut party, heard);
        copy.restart();
        let mut party = site(script, &copy, shard);
        let heard = script.tell(&mut party, ask(1, 0, &query));
        transcript.hear(&mut party, heard);
    }
    for attempt in 0..40 {
        let heard = script.tell(&mut party, ask(1, attempt, &query));
        transcript.hear(&mut party, heard);
        let at = Attempt { round: 1, attempt };
        let heard = script.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]);
        transcript.hear(&mut party, heard);
    }
    // Where answers are folded as they come the budget is the limit, in sums one charge of a round, elsewhere three.
    let told = |reason: &str| transcript.0.iter().filter(|line| line.contains(reason)).count();
    let limited = match script.parts.method.schedule {
        Schedule::Asynchronous(_) => told("reason: Spent"),
        Schedule::Sequential | Schedule::Synchronous => told("reason: Refused"),
    };
    let summed = !script.manifest.nodes.is_empty() && script.charges(&disk) <= 2;
    assert!(limited > 10 || summed, "there is an end to what is charged");
    transcript.0
}

/// A site in a whole run with a real server: everything that it says until the end.
fn in_a_run(script: ScriptedServer, shard: &Arc<Shard>) -> Vec<String> {
    let own = |site: usize| match site {
        0 => TestOwner { shard: shard.clone(), ..owner(0) },
        _ => owner(site),
    };
    let (mut local_run, mut lines) = (LocalRun::new(script, own), Vec::new());
    for _ in 0..400 {
        for member in local_run.members() {
            let (bytes, _) = local_run.next(member);
            if member == MemberId::Site(0) {
                lines.push(line(&bytes));
            }
            local_run.deliver(member, &bytes);
        }
        if local_run.is_over() {
            return lines;
        }
    }
    panic!("the run does not come to its end");
}

/// What a site with these rows says and logs, by hand and in a run.
fn let_out(study: (&str, usize, usize, u64), shard: Shard) -> Vec<String> {
    let (ear, shard) = (LogCapture::default(), Arc::new(shard));
    let script = || ScriptedServer::new(study.0, study.1, study.2, study.3);
    let mut lines = tracing::subscriber::with_default(ear.clone(), || {
        let mut lines = by_hand(&script(), &shard);
        lines.extend(in_a_run(script(), &shard));
        lines
    });
    lines.push(format!("logged: {}", ear.0.lock().unwrap()));
    lines
}

/// The first line in which two differ.
fn difference(one: &[String], other: &[String]) -> Option<(String, String)> {
    let both = one.iter().zip(other).find(|(one, other)| one != other);
    let ends =
        || (one.len() != other.len()).then(|| (format!("{} lines", one.len()), format!("{} lines", other.len())));
    both.map(|(one, other)| (one.clone(), other.clone())).or_else(ends)
}

fn nothing_tells_neighbours_apart(relation: &str, add_remove: bool) {
    for (study, sites, nodes, quorum) in STUDIES {
        let study = format!("{study}{relation}");
        let study = (study.as_str(), sites, nodes, quorum);
        let usual = let_out(study, rows(ROWS, USUAL));
        assert!(usual.len() > 100, "nothing was looked at");
        let method = ScriptedServer::new(study.0, sites, nodes, quorum).parts.method.clone();
        for (number, shard) in neighbours(add_remove, &method).into_iter().enumerate() {
            let other = let_out(study, shard);
            assert_eq!(difference(&usual, &other), None, "{}: neighbour {number} shows", study.0);
        }
    }
}

#[test]
fn a_row_that_is_replaced_changes_nothing_that_is_logged_or_said_but_what_is_under_noise() {
    nothing_tells_neighbours_apart("", false);
}

#[test]
fn nor_does_a_row_that_comes_or_goes_where_the_number_of_rows_is_private() {
    nothing_tells_neighbours_apart("/add-remove", true);
}

#[test]
fn rows_that_cannot_be_encoded_are_refused_in_the_same_words() {
    let said = |numbers: &[f64], ones: &[u32], outcome| {
        let error = Rows::new(2, 2).unwrap().push(Row { numbers, ones, outcome }).unwrap_err();
        format!("{error} {error:?}")
    };
    let one = said(&[f64::NAN, 0.0], &[], 1.0);
    for other in [
        said(&[0.1, f64::INFINITY], &[], 1.0),
        said(&[0.1, 0.2], &[], f64::NAN),
        said(&[0.1], &[], 1.0),
        said(&[0.1, 0.2, 0.3], &[], 0.0),
        said(&[0.1, 0.2], &[7], 0.0),
    ] {
        assert_eq!(one, other);
    }
}

#[test]
fn mutant_a_count_of_rows_in_a_log_line_or_in_a_poll_is_caught() {
    // The number of rows in a log line.
    let logged = |shard: Shard| {
        let ear = LogCapture::default();
        tracing::subscriber::with_default(ear.clone(), || tracing::info!(rows = shard.len(), "answering"));
        vec![format!("logged: {}", ear.0.lock().unwrap())]
    };
    let [usual, more] = [ROWS, ROWS + 1].map(|count| logged(rows(count, USUAL)));
    assert!(difference(&usual, &more).is_some() && difference(&usual, &usual).is_none());
    // Whether it is even, in the number of the last letter that was read; and a poll more.
    let script = ScriptedServer::new("synchronous/2/0", 3, 0, 2);
    let (mut party, _) = script.running(0);
    let poll = party.attend(0);
    let Request::Attend { position, wait, begun, unsettled, mail, closed } =
        UnverifiedContent::read(&poll).unwrap().claimed_request().unwrap()
    else {
        panic!("a poll was expected")
    };
    let other = Request::Attend { position, wait, begun, unsettled, mail: mail + 1, closed };
    let other = party.agent().unwrap().sign(&other);
    assert!(difference(&[line(&poll)], &[line(&other)]).is_some());
    assert!(difference(&[line(&poll)], &[line(&poll), line(&poll)]).is_some());
}
