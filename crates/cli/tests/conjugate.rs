//! Models without inputs, learnt by their conjugate families: what every command says of their exact posteriors.

use crate::common::room::Room;
use serde_json::Value;
use std::path::Path;

const STUDY: &str = "schema = 1
study = { name = \"shares\", seeds = [1, 2] }
data = { source = \"heart\", split = { test = 0.2 } }
partition = { kind = \"column\", column = \"hospital\" }
model = { kind = \"beta-binomial\", bias = false }
[privacy]
epsilon = 1.0
delta = 1e-4
";

/// Rows of a clinic with a count, a number and a level.
fn with_table(name: &str, outcome: &str, kind: &str) -> Room {
    let study = format!(
        "[data]\nsource = 'csv:rows.csv'\nsplit = {{ test = 0.2 }}\n[partition]\ncolumn = 'clinic'\n\
         [model]\nkind = '{kind}'\nbias = false\n[privacy]\nepsilon = 3.0\ndelta = 1e-4\n"
    );
    let room = Room::new(name, &study);
    let mut rows = "row,clinic,age,falls,weight,ward\n".to_owned();
    for i in 0..240_u32 {
        let (falls, weight) = (i * 7 % 5, 60 + i * 11 % 40);
        let (clinic, ward) = (["north", "south"][i as usize % 2], ["a", "b", "c"][(i * i % 3) as usize]);
        rows += &format!("{i},{clinic},{},{falls},{weight},{ward}\n", 30 + i % 50);
    }
    std::fs::write(room.0.join("rows.csv"), rows).unwrap();
    let ignored = ["falls", "weight", "ward"].into_iter().filter(|column| !outcome.contains(&format!("\"{column}\"")));
    let ignored: String = ignored.map(|column| format!("{{ name = \"{column}\", kind = \"ignore\" }}, ")).collect();
    let schema = format!(
        "record_id = \"row\"\noutcome = {outcome}\ncolumn = [{ignored}{{ name = \"clinic\", kind = \"ignore\" }}, \
         {{ name = \"age\", kind = \"numeric\", centre = 50, scale = 20, bounds = [0, 110] }}]\n"
    );
    std::fs::write(room.0.join("rows.toml"), schema).unwrap();
    room
}

#[test]
fn a_proportion_is_planned_simulated_predicted_and_exported_with_the_quantiles_of_its_posterior() {
    let room = Room::new("proportion", STUDY);
    let plan = room.told(&["plan", "study.toml"]);
    assert!(plan.contains("conjugate posterior") && plan.contains("sensitivity 1 for the sum of outcomes"), "{plan}");
    room.told(&["simulate", "study.toml", "--out", "one"]);
    let results: Value = serde_json::from_slice(&std::fs::read(room.0.join("one/results.json")).unwrap()).unwrap();
    let method = results["methods"].as_array().unwrap().iter().find(|m| m["name"] == "private").unwrap();
    assert_eq!((&method["algorithm"], &method["intervals"]["kind"]), (&"conjugate".into(), &"count-noise".into()));
    let quantiles = method["posterior"][0]["quantiles"].as_array().unwrap();
    assert!(quantiles.windows(2).all(|pair| pair[0].as_f64() < pair[1].as_f64()), "{quantiles:?}");
    // The same ends wherever an interval is told.
    let ends = [&quantiles[0], &quantiles[8]].map(|end| end.as_f64().unwrap());
    let patients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/new-patients.csv");
    let told = room.told(&["predict", "one", "--method", "private", "--data", patients.to_str().unwrap()]);
    let first: Vec<f64> = told.lines().nth(1).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(first[2..], ends, "{told}");
    let table = room.answer(&["export", "one", "--format", "csv", "--table", "parameters", "--json"]);
    let row = table["parameters"].as_array().unwrap().iter().find(|row| row["method"] == "private").unwrap();
    assert_eq!((row["lower"].as_f64(), row["upper"].as_f64()), (Some(ends[0]), Some(ends[1])));
    let page = std::fs::read_to_string(room.0.join("one/report.html")).unwrap();
    assert!(page.contains(&format!("[{:.3}, {:.3}]", ends[0], ends[1])), "the page shows other ends");
    // A Gaussian with these moments is not the posterior.
    let refused = room.posterity(&["sample", "one"]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn every_family_is_simulated_and_fitted_from_a_table() {
    for (outcome, kind, parameters) in [
        ("{ column = \"falls\", bounds = [0, 10] }", "gamma-poisson", vec!["mean count"]),
        ("{ column = \"weight\", bounds = [30, 150], centre = 80, scale = 15 }", "normal", vec!["mean", "variance"]),
        (
            "{ column = \"ward\", levels = [\"a\", \"b\", \"c\"] }",
            "dirichlet-multinomial",
            vec!["probability of a", "probability of b", "probability of c"],
        ),
    ] {
        let room = with_table(kind, outcome, kind);
        let told = room.told(&["check", "study.toml"]);
        assert!(told.contains("is sound") && told.contains("conjugate"), "{told}");
        room.told(&["simulate", "study.toml", "--out", "one"]);
        let fit = room.answer(&["fit", "study.toml", "--home", "home", "--out", "fitted", "--json"]);
        let posterior = fit["results"]["posterior"].as_array().unwrap();
        let names: Vec<&str> = posterior.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, parameters);
        assert!(posterior.iter().all(|one| one["quantiles"].as_array().is_some_and(|all| all.len() == 9)), "{fit}");
        assert!(fit["results"]["draws"].is_null(), "no draws are made of a Gaussian that is not the posterior");
        let page = std::fs::read_to_string(room.0.join("fitted/report.html")).unwrap();
        assert!(page.contains("With 95 % intervals: ") && page.contains("quantiles of the exact posterior"), "{kind}");
        assert!(room.told(&["ledger", "verify", "--home", "home"]).starts_with("sound"));
    }
}

/// Two agents and a server over the loopback device: one answer of each site, and the posterior given both.
#[test]
fn a_federation_serves_the_exact_posterior_after_one_answer_of_every_site() {
    let federated = "partition = { clients = 2 }\nfederation = { sites = [{ name = \"north\", rows = 368 }, { name = \"south\", rows = 368 }] }";
    let text = STUDY.replace("partition = { kind = \"column\", column = \"hospital\" }", federated);
    let room = Room::new("federated", &text);
    let study = study::Study::read("shares.toml", &text).unwrap();
    let served = federation::loopback::run(&study, &study::Folders::default(), None, &room.0.join("f")).unwrap();
    assert_eq!(served.rounds, 1);
    let results: Value = serde_json::from_slice(&std::fs::read(served.results.join("results.json")).unwrap()).unwrap();
    let one = &results["posterior"][0];
    let (mean, quantiles) = (one["mean"].as_f64().unwrap(), one["quantiles"].as_array().unwrap());
    // 55 % of the patients are ill; noise is 4.8 rows at each site.
    assert!((mean - 0.55).abs() < 0.1, "{results}");
    assert!(quantiles[0].as_f64() < Some(mean) && Some(mean) < quantiles[8].as_f64(), "{results}");
    assert_eq!(results["intervals"]["kind"], "count-noise");
    let sites = results["sites"].as_array().unwrap();
    assert!(sites.iter().all(|site| site["answers"] == 1), "{results}");
}

#[test]
fn what_a_family_is_not_for_is_refused_at_its_key() {
    let refused = |room: &Room, code: &str, words: &str| {
        let output = room.posterity(&["check", "study.toml"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(code) && text.contains(words), "{text}");
    };
    let falls = "{ column = \"falls\", bounds = [0, 10] }";
    refused(&with_table("a", falls, "beta-binomial"), "C001", "needs an outcome of two levels");
    let centred = "{ column = \"falls\", bounds = [0, 10], centre = 5 }";
    refused(&with_table("b", centred, "gamma-poisson"), "C001", "without centre and scale");
    let changed = |from: &str, to: &str| Room::new("refused", &STUDY.replace(from, to));
    let add_remove = changed("delta = 1e-4\n", "delta = 1e-4\nadjacency = \"add-remove\"\n");
    refused(&add_remove, "S008", "the number of rows, which is private");
    refused(&changed("bias = false", "bias = false, prior = { precision = 1.0 }"), "S011", "stated by alpha, beta");
    let pvi = "[[method]]\nname = \"pvi\"\nalgorithm = \"pvi\"\nsolver = \"clear\"\nrounds = 1\nprivacy = \"none\"\nlocal = { optimiser = \"natural\" }\n";
    refused(&Room::new("refused", &format!("{STUDY}{pvi}")), "S009", "algorithm = \"conjugate\"");
}
