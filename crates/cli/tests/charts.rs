//! Figures of other kinds than lines, and the published ones that need them: heat maps and single runs.

use crate::common::room::{Room, study};
use std::path::Path;

const GRID: &str = r#"
schema = 1
[study]
name = "grid"
seeds = [1, 2]
baselines = false
[data]
source = "heart"
split = { test = 0.2 }
[[column]]
name = "alike"
partition = { kind = "even", clients = 2 }
[[column]]
name = "unlike"
partition = { kind = "skewed", clients = 2, rho = 0.5, kappa = 0.5 }
[model]
kind = "logistic"
[[method]]
name = "pvi"
algorithm = "pvi"
solver = "clear"
rounds = 3
local = { optimiser = "adam", steps = 20, learning_rate = 0.05 }
[[method]]
name = "short"
algorithm = "pvi"
solver = "clear"
rounds = 1
local = { optimiser = "adam", steps = 2, learning_rate = 0.05 }
[[figure]]
kind = "heat-map"
along = "ρ"
up = "κ"
score = "accuracy"
method = "pvi"
minus = "short"
cells = [{ at = 0.0, up = 0.0, column = "alike" }, { at = 0.5, up = 0.5, column = "unlike" }]
"#;

/// Published figures of single runs, and what their pages show.
const RUNS: [(&str, &[&str]); 9] = [
    ("thesis-fig4.1", &["Precision times mean of q by rounds", "Certified ε by rounds", "θ = 2.00"]),
    ("thesis-fig4.5", &["Densities of single runs"]),
    ("thesis-fig4.6", &["Precision of q over that of the exact posterior by θ", "by clipping bound C"]),
    ("thesis-fig4.7", &["Densities of single runs", "C = 0.25 ends at"]),
    ("thesis-fig4.9", &["Densities of single runs"]),
    ("thesis-fig4.11", &["Precision of q by rounds", "C = 1.0, damping 0.5 ends at"]),
    ("thesis-fig4.12", &["Precision of q by rounds", "C = 50.0, damping 0.1 ends at"]),
    ("thesis-fig4.14", &["Densities of single runs: 10 rows", "Densities of single runs: 90 rows"]),
    ("thesis-fig4.16", &["ε = 10 spent ends at", "KL(q ‖ exact posterior) by rounds", "θ = 2.00"]),
];

fn full() -> bool {
    std::env::var_os("POSTERITY_FULL").is_some()
}

/// A study of the program as it is.
fn bundled(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
    std::fs::read_to_string(path).unwrap()
}

/// The page that a command made.
fn page(room: &Room, out: &str) -> String {
    std::fs::read_to_string(room.0.join(out).join("index.html")).unwrap()
}

#[test]
fn a_heat_map_shows_the_differences_of_the_tables_own_cells() {
    let room = Room::new("grid", GRID);
    let told = room.answer(&["reproduce", "study.toml", "--out", "out", "--json"]);
    let cell = |row: &str, column: &str| {
        let mut cells = told["cells"].as_array().unwrap().iter();
        let found = cells.find(|c| c["row"] == row && c["column"] == column && c["metric"] == "accuracy");
        found.unwrap()["ours"].as_f64().unwrap()
    };
    let less = |column: &str| 100.0 * (cell("pvi", column) - cell("short", column));
    let words = format!("{:+.1} at ρ 0, κ 0; {:+.1} at ρ 0.5, κ 0.5.", less("alike"), less("unlike"));
    let page = page(&room, "out");
    assert!(page.contains(&words) && page.contains("pvi minus short, percentage points"), "{words}");
}

