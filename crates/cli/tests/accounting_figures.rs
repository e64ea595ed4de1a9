//! Figures of accounting as a person meets them: what is drawn, written and refused, and that the numbers are right.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bundled(name: &str) -> String {
    std::fs::read_to_string(root().join("studies").join(format!("{name}.toml"))).unwrap()
}

/// A directory of this test's own, gone when it goes.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-curves-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn asked(&self, words: &[&str]) -> Output {
        Command::cargo_bin("posterity").unwrap().current_dir(&self.0).args(words).output().unwrap()
    }

    fn answered(&self, words: &[&str]) -> String {
        let output = self.asked(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A study of this text, reproduced as one object.
    fn drawn(&self, text: &str) -> Value {
        std::fs::write(self.0.join("figure.toml"), text).unwrap();
        serde_json::from_str(&self.answered(&["reproduce", "figure.toml", "--json"])).unwrap()
    }
}

impl Room {
    /// What a study of this text is refused with.
    fn asked_of(&self, text: &str) -> String {
        std::fs::write(self.0.join("figure.toml"), text).unwrap();
        String::from_utf8_lossy(&self.asked(&["check", "figure.toml"]).stderr).into_owned()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The upper and lower bounds of a line of a figure.
fn bounds(drawn: &Value, figure: usize, line: &str) -> Vec<(f64, Option<f64>)> {
    let lines = drawn["figures"][figure]["lines"].as_array().unwrap();
    let line = lines.iter().find(|found| found["name"] == line).unwrap_or_else(|| panic!("{line}"));
    let upper = line["upper"].as_array().unwrap().iter().map(|upper| upper.as_f64().unwrap());
    upper.enumerate().map(|(at, upper)| (upper, line["lower"].get(at).and_then(Value::as_f64))).collect()
}

/// The bundled figure at other places, which are found in its text.
fn at(name: &str, from: &[(&str, &str)]) -> String {
    from.iter().fold(bundled(name), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// Certified bounds around a reference, RDP above them.
fn assert_beside(drawn: &Value, figure: usize, pld: &str, rdp: Option<&str>, references: &[f64]) {
    let points = bounds(drawn, figure, pld);
    assert_eq!(points.len(), references.len());
    for (index, (&(upper, lower), reference)) in points.iter().zip(references).enumerate() {
        let lower = lower.unwrap();
        assert!(lower <= reference * (1.0 + 1e-5) && reference * (1.0 - 1e-5) <= upper, "{lower} {reference} {upper}");
        assert!(upper - lower <= 1e-4 * upper, "{lower} {upper}");
        if let Some(rdp) = rdp {
            let (above, none) = bounds(drawn, figure, rdp)[index];
            assert!(above > lower && above < 8.0 * upper && none.is_none(), "{above} {upper}");
        }
    }
}

/// Golden values clones-01, -04 and -06 of crates/privacy/tests/vectors: δ at the ε of their queries.
#[test]
fn figure_1_of_paper_iii_has_the_reference_values() {
    let places = [
        ("{ from = 0.1, to = 0.7, points = 11 }", "[0.1, 0.2, 0.5]"),
        ("{ from = 0.25, to = 1.5, points = 11 }", "[0.25, 0.5, 1.0]"),
        ("{ from = 0.5, to = 3.0, points = 11 }", "[0.25, 0.5, 1.0]"),
    ];
    let drawn = Room::new("fig1").drawn(&at("paper3-fig1", &places));
    let golden = [
        [0.009209162152570718, 0.0010658975547552288, 1.988062149707708e-08],
        [0.0121775289442303, 0.0006034667596706061, 3.313546647886988e-08],
        [0.07520645689758608, 0.02729953931230371, 0.0015179799951999591],
    ];
    for (figure, references) in golden.iter().enumerate() {
        assert_beside(&drawn, figure, "PLD", Some("RDP"), references);
    }
}

/// Golden values subshuffle-01, -03, -04 and -06: ε after 2000 rounds, with both readings of n.
#[test]
fn figure_3_of_paper_iii_has_the_reference_values() {
    let drawn = Room::new("fig3").drawn(&at("paper3-fig3", &[("[100, 300, 1000, 2000, 5000, 10000]", "[2000]")]));
    let golden = [[1.6879134330973538, 0.08130602190780672], [2.366998529764898, 0.12491591403161367]];
    for (figure, [few, many]) in golden.into_iter().enumerate() {
        assert_beside(&drawn, figure, "100 of 10,000 users, PLD", Some("100 of 10,000 users, RDP"), &[few]);
        let lines = ("10,000 of 1,000,000 users, PLD", "10,000 of 1,000,000 users, RDP");
        assert_beside(&drawn, figure, lines.0, Some(lines.1), &[many]);
    }
}

/// The published bound is far above what the pair costs: that is what Figure 3 shows. Values of another program at δ = 1e-5.
#[test]
fn figure_3_of_paper_iii_has_the_published_bound_far_above() {
    let places =
        [("[10, 30, 100, 300, 1000, 3000, 10000]", "[10, 1000]"), ("[100, 300, 1000, 2000, 5000, 10000]", "[100]")];
    let drawn = Room::new("girgis").drawn(&at("paper3-fig3", &places));
    let published = bounds(&drawn, 2, "1,000 of 100,000 users, Girgis et al. 2021");
    let pair = bounds(&drawn, 2, "1,000 of 100,000 users, PLD");
    for ((published, pair), expected) in published.iter().zip(&pair).zip([0.7307678940458819, 4.28734409730367]) {
        assert!((published.0 / expected - 1.0).abs() < 1e-9 && published.1.is_none(), "{published:?} {expected}");
        assert!(published.0 > 4.0 * pair.0, "{published:?} {pair:?}");
    }
}

/// Finer grids come down to the pair that needs none, and none is under it.
#[test]
fn figure_2_of_paper_iii_converges() {
    let places = [("{ from = 0.5, to = 2.5, points = 9 }", "[1.6]")];
    let drawn = Room::new("fig2").drawn(&at("paper3-fig2", &places));
    let names = ["50 places", "100 places", "200 places", "400 places", "1600 places", "no grid"];
    let found = names.map(|name| bounds(&drawn, 0, name)[0].0);
    assert!(found.windows(2).all(|two| two[0] > two[1] * 0.999_999), "{found:?}");
    assert!(found[0] > 1.5 * found[5] && found[4] < 1.05 * found[5], "{found:?}");
}

/// Values by quadrature for two users, and the closed form for one.
#[test]
fn figure_5_of_paper_iii_encloses_other_programs() {
    let drawn =
        Room::new("fig5").drawn(&at("paper3-fig5", &[("{ from = 0.0, to = 1.0, points = 11 }", "[0.0, 0.25, 0.5]")]));
    let two = bounds(&drawn, 0, "2 users");
    for (found, exact) in two.iter().zip([0.14402832476240607, 0.059802832710352714, 0.018326594760939723]) {
        assert!(
            found.1.unwrap() <= exact && exact <= found.0 && found.0 - found.1.unwrap() < 1e-4,
            "{found:?} {exact}"
        );
    }
    let seven = bounds(&drawn, 0, "7 users");
    assert!(seven.iter().zip(&two).all(|(seven, two)| seven.0 < two.1.unwrap()), "{seven:?}");
}

/// N/(N − T − 1), which falls to 1 as clients come and grows as they collude.
#[test]
fn figure_1b_of_paper_i_is_theorem_1() {
    let drawn = Room::new("fig1b").drawn(&bundled("paper1-fig1b"));
    let by_clients = bounds(&drawn, 0, "T = 10");
    assert!(
        (by_clients[3].0 - 100.0 / 89.0).abs() < 1e-12 && by_clients[3].1 == Some(by_clients[3].0),
        "{by_clients:?}"
    );
    assert!(by_clients.windows(2).all(|two| two[0].0 > two[1].0) && by_clients[8].0 < 1.02);
    let by_colluders = bounds(&drawn, 1, "N = 50");
    assert!((by_colluders[0].0 - 50.0 / 49.0).abs() < 1e-12, "{by_colluders:?}");
    assert!(by_colluders.windows(2).all(|two| two[0].0 < two[1].0));
}

/// Closed forms of (4.31) and (4.32): 18.6 % and 4e-6 at 20 clients; more clients and more rows make them rarer.
#[test]
fn figure_4_15_of_the_thesis_has_its_closed_forms() {
    let drawn = Room::new("fig415").drawn(&bundled("thesis-fig4.15"));
    let start = bounds(&drawn, 0, "σ = 5");
    assert!((start[3].0 - 0.185_547).abs() < 1e-5, "{start:?}");
    let end = bounds(&drawn, 1, "10 rows of each");
    assert!((end[3].0 / 3.872_108e-6 - 1.0).abs() < 1e-3, "{end:?}");
    let more = bounds(&drawn, 1, "20 rows of each");
    assert!(end.windows(2).all(|two| two[1].0 < two[0].0) && more[3].0 < end[3].0);
}

/// Noise moves the mode of the variance under 1/Λ and its mean over it, more so the larger it is.
#[test]
fn figure_4_3_of_the_thesis_shows_its_bias() {
    let drawn = Room::new("fig43").drawn(&bundled("thesis-fig4.3"));
    let places: Vec<f64> =
        drawn["figures"][1]["at"].as_array().unwrap().iter().map(|at| at.as_f64().unwrap()).collect();
    let mode = |line| {
        let line = bounds(&drawn, 1, line);
        let best = (0..line.len()).max_by(|&a, &b| line[a].0.total_cmp(&line[b].0)).unwrap();
        places[best]
    };
    assert!(mode("C = 1") < mode("C = 0.5") && mode("C = 0.5") < 1.0 / 16.5, "{} {}", mode("C = 1"), mode("C = 0.5"));
}

/// The errors that `docs/maths/correction.md` states, and a density that is one of no other variance.
#[test]
fn the_supplement_of_paper_ii_has_the_stated_errors() {
    let drawn = Room::new("supplement").drawn(&bundled("paper2-supplement"));
    let errors = bounds(&drawn, 0, "our mixtures");
    assert!((errors[0].0 / 8.7e-7 - 1.0).abs() < 0.5 && (errors[4].0 / 1.16e-3 - 1.0).abs() < 0.01, "{errors:?}");
    assert!(errors.windows(2).all(|two| two[0].0 < two[1].0), "{errors:?}");
    let worst = bounds(&drawn, 2, "C = 2").into_iter().map(|error| error.0).fold(0.0, f64::max);
    assert!(worst <= errors[4].0 && worst > 0.9 * errors[4].0, "{worst}");
}

/// A row of the paper's section 4: proposals of variance 0.01 are clipped now and then, those of variance 1 nearly every second time.
#[test]
fn figure_1c_of_paper_ii_rises_with_the_proposals() {
    let text = bundled("paper2-fig1");
    let last = text.rfind("[[curves]]").unwrap();
    let head = "schema = 1\n[study]\nname = \"clipped\"\n";
    let drawn = Room::new("fig1c").drawn(&format!("{head}{}", &text[last..]));
    let shares = bounds(&drawn, 0, "b = 1000, N₀ = 100: √b/N₀ = 0.316");
    assert!(shares.windows(2).all(|two| two[0].0 <= two[1].0), "{shares:?}");
    assert!(shares[3].0 > 1e-4 && shares[3].0 < 0.05 && shares[9].0 > 0.4, "{shares:?}");
}

/// Golden values krrstrong-01, -04, -06 and krrweak-01, -03, -04. The paper, section 4.2: the weak adversary's bounds are
/// under those of Feldman et al.; the strong one's are above.
#[test]
fn figure_4_of_paper_iii_has_the_reference_values_and_the_papers_order() {
    let places =
        [("{ from = 0.1, to = 1.0, points = 10 }", "[0.5]"), ("{ from = 0.1, to = 2.0, points = 10 }", "[0.5, 1]")];
    let drawn = Room::new("fig4").drawn(&at("paper3-fig4", &places));
    let strong: [&[f64]; 3] = [
        &[0.00022446543774781713],
        &[0.017071656745921676, 0.0004943665654501566],
        &[0.035495696229192415, 0.002863226072590369],
    ];
    let weak: [&[f64]; 3] = [
        &[5.40100950508532e-06],
        &[0.0042230567028111385, 1.1268480243568728e-05],
        &[0.011773803590638239, 0.00018366018561925755],
    ];
    for figure in 0..3 {
        assert_beside(&drawn, figure, "strong adversary", None, strong[figure]);
        assert_beside(&drawn, figure, "weak adversary", Some("weak adversary, RDP"), weak[figure]);
        let all = ["weak adversary", "clones", "strong adversary"].map(|name| bounds(&drawn, figure, name)[0].0);
        assert!(all[0] < all[1] && all[1] < all[2], "{all:?}");
    }
}

/// What the caption says: of 5 mechanisms basic composition is better than advanced for most δ, of 100 advanced is better
/// at once; tight is never above either, and basic is tight where nothing is added to δ.
#[test]
fn figure_2_1_of_the_dissertation_says_what_its_caption_says() {
    let room = Room::new("fig21");
    let told = room.answered(&["reproduce", "dissertation-fig2.1"]);
    assert!(told.contains("100 mechanisms of ε = 0.1, δ = 1e-8") && told.contains("upper only"), "{told}");
    let page = std::fs::read_to_string(room.0.join("runs/dissertation-fig2.1/index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("prefers-color-scheme: dark") && !page.contains("<script"));
    let csv = std::fs::read_to_string(room.0.join("runs/dissertation-fig2.1/curves.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3 * 31);
    assert!(csv.starts_with("figure,line,accountant,along,at,upper,lower\n\"5 mechanisms"), "{csv}");
    let drawn = room.drawn(&bundled("dissertation-fig2.1"));
    let better = |figure: usize| {
        let lines = ["basic", "advanced", "tight"].map(|name| bounds(&drawn, figure, name));
        for (at, tight) in lines[2].iter().enumerate() {
            assert!(tight.1.unwrap() <= lines[0][at].0.min(lines[1][at].0), "{figure} {at}");
        }
        (0..31).filter(|&at| lines[0][at].0 < lines[1][at].0).count()
    };
    assert!(better(0) > 25 && better(1) == 0);
    // kov-01 of the vectors: 100 steps of (0.1, 0) at 1e-5 need 5.85 by advanced composition; here δ of the steps is added.
    let pure = "step_epsilon = 0.1, step_delta = 0, steps = 100";
    let text = bundled("dissertation-fig2.1").replace("step_epsilon = 0.1, step_delta = 1e-8, steps = 100", pure);
    let drawn = room.drawn(&text.replace("{ from = 2e-6, to = 0.2, points = 31 }", "[1e-5]"));
    let advanced = bounds(&drawn, 1, "advanced")[0].0;
    assert!((advanced / 5.8502350929445575 - 1.0).abs() < 1e-9, "{advanced}");
}

/// A text is refused with this code, these words and a hint, by `check` and by `reproduce`, and nothing is written.
fn refused(name: &str, text: &str, code: &str, words: &str) {
    let room = Room::new(name);
    std::fs::write(room.0.join("figure.toml"), text).unwrap();
    for command in ["check", "reproduce"] {
        let output = room.asked(&[command, "figure.toml"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.starts_with(&format!("error[{code}]: figure.toml:")), "{name}: {said}");
        assert!(said.contains(words) && said.contains("\nhint: "), "{name}: {said}");
        assert!(!room.0.join("runs").exists());
    }
}

#[test]
fn a_figure_that_cannot_be_drawn_is_refused_with_its_line() {
    let one = |old: &str, new: &str| at("paper3-fig4", &[(old, new)]);
    refused("key", &one("gamma = 0.25", "gama = 0.25"), "S002", "did you mean `gamma`?");
    refused("number", &one("gamma = 0.25", "gamma = 2"), "P001", "gamma is 2, expected a number from 1e-100 to 1");
    refused("flag", &one("gamma = 0.25", "gamma = 0.25, local_epsilon = 1"), "C001", "has no meaning for shuffle-krr");
    refused("accountant", &one("\"rdp\"", "\"optmal\""), "S002", "did you mean `optimal`?");
    refused("name", &one("name = \"clones\"", "name = \"strong adversary\""), "S005", "two lines are named");
    refused("delta", &one("along = \"epsilon\"", "along = \"epsilon\"\ndelta = 1e-5"), "S011", "delta has no meaning");
    refused("steps", &one("along = \"epsilon\"", "along = \"steps\"\ndelta = 1e-5"), "S011", "stands in the plan");
    refused("no delta", &one("along = \"epsilon\"", "along = \"steps\""), "S011", "delta is missing");
    refused("points", &one("points = 10", "points = 1"), "S004", "points is 1, expected 2 to 1000");
    refused("falling", &one("{ from = 0.1, to = 1.0, points = 10 }", "[2, 1]"), "S004", "numbers that rise");
    let formula = "formula = { name = \"collusion-factor\", clients = 9 }\nplan = {";
    refused("both", &one("plan = {", formula), "S011", "has a formula and more than that");
    refused(
        "grid",
        &one(
            "adversary = \"strong\", steps = 1 }",
            "adversary = \"strong\", steps = 1 }\ngrid = { reach = 0, points = 9 }",
        ),
        "S004",
        "a grid needs a reach",
    );
    let figure = |old: &str, new: &str| at("paper1-fig1b", &[(old, new)]);
    refused(
        "axis",
        &figure("along = \"colluders\"", "along = \"epsilon\""),
        "S011",
        "does not go with ε along the axis",
    );
    refused("number", &figure("clients = 50 }", "clients = 50, users = 2 }"), "S011", "does not take");
    refused("seeds", &one("[study]", "[study]\nseeds = [1]"), "S002", "there is no key `seeds`");
}

#[test]
fn commands_that_need_data_are_refused_and_check_tells_what_is_drawn() {
    let room = Room::new("commands");
    std::fs::write(room.0.join("figure.toml"), bundled("paper3-fig1")).unwrap();
    for command in ["plan", "run", "sample"] {
        let said = String::from_utf8(room.asked(&[command, "figure.toml"]).stderr).unwrap();
        assert!(said.starts_with("error[S016]: figure.toml: a figure of accounting"), "{said}");
        assert!(said.contains("hint: posterity reproduce figure.toml"), "{said}");
    }
    let seeded = room.asked(&["reproduce", "figure.toml", "--seed", "1"]);
    assert!(String::from_utf8_lossy(&seeded.stderr).contains("--seed and --replicates have no meaning"));
    let told = room.answered(&["check", "figure.toml"]);
    assert!(told.starts_with("study       paper3-fig1 is sound: a figure of accounting, without data\n"), "{told}");
    assert!(told.contains("line        RDP by rdp\n"), "{told}");
    // The strong adversary's losses are not bounded: Rényi divergence does not cover it, and the line is named.
    let strong =
        "mechanism = \"shuffle-krr\", users = 100, categories = 4, gamma = 0.25, adversary = \"strong\", steps = 1";
    let clones = "mechanism = \"shuffle-clones\", users = 10000, local_epsilon = 4, steps = 1 }";
    std::fs::write(room.0.join("figure.toml"), bundled("paper3-fig1").replace(clones, &format!("{strong} }}")))
        .unwrap();
    let said = String::from_utf8(room.asked(&["reproduce", "figure.toml"]).stderr).unwrap();
    assert!(said.contains("error[P003]") && said.contains("line \"RDP\""), "{said}");
}

/// An epoch is 1/q steps: both figures ask the accountant for the same plans.
#[test]
fn epochs_are_steps_times_the_rate() {
    let room = Room::new("epochs");
    let epochs = at("thesis-fig4.2", &[("[1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]", "[1, 5]")]);
    let steps = epochs.replace("along = \"epochs\"", "along = \"steps\"").replace("[1, 5]", "[10, 50]");
    let of = |text: &str| bounds(&room.drawn(text), 0, "q = 0.1");
    assert_eq!(of(&epochs), of(&steps));
    let drawn = room.drawn(&epochs);
    let last = |line| bounds(&drawn, 0, line)[1].0;
    assert!(
        last("q = 0.01") < last("q = 0.1") && last("q = 0.1") < last("q = 0.5") && last("q = 0.5") < last("all rows")
    );
    let wordy = room.asked_of(&epochs.replacen("rate = 0.01", "rate = 0.0", 1));
    assert!(wordy.contains("epochs are counted by the rate"), "{wordy}");
}
