//! Draws of chains as files that other programs read: a Stan CSV for each chain, and one Arrow table of all.

mod arrow;
mod flat;
mod stan;

use inference::RunError;
use inference::chain::Draws;

/// Columns of the Arrow table before the parameters.
const INDEX: [&str; 2] = ["chain", "iteration"];

/// Names and contents of all files: `chain-1.csv`, …, and `draws.arrow`.
///
/// Refused: a parameter that is called like a column of the index.
pub fn files(draws: &Draws) -> Result<Vec<(String, Vec<u8>)>, RunError> {
    if let Some(name) = draws.names().iter().find(|name| INDEX.contains(&name.as_str())) {
        let what =
            format!("draws: found a parameter called `{name}`, which is a column of its own; give it another name");
        return Err(RunError::Unusable { what });
    }
    let chain = |m: usize| (format!("chain-{}.csv", m + 1), stan::chain(draws, m).into_bytes());
    let mut files: Vec<(String, Vec<u8>)> = (0..draws.chains()).map(chain).collect();
    files.push(("draws.arrow".to_owned(), arrow::table(draws)));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_has_its_file_and_all_have_a_table() {
        let draws = Draws::new(vec!["x".into()], vec![vec![1.0], vec![2.0]]).unwrap();
        let names: Vec<String> = files(&draws).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["chain-1.csv", "chain-2.csv", "draws.arrow"]);
    }

    #[test]
    fn a_parameter_called_like_the_index_is_refused() {
        let draws = Draws::new(vec!["x".into(), "iteration".into()], vec![vec![1.0, 2.0]]).unwrap();
        assert!(files(&draws).unwrap_err().to_string().contains("`iteration`"));
    }
}
