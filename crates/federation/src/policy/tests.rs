//! One test for every key: a run that breaks it is refused, by name, before anything is signed.

use super::*;
use crate::identity::{PartyName, PublicKey};
use crate::log::{Log, LogEntry, RunAttempt, RunStanding, SimulatedDisk};
use crate::manifest::{self, NodeMember, Pace, SiteMember};
use inference::algorithm::{Curvature, NoiseAwareConstants, NoiseAwareSettings, RoundBudget};
use inference::settings::{
    Aggregator, Claim, Clip, Damping, DeltaRule, Noise, Promise, Rounds, Schedule, SecureNoise, SecureSumSettings,
    SitePromises,
};
use inference::{Expectation, InputLayout, Logistic, Method, Predictive, build};
use privacy::{Epsilon, Event, Mechanism, NormBound, Portfolio, Sampling, Steps};
use std::sync::Arc;

const STUDY: &str = "schema = 1\n[model]\nkind = \"logistic\"\n";

const SCHEMA: &str = r#"
    outcome = { column = "ill", levels = ["no", "yes"] }
    record_id = "patient"
    only = { ward = "a" }
    column = [
        { name = "age", kind = "numeric", centre = 55, scale = 10, bounds = [0, 110] },
        { name = "ward", kind = "category", levels = ["a", "b"] },
        { name = "visit", kind = "ignore" },
    ]
"#;

/// A policy that allows the run of [`run`], but for these lines.
fn policy(changes: &[(&str, &str)]) -> Policy {
    let mut text = DEFAULT.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    Policy { known: read_out(&run(secure(0)).0), ..Policy::read(&text).unwrap() }
}

/// What the owners of all nodes and sites read out.
fn read_out(manifest: &Manifest) -> BTreeMap<String, String> {
    let nodes = manifest.nodes.iter().map(|node| (node.name.to_string(), node.fingerprint()));
    nodes.chain(manifest.sites.iter().map(|site| (site.name.to_string(), site.fingerprint()))).collect()
}

fn method(aggregator: Aggregator) -> Method {
    let curvature = Curvature::EveryRound { weight: 1.0 };
    Method {
        name: "noise-aware".into(),
        algorithm: Arc::new(NoiseAwareSettings {
            constants: NoiseAwareConstants { curvature, whitening: 0.0, floor: 0.1, caution: 1.0 },
            rounds: Rounds::Count(4),
            damping: Damping::NONE,
            average: 1,
            site_intercept: None,
            budget: RoundBudget::Even,
            solver: None,
        }),
        schedule: Schedule::Synchronous,
        promise: Some(Promise {
            unit: Unit::Example,
            adjacency: Adjacency::Substitute,
            epsilon: Epsilon::new(1.0).unwrap(),
            delta: DeltaRule::Fixed(Delta::new(1e-5).unwrap()),
            clip: Some(Clip::Fixed(NormBound::new(1.0).unwrap())),
            noise: Noise::Calibrated,
            aggregator,
            accountant: Claim::Certified,
        }),
        sites: SitePromises::default(),
    }
}

/// Three sites with 100 declared rows each.
fn run(aggregator: Aggregator) -> (Manifest, RunParts) {
    run_of(method(aggregator), aggregator)
}

/// The same with another method.
fn run_of(method: Method, aggregator: Aggregator) -> (Manifest, RunParts) {
    let model = Arc::new(Logistic { expectation: Expectation::Mixture, predictive: Predictive::Mixture });
    let built = build(&method, &[100; 3], model, &InputLayout::new(4, 4).unwrap(), &1.0.into(), 1).unwrap();
    let name = |text: String| PartyName::new(&text).unwrap();
    let site = |m: u8| SiteMember { name: name(format!("site-{m}")), key: PublicKey([m; 32]), rows: 100 };
    let node = |k: u8| NodeMember { name: name(format!("node-{k}")), key: PublicKey([9 + k; 32]), sealing: [k; 32] };
    let secure = matches!(aggregator, Aggregator::SecureSum(_));
    let manifest = Manifest {
        version: manifest::VERSION,
        nonce: [0; 16],
        study: STUDY.into(),
        schema: SCHEMA.into(),
        method: method.name.clone(),
        sites: (0..3).map(site).collect(),
        nodes: if secure { (0..2).map(node).collect() } else { Vec::new() },
        server: PublicKey([99; 32]),
        pace: Pace { rounds: 4, quorum: 3, deadline: None },
        agreed: manifest::agreed(&built).unwrap(),
    };
    (manifest, RunParts { method, built })
}

