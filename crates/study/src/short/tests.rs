//! Short studies: what they mean, and what each mistake in one is answered with.

use super::*;
use inference::InputLayout;
use inference::Split;
use inference::public::RowCounts;

/// A short study on a bundled table, with these lines of `[privacy]` and what follows.
fn short(privacy: &str) -> String {
    format!("[data]\nsource = 'heart'\n[partition]\ncolumn = 'hospital'\n[model]\nkind = 'logistic'\n{privacy}\n")
}

fn read(text: &str) -> Study {
    Study::read("my study.toml", text).unwrap_or_else(|faults| panic!("{faults}\n{text}"))
}

fn public(rows: &[u64]) -> PublicNumbers {
    PublicNumbers::new(rows.to_vec(), RowCounts::Counted, InputLayout::new(6, 5).unwrap().with_intercept())
}

/// The δ that each method of a settled study promises.
fn deltas(study: &Study, rows: &[u64]) -> Vec<DeltaRule> {
    study.settled(&public(rows)).unwrap().methods.iter().filter_map(|m| m.promise.map(|p| p.delta)).collect()
}

fn fixed(delta: f64) -> DeltaRule {
    DeltaRule::Fixed(privacy::Delta::new(delta).unwrap())
}

#[test]
fn data_partition_model_and_epsilon_are_a_whole_study() {
    let study = read(&short("[privacy]\nepsilon = 1.0"));
    assert_eq!((study.name.as_str(), &study.seeds[..]), ("my-study", &[1, 2, 3, 4, 5][..]));
    assert_eq!(study.data.split, Split::Fraction { test: 0.2 });
    assert_eq!(study.partition.column(), Some("hospital"));
    let [method] = &study.methods[..] else { panic!("one method") };
    assert_eq!((method.name.as_str(), method.algorithm.descriptor().name), ("private", "noise-aware-levels"));
    let promise = method.promise.unwrap();
    assert_eq!((promise.unit, promise.adjacency), (Unit::Example, Adjacency::Substitute));
    assert_eq!(promise.delta, DeltaRule::LeftOut);

    let settled = study.settled(&public(&[400, 300])).unwrap();
    let keys: Vec<&str> = settled.derived[0].iter().map(|of| of.key.as_str()).collect();
    assert_eq!(keys, ["privacy.delta", "levels.first_share"]);
    assert!(settled.derived[0][0].why.contains("700 rows"), "{:?}", settled.derived);
}

/// What is derived is the same method as one that states it: seeded numbers follow from the method, not from the text.
#[test]
fn a_short_study_is_the_long_one_with_everything_left_out() {
    let settled = read(&short("[privacy]\nepsilon = 1.0")).settled(&public(&[400, 300])).unwrap();
    let share = settled.derived[0][1].value.clone();
    let long = format!(
        "schema = 1\n[study]\nname = 'long'\nseeds = [1]\n[data]\nsource = 'heart'\nsplit = {{ test = 0.2 }}\n[partition]\n\
         kind = 'column'\ncolumn = 'hospital'\n[model]\nkind = 'logistic'\n[[method]]\nname = 'private'\n\
         algorithm = 'noise-aware-levels'\nschedule = 'synchronous'\nlevels = {{ first_share = {share} }}\n\
         privacy = {{ unit = 'example', adjacency = 'substitute', epsilon = 1.0, delta = 1e-5 }}\n"
    );
    assert_eq!(read(&long).methods[0], settled.methods[0]);
}

#[test]
fn the_model_names_its_method_and_a_list_of_epsilon_is_a_method_for_each() {
    let linear = short("[privacy]\nepsilon = [0.3, 1]").replace("logistic", "linear");
    let methods = read(&linear).methods;
    let names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["private, ε 0.3", "private, ε 1"]);
    assert!(methods.iter().all(|method| method.algorithm.descriptor().name == "statistics"));
}

