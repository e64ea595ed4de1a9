//! Columns of a table that have data, a model or a promise of their own: each is read as the study that it is by itself.

use super::fault::{Faults, StudyText};
use super::meant::{Study, TableColumn};
use super::typed::TableColumnAsTyped;
use inference::describe::Registry;
use toml::{Table, Value};

/// Tables that a study has for all columns together.
const OF_THE_WHOLE: [&str; 4] = ["column", "partition", "paper", "figure"];

/// Reads the study of each column that has `data`, `model` or `privacy`, and puts it into that column.
///
/// # Errors
/// What is wrong with such a study, at its column; and a column that states its data twice.
pub(super) fn read(
    table: &Table,
    typed: &[TableColumnAsTyped],
    columns: &mut [TableColumn],
    source: &StudyText<'_>,
    registry: &Registry,
) -> Result<(), Faults> {
    let partitions =
        table.get("column").and_then(Value::as_array).into_iter().flatten().map(|one| one.get("partition"));
    for (at, ((column, typed), partition)) in columns.iter_mut().zip(typed).zip(partitions).enumerate() {
        let privacy = typed.privacy.as_ref().map(|own| added(table.get("privacy"), own));
        let own = [("data", typed.data.clone()), ("model", typed.model.clone()), ("privacy", privacy)];
        if own.iter().all(|(_, table)| table.is_none()) {
            continue;
        }
        let path = format!("column.{at}");
        if typed.has_parts_of_data() {
            let message = "source, split, rows_per_client and synthetic are parts of the column's `data`".to_owned();
            return Err(source.fault(&path, "S011", message, "write them in `data`").into());
        }
        let mut one = table.clone();
        OF_THE_WHOLE.iter().for_each(|name| drop(one.remove(*name)));
        one.extend(own.into_iter().filter_map(|(name, table)| Some((name.to_owned(), Value::Table(table?)))));
        one.extend(partition.map(|partition| ("partition".to_owned(), partition.clone())));
        column.own = Some(Box::new(alone(&one, &path, source, registry)?));
    }
    Ok(())
}

/// The study's promise with the keys of a column's.
fn added(shared: Option<&Value>, own: &Table) -> Table {
    let mut privacy = shared.and_then(Value::as_table).cloned().unwrap_or_default();
    privacy.extend(own.clone());
    privacy
}

/// The study of one column. Places in its text are none in the file, so all that is wrong is told at the column.
fn alone(table: &Table, path: &str, source: &StudyText<'_>, registry: &Registry) -> Result<Study, Faults> {
    let unwritten =
        |error: toml::ser::Error| source.fault(path, "S001", error.to_string(), "write the column otherwise");
    let text = toml::to_string(table).map_err(unwritten)?;
    Study::read_with(source.file(), &text, registry).map_err(|faults| {
        let first = faults.first();
        source.fault(path, first.code, first.message.clone(), first.hint.clone()).into()
    })
}

#[cfg(test)]
mod tests {
    use crate::meant::Study;

    const TABLE: &str = "[study]\nseeds = [1]\n[data]\nsource = 'heart'\n[model]\nkind = 'logistic'\n[privacy]\nepsilon = [1, 3]\n\
                         [[column]]\nname = 'heart'\npartition = { column = 'hospital' }\n\
                         [[column]]\nname = 'digits'\npartition = { clients = 10 }\ndata = { source = 'digits' }\nmodel = { kind = 'softmax' }\n\
                         [[column]]\nname = 'wine'\npartition = { column = 'colour' }\nprivacy = { aggregator = 'curator' }\ndata = { source = 'wine' }\nmodel = { kind = 'linear' }\n";

    #[test]
    fn a_column_with_data_and_model_is_a_short_study_of_its_own() {
        let table = Study::read("all.toml", TABLE).unwrap();
        let kind = |study: &Study| study.model.settings.descriptor().name;
        let each: Vec<(String, &str, String)> = table
            .by_column()
            .iter()
            .map(|study| (study.name.clone(), kind(study), study.methods[0].algorithm.descriptor().name.to_owned()))
            .collect();
        let expected = [
            ("all, heart", "logistic", "noise-aware-levels"),
            ("all, digits", "softmax", each[1].2.as_str()),
            ("all, wine", "linear", "statistics"),
        ];
        let expected = expected.map(|(name, kind, method)| (name.to_owned(), kind, method.to_owned()));
        assert_eq!(each, expected);
        assert!(table.by_column().iter().all(|study| study.methods.len() == 2 && study.seeds == [1]));
        let trusted = |study: &Study| study.methods[0].promise.unwrap().aggregator.party().word();
        assert_eq!(table.by_column().iter().map(trusted).collect::<Vec<_>>(), ["none", "none", "curator"]);
    }

    #[test]
    fn what_is_wrong_with_such_a_column_is_told_at_its_line() {
        for (from, to, words) in [
            ("'softmax'", "'linear'", ""),
            ("data = { source = 'digits' }", "data = { source = 'digits', spilt = { test = 0.2 } }", "spilt"),
            ("data = { source = 'wine' }", "source = 'wine'\ndata = { source = 'wine' }", "parts of the column's"),
            ("data = { source = 'wine' }", "source = 'wine'", "parts of the column's"),
        ] {
            let read = Study::read("all.toml", &TABLE.replace(from, to));
            if words.is_empty() {
                assert!(read.is_ok(), "whether outcome and model agree is checked with the schema");
                continue;
            }
            let faults = read.unwrap_err();
            assert!(faults.first().message.contains(words), "{faults:?}");
            assert!(faults.first().line_and_column().0 > 8, "{faults:?}");
        }
    }
}