#[test]
fn figures_that_cannot_be_drawn_are_refused_at_their_place() {
    let runs = study("thesis-fig4.4");
    let cases = [
        ("kind", GRID, "kind = \"heat-map\"", "kind = \"heat\"", "S002", "kind is \"heat\", expected"),
        ("method", GRID, "minus = \"short\"", "minus = \"long\"", "S004", "no method \"long\""),
        ("column", GRID, "column = \"unlike\"", "column = \"far\"", "S004", "no column \"far\""),
        ("twice", GRID, "at = 0.5, up = 0.5", "at = 0.0, up = 0.0", "S004", "at one place"),
        ("up", GRID, "up = \"κ\"\n", "", "S004", "has `up` and `method`"),
        ("stray", GRID, "up = \"κ\"\n", "up = \"κ\"\nseeds = [1]\n", "S011", "seeds does not belong"),
        ("lines", GRID, "kind = \"heat-map\"\n", "", "S011", "another kind of figure than lines"),
        ("runs", GRID, "kind = \"heat-map\"", "kind = \"posteriors\"", "S011", "does not belong"),
        ("ratio", &runs, "kind = \"seeds\"", "kind = \"rounds\"\nseeds = [1]", "S004", "not along rounds"),
        (
            "seed",
            &runs,
            "kind = \"seeds\"\nalong = \"θ\"\nquantity = \"kl\"",
            "kind = \"posteriors\"\nalong = \"θ\"\nseeds = [7]",
            "S004",
            "seed 7 is not one",
        ),
        ("whole", &runs, "quantity = \"precision-ratio\"", "quantity = \"epsilon\"", "S004", "of every seed"),
        ("inputs", &runs, "inputs = 1", "inputs = 2", "S004", "several inputs"),
    ];
    for (name, text, from, to, code, words) in cases {
        assert!(text.contains(from), "{from}");
        let output = Room::new(name, &text.replacen(from, to, 1)).posterity(&["check", "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(code) && said.contains(words) && output.status.code() == Some(2), "{name}: {said}");
    }
}

#[test]
fn published_figures_of_single_runs_are_drawn_of_one_seed() {
    let room = Room::new("runs", "");
    for (name, words) in RUNS {
        let text = bundled(name);
        let text = if full() { text } else { text.replace("rounds = 1000\n", "rounds = 5\n") };
        std::fs::write(room.0.join("study.toml"), text).unwrap();
        room.told(&["reproduce", "study.toml", "--seed", "1", "--out", name, "--json"]);
        let page = page(&room, name);
        for words in words {
            assert!(page.contains(words), "{name}: {words}");
        }
        assert!(!page.contains("NaN"), "{name}");
    }
}

#[test]
fn the_client_level_figure_without_noise_is_sound_and_runs() {
    let room = Room::new("noiseless", &study("thesis-fig4.10").replace("rounds = 1000", "rounds = 20"));
    room.told(&["reproduce", "study.toml", "--seed", "1", "--out", "out", "--json"]);
    assert!(page(&room, "out").contains("KL(q ‖ exact posterior) by θ"));
}

/// The workshop paper's figures with two rounds of each method; with `POSTERITY_FULL=1` as they are, of one seed.
#[test]
fn figures_of_the_workshop_paper_run_and_have_its_numbers_beside() {
    let all = ["workshop-fig1", "workshop-fig4", "workshop-fig5"];
    for name in if full() { &all[..] } else { &all[..1] } {
        let short = |text: String| {
            let text = text.replace("rounds = 200\n", "rounds = 2\n").replace("rounds = 1000\n", "rounds = 2\n");
            text.replace("at_most = 1000", "at_most = 2").replace("seeds = [1, 2]", "seeds = [1]\nbaselines = false")
        };
        let text = study(name);
        let room = Room::new(name, &if full() { text } else { short(text) });
        let told = room.answer(&["reproduce", "study.toml", "--seed", "1", "--out", "out", "--json"]);
        let cells = told["cells"].as_array().unwrap();
        let beside = cells.iter().filter(|cell| cell["paper"].is_number()).count();
        assert_eq!(beside, 10, "{name}: two scores of PVI, of global VI and of three budgets");
        let page = page(&room, "out");
        assert!(page.contains("Held-out accuracy by ε_max") && page.contains("published"), "{name}");
    }
}

#[test]
fn every_published_figure_that_learns_is_sound() {
    let room = Room::new("sound", "");
    let more =
        ["thesis-fig4.10", "workshop-fig1", "workshop-fig3", "workshop-fig4", "workshop-fig5", "workshop-table5"];
    for name in RUNS.iter().map(|(name, _)| *name).chain(more) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
        room.answer(&["check", path.to_str().unwrap(), "--json"]);
    }
}
