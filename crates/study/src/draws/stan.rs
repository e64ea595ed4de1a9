//! Stan CSV, as CmdStan writes it: comments, a header, and one line for each iteration of one chain.
//!
//! `arviz.from_cmdstan` reads it. Numbers have the digits that bring them back to the last bit.

use inference::chain::Draws;
use std::collections::BTreeSet;
use std::fmt::Write;

/// One chain, counted from zero.
///
/// `lp__` must be there for programs that read Stan's files, and is 0: the log-density of the rows is never released.
pub(super) fn chain(draws: &Draws, index: usize) -> String {
    let names = identifiers(draws.names());
    let mut text = head(draws, index, &names);
    for row in draws.rows(index) {
        text.push('0');
        for value in row {
            // Writing to a string cannot fail.
            let _ = write!(text, ",{value:?}");
        }
        text.push('\n');
    }
    text
}

/// Comments, with the names that had to be changed, and the header.
fn head(draws: &Draws, index: usize, names: &[String]) -> String {
    let (version, iterations, id) = (env!("CARGO_PKG_VERSION"), draws.iterations(), index + 1);
    let mut text = format!(
        "# posterity {version}\n# method = sample\n#   sample\n#     num_samples = {iterations}\n#     num_warmup = 0\n\
         #     save_warmup = 0\n#     thin = 1\n# id = {id}\n# lp__ is 0: the log-density is not released\n"
    );
    for (column, (name, from)) in names.iter().zip(draws.names()).enumerate() {
        if name != from {
            let column = column + 2;
            let _ = writeln!(text, "# column {column}, {name}, is the parameter {from:?}");
        }
    }
    let _ = writeln!(text, "lp__,{}", names.join(","));
    text
}

/// Names that Stan's readers take: ASCII letters, digits and single underscores, a letter first, no two alike.
///
/// They split a name at dots, take what follows for an index, and take a name that ends with two underscores for a
/// statistic of the sampler.
fn identifiers(names: &[String]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let plain = |name: &String| {
        let words: Vec<&str> =
            name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let joined = words.join("_");
        let begins = joined.starts_with(|c: char| c.is_ascii_alphabetic());
        if begins { joined } else { format!("x_{joined}").trim_end_matches('_').to_owned() }
    };
    let mut names: Vec<String> = names.iter().map(plain).collect();
    for (k, name) in names.iter_mut().enumerate() {
        while !taken.insert(name.clone()) {
            *name = format!("{name}_{}", k + 1);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(names: &[&str], chains: Vec<Vec<f64>>) -> Draws {
        Draws::new(names.iter().map(|&name| name.to_owned()).collect(), chains).unwrap()
    }

    #[test]
    fn a_chain_is_comments_a_header_and_lines() {
        let text = chain(&draws(&["a", "b.c=d"], vec![vec![0.0; 4], vec![1.0, 0.1, -2.5e-300, 1e22]]), 1);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, ["lp__,a,b_c_d", "0,1.0,0.1", "0,-2.5e-300,1e22"]);
        assert!(text.contains("# id = 2\n") && text.contains("#     num_samples = 2\n"), "{text}");
        assert!(
            text.contains("# column 3, b_c_d, is the parameter \"b.c=d\"\n") && !text.contains("# column 2"),
            "{text}"
        );
    }

    #[test]
    fn names_are_identifiers_and_differ() {
        let names = ["theta", "theta.1", "theta_1", "lp__", "2nd", "é", "a,b\n#", "_", "x"].map(str::to_owned);
        let found = identifiers(&names);
        assert_eq!(found, ["theta", "theta_1", "theta_1_3", "lp", "x_2nd", "x", "a_b", "x_8", "x_9"]);
    }

    #[test]
    fn numbers_come_back_to_the_last_bit() {
        let values = [f64::MIN_POSITIVE, 5e-324, -f64::MAX, 1.0 / 3.0, -0.0, 123_456_789.123_456_79];
        let text = chain(&draws(&["x"], vec![values.to_vec()]), 0);
        let lines = text.lines().filter(|line| line.starts_with("0,"));
        let back: Vec<u64> = lines.map(|line| line[2..].parse::<f64>().unwrap().to_bits()).collect();
        assert_eq!(back, values.map(f64::to_bits));
    }
}