fn secure(dropouts: u64) -> Aggregator {
    Aggregator::SecureSum(SecureSumSettings { nodes: 2, noise: SecureNoise::Nodes, colluders: 0, dropouts })
}

/// The key that refuses, with what was found.
fn refused(policy: &Policy, aggregator: Aggregator, account: &Account) -> (&'static str, String) {
    let (manifest, parts) = run(aggregator);
    match policy.check(&manifest, &parts, 0, account) {
        Err(error @ PolicyError::Refused { .. }) => {
            assert!(!error.hint().is_empty() && error.code() == "F111");
            let PolicyError::Refused { key, found, expected, .. } = error else { unreachable!() };
            assert!(!expected.is_empty());
            (key, found)
        }
        other => panic!("{other:?}"),
    }
}

fn key(policy: &Policy) -> &'static str {
    refused(policy, Aggregator::None, &none()).0
}

#[test]
fn the_policy_that_a_site_begins_with_is_one_and_allows_a_modest_run() {
    let first = Policy::read(DEFAULT).unwrap();
    assert_eq!(first.approval, Approval::Manual);
    let (manifest, parts) = run(Aggregator::None);
    first.check(&manifest, &parts, 0, &none()).unwrap();
    policy(&[]).check(&manifest, &parts, 2, &none()).unwrap();
    let (manifest, parts) = run(secure(0));
    let strict = policy(&[("require_secure_sum = false", "require_secure_sum = true")]);
    strict.check(&manifest, &parts, 1, &none()).unwrap();
}

/// The ledger of a site with runs like this, as their acceptances leave it, each closed or still open.
fn ledger(runs: &[(RunStanding, &RunParts)]) -> Account {
    let mut log = Log::open(SimulatedDisk::new()).unwrap();
    for (number, (standing, parts)) in runs.iter().enumerate() {
        let (run, grant, pair) = ([number as u8; 16], parts.built.grants[0].clone(), parts.pair(0).unwrap());
        log.append(&LogEntry::AcceptedGrant { run, manifest: [0; 32], pair, grant: grant.clone(), bytes: vec![] })
            .unwrap();
        let turn = RunAttempt { run, round: 0, attempt: 0 };
        let mut ledger = privacy::Ledger::open(grant, &mut log.journal(turn, [0; 32])).unwrap();
        ledger.charge(&parts.built.terms[0].event, &mut log.journal(turn, [0; 32])).unwrap();
        if *standing == RunStanding::Closed {
            log.append(&LogEntry::Closed { run }).unwrap();
        }
    }
    Account::of(&log).unwrap()
}

/// A site that has taken part in nothing.
fn none() -> Account {
    ledger(&[])
}

/// So many open runs like this.
fn open(count: usize, parts: &RunParts) -> Account {
    ledger(&vec![(RunStanding::Open, parts); count])
}

#[test]
fn what_all_runs_together_count_as_is_limited() {
    assert_eq!(key(&policy(&[("max_epsilon = 6.0", "max_epsilon = 0.8")])), "max_epsilon");
    let (manifest, parts) = run(Aggregator::None);
    let three = policy(&[("max_epsilon = 6.0", "max_epsilon = 3.0"), ("max_open_runs = 4", "max_open_runs = 99")]);
    // Unsampled Gaussian noise: eight runs of (1, 1e-5) count as a little less than 3.
    three.check(&manifest, &parts, 0, &open(7, &parts)).unwrap();
    let (key, found) = refused(&three, Aggregator::None, &open(8, &parts));
    assert_eq!(key, "max_epsilon");
    assert!(found.starts_with("ε = 3.0") && found.contains("by gdp") && found.contains("ε = 1 at δ = 1e-5"), "{found}");
}

/// What a closed run has not charged is given back: one of four answers was charged in each.
#[test]
fn an_open_run_reserves_its_grant_and_a_closed_one_counts_what_it_charged() {
    let (manifest, parts) = run(Aggregator::None);
    let three = policy(&[("max_epsilon = 6.0", "max_epsilon = 3.0"), ("max_open_runs = 4", "max_open_runs = 99")]);
    let closed = |count: usize| ledger(&vec![(RunStanding::Closed, &parts); count]);
    three.check(&manifest, &parts, 0, &closed(20)).unwrap();
    assert_eq!(refused(&three, Aggregator::None, &closed(40)).0, "max_epsilon");
    let portfolio = Portfolio::new(three.cap(&none()).unwrap());
    let four = closed(4).lifetime(&portfolio, None).unwrap().counts_as().unwrap().epsilon;
    let one = open(1, &parts).lifetime(&portfolio, None).unwrap().counts_as().unwrap().epsilon;
    assert!((four / one - 1.0).abs() < 1e-9, "{four} {one}");
}

