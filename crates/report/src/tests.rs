//! What a report must hold for every kind of results.

mod columns;
mod effects;
mod own_score;

use super::*;
use inference::results::{ClientSpending, MethodResult, SiteResult, Summary};
use inference::score::{MAIN, Score};
use inference::warning::{Code, Warning};

const FIXTURE: &str = include_str!("../tests/results.json");

fn sample() -> Results {
    serde_json::from_str(FIXTURE).unwrap()
}

fn score(name: &str) -> &'static Score {
    Score::named(name).unwrap()
}

/// The same study as a regression.
fn regression() -> Results {
    let mut results = sample();
    for method in &mut results.methods {
        let scores = &mut method.scores;
        scores.remove("auc");
        if let Some(accuracy) = scores.remove("accuracy") {
            let error = Summary::of(accuracy.per_seed.iter().map(|v| 1.0 - v).collect());
            scores.insert(score("root_squared_error"), error.clone());
            scores.insert(score("absolute_error"), error);
            scores.insert(score("coverage"), Summary::of(vec![0.875]));
        }
        method.calibration = vec![];
        for point in method.curves.iter_mut().flat_map(|c| &mut c.points) {
            if let Some(accuracy) = point.scores.remove("accuracy") {
                point.scores.insert(score("absolute_error"), 1.0 - accuracy);
            }
        }
    }
    results
}

/// Every opened element is closed in its turn; elements without an end are left out.
pub(crate) fn well_formed(html: &str) {
    let without_style = html.split("<style>").next().unwrap().to_owned() + html.split("</style>").last().unwrap();
    let mut open: Vec<&str> = Vec::new();
    for piece in without_style.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("unfinished: {piece}"));
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed out of turn near {piece}");
        } else if !tag.ends_with('/') && !["!doctype", "meta", "input", "br"].contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// What holds for every report.
fn sound(results: &Results) -> String {
    let page = html(results);
    well_formed(&page);
    for word in ["<script", "NaN", ">inf<", "http-equiv=\"refresh\"", "src=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    let addresses = page.matches("http://").count() + page.matches("https://").count();
    assert_eq!(addresses, page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count(), "an address of the network");
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is used twice");
    assert_eq!(page, html(results), "not the same bytes twice");
    page
}

#[test]
fn the_sample_is_told_in_order_and_in_plain_words() {
    let page = sound(&sample());
    let order = ["<h1>", "Warnings", "Methods compared", "What exactly was promised", "Scores along the way"];
    let rest = ["Budget per site", ">Posterior<", ">Calibration<", "Ledger of every site", "Study, data and versions"];
    let places: Vec<usize> = order.iter().chain(&rest).map(|words| page.find(words).expect(words)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        page.contains(
            "The best private method by held-out log-likelihood is trusted-sum: a log-likelihood of −0.328 nats per row (85.0 % \
             accuracy), while every single row would be protected with ε = 1"
        ),
        "{}",
        summary::words(&Standing::of(&sample()))
    );
    assert!(page.contains(
        "Paired over 5 seeds, it is 0.0131 nats per row below non-private (standard error 0.0017); 0.0399 nats"
    ));
    assert_eq!(
        page.matches("<td>0.6188</td><td>0.998</td>").count(),
        6,
        "certified and claimed, in headline and ledger"
    );
}

#[test]
#[allow(clippy::disallowed_methods)] // the page that is kept beside the tests
fn the_bytes_are_those_of_the_snapshot() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report.html");
    let page = html(&sample());
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    let differs = page.lines().zip(kept.lines()).find(|(now, then)| now != then);
    assert!(page == kept, "look at it, then run once with UPDATE_SNAPSHOTS=1; first difference: {differs:?}");
}

#[test]
fn rows_that_are_made_up_are_said_to_be_on_page_and_terminal() {
    let words = "The rows are made up.";
    let mut results = sample();
    assert!(
        !html(&results).contains(words) && !table(&results, Terminal { width: 200, colour: false }).contains(words)
    );
    results.data.made_up = Some(words.to_owned());
    assert!(html(&results).contains(words) && table(&results, Terminal { width: 200, colour: false }).contains(words));
}