#[test]
fn privacy_is_the_default_of_methods_and_their_own_keys_win() {
    let text = short(
        "[privacy]\nepsilon = 1.0\ndelta = 1e-6\naggregator = 'secure-sum'\nnodes = 3\n\
         [[method]]\nname = 'a'\nalgorithm = 'noise-aware'\nrounds = 4\nprivacy = { epsilon = 2.0, clip = 2.0 }\n\
         [[method]]\nname = 'b'\nalgorithm = 'noise-aware-levels'\nprivacy = { aggregator = 'none' }\n\
         [[method]]\nname = 'c'\nalgorithm = 'noise-aware-levels'\n\
         [[method]]\nname = 'd'\nalgorithm = 'pvi'\nsolver = 'clear'\nrounds = 2\nlocal = { optimiser = 'natural' }\n\
         privacy = 'none'",
    );
    let study = read(&text);
    let of = |at: usize| study.methods[at].promise.map(|p| (p.epsilon.get(), p.delta, p.aggregator.party().word()));
    assert_eq!(of(0), Some((2.0, fixed(1e-6), "secure-sum")));
    assert_eq!(of(1), Some((1.0, fixed(1e-6), "none")));
    assert_eq!(of(2), Some((1.0, fixed(1e-6), "secure-sum")));
    assert_eq!(of(3), None);
    let faults = Study::read("s.toml", &text.replace("privacy = 'none'", "")).unwrap_err();
    assert!(faults.first().hint.contains("privacy = \"none\""), "{faults:?}");
}

#[test]
fn delta_follows_from_public_numbers_only() {
    let of = |privacy: &str| read(&short(&format!("[privacy]\nepsilon = 1.0\n{privacy}")));
    assert_eq!(deltas(&of(""), &[40_000, 5_000]), [fixed(1e-6)]);
    assert_eq!(deltas(&of("delta = 1e-4"), &[40_000, 5_000]), [fixed(1e-4)]);
    // Under add-remove the counted rows say nothing, and the declared ones do.
    let private = of("adjacency = 'add-remove'");
    assert_eq!(deltas(&private, &[40_000]), [DeltaRule::LeftOut]);
    let declared = short("[privacy]\nepsilon = 1.0\nadjacency = 'add-remove'")
        .replace("'heart'", "'heart'\ndeclared_rows = 200000");
    assert_eq!(deltas(&read(&declared), &[40_000]), [fixed(1e-7)]);
    let plan = inference::plan::plan(&private.methods[0], &[40_000], 6);
    let error = plan.unwrap_err().to_string();
    assert!(error.contains("`delta` is left out"), "{error}");
    // Clients are counted by everybody.
    let clients = short(
        "[privacy]\nepsilon = 1.0\nunit = 'client'\n[[method]]\nname = 'p'\nalgorithm = 'pvi'\nsolver = 'perturb'\nrounds = 2\n\
         local = { optimiser = 'natural' }\nprivacy = { clip = 1.0 }",
    );
    assert_eq!(deltas(&read(&clients), &[1_000_000]), [fixed(1e-5)]);
}

/// The default of a softmax model depends on what is opened.
#[test]
fn softmax_models_have_a_default_with_and_without_an_aggregator() {
    for (aggregator, algorithm) in
        [("", "pvi"), ("aggregator = 'none'", "pvi"), ("aggregator = 'curator'", "global-vi")]
    {
        let text = short(&format!("[privacy]\nepsilon = 1.0\n{aggregator}")).replace("'logistic'", "'softmax'");
        let study = read(&text);
        assert_eq!(study.methods.len(), 1);
        assert_eq!(study.methods[0].algorithm.descriptor().name, algorithm, "{aggregator}");
    }
}

#[test]
fn every_mistake_is_told_at_its_line_with_what_to_write() {
    let sound = short("[privacy]\nepsilon = 1.0");
    for (text, code, line, message, hint) in [
        (short("[privacy]"), "S001", 7, "`epsilon`", "epsilon = 1.0"),
        (short("[privacy]\nepsilon = 0"), "S004", 8, "epsilon is 0", "epsilon = 1.0"),
        (short("[privacy]\nepsilon = -1.0"), "S004", 8, "epsilon is -1.0", "epsilon = 1.0"),
        (short("[privacy]\nepsilno = 1.0"), "S002", 8, "`epsilno`", "`epsilon`"),
        (short("[privacy]\nepsilon = 1.0\nclip = 2.0"), "S011", 9, "clip", "leave clip out"),
        (short("[privcy]\nepsilon = 1.0"), "S002", 7, "`privcy`", "`privacy`"),
        (short(""), "S005", 1, "no [privacy]", "epsilon = 1.0"),
        (format!("method = []\n{}", short("")), "S005", 1, "there is no method", "[privacy]"),
        (short("[privacy]\nepsilon = 1.0\nunit = 'client'"), "S008", 9, "unit = \"client\"", "unit"),
        (sound.replace("[data]\nsource = 'heart'\n", ""), "S001", 1, "`data`", "source"),
        (sound.replace("source = 'heart'\n", ""), "S001", 1, "`source`", "csv:"),
        (sound.replace("column = 'hospital'\n", ""), "S011", 3, "neither a column nor", "clients = 10"),
        (sound.replace("'logistic'", "'mixture'\nbias = false"), "S005", 6, "no default method", "[[method]]"),
    ] {
        let faults = Study::read("s.toml", &text).unwrap_err();
        let fault = faults.first();
        assert_eq!((faults.iter().count(), fault.code), (1, code), "{faults}\n{text}");
        assert_eq!(fault.line_and_column().0, line, "{faults}\n{text}");
        assert!(fault.message.contains(message) && fault.hint.contains(hint), "{fault:?}");
    }
}