#[test]
fn open_runs_are_limited_by_their_number() {
    let (manifest, parts) = run(Aggregator::None);
    policy(&[]).check(&manifest, &parts, 0, &open(3, &parts)).unwrap();
    let refused = refused(&policy(&[]), Aggregator::None, &open(4, &parts));
    assert_eq!(refused, ("max_open_runs", "4 open runs beside this one".into()));
    policy(&[]).check(&manifest, &parts, 0, &ledger(&[(RunStanding::Closed, &parts); 4])).unwrap();
}

/// A run that an older program has accepted goes on, and is counted.
#[test]
fn a_run_of_an_older_ledger_is_counted_and_not_refused_again() {
    let (manifest, parts) = run(Aggregator::None);
    let mut log = Log::open(SimulatedDisk::new()).unwrap();
    let (run, digest) = (manifest.run(), manifest.digest());
    log.append(&LogEntry::Accepted { run, manifest: digest, epsilon: 1.0, delta: 1e-5, bytes: vec![] }).unwrap();
    let account = Account::of(&log).unwrap();
    let small = policy(&[("max_epsilon = 6.0", "max_epsilon = 0.1")]);
    small.check(&manifest, &parts, 0, &account).unwrap();
    let portfolio = Portfolio::new(policy(&[]).cap(&account).unwrap());
    let counted = account.lifetime(&portfolio, None).unwrap();
    assert_eq!(counted.counts_as().unwrap().epsilon, 1.0, "its plan is not on record: it is added up");
    let (mut other, _) = super::tests::run(Aggregator::None);
    other.nonce = [1; 16];
    assert!(small.check(&other, &parts, 0, &account).is_err());
}

#[test]
fn delta_of_a_cap_has_to_be_four_times_that_of_a_study() {
    let as_one = [("max_epsilon = 6.0", "max_epsilon = 1.0"), ("max_delta = 1e-4", "max_delta = 1e-5")];
    let (key, found) = refused(&policy(&as_one), Aggregator::None, &none());
    assert!(key == "max_delta" && found.contains("δ = 1e-5"), "{found}");
}