#[test]
fn every_string_is_escaped() {
    let mut results = sample();
    let evil = "<script>alert('\"&')</script>".to_owned();
    (results.study, results.version, results.study_toml) = (evil.clone(), evil.clone(), evil.clone());
    results.data.source = evil.clone();
    results.data.made_up = Some(evil.clone());
    results.data.inputs[0] = evil.clone();
    results.data.clients[0].name = evil.clone();
    results.methods[0].algorithm = evil.clone();
    for method in &mut results.methods {
        method.warnings = vec![Warning { code: Code::FewDraws, what: evil.clone(), hint: evil.clone() }];
        for text in [&mut method.name, &mut method.solver, &mut method.schedule] {
            *text = evil.clone();
        }
        method.posterior.iter_mut().for_each(|c| c.name = evil.clone());
        if let Some(privacy) = &mut method.privacy {
            let texts = [&mut privacy.unit, &mut privacy.adjacency, &mut privacy.aggregator];
            texts.into_iter().chain([&mut privacy.promise, &mut privacy.accountant]).for_each(|t| *t = evil.clone());
            for client in &mut privacy.clients {
                (client.name, client.head, client.events) = (evil.clone(), evil.clone(), vec![evil.clone()]);
            }
        }
    }
    let page = sound(&results);
    assert!(page.contains("<h1>&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;</h1>"));
}

#[test]
fn regression_has_errors_and_no_accuracy() {
    let page = sound(&regression());
    assert!(page.contains("absolute error") && page.contains("nats per row (mean absolute error 0.150)"));
    for word in ["ccuracy", ">AUC<", ">Calibration<", "class was predicted"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("Log-likelihood against ε") && page.contains("Mean absolute error against messages"));
    assert!(page.contains(">coverage\u{a0}%<") && page.contains(">87.5<") && page.contains("inside the central 90 %"));
    assert!(page.contains("Errors are in the units of the outcome. RMSE"));
    let mut encoded = regression();
    encoded.data.encoded_scores = true;
    assert!(sound(&encoded).contains("units of the encoded outcome"));
    assert!(!sound(&sample()).contains("overage"), "classes have none");
    assert!(page.contains(">RMSE<") && page.contains("Best is the highest log-likelihood on these held-out rows"));
    assert!(page.contains("Mean absolute error less that of the baselines"), "the error stands beside the likelihood");
}

#[test]
fn the_highest_likelihood_is_the_best_whatever_accuracy_or_error() {
    for mut results in [sample(), regression()] {
        let scores = &mut results.methods[0].scores;
        scores.insert(MAIN, Summary::of(vec![-0.3; 5]));
        for (name, worse) in [("accuracy", 0.6), ("absolute_error", 0.9)] {
            if scores.remove(name).is_some() {
                scores.insert(score(name), Summary::of(vec![worse; 5]));
            }
        }
        let name = &results.methods[0].name;
        assert!(sound(&results).contains(&format!("by held-out log-likelihood is {name}:")));
    }
}

/// The study with one private method and the constant answer, in log-likelihoods of some seeds.
fn beside_constant(private: &[f64], constant: &[f64]) -> Results {
    let mut results = sample();
    let mut majority = results.methods.last().unwrap().clone();
    (majority.name, majority.algorithm) = ("majority class".into(), "constant".into());
    majority.scores.insert(MAIN, Summary::of(constant.to_vec()));
    results.methods.truncate(1);
    results.methods[0].scores.insert(MAIN, Summary::of(private.to_vec()));
    results.methods[0].scores.insert(score("accuracy"), Summary::of(vec![0.75; private.len()]));
    results.methods.push(majority);
    results
}

/// Found: a method of −.5825 was crowned beside a constant answer of −.5717, since its accuracy was the highest.
#[test]
fn a_method_behind_the_constant_answer_is_never_marked() {
    let results = beside_constant(&[-0.5825, -0.5825], &[-0.5717, -0.5717]);
    let page = sound(&results);
    assert!(!page.contains(">best private</span>") && !page.contains("The best private method"));
    assert!(
        page.contains(
            "No private method is better than majority class, which uses no input: a log-likelihood of −0.572"
        )
    );
    let text = table(&results, Terminal { width: 100, colour: true });
    assert!(!text.contains("* dp-optimisation") && !text.contains("\u{1b}[1;32m"), "{text}");
    let ahead = beside_constant(&[-0.56, -0.56], &[-0.5717, -0.5717]);
    assert!(table(&ahead, Terminal { width: 100, colour: false }).contains("* dp-optimisation"));
}

