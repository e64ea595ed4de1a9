//! The name that was probably meant, for hints.

/// The candidate with the fewest changed letters, if it is close enough to be a slip of the pen.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = found.chars().count().div_ceil(3);
    let scored = candidates.into_iter().map(|name| (distance(found, name), name));
    scored.filter(|(far, _)| *far <= most).min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// Letters to insert, delete, change or swap with their neighbours to get from one word to the other; case and `-`, `_`, `.`, space do not count.
fn distance(a: &str, b: &str) -> usize {
    let plain = |text: &str| -> Vec<char> {
        text.to_lowercase().chars().filter(|letter| !matches!(letter, '-' | '_' | '.' | ' ')).collect()
    };
    let (a, b) = (plain(a), plain(b));
    // rows[i][j]: the distance of the first i letters of one and the first j of the other.
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            row.push(if swapped { least.min(rows[i - 2][j - 2] + 1) } else { least });
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
        assert_eq!(nearest("rnu", ["run", "report"]), Some("run"), "two letters that changed places are one slip");
        assert_eq!(nearest("weight", ["age", "hospital"]), None);
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("ab", "ab")), (3, 2, 0));
    }
}
