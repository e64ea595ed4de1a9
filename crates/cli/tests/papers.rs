//! The page of the papers: every item is on it, its files are there, and its commands run.

use crate::common::room::Room;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Tables that come with the program and are of no paper.
const OWN: &[&str] = &[
    "epsilon-defaults",
    "settings-regret",
    "settings-regret-linear",
    "tmlr-fig1-defaults",
    "heart-sites",
    "epsilon-curve",
    "paper2-chains",
    "tmlr-fig3-secure",
    "coverage-grid",
    "coverage-real",
    "coverage-methods",
    "coverage",
];

/// Figures of accounting that take less than a second.
const QUICK: [&str; 5] =
    ["dissertation-fig2.1", "paper1-fig1b", "thesis-fig4.3", "thesis-fig4.15", "paper2-supplement"];

/// Tables of rows that are fetched: without these there is nothing to check.
const FETCHED: [&str; 1] = ["tmlr-fig2"];

/// One row of the page.
struct Item {
    number: u32,
    commands: Vec<String>,
    place: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Texts between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn items() -> Vec<Item> {
    let page = std::fs::read_to_string(root().join("docs/papers.md")).unwrap();
    let item = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let number = cells.first()?.parse().ok()?;
        assert_eq!(cells.len(), 6, "{line}");
        Some(Item { number, commands: quoted(cells[2]), place: quoted(cells[3]).into_iter().next() })
    };
    page.lines().filter_map(item).collect()
}

#[test]
fn every_item_is_on_the_page_with_files_that_are_there() {
    let items = items();
    assert!(items.iter().map(|item| item.number).eq(1..=124));
    for Item { number, commands, place } in &items {
        if let Some(place) = place {
            assert!(root().join(place).exists(), "{number}: {place}");
        }
        for command in commands {
            let known = ["posterity reproduce ", "posterity account ", "posterity simulate ", "cargo xtask bench "];
            assert!(known.iter().any(|start| command.starts_with(start)), "{number}: {command}");
        }
    }
}

#[test]
fn every_table_is_on_the_page_and_is_sound() {
    let room = Room::new("papers", "");
    let listed: Value = room.answer(&["reproduce", "--list", "--json"]);
    let listed: Vec<String> =
        listed["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap().to_owned()).collect();
    let items = items();
    let named: BTreeSet<&str> = items
        .iter()
        .flat_map(|item| &item.commands)
        .filter_map(|command| command.strip_prefix("posterity reproduce "))
        .collect();
    for name in &named {
        assert!(listed.iter().any(|table| table == name), "{name} is no table");
    }
    for name in &listed {
        assert!(named.contains(name.as_str()) || OWN.contains(&name.as_str()), "{name} is not on the page");
    }
    let full = std::env::var_os("POSTERITY_FULL").is_some();
    for name in named.into_iter().filter(|name| !FETCHED.contains(name)) {
        let file = format!("{name}.toml");
        std::fs::copy(root().join("studies").join(&file), room.0.join(&file)).unwrap();
        room.told(&["check", &file]);
        if QUICK.contains(&name) {
            assert!(room.told(&["reproduce", name]).contains("report      "), "{name}");
        } else if full {
            let curves = std::fs::read_to_string(room.0.join(&file)).unwrap().contains("[[curves]]");
            let words: &[&str] = if curves { &["reproduce", name] } else { &["reproduce", name, "--seed", "1"] };
            room.told(words);
        }
    }
}

#[test]
fn every_account_on_the_page_answers() {
    let room = Room::new("accounts", "");
    let items = items();
    let commands =
        items.iter().flat_map(|item| &item.commands).filter(|command| command.starts_with("posterity account"));
    let different: BTreeSet<&String> = commands.collect();
    assert!(different.len() >= 8);
    for command in different {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        assert!(room.told(&words).contains("ε") || room.told(&words).contains("noise"), "{command}");
    }
}

/// Rows of the shape of one drug's of GDSC: 650 cell lines, ten genes with norm 1, and a sensitivity that follows them.
fn made_up_cell_lines() -> String {
    let names: Vec<String> = (1..=10).map(|gene| format!("gene_{gene}")).collect();
    let mut text = format!("{},sensitivity\n", names.join(","));
    let mut state = 0x9e37_79b9_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
    };
    for _ in 0..650 {
        let genes: Vec<f64> = (0..10).map(|_| uniform()).collect();
        let norm = genes.iter().map(|g| g * g).sum::<f64>().sqrt();
        let genes: Vec<f64> = genes.iter().map(|g| g / norm).collect();
        let mean: f64 = genes.iter().zip([3.0, -3.0, 2.0, -2.0, 1.0]).map(|(g, w)| g * w).sum();
        let cells: Vec<String> = genes.iter().map(|g| format!("{g:.6}")).collect();
        text += &format!("{},{:.4}\n", cells.join(","), mean + 2.0 * uniform());
    }
    text
}

/// Figure 3 of Paper I on rows of its shape: predictions order the cell lines, and more budget orders them better.
#[test]
fn the_study_of_drug_sensitivity_runs_on_rows_of_its_shape() {
    let room = Room::new("gdsc", "");
    for file in ["paper1-fig3.toml", "gdsc.toml"] {
        std::fs::copy(root().join("studies/gdsc").join(file), room.0.join(file)).unwrap();
    }
    std::fs::write(room.0.join("gdsc.csv"), made_up_cell_lines()).unwrap();
    let found = room.answer(&["reproduce", "paper1-fig3.toml", "--seed", "1", "--json"]);
    let cells = found["cells"].as_array().unwrap();
    let of = |row: &str| {
        let cell = cells.iter().find(|cell| cell["row"] == row && cell["metric"] == "rank_correlation");
        cell.unwrap_or_else(|| panic!("{row}"))["ours"].as_f64().unwrap()
    };
    let (free, ours, little) = (of("non-private"), of("ours DDP, ε 10"), of("ours DDP, ε 1"));
    assert!(free > 0.7 && ours > 0.5 && ours > little, "{free} {ours} {little}");
}
