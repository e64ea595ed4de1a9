//! What `[federation]` may say, and where each fault stands in the file.

use super::super::meant::Study;
use super::*;

/// A study of two hospitals that is served, with these lines in its `[federation]` and this `privacy` of its method.
fn text(federation: &str, privacy: &str) -> String {
    format!(
        "schema = 1\n[study]\nname = 's'\nseeds = [7]\n[data]\nsource = 'heart'\n[model]\nkind = 'logistic'\n[federation]\n\
         {federation}\n[[method]]\nname = 'm'\nalgorithm = 'noise-aware'\nschedule = 'synchronous'\nrounds = 4\nprivacy = {{ unit = 'example', \
         adjacency = 'substitute', epsilon = 1.0, delta = 1e-5, clip = 2.0{privacy} }}\n"
    )
}

const SITES: &str = "sites = [{ name = 'a', rows = 30 }, { name = 'b', rows = 20 }, { name = 'c', rows = 10 }]";
const SUM: &str = ", aggregator = 'secure-sum', nodes = 2, dropouts = 1";

fn read(federation: &str, privacy: &str) -> Result<Study, Fault> {
    Study::read("s.toml", &text(federation, privacy)).map_err(|faults| faults.first().clone())
}

#[test]
fn a_study_that_is_only_served_needs_no_partition_and_no_split() {
    let study = read(&format!("{SITES}\nnodes = ['x', 'y']\nquorum = 2\ndeadline = 60"), SUM).unwrap();
    let served = study.served.unwrap();
    assert!(!study.simulated);
    assert_eq!((served.rows(), served.quorum, served.deadline), (vec![30, 20, 10], Some(2), Some(60)));
    assert_eq!(study.partition, Partition::Even { clients: 3 });
    assert_eq!(served.object()["sites"][1]["name"], "b");
    assert!(served.words().starts_with("3 sites as declared: a (30 rows), b (20 rows)"), "{}", served.words());
}

#[test]
fn what_does_not_fit_is_refused_where_it_stands() {
    let with = |more: &str| format!("{SITES}\n{more}");
    let cases = [
        (with("quorum = 4"), "", "s.toml:11:1", "quorum is 4, expected from 1 to 3"),
        (with("quorum = 0"), "", "s.toml:11:1", "quorum is 0"),
        (with("deadline = 0"), "", "s.toml:11:1", "deadline is 0"),
        (with("nodes = ['x', 'y']"), "", "s.toml:11:1", "no method opens a secure sum"),
        (with("nodes = ['x', 'y']\nquorum = 1"), SUM, "s.toml:12:1", "opened with 2 of 3 sites or more"),
        (with("nodes = ['x', 'y', 'z']"), SUM, "s.toml:17:", "has 2 compute nodes, and [federation] 3"),
        (with(""), SUM, "s.toml:9:", "has 2 compute nodes, and [federation] 0"),
        (with("nodes = ['a', 'y']"), SUM, "s.toml:11:", "two parties are named a"),
        (with("nodes = ['-a', 'y']"), SUM, "s.toml:11:", "a party is named \"-a\""),
        (SITES.replace("'b'", "'a'"), "", "s.toml:10:", "two parties are named a"),
        (SITES.replace("'b'", "'b b'"), "", "s.toml:10:", "a party is named \"b b\""),
        (SITES.replace("20", "0"), "", "s.toml:10:", "b has 0 rows"),
        ("sites = []".into(), "", "s.toml:10:1", "there is no site"),
    ];
    for (federation, privacy, place, words) in cases {
        let fault = read(&federation, privacy).unwrap_err();
        assert_eq!(fault.code, CODE, "{fault}");
        assert!(fault.place.starts_with(place) && fault.message.contains(words), "{fault}");
        assert!(!fault.hint.is_empty());
    }
    assert_eq!(read(&with("quorums = 3"), "").unwrap_err().code, "S002");
    assert_eq!(read("quorum = 3", "").unwrap_err().code, "S001", "sites are missing");
}

#[test]
fn a_simulation_beside_it_is_of_as_many_sites() {
    let beside = |clients: u32| {
        let simulated = format!("split = {{ test = 0.2 }}\n[partition]\nkind = 'even'\nclients = {clients}\n[model]");
        Study::read("s.toml", &text(SITES, "").replacen("[model]", &simulated, 1))
    };
    let study = beside(3).unwrap();
    assert!(study.simulated && study.served.is_some());
    let fault = beside(4).unwrap_err().first().clone();
    assert_eq!((fault.code, fault.place.as_str()), (CODE, "s.toml:10:1"));
}

#[test]
fn keys_of_a_simulation_have_no_meaning_without_one() {
    for key in ["split = { test = 0.2 }", "declared_rows = 60"] {
        let stray = text(SITES, "").replacen("[model]", &format!("{key}\n[model]"), 1);
        let fault = Study::read("s.toml", &stray).unwrap_err().first().clone();
        assert_eq!((fault.code, fault.place.as_str()), ("S011", "s.toml:7:1"), "{fault}");
    }
    let without = text(SITES, "").replacen("[federation]", "[partition]\nkind = 'even'\nclients = 3\n[federation]", 1);
    let split = Study::read("s.toml", &without).unwrap().data.split;
    assert_eq!(split, inference::Split::Fraction { test: 0.2 }, "a simulation holds out a fifth");
    let columns = text(SITES, "") + "[[column]]\nname = 'c'\npartition = { kind = 'even', clients = 3 }\n";
    assert_eq!(Study::read("s.toml", &columns).unwrap_err().first().code, CODE);
}
