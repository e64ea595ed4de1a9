//! Every field of the wire says what it is to a private row.

/// Lines of a schema that declare a field, without exactly one of the three words.
fn unannotated(schema: &str) -> Vec<String> {
    let is_field = |line: &str| {
        let code = line.split("//").next().unwrap_or_default().trim();
        let declared = code.strip_suffix(';').and_then(|code| code.rsplit_once('='));
        declared
            .is_some_and(|(left, number)| number.trim().parse::<u32>().is_ok() && left.split_whitespace().count() >= 2)
    };
    let words = |line: &str| {
        let note = line.split_once("//").map_or("", |(_, note)| note);
        ["[public]", "[charged]", "[sealed]"].iter().map(|word| note.matches(word).count()).sum::<usize>()
    };
    schema.lines().filter(|line| is_field(line) && words(line) != 1).map(|line| line.trim().to_owned()).collect()
}

/// Fields of a schema.
fn fields(schema: &str) -> usize {
    let bare: String =
        schema.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    unannotated(&bare).len()
}

#[test]
fn every_field_says_what_it_is_to_a_private_row() {
    let schema = include_str!("../proto/posterity.proto");
    assert_eq!(unannotated(schema), Vec::<String>::new());
    assert!(fields(schema) > 60, "only {} fields were found", fields(schema));
}

#[test]
fn no_field_is_declared_in_a_way_that_the_test_does_not_see() {
    // A declaration on one line with its number, or with its message's brace, or with options, would pass unseen.
    let schema = include_str!("../proto/posterity.proto");
    let numbered = schema.lines().map(|line| line.split("//").next().unwrap_or_default());
    let statements: usize = numbered.filter(|code| code.contains('=') && !code.trim().starts_with("syntax")).count();
    assert_eq!(statements, fields(schema));
}

#[test]
fn mutant_a_field_without_a_word_is_caught() {
    let sample = "message Update {\n  Try at = 1;  // [public]\n  double norm = 2;  // of the gradient\n  \
                  repeated sint64 units = 3;\n  bytes both = 4;  // [public] [sealed]\n}\n";
    assert_eq!(unannotated(sample).len(), 3);
    assert!(unannotated(sample)[0].starts_with("double norm"));
}
