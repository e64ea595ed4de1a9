//! Grids around derived settings, and what is lost against the best of them.

use super::*;
use crate::meant::Study;
use inference::InputLayout;
use inference::public::RowCounts;

fn study(regret: &str) -> String {
    format!(
        "[study]\nseeds = [1, 2, 3, 4]\n[data]\nsource = 'heart'\n[partition]\ncolumn = 'hospital'\n[model]\nkind = 'logistic'\n\
         [privacy]\nepsilon = [1, 3]\n[[method]]\nname = 'vi'\nalgorithm = 'global-vi'\n[[regret]]\n{regret}\n"
    )
}

const GRID: &str = "methods = ['vi']\nchoose = 2\ntimes = { 'privacy.clip' = [0.5, 2], rounds = [0.001] }\nvalues = { 'local.learning_rate' = [0.1] }";

#[test]
fn a_grid_is_laid_out_around_what_is_derived_and_all_else_stays_derived() {
    let study = Study::read("s.toml", &study(GRID)).unwrap();
    let names: Vec<&str> = study.methods.iter().map(|method| method.name.as_str()).collect();
    let label = |clip: &str| format!("clip × {clip}, rounds × 0.001, learning rate 0.1");
    let expected = ["vi, ε 1".to_owned(), format!("vi, ε 1: {}", label("0.5")), format!("vi, ε 1: {}", label("2"))];
    assert_eq!(names[..3], expected);
    assert_eq!((study.regrets.len(), study.regrets[0].choose, study.regrets[1].epsilon), (2, 2, Some(3.0)));
    assert_eq!(study.regrets[0].by_hand[1], (expected[2].clone(), label("2")));

    let inputs = InputLayout::new(6, 5).unwrap().with_intercept();
    let settled = study.settled(&PublicNumbers::new(vec![400, 300], RowCounts::Counted, inputs)).unwrap();
    let of = |method: usize, key: &str| settled.derived[method].iter().find(|d| d.key == key).unwrap().clone();
    let clip = |method| of(method, "privacy.clip").value.as_float().unwrap();
    assert!((clip(1) / clip(0) - 0.5).abs() < 1e-5 && (clip(2) / clip(0) - 2.0).abs() < 1e-5);
    assert_eq!(of(1, "rounds").value.as_integer(), Some(1), "a count stays one");
    assert!(of(2, "privacy.clip").why.starts_with("2 times what was derived"), "{:?}", of(2, "privacy.clip"));
    assert!(settled.derived[1].iter().any(|d| d.key == "local.rate"), "{:?}", settled.derived[1]);
}

#[test]
fn grids_that_judge_nothing_are_refused_at_their_line() {
    for (from, to, words) in [
        ("choose = 2", "choose = 3", "3 of 4 seeds choose"),
        ("['vi']", "['pvi']", "there is no method \"pvi\""),
        ("[0.001]", "[1, 2, 3, 4, 5, 6, 7]", "the grid has 14 settings"),
    ] {
        let faults = Study::read("s.toml", &study(&GRID.replace(from, to))).unwrap_err();
        let fault = faults.first();
        assert!(fault.message.contains(words) && !fault.place.ends_with(":1:1"), "{fault:?}");
    }
    let study = Study::read("s.toml", &study(&GRID.replace("rounds =", "damping ="))).unwrap();
    let inputs = InputLayout::new(6, 5).unwrap().with_intercept();
    let error = study.settled(&PublicNumbers::new(vec![400], RowCounts::Counted, inputs)).unwrap_err().to_string();
    assert!(error.contains("damping is not a number that was derived"), "{error}");
}

/// Chosen on the first seeds, judged on the others: what is best afterwards is another setting, and is said beside.
#[test]
fn the_best_is_chosen_on_some_seeds_and_judged_on_others() {
    let [vi, one, other] = [[-0.5, -0.5, -0.5, -0.52], [-0.4, -0.4, -0.49, -0.5], [-0.6, -0.6, -0.3, -0.3]];
    let scores = SeedScores::from([("vi", &vi[..]), ("a", &one[..]), ("b", &other[..])]);
    let by_hand = vec![("a".to_owned(), "clip × 2".to_owned()), ("b".to_owned(), "clip × 4".to_owned())];
    let regret = Regret { derived: "vi".into(), epsilon: Some(1.0), by_hand, choose: 2 };
    let cell = cell(&regret, "heart", &scores, Some(&[-0.6, -0.6, -0.49, -0.6])).unwrap();
    assert_eq!((cell.best.as_str(), cell.regret.seeds), ("clip × 2", 2));
    assert!((cell.regret.mean - 0.015).abs() < 1e-12 && (cell.chosen_afterwards - 0.21).abs() < 1e-12, "{cell:?}");
    assert!((cell.derived + 0.51).abs() < 1e-12);
    assert!((cell.least_over_constant.unwrap() + 0.01).abs() < 1e-12, "the worst of all seeds");
}
