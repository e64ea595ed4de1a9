//! What a site is told before it approves a run follows from the manifest, its policy and its ledger, and is what then leaves.

use crate::common::local_run::LocalRun;
use crate::common::scripted_server::{ScriptedServer, owner};
use crate::common::study::{GRANTED, PAIR};
use federation::log::{Account, Log, SimulatedDisk};
use federation::message::Request;
use federation::policy::Policy;
use federation::preview::{PolicyPreview, RunPreview};
use privacy::Accountant;
use std::collections::BTreeSet;

fn preview(script: &ScriptedServer) -> RunPreview {
    RunPreview::of(&script.manifest, &script.parts, 0).unwrap()
}

#[test]
fn a_preview_names_what_leaves_to_whom_and_at_what_cost() {
    let open = preview(&ScriptedServer::new("synchronous/2/0", 3, 0, 3));
    assert_eq!((open.rounds, open.site, open.sites.len(), open.nodes.len()), (2, 0, 3, 0));
    assert_eq!((open.pair, open.promise), (PAIR, Some((GRANTED, 1e-5))));
    let [answers] = &open.answers[..] else { panic!("{open:?}") };
    assert_eq!(open.numbers(), 2 * answers.numbers);
    let one = privacy::accounting::Pld
        .epsilon(std::slice::from_ref(&answers.event), privacy::Delta::new(1e-5).unwrap())
        .unwrap();
    assert_eq!(answers.epsilon, Some(one.upper));
    let sum = preview(&ScriptedServer::new("sum/2/0", 3, 2, 3));
    assert_eq!(sum.nodes.len(), 2);
    // A first look and one update after it: two answers in all.
    assert_eq!(sum.answers.iter().map(|answers| answers.count).sum::<u64>(), 2);
    let script = ScriptedServer::new("synchronous/2/0", 3, 0, 3);
    assert!(RunPreview::of(&script.manifest, &script.parts, 3).is_none(), "a site that is not in the run");
}

/// The preview is an upper bound of what a site then sends.
#[test]
fn no_answer_has_more_numbers_than_the_preview_says() {
    let mut run = LocalRun::new(ScriptedServer::new("synchronous/2/0", 3, 0, 3), owner);
    // The same answer may be sent again, and counts once.
    let (mut sent, most) = (BTreeSet::new(), preview(&run.front.script));
    while !run.is_over() {
        for member in run.members() {
            let (bytes, said) = run.next(member);
            if let Request::Update(update) = said {
                let numbers = update.answer.units().len() as u64;
                assert!(numbers <= most.answers[0].numbers, "{numbers} numbers");
                sent.insert((format!("{member:?}"), update.at.round, update.at.attempt));
            }
            run.deliver(member, &bytes);
        }
    }
    let sites = run.sites.len() as u64;
    assert_eq!(sent.len() as u64, sites * most.answers.iter().map(|answers| answers.count).sum::<u64>());
}

#[test]
fn a_preview_says_what_the_policy_makes_of_the_run() {
    let script = ScriptedServer::new("synchronous/2/0", 3, 0, 3);
    let account = Account::of(&Log::open(SimulatedDisk::new()).unwrap()).unwrap();
    let of = |text: &str| PolicyPreview::of(&Policy::read(text).unwrap(), &script.manifest, &script.parts, 0, &account);
    let allowed = federation::policy::DEFAULT
        .replace("minimum_rows = 50", "minimum_rows = 1")
        .replace("max_epsilon_per_answer = 3.0", "max_epsilon_per_answer = 30.0")
        .replace("allowed_models = [\"linear\", \"logistic\"]", "allowed_models = \"any\"");
    let preview = of(&allowed);
    assert_eq!((preview.refusal, preview.max_epsilon), (None, 6.0));
    assert!(preview.counts_as.is_some_and(|epsilon| 0.0 < epsilon && epsilon <= 6.0));
    let small = of(&allowed.replace("max_epsilon = 6.0", "max_epsilon = 0.1"));
    assert!(small.refusal.unwrap().to_string().contains("max_epsilon"));
}
