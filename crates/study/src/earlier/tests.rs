//! Posterior files as priors: what is put in, and what is refused.

use super::*;
use crate::posterior::Marginals;
use crate::{Folders, Study};
use inference::EncodedPrior;

const SCHEMA_TEXT: &str = "outcome = { column = \"ill\", levels = [\"no\", \"yes\"] }\ncolumn = [{ name = \"age\", kind = \
                           \"numeric\", centre = 55, scale = 10 }]\n";

const STUDY: &str = "[data]\nsource = \"csv:visits.csv\"\n[partition]\nclients = 2\n[model]\nkind = \"logistic\"\n\
                     prior = { from = \"yesterday.json\", discount = 0.5 } # of yesterday\n[privacy]\nepsilon = 3.0\n";

fn posterior(intervals: Option<Intervals>, released: bool) -> Posterior {
    let outside = if released { "Released by a fit." } else { "Computed on the rows." };
    Posterior {
        schema: SCHEMA,
        study: "yesterday".into(),
        method: "private".into(),
        seed: 1,
        model: toml::from_str("kind = \"logistic\"").unwrap(),
        bias: true,
        inputs: vec!["age".into(), "intercept".into()],
        data_schema: SCHEMA_TEXT.into(),
        outside_epsilon: outside.into(),
        posterior: Marginals {
            mean: vec![0.2, -1.0],
            deviation: vec![0.5, 0.25],
            precision: Some(vec![4.0, 0.5, 16.0]),
            ..Marginals::default()
        },
        intervals,
        not_served: None,
    }
}

/// A folder with the study and yesterday's posterior.
fn opened(text: &str, posterior: &Posterior, name: &str) -> Result<Study, StudyError> {
    let folder = std::env::temp_dir().join(format!("earlier-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("study.toml"), text).unwrap();
    std::fs::write(folder.join("yesterday.json"), serde_json::to_vec(posterior).unwrap()).unwrap();
    let study = Study::open(&folder.join("study.toml"));
    std::fs::remove_dir_all(&folder).unwrap();
    study
}

#[test]
fn the_numbers_of_the_file_take_the_place_of_its_name() {
    let study = opened(STUDY, &posterior(Some(Intervals::WithoutNoise), true), "numbers").unwrap();
    assert!(!study.text.contains("from =") && study.text.contains("# of yesterday"), "{}", study.text);
    assert_eq!(study.text.lines().count(), STUDY.lines().count(), "no line moves");
    let schema = Schema::from_toml(SCHEMA_TEXT).unwrap();
    let EncodedPrior::Stated(prior) = study.model.encoded_prior(&schema, true).unwrap() else { panic!("no prior") };
    assert_eq!((prior.mean(), prior.off_diagonal().unwrap()), (&[0.2, -1.0][..], &[2.0, 0.25, 8.0][..]));
    let again = Study::read("sent.toml", &study.text).unwrap();
    assert_eq!(again.model.prior, study.model.prior, "whoever reads the text has the same prior");
    assert!(again.model.prior.earlier.unwrap().released);
}

#[test]
fn noise_that_was_not_counted_needs_a_discount_and_a_fitted_prior_is_refused() {
    let bare = STUDY.replace(", discount = 0.5", "");
    let code = |text: &str, intervals, name: &str| match opened(text, &posterior(intervals, true), name) {
        Ok(study) => study.model.describe(),
        Err(error) => format!("{} {error}", error.code()),
    };
    assert!(code(&bare, Some(Intervals::IgnoreNoise), "a").contains("S009"));
    let short = || Some(Intervals::DoNotHold { measured: "90 % intervals held 31 to 100 %".into() });
    assert!(code(&bare, short(), "f").contains("S009"));
    assert!(code(STUDY, short(), "g").contains("did not hold"));
    assert!(code(&bare, None, "b").contains("S009"));
    assert!(code(STUDY, Some(Intervals::FittedPrior), "c").contains("S009"));
    assert!(code(STUDY, Some(Intervals::IgnoreNoise), "d").contains("does not count the privacy noise"));
    assert!(
        code(&bare, Some(Intervals::CountNoise { measured: "90 %".into() }), "e")
            .contains("earlier posterior (yesterday, private)")
    );
}

#[test]
fn a_text_without_its_folder_cannot_name_a_file() {
    let faults = Study::read("sent.toml", STUDY).unwrap_err();
    assert!(faults.first().message.contains("opened from its own file"), "{faults}");
    let folders = Folders::default();
    assert_eq!(folders.study, Path::new(""));
}
