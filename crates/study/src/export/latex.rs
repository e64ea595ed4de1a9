//! An exported table as LaTeX: a `table` environment that needs no package.

use super::{ExportCell, ExportTable};

/// The whole environment. Columns whose cells are all numbers or empty stand at the right.
pub(super) fn table(table: &ExportTable) -> String {
    let number = |at: usize| table.rows.iter().all(|row| !matches!(row.get(at), Some(ExportCell::Text(_))));
    let places: String = (0..table.columns.len()).map(|at| if number(at) { 'r' } else { 'l' }).collect();
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let head = line(table.columns.iter().map(|name| escaped(&name.replace('_', " "))).collect());
    let rows: String = table.rows.iter().map(|row| line(row.iter().map(cell).collect())).collect();
    format!(
        "\\begin{{table}}\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{{places}}}\n\\hline\n{head}\\hline\n{rows}\\hline\n\
         \\end{{tabular}}\n\\end{{table}}\n",
        escaped(&table.caption),
        table.name
    )
}

fn cell(cell: &ExportCell) -> String {
    match cell {
        ExportCell::Text(text) => escaped(text),
        ExportCell::Number(number) => rounded(*number),
        ExportCell::Nothing => "---".into(),
    }
}

/// Four significant digits.
fn rounded(number: f64) -> String {
    let short: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    match short.abs() {
        size if size != 0.0 && !(1e-4..1e6).contains(&size) => {
            let text = format!("{short:e}");
            match text.split_once('e') {
                Some((digits, power)) => format!("${digits} \\cdot 10^{{{power}}}$"),
                None => text,
            }
        }
        _ if short < 0.0 => format!("${short}$"),
        _ => short.to_string(),
    }
}

/// Text that means itself in LaTeX.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                safe.push('\\');
                safe.push(letter);
            }
            '\\' => safe += "\\textbackslash{}",
            '~' => safe += "\\textasciitilde{}",
            '^' => safe += "\\textasciicircum{}",
            'ε' => safe += "$\\varepsilon$",
            'δ' => safe += "$\\delta$",
            'θ' => safe += "$\\theta$",
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_powers_of_ten() {
        for (number, text) in [(0.0, "0"), (1234.56, "1235"), (-0.5, "$-0.5$"), (1e-5, "$1 \\cdot 10^{-5}$")] {
            assert_eq!(rounded(number), text);
        }
    }

    #[test]
    fn no_letter_is_a_command() {
        assert_eq!(
            escaped("\\input{a}~^ε"),
            "\\textbackslash{}input\\{a\\}\\textasciitilde{}\\textasciicircum{}$\\varepsilon$"
        );
    }
}