#[test]
fn without_a_partition_a_study_is_fitted_and_not_simulated() {
    let text = short("[privacy]\nepsilon = 1.0").replace("[partition]\ncolumn = 'hospital'\n", "");
    let study = read(&text);
    assert!(!study.simulated && study.has_table());
    let error = study.load(&crate::Folders::default()).unwrap_err();
    assert!(error.code() == "S001" && error.to_string().contains("no [partition]"), "{error}");
    let split = text.replace("[model]", "split = { test = 0.2 }\n[model]");
    assert_eq!(Study::read("s.toml", &split).unwrap_err().first().code, "S011");
}

#[test]
fn names_of_files_become_legal() {
    for (file, name) in [
        ("a/b/heart 2.toml", "heart-2"),
        (".toml", "study"),
        ("the manifest's study", "study"),
        ("é.toml", "study"),
        ("a/my table/study.toml", "my-table"),
        ("study.toml", "study"),
        ("a/study 2.toml", "study-2"),
    ] {
        assert_eq!(name_of(file), name, "{file}");
    }
}

/// The default method of every model that has one goes with a promise to persons: a short study stays a whole one.
#[test]
fn a_promise_to_persons_makes_a_whole_study_of_every_model_with_a_default() {
    for (kind, algorithm) in [("logistic", "noise-aware-levels"), ("linear", "noise-aware")] {
        let text = short("[privacy]\nepsilon = 1.0\nunit = 'person'").replace("logistic", kind);
        let study = read(&text.replace("'heart'\n", "'heart'\ndeclared_persons = 10000\n"));
        let settled = study.settled(&public(&[40_000, 30_000])).unwrap();
        let [method] = &settled.methods[..] else { panic!("one method") };
        assert_eq!((method.unit(), method.algorithm.descriptor().name), (Unit::Person, algorithm));
        assert_eq!(method.promise.unwrap().delta, fixed(1e-5), "70000 rows would be 1e-6");
        let whys: Vec<&str> = settled.derived[0].iter().map(|of| of.why.as_str()).collect();
        assert!(whys.iter().any(|why| why.contains("persons")), "{whys:?}");
        assert!(whys.iter().all(|why| !why.contains("70000")), "{whys:?}");
    }
}

/// Under add-remove the number of rows is private: what would follow from counted rows is refused, and declared ones are taken.
#[test]
fn no_setting_follows_from_counted_rows_that_are_private() {
    let text = short("[privacy]\nepsilon = 1.0\ndelta = 1e-5\nadjacency = 'add-remove'");
    let refused = read(&text).settled(&public(&[400, 300])).unwrap_err().to_string();
    assert!(refused.contains("levels.first_share") && refused.contains("rows"), "{refused}");
    let declared = read(&text.replace("'heart'\n", "'heart'\ndeclared_rows = [500, 500]\n"));
    let settled = declared.settled(&public(&[400, 300])).unwrap();
    let why = &settled.derived[0][0].why;
    assert!(!why.contains("700") && why.contains("rows"), "{why}");
}

/// What a study declares is for simulations: a run takes the numbers that its parties have agreed on, with nothing held out.
#[test]
fn agreed_numbers_come_before_what_a_study_declares() {
    let text = short("[privacy]\nepsilon = 1.0").replace("'heart'\n", "'heart'\ndeclared_rows = [500, 500]\n");
    let agreed = PublicNumbers { rows_are: RowCounts::Agreed, ..public(&[20_000]) };
    let settled = read(&text).settled(&agreed).unwrap();
    assert_eq!(settled.methods[0].promise.unwrap().delta, fixed(1e-6));
    assert!(settled.derived[0][0].why.contains("20000 rows"), "{:?}", settled.derived);
}
