//! The name that was probably meant, for hints.

/// The candidate with the fewest changed letters, if it is close enough to be a slip of the pen.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = found.chars().count().div_ceil(3);
    let scored = candidates.into_iter().map(|name| (distance(found, name), name));
    scored.filter(|(far, _)| *far <= most).min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// Letters to insert, delete or change to get from one word to the other; case and `-`, `_`, `.`, space do not count.
fn distance(a: &str, b: &str) -> usize {
    let plain = |text: &str| -> Vec<char> {
        text.to_lowercase().chars().filter(|letter| !matches!(letter, '-' | '_' | '.' | ' ')).collect()
    };
    let (a, b) = (plain(a), plain(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        assert_eq!(nearest("Privat", ["State-gov", "Private"]), Some("Private"));
        assert_eq!(nearest("marital-status", ["marital_status", "race"]), Some("marital_status"));
        assert_eq!(nearest("hospitl", ["age", "hospital"]), Some("hospital"));
        assert_eq!(nearest("adm", ["sgd", "adam", "adagrad"]), Some("adam"));
        assert_eq!(nearest("colour", ["sgd", "adam"]), None);
        assert_eq!(nearest("weight", ["age", "hospital"]), None);
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("ab", "ab")), (3, 2, 0));
    }
}