#[test]
fn differences_say_their_standard_error_or_that_none_can_be_seen() {
    let seen = beside_constant(&[-0.50, -0.40, -0.30], &[-0.61, -0.50, -0.42]);
    let text = table(&seen, Terminal { width: 200, colour: false });
    assert!(text.contains("0.1100 nats per row above majority class (standard error 0.0058)"), "{text}");
    assert!(text.contains("+0.1100 ± 0.0058\n"), "{text}");
    let unseen = beside_constant(&[-0.50, -0.40, -0.30], &[-0.61, -0.50, -0.21]);
    let text = table(&unseen, Terminal { width: 200, colour: false });
    assert!(
        text.contains("(standard error 0.0651: no difference can be seen)") && text.contains("± 0.0651 ≈"),
        "{text}"
    );
    assert!(sound(&unseen).contains("<span class=\"how\">no difference can be seen</span>"));
    let one = beside_constant(&[-0.5], &[-0.61]);
    let text = table(&one, Terminal { width: 200, colour: false });
    assert!(text.contains("0.1100 nats per row above majority class; a standard error needs two seeds."), "{text}");
    assert!(sound(&one).contains("One seed was run: a standard error needs two seeds"));
}

#[test]
fn nothing_of_a_simulation_is_called_protected() {
    for unit in ["example", "person", "client"] {
        let mut results = sample();
        results.methods.iter_mut().filter_map(|m| m.privacy.as_mut()).for_each(|p| p.unit = unit.into());
        let text = table(&results, Terminal { width: 4000, colour: false });
        for told in [sound(&results), text] {
            assert!(told.contains("would be protected with ε = 1") && told.contains(summary::SIMULATION), "{told}");
            assert!(!told.contains("are protected") && !told.contains("is protected"), "{told}");
        }
    }
}

#[test]
fn persons_are_shown_beside_their_rows_where_they_are_known() {
    let mut results = sample();
    assert!(!sound(&results).contains("<th>persons</th>"));
    results.data.clients.iter_mut().for_each(|client| client.persons = Some(2));
    let (page, all) = (sound(&results), 2 * results.data.clients.len());
    assert!(page.contains(&format!("of {all} persons")) && page.contains("persons</th>"), "{page}");
}

#[test]
fn what_no_epsilon_covers_is_said() {
    assert!(sound(&sample()).contains("baselines and the comparison of methods are computed on the data itself"));
}

#[test]
fn methods_of_different_budgets_are_not_called_best_without_their_epsilon() {
    let mut results = sample();
    let best = results.methods.iter().position(|m| m.name == "trusted-sum").unwrap();
    assert!(sound(&results).contains(">best private</span>"));
    results.methods[best].privacy.as_mut().unwrap().epsilon = 8.0;
    let page = sound(&results);
    assert!(
        page.contains(">best private, at ε = 8</span>")
            && page.contains("The best private method by held-out log-likelihood, whatever its ε, is")
    );
    assert!(page.contains("At ε = 1 the best is "), "{}", summary::words(&Standing::of(&results)));
    let text = table(&results, Terminal { width: 100, colour: false });
    assert!(text.contains("* best private method, whatever its ε;"), "{text}");
}

#[test]
fn sites_have_a_table_where_scores_are_their_own() {
    let mut results = sample();
    assert!(!sound(&results).contains("Scores at each site"));
    let names: Vec<String> = results.data.clients.iter().map(|c| c.name.clone()).collect();
    let at_site = |share: f64| {
        move |name: &String| SiteResult {
            name: name.clone(),
            scores: [(score("accuracy"), share), (MAIN, -0.5)]
                .map(|(s, value)| (s, Summary::of(vec![value])))
                .into_iter()
                .collect(),
        }
    };
    let alone = results.methods.iter().position(|m| m.algorithm == "local-only").unwrap();
    results.methods[alone].sites = names.iter().map(at_site(0.625)).collect();
    let page = sound(&results);
    assert!(page.contains("these belong to no site") && page.contains("<td>62.5</td>"));
    results.methods[0].sites = names.iter().skip(1).map(at_site(0.875)).collect();
    results.data.clients.iter_mut().for_each(|c| c.test_rows = 7);
    let page = sound(&results);
    assert!(page.contains("own held-out rows") && page.contains("<td>7</td><td>62.5</td><td>87.5</td>"));
    assert!(page.contains("<td>7</td><td>62.5</td><td>–</td>"), "a site without a score of this method");
    assert!(page.contains("Log-likelihood (nats per row), by site") && page.contains("<td>7</td><td>−0.500</td>"));
}

