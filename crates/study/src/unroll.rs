//! A list of ε in one `[[method]]`: a method for each, with names of their own.

use super::fault::{Fault, Source};
use super::typed::{EpsilonAsTyped, MethodAsTyped};

/// One method of a study, where it stands in the file, and the ε that it promises.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    /// Its place among the `[[method]]`s.
    pub(super) index: usize,
    /// As typed, or "NAME, ε X" for one of a list.
    pub(super) name: String,
    /// None where nothing is promised.
    pub(super) epsilon: Option<f64>,
    /// Whether it is one of a list.
    pub(super) listed: bool,
}

/// All methods in order, lists laid out; an empty list is refused.
pub(super) fn all(typed: &[MethodAsTyped], source: &Source<'_>) -> Result<Vec<Named>, Fault> {
    let mut methods = Vec::new();
    for (index, method) in typed.iter().enumerate() {
        let alone = |epsilon| Named { index, name: method.name.clone(), epsilon, listed: false };
        match method.privacy.as_ref().map(|privacy| &privacy.epsilon) {
            None => methods.push(alone(None)),
            Some(EpsilonAsTyped::One(epsilon)) => methods.push(alone(Some(*epsilon))),
            Some(EpsilonAsTyped::Each(list)) if list.is_empty() => {
                let message = format!("method {:?}: epsilon is an empty list", method.name);
                let path = format!("method.{index}.privacy.epsilon");
                return Err(source.fault(&path, "S004", message, "for example epsilon = [0.1, 1.0, 8.0]"));
            }
            Some(EpsilonAsTyped::Each(list)) => methods.extend(list.iter().map(|epsilon| Named {
                index,
                name: format!("{}, ε {epsilon}", method.name),
                epsilon: Some(*epsilon),
                listed: true,
            })),
        }
    }
    Ok(methods)
}

#[cfg(test)]
mod tests {
    use super::super::meant::Study;

    fn study(epsilon: &str, more: &str) -> String {
        format!(
            "schema = 1\n[study]\nname = 's'\nseeds = [1]\n[data]\nsource = 'adult'\nsplit = {{ half = true }}\n\
             [partition]\nkind = 'even'\nclients = 2\n[model]\nkind = 'logistic'\n[[method]]\nname = 'm'\n\
             algorithm = 'noise-aware'\nrounds = 2\nprivacy = {{ unit = 'example', adjacency = 'substitute', \
             epsilon = {epsilon}, delta = 1e-5, clip = 2.0 }}\n{more}"
        )
    }

    #[test]
    fn a_list_of_epsilon_is_a_method_for_each_and_all_else_is_alike() {
        let read = |epsilon| Study::read("s.toml".into(), &study(epsilon, "")).unwrap().methods;
        let (listed, one) = (read("[0.5, 3, 8.0]"), read("3.0"));
        let names: Vec<&str> = listed.iter().map(|method| method.name.as_str()).collect();
        assert_eq!(names, ["m, ε 0.5", "m, ε 3", "m, ε 8"]);
        let epsilons: Vec<f64> = listed.iter().flat_map(|m| &m.promise).map(|p| p.epsilon.get()).collect();
        assert_eq!(epsilons, [0.5, 3.0, 8.0]);
        let renamed = inference::settings::Method { name: "m".into(), ..listed[1].clone() };
        assert_eq!(renamed, one[0]);
    }

    #[test]
    fn lists_that_are_empty_or_say_a_thing_twice_or_cannot_be_are_refused_at_their_line() {
        let twin = "[[method]]\nname = 'm, ε 3'\nalgorithm = 'noise-aware'\nrounds = 2\n";
        for (epsilon, more, code, words) in [
            ("[]", "", "S004", "empty list"),
            ("[1.0, 1]", "", "S005", "two methods are named \"m, ε 1\""),
            ("[1.0, -2.0]", "", "S004", "method \"m, ε -2\""),
            ("[3.0]", twin, "S005", "two methods are named \"m, ε 3\""),
            ("['one']", "", "S001", "`epsilon` is ['one'], expected a number such as 1.0, or a list"),
        ] {
            let fault = Study::read("s.toml".into(), &study(epsilon, more)).unwrap_err();
            assert!(fault.code == code && fault.message.contains(words), "{epsilon}: {fault:?}");
            assert!(!fault.place.ends_with(":1:1"), "{fault:?}");
        }
    }
}
