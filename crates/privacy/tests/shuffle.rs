//! Shuffle pairs against golden values, brute-force enumeration, and the laws that every pair of distributions keeps.

use privacy::accounting::pair::{Atoms, DominatingPair, directions};
use privacy::accounting::{Enclosure, by_name};
use privacy::{
    Adjacency, Adversary, Categories, Delta, Epsilon, Event, Gamma, Mechanism, PrivacyError, Sampling, Steps, Unit,
};
use rustfft::{FftPlanner, num_complex::Complex};
use serde_json::Value;
use std::collections::BTreeMap;

fn enclosure(mechanism: Mechanism, sampling: Sampling) -> Result<Enclosure, PrivacyError> {
    let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, Steps::ONE)?;
    let mut both = directions("pld", &[event])?;
    assert_eq!(both.len(), 1, "shuffle pairs are symmetric");
    match both.remove(0).remove(0).0 {
        DominatingPair::Enclosed(enclosure) => Ok(enclosure),
        other => panic!("{other:?}"),
    }
}

fn clones(users: u64, epsilon: f64) -> Enclosure {
    let local_epsilon = Epsilon::new(epsilon).unwrap();
    enclosure(Mechanism::ShuffleClones { users: Steps::new(users).unwrap(), local_epsilon }, Sampling::None).unwrap()
}

fn sampled_clones(users: u64, epsilon: f64, rate: f64) -> Enclosure {
    let local_epsilon = Epsilon::new(epsilon).unwrap();
    let sampling = Sampling::without_replacement(users, (users as f64 / rate).round() as u64).unwrap();
    enclosure(Mechanism::ShuffleClones { users: Steps::new(users).unwrap(), local_epsilon }, sampling).unwrap()
}

fn responses(users: u64, categories: u64, gamma: f64, adversary: Adversary) -> Enclosure {
    let mechanism = Mechanism::ShuffleRandomisedResponse {
        users: Steps::new(users).unwrap(),
        categories: Categories::new(categories).unwrap(),
        gamma: Gamma::new(gamma).unwrap(),
        adversary,
    };
    enclosure(mechanism, Sampling::None).unwrap()
}

/// Golden cases of one family, with the pair that each describes.
fn golden(family: &str) -> Vec<(Value, Enclosure)> {
    let all: Value = serde_json::from_str(include_str!("vectors/accounting.json")).unwrap();
    let cases = all["cases"].as_array().unwrap().iter();
    let mine = cases.filter(|case| case["id"].as_str().unwrap().starts_with(&format!("{family}-")));
    mine.map(|case| {
        let float = |name: &str| case[name].as_f64().unwrap();
        let whole = |name: &str| case[name].as_u64().unwrap();
        let law = match family {
            "clones" => clones(whole("n"), float("eps0")),
            "subshuffle" => sampled_clones(whole("n_shuffled"), float("eps0"), float("q")),
            "krrstrong" => responses(whole("n"), whole("k"), float("gamma"), Adversary::Strong),
            _ => responses(whole("n"), whole("k"), float("gamma"), Adversary::Weak),
        };
        (case.clone(), law)
    })
    .collect()
}

/// Golden (δ, ε) of a case.
fn golden_epsilons(case: &Value) -> Vec<(f64, f64)> {
    let numbers = |name: &str| case[name].as_array().map(|all| all.iter().map(|x| x.as_f64().unwrap()).collect());
    let deltas = numbers("deltas").unwrap_or_else(|| vec![case["delta"].as_f64().unwrap()]);
    let epsilons = numbers("epsilons").unwrap_or_else(|| vec![case["epsilon_exact"].as_f64().unwrap()]);
    deltas.into_iter().zip(epsilons).collect()
}

/// The ε at which a decreasing δ(ε) has the given value.
fn solve(delta_at: impl Fn(f64) -> f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if delta_at(middle) > delta { low = middle } else { high = middle }
    }
    high
}