#[test]
fn delta_of_all_runs_together_stays_under_one_over_the_rows() {
    let (mut manifest, programme) = run(Aggregator::None);
    let generous = policy(&[("max_delta = 1e-4", "max_delta = 0.5")]);
    let one = open(1, &programme);
    let check = |manifest: &Manifest, account: &Account| generous.check(manifest, &programme, 0, account);
    // δ = 1e-5 of this run.
    manifest.sites[0].rows = 99_999;
    check(&manifest, &none()).unwrap();
    let refused = check(&manifest, &one).unwrap_err().to_string();
    for part in ["max_delta", "δ = 2e-5", "99999 declared rows", "less than 1 / 99999"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    manifest.sites[0].rows = 100_000;
    assert!(check(&manifest, &none()).is_err());
    // Rows of other sites are theirs, and the rows of a site that is protected as a whole are one unit.
    generous.check(&manifest, &programme, 1, &none()).unwrap();
    let persons = Policy { unit: Some(Unit::Person), ..generous.clone() };
    assert_eq!(key(&persons), "unit", "an ε of rows is none of persons");
    let loose = persons.check_delta(1e-5, 100_000).unwrap_err().to_string();
    assert!(loose.contains("100000 declared persons"), "{loose}");
    let whole = Policy { unit: Some(Unit::Client), ..generous.clone() };
    whole.check_delta(1e-5, 100_000).unwrap();
}

/// A run as the guide's study has it.
fn of_the_guide() -> (Manifest, RunParts) {
    let text = include_str!("../../../../docs/guide/federation/study.toml");
    let study: toml::Table = toml::from_str(text).unwrap();
    let number = |key: &str| study["method"][0]["privacy"][key].as_float().unwrap();
    let mut method = method(Aggregator::None);
    if let Some(promise) = &mut method.promise {
        promise.epsilon = Epsilon::new(number("epsilon")).unwrap();
        promise.delta = DeltaRule::Fixed(Delta::new(number("delta")).unwrap());
    }
    run_of(method, Aggregator::None)
}

#[test]
fn the_policy_that_a_site_begins_with_allows_several_studies_of_the_guides_size_but_not_any_number() {
    let first = policy(&[("max_open_runs = 4", "max_open_runs = 99")]);
    let (manifest, parts) = of_the_guide();
    let allowed =
        (0..20).take_while(|earlier| first.check(&manifest, &parts, 0, &open(*earlier, &parts)).is_ok()).count();
    assert_eq!(allowed, 7, "a cap that never binds is none");
}

#[test]
fn a_run_without_a_limit_is_refused() {
    let (manifest, mut parts) = run(Aggregator::None);
    parts.built.grants = vec![Grant::Unlimited; 3];
    let refused = policy(&[]).check(&manifest, &parts, 0, &none()).unwrap_err();
    assert!(refused.to_string().contains("no limit"), "{refused}");
    let (manifest, parts) = run(Aggregator::None);
    assert!(policy(&[]).check(&manifest, &parts, 3, &none()).is_err(), "a site that is not in it");
}

#[test]
fn models_are_allowed_by_name() {
    assert_eq!(key(&policy(&[("[\"linear\", \"logistic\"]", "[\"linear\"]")])), "allowed_models");
    assert_eq!(key(&policy(&[("[\"linear\", \"logistic\"]", "[]")])), "allowed_models");
    let (mut manifest, parts) = run(Aggregator::None);
    manifest.study = "schema = 1\n[model]\nkind = \"network\"\n".into();
    assert!(policy(&[]).check(&manifest, &parts, 0, &none()).is_err());
    let any = policy(&[("[\"linear\", \"logistic\"]", "\"any\"")]);
    any.check(&manifest, &parts, 0, &none()).unwrap();
}

#[test]
fn every_column_that_is_used_has_to_be_allowed() {
    let all = ["age", "ward", "ill", "patient"];
    let naming = |names: &[&str]| policy(&[("allowed_columns = \"any\"", &format!("allowed_columns = {names:?}"))]);
    let (manifest, parts) = run(Aggregator::None);
    naming(&all).check(&manifest, &parts, 0, &none()).unwrap();
    for left_out in all {
        let others: Vec<&str> = all.into_iter().filter(|name| *name != left_out).collect();
        let refused = refused(&naming(&others), Aggregator::None, &none());
        assert_eq!(refused, ("allowed_columns", left_out.to_owned()));
    }
}

#[test]
fn rows_that_are_too_few_are_refused_by_their_declared_number() {
    assert_eq!(key(&policy(&[("minimum_rows = 50", "minimum_rows = 101")])), "minimum_rows");
    let (manifest, parts) = run(Aggregator::None);
    let just = policy(&[("minimum_rows = 50", "minimum_rows = 100")]);
    just.check(&manifest, &parts, 0, &none()).unwrap();
}

#[test]
fn single_answers_are_refused_where_a_secure_sum_is_required() {
    let strict = policy(&[("require_secure_sum = false", "require_secure_sum = true")]);
    assert_eq!(key(&strict), "require_secure_sum");
    assert_eq!(refused(&strict, Aggregator::Curator, &none()).0, "require_secure_sum");
}

#[test]
fn sites_that_are_too_few_are_refused_and_those_that_may_drop_out_do_not_count() {
    let three = policy(&[("minimum_sites = 2", "minimum_sites = 3")]);
    assert_eq!(key(&policy(&[("minimum_sites = 2", "minimum_sites = 4")])), "minimum_sites");
    let (manifest, parts) = run(secure(0));
    three.check(&manifest, &parts, 0, &none()).unwrap();
    assert_eq!(refused(&three, secure(1), &none()), ("minimum_sites", "2 sites".into()));
}

/// What a policy says to a secure sum whose members somebody has changed.
fn altered(policy: &Policy, noise: SecureNoise, change: impl FnOnce(&mut Manifest)) -> Result<(), PolicyError> {
    let aggregator = Aggregator::SecureSum(SecureSumSettings { nodes: 2, noise, colluders: 0, dropouts: 0 });
    let (mut manifest, parts) = run(aggregator);
    change(&mut manifest);
    policy.check(&manifest, &parts, 0, &none())
}

#[test]
fn a_secure_sum_rests_on_nodes_whose_keys_their_owners_have_read_out() {
    let (known, nodes) = (policy(&[]), SecureNoise::Nodes);
    assert_eq!(altered(&known, nodes, |_| {}), Ok(()));
    let key = |answer: Result<(), PolicyError>| match answer {
        Err(PolicyError::Refused { key, found, .. }) => (key, found.contains("node-1")),
        other => panic!("{other:?}"),
    };
    let forged = altered(&known, nodes, |manifest| manifest.nodes[1].key = PublicKey([77; 32]));
    assert_eq!(key(forged), ("known", true));
    // The key for shares is in no certificate: a server that changes it alone would read them.
    assert_eq!(key(altered(&known, nodes, |manifest| manifest.nodes[1].sealing = [77; 32])), ("known", true));
    let mut some = known.clone();
    some.known.remove("node-1");
    assert_eq!(key(altered(&some, nodes, |_| {})), ("known", true));
    // Other sites add nothing that this one needs; and blanks and capitals are how people write it down.
    assert_eq!(altered(&known, nodes, |manifest| manifest.sites[2].key = PublicKey([77; 32])), Ok(()));
    let written = known.known["node-1"].to_uppercase();
    some.known.insert("node-1".into(), format!("{} {}", &written[..4], &written[4..]));
    assert_eq!(altered(&some, nodes, |_| {}), Ok(()));
}

#[test]
fn where_sites_add_the_noise_their_keys_are_known_too() {
    let (known, sites) = (policy(&[]), SecureNoise::Clients(privacy::ShareNoise::DiscreteGaussian));
    assert_eq!(altered(&known, sites, |_| {}), Ok(()));
    let forged = altered(&known, sites, |manifest| manifest.sites[2].key = PublicKey([77; 32]));
    assert!(matches!(forged, Err(PolicyError::Refused { key: "known", .. })), "{forged:?}");
    // A site needs no line for itself.
    let mut others = known.clone();
    others.known.remove("site-0");
    assert_eq!(altered(&others, sites, |_| {}), Ok(()));
}

#[test]
fn an_answer_with_too_little_noise_is_refused() {
    let strict = policy(&[("max_epsilon_per_answer = 3.0", "max_epsilon_per_answer = 0.1")]);
    assert_eq!(key(&strict), "max_epsilon_per_answer");
    let (manifest, mut parts) = run(Aggregator::None);
    parts.built.terms[0].event =
        Event::new(Mechanism::Open, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
    let refused = policy(&[]).check(&manifest, &parts, 0, &none()).unwrap_err();
    assert!(refused.to_string().contains("max_epsilon_per_answer"), "{refused}");
}

#[test]
fn another_relation_or_unit_is_refused() {
    assert_eq!(key(&policy(&[("adjacency = \"substitute\"", "adjacency = \"add-remove\"")])), "adjacency");
    assert_eq!(key(&policy(&[("unit = \"example\"", "unit = \"client\"")])), "unit");
}

/// A file of version 1 may lack the two lines: it means the pair of the first run on record, or that of a new file.
#[test]
fn a_policy_of_version_1_has_the_pair_of_the_first_run() {
    let nameless = DEFAULT.replace("adjacency = \"substitute\"\n", "").replace("unit = \"example\"\n", "");
    let error = Policy::read(&nameless).unwrap_err();
    assert!(error.code() == "F110" && error.to_string().contains("adjacency is missing"), "{error}");
    let old = Policy::read(&nameless.replace("schema = 2", "schema = 1")).unwrap();
    assert_eq!((old.adjacency, old.unit, old.pair(&none()), old.max_open_runs), (None, None, PAIR, 4));
    assert_eq!(Policy::read(DEFAULT).unwrap().pair(&none()), PAIR);
    let (manifest, parts) = run(Aggregator::None);
    old.check(&manifest, &parts, 0, &open(1, &parts)).unwrap();
    let other = of_pair(PromisePair { adjacency: Adjacency::AddRemove, ..PAIR });
    assert_eq!(old.pair(&open(1, &other)).adjacency, Adjacency::AddRemove);
    let refused = old.check(&manifest, &parts, 0, &open(1, &other)).unwrap_err();
    assert!(matches!(refused, PolicyError::Refused { key: "adjacency", .. }), "{refused}");
    // Two pairs on record: nothing more until the owner names one, and then what a theorem converts.
    let both = ledger(&[(RunStanding::Open, &parts), (RunStanding::Open, &other)]);
    let refused = old.check(&manifest, &parts, 0, &both).unwrap_err().to_string();
    assert!(refused.contains("schema 2"), "{refused}");
    policy(&[]).check(&manifest, &parts, 0, &both).unwrap();
}

/// The parts of [`run`] with events of another pair.
fn of_pair(pair: PromisePair) -> RunParts {
    let (_, mut parts) = run(Aggregator::None);
    let turned = |event: &Event| {
        Event::new(event.mechanism().clone(), pair.adjacency, pair.unit, *event.sampling(), event.steps()).unwrap()
    };
    for (terms, grant) in parts.built.terms.iter_mut().zip(&mut parts.built.grants) {
        terms.event = turned(&terms.event);
        let Grant::Limited { filter: privacy::Filter::Plan(plan), .. } = grant else { panic!("no plan") };
        *plan = plan.iter().map(turned).collect();
    }
    parts
}

#[test]
fn runs_of_another_pair_count_by_a_theorem_or_refuse_what_comes_after_them() {
    let (manifest, parts) = run(Aggregator::None);
    let client = of_pair(PromisePair { unit: Unit::Client, ..PAIR });
    policy(&[]).check(&manifest, &client, 0, &open(1, &client)).unwrap();
    let person = of_pair(PromisePair { unit: Unit::Person, ..PAIR });
    let refused = refused(&policy(&[]), Aggregator::None, &open(1, &person));
    assert_eq!(refused, ("unit", "person in earlier runs at this site".to_owned()));
    let added = of_pair(PromisePair { adjacency: Adjacency::AddRemove, ..PAIR });
    let of_added = policy(&[]).lifetime_with(&manifest, &added, 0, &none()).unwrap().unwrap();
    let of_replaced = policy(&[]).lifetime_with(&manifest, &parts, 0, &none()).unwrap().unwrap();
    assert!(of_added.counts_as().unwrap().epsilon > 1.9 * of_replaced.counts_as().unwrap().epsilon);
}

#[test]
fn approval_is_said_and_by_hand_at_first() {
    let automatic = policy(&[("approval = \"manual\"", "approval = \"automatic\"")]);
    assert_eq!((automatic.approval, policy(&[]).approval), (Approval::Automatic, Approval::Manual));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let wrong = [
        ("schema = 2", "schema = 3", "schema is 3, expected 2"),
        ("schema = 2\n", "", "schema is missing"),
        ("unit = \"example\"", "", "unit is missing"),
        ("max_epsilon = 6.0", "max_epsilon = -1", "max_epsilon is -1"),
        ("max_epsilon = 6.0", "max_epsilon = nan", "max_epsilon is NaN"),
        ("max_delta = 1e-4", "max_delta = 1.0", "max_delta is 1"),
        ("max_epsilon_per_answer = 3.0", "max_epsilon_per_answer = 0", "max_epsilon_per_answer is 0"),
        ("approval = \"manual\"", "approval = \"never\"", "unknown variant `never`"),
        ("minimum_rows = 50", "minimum_rows = 50\nmax_noise = 1", "unknown field `max_noise`"),
        ("minimum_rows = 50", "", "missing field `minimum_rows`"),
        ("allowed_columns = \"any\"", "allowed_columns = \"all\"", "expected \"any\", or a list of names"),
    ];
    for (from, to, words) in wrong {
        let error = Policy::read(&DEFAULT.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(words) && error.code() == "F110", "{error}");
    }
    let line = |error: PolicyError| if let PolicyError::Unreadable { line, .. } = error { line } else { 0 };
    let broken = DEFAULT.replacen("max_delta = 1e-4", "max_delta = 2", 1);
    let expected = 1 + DEFAULT.lines().position(|line| line.starts_with("max_delta")).unwrap();
    assert_eq!(line(Policy::read(&broken).unwrap_err()), expected);
}

#[test]
fn sums_are_rounded_upwards_and_exact_where_they_can_be() {
    let three = GrantTotals::NOTHING.and(1.0, 0.0).and(1.0, 0.0).and(1.0, 0.0);
    assert_eq!(three.epsilon, 3.0);
    assert_eq!(GrantTotals { epsilon: 1.0, delta: 0.0 }.and(1e-30, 0.0).epsilon, 1.0_f64.next_up());
}