#[test]
fn a_constant_answer_is_a_baseline_and_no_curve() {
    let mut results = sample();
    let alone = results.methods.iter().position(|m| m.algorithm == "local-only").unwrap();
    let mut constant = results.methods[alone].clone();
    (constant.name, constant.algorithm) = ("majority class".into(), "constant".into());
    constant.scores.insert(score("accuracy"), Summary::of(vec![0.5]));
    let before = sound(&results).matches("type=\"checkbox\"").count();
    results.methods.push(constant);
    let page = sound(&results);
    assert_eq!(page.matches("type=\"checkbox\"").count(), before);
    assert!(page.contains("Majority class answers every row alike"));
    assert!(table(&results, Terminal { width: 100, colour: false }).contains(". majority class"));
}

#[test]
fn without_privacy_nothing_is_said_of_budgets() {
    let mut results = sample();
    for method in &mut results.methods {
        method.privacy = None;
        method.curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| p.epsilon = None);
    }
    let page = sound(&results);
    assert!(page.contains("No method of this study promises privacy.") && page.contains("Nothing: no method"));
    for word in ["Budget per site", "Ledger of", "against ε", "ε certified"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("Accuracy against messages"));
}

#[test]
fn one_seed_has_no_bands_and_says_so() {
    let mut results = sample();
    for method in &mut results.methods {
        method.curves.truncate(1);
        method.scores = method.scores.map(|_, summary| Some(Summary::of(vec![summary.per_seed[0]])));
    }
    let page = sound(&results);
    assert!(page.contains("One seed was run") && !page.contains('±'));
}

#[test]
fn many_sites_are_summed_up_in_the_figure_and_listed_in_the_ledger() {
    let mut results = sample();
    for privacy in results.methods.iter_mut().filter_map(|m| m.privacy.as_mut()) {
        let site = |k: u32| ClientSpending {
            name: format!("site-{k:03}"),
            certified: 0.5 + f64::from(k) / 500.0,
            ..privacy.clients[0].clone()
        };
        privacy.clients = (0..200).map(site).collect();
    }
    let page = sound(&results);
    assert!(page.contains("200 sites, in the order of what they spent"));
    let private = results.methods.iter().filter(|m| m.privacy.is_some()).count();
    assert_eq!(page.matches("<th scope=\"row\">site-").count(), 200 * private);
    assert_eq!(page.matches("fill-opacity=\"0.8\"").count(), 5 * private);
}

#[test]
fn a_broken_promise_stands_among_the_warnings() {
    let mut results = sample();
    results.methods[0].privacy.as_mut().unwrap().clients[2].certified = 1.000_001;
    let page = sound(&results);
    let words = "The promise is not certified for 1 of 8 sites: Geneva may have spent ε = 1.001, granted were 1.";
    assert!(page.contains(words));
    assert!(page.find(words) < page.find("Methods compared"));
}

#[test]
fn warnings_state_their_code_source_and_hint_on_page_and_terminal() {
    let mut results = sample();
    results.methods.iter_mut().for_each(|method| method.warnings.clear());
    let warning = |code, what: &str| Warning { code, what: what.into(), hint: "do this".into() };
    results.methods[0].warnings = vec![warning(Code::StillMoving, "it moved")];
    results.warnings = vec![warning(Code::SmallSite, "north has 9 rows")];
    let (page, text) = (sound(&results), super::warnings(&results, None));
    assert!(page.contains("it moved <span class=\"how\">W002, public: do this</span>"), "{page}");
    assert!(page.contains("<b>data</b>: north has 9 rows <span class=\"how\">W006, rows: do this</span>"));
    let name = &results.methods[0].name;
    let expected = format!(
        "warning     data: north has 9 rows\n            W006, rows: do this\nwarning     {name}: it moved\n            W002, \
         public: do this\n"
    );
    assert_eq!(text, expected);
    let read: Results = serde_json::from_str(&serde_json::to_string(&results).unwrap()).unwrap();
    assert_eq!(read, results);
}

#[test]
fn empty_and_strange_results_still_make_a_page() {
    let mut results = sample();
    results.methods.iter_mut().for_each(|method| {
        (method.curves, method.posterior, method.calibration) = (vec![], vec![], vec![]);
        method.name = "long".repeat(80);
    });
    assert!(sound(&results).contains("No scores were recorded along the way."));
    results.methods[0].scores.insert(MAIN, Summary::of(vec![]));
    results.methods[0].scores.insert(score("accuracy"), Summary::of(vec![f64::NAN, 0.5]));
    results.methods[0].privacy.as_mut().unwrap().clients.clear();
    sound(&results);
    results.methods.clear();
    assert!(sound(&results).contains("Nothing was scored."));
}

