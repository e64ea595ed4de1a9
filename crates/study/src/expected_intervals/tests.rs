//! Expected widths beside those that simulations give, on two designs.

use crate::{Folders, Study};
use serde_json::Value;

/// How far an expected width may be from the mean of those that were simulated, as a factor.
const WITHIN: f64 = 1.3;

/// Standard deviations of the effects, expected and simulated with one seed.
fn compared(name: &str, schema: &str, study: &str) -> Vec<(String, f64, f64)> {
    let folder = std::env::temp_dir().join(format!("expected-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("schema.toml"), schema).unwrap();
    let folders = Folders { study: folder.clone(), data: None };
    let expected: Value =
        serde_json::from_str(&Study::read("s.toml", study).unwrap().plan(&folders).unwrap()[0].json()).unwrap();
    let expected = &expected["methods"][0]["expected"];
    let own = expected["by_epsilon"].as_array().unwrap().iter().find(|at| at["epsilon"] == expected["epsilon"]);
    let deviations: Vec<f64> =
        own.unwrap()["effects"].as_array().unwrap().iter().map(|e| e["deviation"].as_f64().unwrap()).collect();
    let mut sums = vec![0.0; deviations.len()];
    let mut names = Vec::new();
    // Effects are those of a run's first seed: each seed is a run.
    for seed in 1..=3 {
        let text = study.replace("seeds = [1]", &format!("seeds = [{seed}]"));
        let loaded = Study::read("s.toml", &text).unwrap().load(&folders).unwrap();
        let results = loaded.simulate(&folder.join(seed.to_string()), &()).unwrap();
        let effects = &results.methods[0].effects.as_ref().unwrap().effects;
        names = effects.iter().map(|effect| effect.words()).collect();
        sums.iter_mut().zip(effects).for_each(|(sum, effect)| *sum += effect.deviation / 3.0);
    }
    std::fs::remove_dir_all(folder).unwrap();
    names.into_iter().zip(deviations).zip(sums).map(|((name, expected), found)| (name, expected, found)).collect()
}

fn check(design: &str, schema: &str, study: &str) {
    for (name, expected, found) in compared(design, schema, study) {
        let ratio = expected / found;
        assert!((1.0 / WITHIN..WITHIN).contains(&ratio), "{design}: {name}: {expected} against {found}");
    }
}

#[test]
fn expected_widths_are_those_of_simulations_with_numbers_alone() {
    let number =
        |name: &str| format!("{{ name = \"{name}\", kind = \"numeric\", centre = 0, scale = 1, bounds = [-4, 4] }}");
    let columns = ["a", "b", "c", "d", "e"].map(number).join(", ");
    let schema = format!("outcome = {{ column = \"y\", levels = [\"no\", \"yes\"] }}\ncolumn = [{columns}]\n");
    check(
        "numbers",
        &schema,
        r#"
        study = { name = "numbers", seeds = [1], baselines = false }
        data = { source = "schema", schema = "schema.toml", drawn = { rows = 3000, effects = { a = 0.5, b = -0.3 } } }
        partition = { clients = 3 }
        model = { kind = "logistic" }
        privacy = { epsilon = 1.0, aggregator = "curator" }
        "#,
    );
}

#[test]
fn expected_widths_are_those_of_simulations_with_categories_and_noise_at_every_site() {
    let schema = r#"
        outcome = { column = "y", levels = ["no", "yes"] }
        column = [
          { name = "clinic", kind = "ignore" },
          { name = "age", kind = "numeric", centre = 50, scale = 15, bounds = [10, 100] },
          { name = "stage", kind = "category", levels = ["I", "II", "III", "IV"] },
          { name = "smoker", kind = "category", levels = ["no", "yes"] },
        ]
    "#;
    check(
        "categories",
        schema,
        r#"
        study = { name = "categories", seeds = [1], baselines = false }
        data = { source = "schema", schema = "schema.toml", drawn = { rows = { a = 1500, b = 1000, c = 500 }, effects = { age = 0.4, stage = { IV = 0.8 } }, intercept = -1.0 } }
        partition = { column = "clinic" }
        model = { kind = "logistic" }
        privacy = { epsilon = 3.0 }
        "#,
    );
}

#[test]
fn a_plan_says_what_to_expect_by_epsilon_and_nothing_where_no_forecast_is() {
    let plan = |method: &str| {
        let text = format!(
            "data = {{ source = \"heart\" }}\npartition = {{ column = \"hospital\" }}\nmodel = {{ kind = \"logistic\" }}\n{method}"
        );
        let plans = Study::read("s.toml", &text).unwrap().plan(&Folders::default()).unwrap();
        (plans[0].rows(), serde_json::from_str::<Value>(&plans[0].json()).unwrap()["methods"][0]["expected"].clone())
    };
    let (rows, json) = plan("privacy = { epsilon = 2.0 }");
    let first = rows.iter().position(|(label, _)| label == "expects").unwrap();
    assert!(
        rows[first + 2].1.ends_with("0.3           1           2           3          10"),
        "{}",
        rows[first + 2].1
    );
    let widths = |k: usize| {
        let of = |at: &Value| at["effects"][k]["width"].as_f64().unwrap();
        json["by_epsilon"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    assert!(widths(0).windows(2).all(|pair| pair[1] < pair[0]), "{:?}", widths(0));
    let (rows, json) = plan(
        "method = [{ name = \"p\", algorithm = \"pvi\", solver = \"perturb\", rounds = 1, local = { optimiser = \"natural\" }, \
         privacy = { epsilon = 1.0, clip = 1.0 } }]",
    );
    assert!(json.is_null() && rows.iter().all(|(label, _)| label != "expects"));
}
