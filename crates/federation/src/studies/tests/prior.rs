//! Earlier posteriors as priors of a federation.

use super::{Manifest, SCHEMA, STUDY, Schema, Studies, Study, TestFolder, proposed};

/// Numbers that no charge was made for are refused as a prior, whoever builds the run; those of a fit are not.
#[test]
fn the_posterior_of_a_simulation_is_no_prior_of_a_federation() {
    let folder = TestFolder::new("prior");
    let inputs = Schema::from_toml(SCHEMA).unwrap().inputs(true);
    std::fs::write(
        folder.0.join("study.toml"),
        STUDY.replace("prior = { precision = 1.0 }", "prior = { from = \"yesterday.json\" }"),
    )
    .unwrap();
    let proposed_after = |outside: &str| {
        let yesterday = serde_json::json!({
            "schema": study::POSTERIOR_SCHEMA, "study": "yesterday", "method": "levels", "seed": 1,
            "model": { "kind": "logistic" }, "bias": true, "inputs": inputs, "data_schema": SCHEMA,
            "outside_epsilon": outside, "intervals": { "kind": "count-noise", "measured": "90 %" },
            "posterior": { "mean": vec![0.1; inputs.len()], "deviation": vec![0.5; inputs.len()] },
        });
        std::fs::write(folder.0.join("yesterday.json"), yesterday.to_string()).unwrap();
        let study = Study::open(&folder.0.join("study.toml")).unwrap();
        proposed(&study, None).map(|(manifest, _)| manifest)
    };
    let refused = proposed_after("Computed on the data itself.").unwrap_err();
    assert_eq!(refused.code(), "F101", "{refused}");
    assert!(refused.to_string().contains("the posterior of a simulation (yesterday, levels)"), "{refused}");
    assert!(refused.hint().contains("a fit or a federation released"), "{}", refused.hint());
    let manifest = proposed_after("Released by a fit.").unwrap();
    manifest.check(&Studies::default()).unwrap();
    // A server that proposes the simulated one all the same is refused by whoever checks its manifest.
    let forged = Manifest { study: manifest.study.replace("released = true", "released = false"), ..manifest.clone() };
    assert_ne!(forged.study, manifest.study);
    assert!(forged.check(&Studies::default()).err().is_some_and(|error| error.to_string().contains("simulation")));
}