#[test]
fn the_terminal_gets_what_fits_and_colour_only_where_wanted() {
    let plain = |width| table(&sample(), Terminal { width, colour: false });
    for width in [60, 72, 80, 100, 140] {
        let text = plain(width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        assert!(text.contains("accuracy %") && text.contains("ε certified") && !text.contains('\u{1b}'));
    }
    let head = |width| plain(width).lines().next().unwrap().to_owned();
    assert!(head(140).contains("CPU") && head(80).contains("messages") && !head(72).contains("CPU"));
    assert!(plain(100).contains("* trusted-sum") && plain(100).contains(". non-private"));
    let mut long = sample();
    long.methods[0].name = "long".repeat(30);
    let text = table(&long, Terminal { width: 80, colour: false });
    assert!(text.contains("messages") && text.contains("longlonglon"), "a long name costs no column\n{text}");
    assert!(words(&text).join(" ").contains(&format!("… is {}", "long".repeat(30))), "and is told in full\n{text}");
    let coloured = table(&sample(), Terminal { width: 100, colour: true });
    assert_eq!(coloured.matches("\u{1b}[1;32m").count(), 1);
    assert!(
        plain(100)
            .contains("signs       * best private method; . baseline without privacy; ± standard deviation over seeds")
    );
    let numbers = table(&regression(), Terminal { width: 100, colour: false });
    assert!(numbers.contains("MAE") && numbers.contains("RMSE") && !numbers.contains("accuracy"), "{numbers}");
    let wide = table(&regression(), Terminal { width: 140, colour: false });
    assert!(wide.contains("coverage %") && wide.contains("87.5") && wide.contains("90 % intervals"), "{wide}");
}

/// Every word of a text but for those of its tables' numbers, which thin blanks hold together.
fn words(text: &str) -> Vec<&str> {
    text.split([' ', '\n']).filter(|word| !word.is_empty()).collect()
}

#[test]
fn no_word_is_split_and_no_name_is_cut_at_any_usual_width() {
    let mut results = sample();
    let best = Standing::of(&results).best().unwrap().number;
    let long = "partitioned variational inference with damped natural gradients and a trusted sum, ten rounds";
    results.methods[best].name = long.into();
    for width in [60, 80, 120, 170] {
        let text = table(&results, Terminal { width, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        let (rows, remarks) = text.split_once("\n\n").unwrap();
        assert!(!rows.contains('…'), "a name of several words is never cut\n{text}");
        // The winner's name is there as a whole, over one line or several, in the table and in the words below.
        let mut at = words(rows).into_iter().skip_while(|word| *word != "*").skip(1);
        assert!(words(long).iter().all(|word| at.by_ref().any(|found| found == *word)), "{width}\n{text}");
        let told = words(remarks).join(" ");
        assert!(told.contains(long), "{width}\n{text}");
        assert_eq!(told.contains("in a wider terminal"), !rows.contains("CPU"), "what was left out is said\n{text}");
    }
}

#[test]
fn many_methods_have_no_bands_that_would_hide_one_another() {
    let mut results = sample();
    let bands = |page: &str| {
        let curves = page.split("id=\"curves\"").nth(1).unwrap().split("</section>").next().unwrap();
        curves.matches("fill-opacity=\"0.16\"").count()
    };
    assert!(bands(&html(&results)) > 0 && html(&results).contains("Bands: "));
    let more: Vec<_> = (0..6).map(|at| MethodResult { name: format!("m{at}"), ..results.methods[0].clone() }).collect();
    results.methods.extend(more);
    assert!(bands(&html(&results)) == 0 && !html(&results).contains("Bands: "));
}

#[test]
fn a_baseline_that_did_not_converge_is_shown_and_nothing_is_compared_with_it() {
    let mut results = sample();
    let open = results.methods.iter().position(|method| method.algorithm == "non-private").unwrap();
    for (converged, compared) in [(Some(true), true), (None, true), (Some(false), false)] {
        results.methods[open].fit = Some(inference::Fit { steps: 17, converged });
        let standing = standing::Standing::of(&results);
        assert_eq!((standing.open().is_some(), results.methods[open].is_comparable()), (compared, compared));
        let page = sound(&results);
        assert_eq!(page.contains("not converged in 17 steps: nothing is compared with it"), !compared);
        let open = &results.methods[open].name;
        assert_eq!(page.contains(&format!("nats per row below {open}")), compared, "{converged:?}");
        assert!(page.contains(open));
    }
}
