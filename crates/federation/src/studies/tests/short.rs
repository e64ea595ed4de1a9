//! Short studies between parties: what is left out is derived alike by everybody.

use super::{proposed, study};
use crate::manifest::Manifest;
use crate::studies::Studies;
use inference::settings::DeltaRule;

/// Only data, sites, model and ε are stated: everybody derives the same method from the rows that the manifest declares.
#[test]
fn a_short_study_is_settled_alike_by_every_party() {
    let short = "[data]\nsource = 'heart'\n[federation]\nsites = [{ name = 'north', rows = 9000 }, { name = 'south', rows = 3000 }]\n\
                 [model]\nkind = 'logistic'\n[privacy]\nepsilon = 1.0\n";
    let (manifest, parts) = proposed(&study(short), None).unwrap();
    let promise = parts.method.promise.unwrap();
    assert_eq!(promise.delta, DeltaRule::Fixed(privacy::Delta::new(1e-6).unwrap()), "12,000 rows are declared");
    let checked = Manifest::read(&manifest.bytes()).unwrap().check(&Studies::default()).unwrap();
    assert_eq!((&checked.method, &checked.built.terms), (&parts.method, &parts.built.terms));
    assert_eq!(Studies::default().of(&manifest).unwrap().name, "study", "the text does not say another");
    // Under add-remove the declared rows are what is public.
    let private = study(&format!("{short}adjacency = 'add-remove'\n"));
    assert_eq!(proposed(&private, None).unwrap().1.method.promise.unwrap().delta, promise.delta);
}