#[test]
fn one_round_agrees_with_golden_values() {
    let mut checked = 0;
    for family in ["clones", "krrstrong", "krrweak"] {
        for (case, law) in golden(family).iter().filter(|(case, _)| case["n_c"] == 1) {
            for (delta, epsilon) in golden_epsilons(case) {
                let upper = solve(|e| law.hockey_stick(e).upper, delta);
                let lower = solve(|e| law.hockey_stick(e).lower, delta);
                let (low, high) = (lower * (1.0 - 1e-9), upper * (1.0 + 1e-9));
                assert!(low <= epsilon && epsilon <= high, "{}: {lower} {epsilon} {upper}", case["id"]);
                assert!((upper - lower) / upper < 1e-7, "{}: {lower} {upper}", case["id"]);
                checked += 1;
            }
            let (at, deltas) = (&case["query_epsilons"], &case["deltas_at_query_epsilons"]);
            for (epsilon, delta) in at.as_array().unwrap().iter().zip(deltas.as_array().unwrap()) {
                let Some(delta) = delta.as_f64() else { continue };
                let found = law.hockey_stick(epsilon.as_f64().unwrap());
                assert!(
                    found.lower <= delta * (1.0 + 1e-8) && delta * (1.0 - 1e-8) <= found.upper,
                    "{found:?} {delta}"
                );
                assert!(found.relative_width() < 1e-6, "{}: {found:?}", case["id"]);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 15);
}

/// δ(ε) of many rounds by a plain discretised convolution: each atom on the two nodes beside it, P and Q conserved.
fn convolved(law: &Atoms, rounds: u64, step: f64, nodes: usize) -> Vec<f64> {
    let mut grid = vec![Complex::new(0.0, 0.0); nodes];
    for &(loss, p) in &law.finite {
        let node = (loss / step).floor();
        let right = p * (node * step - loss).exp_m1() / (-step).exp_m1();
        grid[node.rem_euclid(nodes as f64) as usize].re += p - right;
        grid[(node + 1.0).rem_euclid(nodes as f64) as usize].re += right;
    }
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(nodes).process(&mut grid);
    grid.iter_mut().for_each(|z| *z = z.powu(rounds as u32) / nodes as f64);
    planner.plan_fft_inverse(nodes).process(&mut grid);
    let mut masses: Vec<f64> = grid.iter().map(|z| z.re).collect();
    masses.rotate_right(nodes / 2);
    masses
}

#[test]
fn compositions_agree_with_golden_values() {
    const NODES: usize = 1 << 19;
    for (case, law) in ["clones", "krrstrong", "krrweak", "subshuffle"].into_iter().flat_map(golden) {
        let (delta, epsilon) = golden_epsilons(&case)[0];
        let step = epsilon * 2.5e-5;
        for law in [law.upper(), law.lower()] {
            let masses = convolved(&law, case["n_c"].as_u64().unwrap(), step, NODES);
            let losses = (0..NODES).map(|i| (i as f64 - (NODES / 2) as f64) * step);
            let atoms: Vec<(f64, f64)> = losses.zip(masses).collect();
            let delta_at = |epsilon: f64| {
                let above = atoms.iter().filter(|a| a.0 > epsilon);
                above.map(|(l, m)| -m * (epsilon - l).exp_m1()).sum::<f64>()
            };
            let (more, less) = (delta_at(epsilon * (1.0 - 2e-5)), delta_at(epsilon * (1.0 + 2e-5)));
            assert!(less < delta && delta < more, "{}: {less} {delta} {more}", case["id"]);
        }
    }
}

#[test]
fn the_expectation_of_e_to_the_minus_loss_is_one() {
    let laws = [
        ("clones", clones(10_000, 4.0)),
        ("clones, binned", clones(20_000, 1.0)),
        ("strong", responses(1_000, 4, 0.25, Adversary::Strong)),
        ("weak", responses(1_000, 4, 0.25, Adversary::Weak)),
        ("weak, two categories", responses(1_000, 2, 0.3, Adversary::Weak)),
        ("few users", clones(3, 0.4)),
        ("sampled", sampled_clones(10_000, 3.0, 0.01)),
        ("sampled, few users", sampled_clones(100, 3.0, 0.01)),
    ];
    for (name, law) in laws {
        let sums = [law.upper(), law.lower()].map(|law| {
            let p = law.finite.iter().map(|a| a.1).sum::<f64>() + law.infinite;
            (p, law.finite.iter().map(|&(l, p)| p * (-l).exp()).sum::<f64>())
        });
        // The two laws are moved apart by what is allowed for rounding; the exact one is in their middle.
        let (p, q) = (0.5 * (sums[0].0 + sums[1].0), 0.5 * (sums[0].1 + sums[1].1));
        assert!((p - 1.0).abs() < 1e-12 && (q - 1.0).abs() < 1e-12, "{name}: {:e} {:e}", p - 1.0, q - 1.0);
        assert!(sums[0].1 - sums[1].1 < 1e-11, "{name}: {sums:?}");
    }
}

/// P- and Q-probability of everything that an adversary may see.
type Views = BTreeMap<Vec<u64>, (f64, f64)>;

fn brute_force(views: &Views, log_alpha: f64) -> f64 {
    let excess = views.values().map(|(p, q)| p - log_alpha.exp() * q);
    excess.filter(|&x| x > 0.0).sum()
}

const LOG_ALPHAS: [f64; 9] = [-2.5, -1.0, -0.3, -0.01, 0.0, 0.05, 0.4, 1.1, 2.0];

fn assert_encloses(law: &Enclosure, factor: f64, views: &Views, log_alphas: &[f64]) {
    for &log_alpha in log_alphas {
        let (exact, found) = (brute_force(views, log_alpha), law.hockey_stick(log_alpha));
        assert!((exact - factor * found.upper).abs() < 1e-12, "{log_alpha}: {exact} {found:?}");
        assert!((exact - factor * found.lower).abs() < 1e-12, "{log_alpha}: {exact} {found:?}");
    }
}

/// Every way in which `length` users may each choose one of `options`.
fn choices(options: usize, length: u32) -> impl Iterator<Item = Vec<usize>> {
    (0..options.pow(length)).map(move |code| (0..length).map(|i| code / options.pow(i) % options).collect())
}

#[test]
fn clones_agree_with_enumeration() {
    for (users, epsilon) in [(1, 1.0), (2, 0.5), (5, 2.0), (8, 1.3)] {
        let p = 1.0 / (f64::exp(epsilon) + 1.0);
        let mut views = Views::new();
        // Another user's report is a clone of the first or the second report, or neither.
        for others in choices(3, users - 1) {
            let weight: f64 = others.iter().map(|&o| [p, p, 1.0 - 2.0 * p][o]).product();
            for own in [0, 1] {
                let count = |side| others.iter().filter(|&&o| o == side).count() as u64 + u64::from(own == side);
                let view = views.entry(vec![count(0), count(1)]).or_default();
                let own_weight = [1.0 - p, p];
                view.0 += weight * own_weight[own];
                view.1 += weight * own_weight[1 - own];
            }
        }
        assert_encloses(&clones(users.into(), epsilon), 1.0, &views, &LOG_ALPHAS);
    }
}

/// What is seen of k-randomised response: who answered at random, and how often each answer was given.
fn response_views(users: u32, k: usize, gamma: f64, inputs: &[usize], own_seen: bool) -> Views {
    let mut views = Views::new();
    // A choice of k is a truthful answer.
    for answers in choices(k + 1, users) {
        let weight: f64 = answers.iter().map(|&a| if a == k { 1.0 - gamma } else { gamma / k as f64 }).product();
        for own in [0, 1] {
            let truth = |user: usize| if user + 1 == users as usize { own } else { inputs[user] };
            let mut view: Vec<u64> = answers.iter().map(|&a| u64::from(a != k)).collect();
            if !own_seen {
                view.pop();
            }
            let mut counts = vec![0; k];
            answers.iter().enumerate().for_each(|(user, &a)| counts[if a == k { truth(user) } else { a }] += 1);
            view.extend(counts);
            let entry = views.entry(view).or_default();
            *(if own == 0 { &mut entry.0 } else { &mut entry.1 }) += weight;
        }
    }
    views
}

#[test]
fn shuffled_responses_agree_with_enumeration() {
    for (users, k, gamma) in [(1, 2, 0.3), (2, 3, 0.5), (5, 2, 0.4), (5, 3, 0.25), (6, 4, 0.6), (8, 2, 0.7)] {
        let inputs: Vec<usize> = (0..users as usize).map(|i| i * i % k).collect();
        let weak = responses(users.into(), k as u64, gamma, Adversary::Weak);
        assert_encloses(&weak, 1.0, &response_views(users, k, gamma, &inputs, false), &LOG_ALPHAS);
        // The theorem's pair is the view of a truthful answer: the strong adversary sees it with probability 1 − γ.
        let strong = responses(users.into(), k as u64, gamma, Adversary::Strong);
        let seen = response_views(users, k, gamma, &inputs, true);
        assert_encloses(&strong, 1.0 - gamma, &seen, &LOG_ALPHAS[4..]);
    }
}

#[test]
fn clones_dominate_a_shuffled_mechanism() {
    let (users, k, gamma) = (5, 3, 0.4);
    let local = f64::ln(((1.0 - gamma) * k as f64 + gamma) / gamma);
    let law = clones(users, local);
    for inputs in [[0, 0, 0, 0], [2, 2, 2, 2], [0, 1, 2, 0]] {
        let mut views = Views::new();
        for (view, (p, q)) in response_views(users as u32, k, gamma, &inputs, false) {
            // Without knowing who answered at random: only the counts are seen.
            let entry = views.entry(view[users as usize - 1..].to_vec()).or_default();
            (entry.0, entry.1) = (entry.0 + p, entry.1 + q);
        }
        for log_alpha in LOG_ALPHAS {
            let (exact, bound) = (brute_force(&views, log_alpha), law.hockey_stick(log_alpha).upper);
            assert!(exact <= bound + 1e-13, "{log_alpha}: {exact} {bound}");
        }
    }
}

/// All answers of so many drawn users are counted; nobody sees who was drawn, or who answered at random.
fn sampled_responses(drawn: u32, data: &[usize], k: usize, gamma: f64) -> Views {
    let mut views = Views::new();
    let samples: Vec<Vec<usize>> =
        choices(2, data.len() as u32).map(|c| (0..data.len()).filter(|&i| c[i] == 1).collect()).collect();
    let samples: Vec<&Vec<usize>> = samples.iter().filter(|s| s.len() == drawn as usize).collect();
    for (sample, own) in samples.iter().flat_map(|s| [(s, 0), (s, 1)]) {
        for answers in choices(k, drawn) {
            let truth = |user: usize| if user + 1 == data.len() { own } else { data[user] };
            let chance = |(&user, &answer): (&usize, &usize)| {
                gamma / k as f64 + if answer == truth(user) { 1.0 - gamma } else { 0.0 }
            };
            let weight: f64 = sample.iter().zip(&answers).map(chance).product();
            let counts = (0..k).map(|c| answers.iter().filter(|&&a| a == c).count() as u64).collect();
            let entry = views.entry(counts).or_default();
            *(if own == 0 { &mut entry.0 } else { &mut entry.1 }) += weight / samples.len() as f64;
        }
    }
    views
}

/// Theorem "Sampled answers" of docs/maths/shuffle.md, for every data set of the others, with the sample and without.
#[test]
fn the_outside_pair_dominates_what_is_published_of_all_or_of_drawn_users() {
    for (users, drawn, k, gamma) in [(4, 4, 3, 0.4), (4, 2, 3, 0.3), (5, 3, 2, 0.5), (3, 1, 4, 0.2)] {
        let mechanism = Mechanism::ShuffleRandomisedResponse {
            users: Steps::new(drawn.into()).unwrap(),
            categories: Categories::new(k as u64).unwrap(),
            gamma: Gamma::new(gamma).unwrap(),
            adversary: Adversary::Outside,
        };
        let all = u64::from(drawn) == users;
        let sampling = Sampling::without_replacement(drawn.into(), users).unwrap();
        let law = enclosure(mechanism, if all { Sampling::None } else { sampling }).unwrap();
        let mut near = 0.0_f64;
        for others in choices(k, users as u32 - 1) {
            let data: Vec<usize> = others.into_iter().chain([0]).collect();
            let views = sampled_responses(drawn, &data, k, gamma);
            for log_alpha in LOG_ALPHAS {
                let (exact, bound) = (brute_force(&views, log_alpha), law.hockey_stick(log_alpha).upper);
                assert!(exact <= bound + 1e-13, "{users} {drawn} {log_alpha}: {exact} {bound}");
                near = near.max(if log_alpha >= 0.0 && bound > 0.0 { exact / bound } else { 0.0 });
            }
        }
        assert!(near > 0.5, "a bound that nothing comes near would pass any test: {near}");
    }
}

#[test]
fn sampling_agrees_with_enumeration() {
    // Two of three users are drawn and their reports shuffled: reports by binary randomised response.
    let (epsilon, drawn) = (1.0_f64, [[0, 1], [0, 2], [1, 2]]);
    let keep = epsilon.exp() / (1.0 + epsilon.exp());
    let law = sampled_clones(2, epsilon, 2.0 / 3.0);
    for others in choices(2, 2) {
        let mut views = Views::new();
        for (sample, own) in drawn.iter().flat_map(|s| [(s, 0), (s, 1)]) {
            let data = [own, others[0], others[1]];
            for reports in choices(2, 2) {
                let agree = |i: usize| if reports[i] == data[sample[i]] { keep } else { 1.0 - keep };
                let entry = views.entry(vec![(reports[0] + reports[1]) as u64]).or_default();
                *(if own == 0 { &mut entry.0 } else { &mut entry.1 }) += agree(0) * agree(1) / 3.0;
            }
        }
        for log_alpha in LOG_ALPHAS {
            let (exact, bound) = (brute_force(&views, log_alpha), law.hockey_stick(log_alpha).upper);
            assert!(exact <= bound + 1e-13, "{log_alpha}: {exact} {bound}");
        }
    }
}

#[test]
fn many_users_cost_less_and_stay_certain() {
    let mut before = 1.0;
    for users in [10_000, 100_000, 1_000_000] {
        let law = clones(users, 4.0);
        let delta = law.hockey_stick(0.05);
        assert!(delta.relative_width() < 1e-6, "{users}: {delta:?}");
        assert!(delta.upper < before, "{users}: {delta:?}");
        assert!(law.upper().infinite < 1e-25, "{users}: {:e}", law.upper().infinite);
        before = delta.lower;
    }
}

#[test]
fn the_weak_adversary_learns_less_than_the_strong() {
    let (weak, strong) = (responses(300, 5, 0.3, Adversary::Weak), responses(300, 5, 0.3, Adversary::Strong));
    for log_alpha in [0.0, 0.3, 1.0] {
        assert!(weak.hockey_stick(log_alpha).upper < strong.hockey_stick(log_alpha).lower, "{log_alpha}");
    }
}

#[test]
fn what_cannot_be_summed_is_refused() {
    let mechanism = Mechanism::ShuffleRandomisedResponse {
        users: Steps::new(10_000_000).unwrap(),
        categories: Categories::new(3).unwrap(),
        gamma: Gamma::new(0.5).unwrap(),
        adversary: Adversary::Weak,
    };
    assert_eq!(enclosure(mechanism, Sampling::None).unwrap_err().code(), "P004");
}

/// Both bound the same pair, so that Rényi divergence is never under what is certified, with a sample or without.
#[test]
fn rdp_of_a_shuffle_is_above_its_pair_at_every_delta() {
    let of = |mechanism: Mechanism, from: u64, steps: u64| {
        let sampling = if from == 200 { Sampling::None } else { Sampling::without_replacement(200, from).unwrap() };
        let steps = Steps::new(steps).unwrap();
        Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, steps).unwrap()
    };
    let (users, local_epsilon) = (Steps::new(200).unwrap(), Epsilon::new(2.0).unwrap());
    let clones = Mechanism::ShuffleClones { users, local_epsilon };
    let (categories, gamma) = (Categories::new(4).unwrap(), Gamma::new(0.5).unwrap());
    let outside = Mechanism::ShuffleRandomisedResponse { users, categories, gamma, adversary: Adversary::Outside };
    let plans =
        [of(clones.clone(), 200, 1), of(clones.clone(), 20_000, 1), of(clones, 20_000, 50), of(outside, 2000, 5)];
    for plan in plans.map(|event| [event]) {
        for delta in [1e-3, 1e-5, 1e-9, 1e-15, 1e-25].map(|delta| Delta::new(delta).unwrap()) {
            let tight = by_name("pld").unwrap().epsilon(&plan, delta).unwrap();
            let above = by_name("rdp").unwrap().epsilon(&plan, delta).unwrap().upper;
            let near = above < 4.0 * tight.upper + 0.01;
            assert!(above >= tight.lower && near, "{} at {delta}: {tight:?} {above}", plan[0]);
        }
    }
}
