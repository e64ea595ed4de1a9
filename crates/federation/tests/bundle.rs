//! A finished run as one file: whoever has it can check it, and whatever part of it is changed is found out.

use crate::common::local_run::LocalRun;
use crate::common::scripted_server::{ScriptedServer, owner};
use federation::bundle::{self, BundleContent, BundleError, bundle, opened, sealed};
use federation::coordinator::FoldInput;
use federation::manifest::Manifest;
use federation::message::RunOutcome;
use privacy::GridVector;

/// A run that is over, by parties that do what they should.
fn finished(study: &str, sites: usize, nodes: usize) -> LocalRun {
    let mut run = LocalRun::new(ScriptedServer::new(study, sites, nodes, sites as u64), owner);
    for _ in 0..500 {
        for member in run.members() {
            let (bytes, _) = run.next(member);
            run.deliver(member, &bytes);
        }
        if run.is_over() {
            return run;
        }
    }
    panic!("{study} does not end");
}

fn bundled(run: &LocalRun) -> Vec<u8> {
    let script = &run.front.script;
    bundle(&run.front.store, &script.manifest.run(), &script.keys.server).unwrap()
}

#[test]
fn a_finished_run_is_checked_without_server_and_rows() {
    for (study, nodes, answers) in [("synchronous/2/0", 0, 6), ("sum/2/0", 2, 0)] {
        let run = finished(study, 3, nodes);
        let verified = bundle::verify(&bundled(&run), run.front.script.builder.as_ref()).unwrap();
        assert_eq!(verified.manifest.digest(), run.front.script.manifest.digest());
        assert_eq!((verified.content.answers.len(), verified.content.outcome), (answers, RunOutcome::Complete));
        assert_eq!(verified.content.state, run.front.kept().state);
        for (site, (spending, known)) in verified.sites.iter().zip(&verified.content.sites).enumerate() {
            assert!(0.0 < spending.spent && spending.spent <= spending.granted, "{site}: {spending:?}");
            assert!(known.answers >= 2 && !spending.events.is_empty());
            let head = run.sites[site].agent().unwrap().log().digest_at(known.head.unwrap().sequence);
            assert_eq!(head, Some(known.head.unwrap().digest), "a site finds its own ledger in it");
        }
    }
}

#[test]
fn a_bundle_is_the_same_for_everyone_and_any_changed_byte_is_found_out() {
    let run = finished("synchronous/2/0", 3, 0);
    let bytes = bundled(&run);
    assert_eq!(bytes, bundled(&run));
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(opened(&changed).is_err(), "byte {place}");
    }
    for length in [0, 7, 8, 12, bytes.len() - 1] {
        assert!(matches!(opened(&bytes[..length]), Err(BundleError::Malformed { .. })), "{length}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(matches!(opened(&longer), Err(BundleError::Malformed { .. })));
}

/// How a content is changed, and what the message then has.
type Tampering = (&'static str, fn(&mut BundleContent), &'static str);

/// Each part is changed by a server that signs what it has changed: what the members have signed, and what follows from the
/// answers, is found out all the same.
#[track_caller]
fn all_are_found_out(run: &LocalRun, tampered: &[Tampering]) {
    let script = &run.front.script;
    let (content, _) = opened(&bundled(run)).unwrap();
    for (what, change, words) in tampered {
        let mut changed = content.clone();
        change(&mut changed);
        assert_ne!(changed, content, "{what} changes nothing");
        let bytes = sealed(&changed, &script.keys.server).unwrap();
        let Err(error) = bundle::verify(&bytes, script.builder.as_ref()) else { panic!("{what} is not found out") };
        assert!(error.to_string().contains(words), "{what}: {error}");
        assert!(!error.hint().is_empty());
    }
}

/// The vector with one unit more.
fn one_more(vector: &GridVector) -> GridVector {
    let mut units = vector.units().to_vec();
    units[0] += 1;
    GridVector::new(vector.grid(), units)
}

fn other_manifest(content: &mut BundleContent) {
    let manifest = Manifest::read(&content.manifest).unwrap();
    content.manifest = Manifest { nonce: [9; 16], ..manifest }.bytes();
}

#[test]
fn every_part_that_a_server_changes_is_found_out() {
    all_are_found_out(
        &finished("synchronous/2/0", 3, 0),
        &[
            ("manifest", other_manifest, "manifest is refused"),
            ("a signature", |c| c.signatures[1] = c.signatures[0].clone(), "manifest is refused"),
            ("a signature less", |c| drop(c.signatures.pop()), "manifest is refused"),
            ("an answer", |c| c.answers[2].update.answer = one_more(&c.answers[2].update.answer), "posterior"),
            ("whose answer", |c| c.answers[0].site = 7, "not in the run"),
            ("an answer left out", |c| drop(c.answers.pop()), "not stored"),
            ("an answer twice", |c| c.answers.push(c.answers[5].clone()), "twice"),
            ("a ledger that goes back", |c| c.answers[5].update.position.sequence = 1, "goes back"),
            ("a last place", |c| c.sites[0].head = None, "before an answer"),
            ("a number of answers", |c| c.sites[1].answers += 1, "answers"),
            ("a site", |c| c.sites.truncate(2), "number of sites"),
            ("a fold left out", |c| drop(c.folds.pop()), "posterior"),
            ("the order of folds", |c| c.folds.swap(0, 1), "stands where"),
            ("a round", |c| c.folds[1].round = 5, "of round 5"),
            ("the posterior", |c| c.state[9] ^= 1, "posterior"),
        ],
    );
}

#[test]
fn every_part_of_a_secure_sum_that_a_server_changes_is_found_out() {
    all_are_found_out(
        &finished("sum/2/0", 3, 2),
        &[
            (
                "a total",
                |c| {
                    if let FoldInput::Sum { total, .. } = &mut c.folds[0].of {
                        *total = one_more(total);
                    }
                },
                "posterior",
            ),
            ("a node's signature", |c| c.signatures[4] = c.signatures[3].clone(), "manifest is refused"),
            ("a number of answers", |c| c.sites[1].answers = 1, "answers"),
            ("more answers than were granted", |c| c.sites[1].answers = 1000, "granted"),
        ],
    );
}

#[test]
fn a_bundle_is_of_a_finished_run_and_signed_by_its_server() {
    let run = finished("synchronous/2/0", 3, 0);
    let (script, store) = (&run.front.script, &run.front.store);
    let (_, stranger) = &script.keys.sites[0];
    let refused = bundle(store, &script.manifest.run(), stranger).unwrap_err();
    assert!(matches!(refused, BundleError::OtherServer), "{refused}");
    assert!(matches!(bundle(store, &[7; 16], &script.keys.server), Err(BundleError::Store(_))));
    let (content, _) = opened(&bundled(&run)).unwrap();
    let forged = sealed(&content, stranger).unwrap();
    assert!(matches!(bundle::verify(&forged, script.builder.as_ref()), Err(BundleError::Signature)));
    let unfinished = LocalRun::new(ScriptedServer::new("synchronous/2/0", 3, 0, 3), owner);
    let script = &unfinished.front.script;
    let refused = bundle(&unfinished.front.store, &script.manifest.run(), &script.keys.server).unwrap_err();
    assert!(matches!(refused, BundleError::Unfinished { rounds: 0 }), "{refused}");
}
