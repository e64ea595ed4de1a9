//! What a fit does with cells that the schema does not allow, and with a table that has no rows.

use crate::fit::code;
use crate::fit::table::{Owner, SCHEMA, STUDY, files, rows};
use federation::fit::{FitError, FitObserver, Fitted};
use std::cell::RefCell;

/// Keeps what the owner is told about cells.
#[derive(Default)]
struct Cells(RefCell<Vec<String>>);

impl FitObserver for Cells {
    fn mapped(&self, cells: &str) {
        self.0.borrow_mut().push(cells.to_owned());
    }
}

/// An owner whose table and schema are changed by these functions.
fn owner(name: &str, table: impl Fn(String) -> String, schema: impl Fn(String) -> String) -> Owner {
    let owner = Owner::new(name, STUDY);
    std::fs::write(owner.folder.join("rows.csv"), table(rows(60, 1))).unwrap();
    std::fs::write(owner.folder.join("rows.toml"), schema(SCHEMA.to_owned())).unwrap();
    owner
}

/// Everything that a refused fit says. It has left neither a home nor results.
fn refused(owner: &Owner, expected: &str) -> String {
    let error = owner.fit("out", &()).unwrap_err();
    assert_eq!(code(&error), expected, "{error}");
    assert!(!owner.home().exists() && !owner.folder.join("out").exists(), "{error}");
    match error {
        FitError::Study(error) => format!("{error} ({})", error.hint()),
        other => panic!("{other}"),
    }
}

#[test]
fn an_outcome_that_is_never_a_level_of_the_schema_is_refused_before_anything_is_charged() {
    let owner = owner("no-outcome", |table| table, |schema| schema.replace(r#"["no", "yes"]"#, r#"["0", "1"]"#));
    let said = refused(&owner, "D005");
    for words in ["rows.csv", "column `ill`", "60 of 60 cells", "lines 2, 3, 4, …", "one of `0`, `1`", "add the level"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn an_input_without_one_legal_cell_is_refused_whatever_its_rule_for_missing_cells() {
    for rule in ["", r#", missing = "level""#] {
        let with_sex = |table: String| {
            let cells = |(at, line): (usize, &str)| format!("{},{line}\n", if at == 0 { "sex" } else { "F" });
            table.lines().enumerate().map(cells).collect()
        };
        let schema = |schema: String| {
            let sex =
                format!("column = [\n  {{ name = \"sex\", kind = \"category\", levels = [\"f\", \"m\"]{rule} }},");
            schema.replace("column = [", &sex)
        };
        let said = refused(&owner("no-input", with_sex, schema), "D005");
        assert!(said.contains("column `sex`: 60 of 60 cells") && said.contains("`f`, `m`"), "{said}");
    }
    let said = refused(
        &owner(
            "no-number",
            |table| {
                table
                    .replace(',', ",x")
                    .replace("age,xdose,xill", "age,dose,ill")
                    .replace(",xno", ",no")
                    .replace(",xyes", ",yes")
            },
            |schema| schema.replace("bounds = [0.0, 1.0]", "bounds = [0.0, 1.0], missing = \"flag\""),
        ),
        "D005",
    );
    assert!(said.contains("column `dose`: 60 of 60 cells"), "{said}");
}

#[test]
fn a_cell_without_a_rule_is_refused_with_its_line_and_all_columns_at_once() {
    let broken = |table: String| {
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        lines[3] = ",0.5,no".into();
        lines[5] = "40,much,perhaps".into();
        lines.join("\n") + "\n"
    };
    let owner = owner("some", broken, |schema| schema);
    let said = refused(&owner, "D005");
    assert!(said.contains("column `age`: 1 of 60 cells is not allowed (line 4, found an empty cell)"), "{said}");
    assert!(said.contains("missing = \"flag\""), "{said}");
    let FitError::Study(federation::studies::StudyRunError::Study(study::StudyError::Data { error, .. })) =
        owner.fit("out", &()).unwrap_err()
    else {
        panic!("it is about the data")
    };
    let all: Vec<String> = error.all().map(ToString::to_string).collect();
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all[1].contains("`dose`") && all[2].contains("`ill`") && all[2].contains("line 6"), "{all:?}");
}

#[test]
fn cells_that_count_as_missing_by_rule_are_told_to_the_owner_and_in_no_published_file() {
    let broken = |table: String| {
        let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
        lines[3] = "sixtyone,0.5,no".into();
        lines[5] = "sixtytwo,0.5,yes".into();
        lines[6] = ",0.5,yes".into();
        lines.join("\n") + "\n"
    };
    let owner = owner("mapped", broken, |schema| {
        schema.replace("bounds = [10.0, 90.0]", "bounds = [10.0, 90.0], missing = \"flag\"")
    });
    let seen = Cells::default();
    let Fitted { results, out, .. } = owner.fit("out", &seen).unwrap();
    let told = seen.0.take();
    let [line] = &told[..] else { panic!("{told:?}") };
    assert!(
        line.contains("column `age`: 2 of 60 cells")
            && line.contains("lines 4, 6")
            && line.contains("count as missing"),
        "{line}"
    );
    assert_eq!(results.rows, Some(60));
    for (name, bytes) in files(&out) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("of 60 cells") && !text.contains("sixty") && !text.contains("lines 4"), "{name}");
    }
}

/// What a first fit with this δ says of it, and whether there is a home after it.
fn with_delta(name: &str, delta: &str) -> (Result<Fitted, FitError>, Owner) {
    let owner = Owner::new(name, &STUDY.replace("delta = 1e-4", &format!("delta = {delta}")));
    (owner.fit("out", &()), owner)
}

#[test]
fn a_first_fit_with_a_delta_that_no_limits_allow_leaves_no_home() {
    for delta in ["0.5", "0.3", "0.02"] {
        let (refused, owner) = with_delta("loose", delta);
        let refused = refused.unwrap_err();
        assert_eq!(code(&refused), "F121", "{refused}");
        assert!(
            refused.to_string().contains(&format!("δ = {delta}")) && refused.to_string().contains("1 / 240"),
            "{refused}"
        );
        assert!(!owner.home().exists() && !owner.folder.join("out").exists());
        // The next fit finds no limits of a study that was refused.
        Owner::at(&owner.folder, STUDY).fit("out", &()).unwrap();
    }
}

#[test]
fn the_limits_of_a_new_home_allow_its_first_fit_and_stay_under_one_row() {
    for (delta, most) in
        [("0.004", "max_delta = 0.0166666\n"), ("1e-5", "max_delta = 0.000121\n"), ("0.001", "max_delta = 0.012")]
    {
        let (fitted, owner) = with_delta("limits-of", delta);
        fitted.unwrap();
        let text = std::fs::read_to_string(owner.home().join("fit.toml")).unwrap();
        assert!(text.contains(most), "{text}");
    }
}

#[test]
fn limits_that_cannot_be_read_are_named_by_their_file() {
    let (fitted, owner) = with_delta("unreadable", "1e-4");
    fitted.unwrap();
    let limits = owner.home().join("fit.toml");
    let text = std::fs::read_to_string(&limits).unwrap().replace("max_delta = ", "max_delta = 7");
    std::fs::write(&limits, text).unwrap();
    let refused = owner.fit("second", &()).unwrap_err();
    assert!(code(&refused) == "F110" && refused.to_string().contains("fit.toml: line"), "{refused}");
}

#[test]
fn a_table_with_a_header_only_has_no_rows() {
    let owner = owner("header", |table| table.lines().next().unwrap().to_owned() + "\n", |schema| schema);
    assert!(refused(&owner, "D006").contains("the table has no rows"));
}
