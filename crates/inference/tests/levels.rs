//! Noise-aware levels: every stage against the NumPy prototype, and coverage of the whole method on one design.

use chacha20::ChaCha8Rng;
use inference::algorithm::levels::{
    CentredInputs, DRAWS, Effort, Evidence, FirstLook, InputBelief, InputDesign, InputSummary, LEVELS, LevelPlan,
    LevelPoint, LevelReadout, NextLevel, PriorPrecision, PublicNumbers, SparseEntries, level_bound, second_look_bound,
    solve,
};
use inference::{Row, Rows};
use privacy::Adjacency;
use rand_core::{Rng, SeedableRng};
use serde_json::Value;

/// Numbers of the prototype, with their origin.
const VECTORS: &str = include_str!("vectors/rule_d.json");
/// Rounding of the file, and rounding errors of two eigenvalue solvers.
const EXACT: f64 = 1e-9;
/// The same where steps end by a rule: they end at the same step, from points that differ by rounding.
const SOLVED: f64 = 1e-7;

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn places(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

/// Largest difference, in units of the largest expected number.
fn assert_near(what: &str, found: &[f64], expected: &Value, tolerance: f64) {
    let expected = list(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-12_f64, |most, v| most.max(v.abs()));
    let off = found.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off <= tolerance * size, "{what}: {found:?}, expected {expected:?}");
}

/// One problem of the file, read up to the belief.
struct Problem {
    given: Value,
    design: InputDesign,
    rows: f64,
    summary: InputSummary,
    inputs: CentredInputs,
    belief: InputBelief,
    prior: Vec<f64>,
}

impl Problem {
    fn all() -> Vec<Self> {
        let file: Value = serde_json::from_str(VECTORS).unwrap();
        file["problems"].as_array().unwrap().iter().map(Self::read).collect()
    }

    fn read(given: &Value) -> Self {
        let blocks = given["blocks"].as_array().unwrap().iter().map(places).map(|b| b[0]..b[1]).collect();
        let numbers = given["numbers"].as_u64().unwrap() as usize;
        let design = InputDesign::new(numbers, places(&given["flags"]), blocks).unwrap();
        let rows = given["rows"].as_f64().unwrap();
        let sum = |stage: &str| (list(&given[stage]["sum"]), given[stage]["deviation"].as_f64().unwrap());
        let (first, deviation) = sum("first");
        let summary = FirstLook::new(&design, Adjacency::Substitute).read(&first, deviation, rows).unwrap();
        let inputs = summary.centred();
        let (second, deviation) = sum("second");
        let belief = InputBelief::new(&summary, &inputs, &second, deviation).unwrap();
        let prior = vec![given["prior"].as_f64().unwrap(); design.width()];
        Self { given: given.clone(), design, rows, summary, inputs, belief, prior }
    }

    fn readout(&self) -> LevelReadout<'_> {
        LevelReadout { design: &self.design, inputs: &self.inputs, belief: &self.belief, prior: &self.prior }
    }

    /// All levels, each at the prototype's point.
    fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        for level in self.given["levels"].as_array().unwrap() {
            let (point, sum) = (list(&level["point"]), list(&level["sum"]));
            evidence.add(&self.inputs, self.rows, &point, &sum, level["deviation"].as_f64().unwrap()).unwrap();
        }
        evidence
    }
}

#[test]
fn looks_and_beliefs_are_those_of_the_prototype() {
    for problem in Problem::all() {
        let given = &problem.given;
        assert_near("centre", problem.summary.centre(), &given["first"]["centre"], EXACT);
        assert_near("variances", &problem.summary.input_variances(), &given["first"]["variances"], EXACT);
        assert_near("scales", problem.inputs.scales(), &given["scales"], 0.0);
        assert!((problem.inputs.expected_norm() / given["norm"].as_f64().unwrap() - 1.0).abs() < EXACT);
        let (belief, expected) = (&problem.belief, &given["belief"]);
        assert!((belief.correlation_variance() / expected["tau"].as_f64().unwrap() - 1.0).abs() < EXACT);
        assert_near("C", belief.covariance(), &expected["covariance"], EXACT);
        assert_near("V", belief.variance(), &expected["variance"], EXACT);
        let first = list(&given["normals"][0]);
        let drawn = belief.draw(&first).unwrap();
        let sizes: Vec<f64> = drawn.sizes().iter().map(|size| size / problem.rows).collect();
        let mut expected: Vec<f64> =
            (0..problem.design.inputs()).map(|j| given["draw"][j * (j + 3) / 2].as_f64().unwrap()).collect();
        expected.push(1.0);
        assert_near("draw", &sizes, &Value::from(expected), EXACT);
    }
}

#[test]
fn shares_are_those_of_the_prototype_away_from_its_choice_by_data() {
    for problem in Problem::all() {
        let [sources, mu] = ["sources", "mu"].map(|key| problem.given[key].as_f64().unwrap());
        let public = PublicNumbers { rows: problem.rows, sources, mu };
        let plan = LevelPlan::with_first(LevelPlan::first_of(&problem.design, public));
        let expected: Vec<f64> =
            problem.given["levels"].as_array().unwrap().iter().map(|l| l["share"].as_f64().unwrap()).collect();
        assert_near("shares", &plan.levels, &Value::from(expected), EXACT);
        let bounds =
            [FirstLook::new(&problem.design, Adjacency::Substitute).bound(), second_look_bound(&problem.design)];
        for (stage, bound) in ["first", "second"].into_iter().zip(bounds) {
            let deviation = bound.sensitivity(Adjacency::Substitute) * sources.sqrt() / (mu * plan.first_look.sqrt());
            assert!((deviation / problem.given[stage]["deviation"].as_f64().unwrap() - 1.0).abs() < EXACT, "{stage}");
        }
        let deviation = level_bound(&problem.design).sensitivity(Adjacency::Substitute) / (mu * plan.levels[7].sqrt())
            * sources.sqrt();
        assert!((deviation / problem.given["levels"][7]["deviation"].as_f64().unwrap() - 1.0).abs() < EXACT);
    }
}

#[test]
fn scores_slopes_and_one_solution_are_those_of_the_prototype() {
    for problem in Problem::all() {
        let given = &problem.given;
        let (mean, last) = (problem.belief.mean(), list(&given["last"]));
        let at = mean.at(&last);
        assert_near("G", &at.score(), &given["moments"]["score"], EXACT);
        assert_near("H", &at.slope(&mean), &given["moments"]["slope"], EXACT);
        assert!((at.bound() / given["moments"]["bound"].as_f64().unwrap() - 1.0).abs() < EXACT);
        let prior = PriorPrecision::new(&problem.prior, problem.inputs.centre());
        let evidence = problem.evidence();
        let one = solve(&mean, Some(&problem.belief), evidence.levels(), &prior, &last, Effort::FULL).unwrap();
        assert_near("point", &one.point, &given["one"]["point"], SOLVED);
        assert_near("covariance", &one.covariance, &given["one"]["covariance"], SOLVED);
    }
}

#[test]
fn levels_move_as_those_of_the_prototype() {
    for problem in Problem::all() {
        let (readout, levels) = (problem.readout(), problem.given["levels"].as_array().unwrap());
        let (mut evidence, mut next) = (Evidence::default(), readout.start());
        for level in levels {
            assert_near("point", &next.point, &level["point"], SOLVED);
            let (sum, deviation) = (list(&level["sum"]), level["deviation"].as_f64().unwrap());
            evidence.add(&problem.inputs, problem.rows, &next.point, &sum, deviation).unwrap();
            next = readout.advance(&evidence, &next).unwrap().0;
            assert_near("fitted prior", &next.precision, &level["precision"], SOLVED);
        }
        assert_near("last point", &next.point, &problem.given["last"], SOLVED);
        assert_eq!(evidence.len(), LEVELS);
    }
}

#[test]
fn posteriors_are_those_of_the_prototype_for_the_same_draws() {
    for problem in Problem::all() {
        let given = &problem.given;
        let normals: Vec<Vec<f64>> = given["normals"].as_array().unwrap().iter().map(list).collect();
        let draws: Vec<_> = normals.iter().map(|normals| problem.belief.draw(normals).unwrap()).collect();
        let (stated, fitted) =
            problem.readout().posteriors(&problem.evidence(), &list(&given["last"]), &draws).unwrap();
        assert_near("mean", &stated.mean, &given["stated"]["mean"], SOLVED);
        assert_near("covariance", &stated.covariance, &given["stated"]["covariance"], SOLVED);
        assert_near("mean of the fitted", &fitted.mean, &given["fitted"]["mean"], SOLVED);
        assert_near("covariance of the fitted", &fitted.covariance, &given["fitted"]["covariance"], SOLVED);
    }
}

#[test]
fn draws_depend_on_the_seed_alone_and_sums_that_do_not_fit_are_refused() {
    let problem = Problem::all().remove(1);
    let draws = |seed: u8| problem.belief.draws([seed; 32], 2).unwrap();
    assert!(draws(1) == draws(1) && draws(1) != draws(2));
    let mut evidence = Evidence::default();
    let mut sum = vec![1.0; problem.design.width() + 1];
    let zero = vec![0.0; problem.design.width()];
    assert!(evidence.add(&problem.inputs, 10.0, &zero, &sum[1..], 1.0).is_none());
    sum[3] = f64::NAN;
    assert!(evidence.add(&problem.inputs, 10.0, &zero, &sum, 1.0).is_none() && evidence.is_empty());
    assert!(InputBelief::new(&problem.summary, &problem.inputs, &sum, 1.0).is_none());
}

/// Uniform and normal numbers of a generator.
struct Noise(ChaCha8Rng);

impl Noise {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }
}

/// Inputs that follow each other with correlation .5, and labels drawn at these coefficients, the intercept's last.
fn drawn_rows(theta: &[f64], count: usize, noise: &mut Noise) -> Rows {
    let d = theta.len() - 1;
    let mut rows = Rows::new(d + 1, d).unwrap();
    for _ in 0..count {
        let (mut numbers, mut before) = (Vec::with_capacity(d), noise.normal());
        for _ in 0..d {
            numbers.push(before);
            before = 0.5 * before + 0.75_f64.sqrt() * noise.normal();
        }
        let ones = [d as u32];
        let row = Row { numbers: &numbers, ones: &ones, outcome: 0.0 };
        let probability = 1.0 / (1.0 + libm::exp(-row.dot(theta)));
        let outcome = f64::from(u8::from(noise.uniform() < probability));
        rows.push(Row { outcome, ..row }).unwrap();
    }
    rows
}

/// The method on rows in one place, with noise of its releases.
struct Run<'a> {
    rows: &'a Rows,
    plan: LevelPlan,
    design: &'a InputDesign,
    mu: f64,
    noise: Noise,
}

impl Run<'_> {
    /// A sum over rows with noise, and the standard deviation of the noise.
    fn release(
        &mut self,
        length: usize,
        sensitivity: f64,
        share: f64,
        mut add: impl FnMut(&Row<'_>, &mut [f64]),
    ) -> (Vec<f64>, f64) {
        let mut sum = vec![0.0; length];
        self.rows.iter().for_each(|row| add(&row, &mut sum));
        let deviation = sensitivity / (self.mu * share.sqrt());
        sum.iter_mut().for_each(|v| *v += deviation * self.noise.normal());
        (sum, deviation)
    }

    fn belief(&mut self) -> (CentredInputs, InputBelief) {
        let look = FirstLook::new(self.design, Adjacency::Substitute);
        let (mut entries, bound) = (SparseEntries::default(), look.bound());
        let sensitivity = bound.sensitivity(Adjacency::Substitute);
        let (sum, deviation) = self.release(bound.length, sensitivity, self.plan.first_look, |row, sum| {
            look.row(row, &mut entries);
            entries.positions.iter().zip(&entries.values).for_each(|(p, v)| sum[*p as usize] += v);
        });
        let summary = look.read(&sum, deviation, self.rows.len() as f64).unwrap();
        let (inputs, bound) = (summary.centred(), second_look_bound(self.design));
        let mut y = vec![0.0; inputs.width()];
        let sensitivity = bound.sensitivity(Adjacency::Substitute);
        let (sum, deviation) = self.release(bound.length, sensitivity, self.plan.second_look, |row, sum| {
            inputs.second_look_row(row, &mut y);
            let mut entries = sum.iter_mut();
            for i in 0..y.len() {
                for (j, entry) in (0..=i).zip(&mut entries) {
                    *entry += if i == j { 1.0 } else { std::f64::consts::SQRT_2 } * y[i] * y[j];
                }
            }
        });
        let belief = InputBelief::new(&summary, &inputs, &sum, deviation).unwrap();
        (inputs, belief)
    }

    fn level(&mut self, inputs: &CentredInputs, next: &NextLevel, level: usize) -> (Vec<f64>, f64) {
        let (bound, theta) = (level_bound(self.design), inputs.uncentred(&next.point));
        let at = LevelPoint { inputs, theta: &theta, clip: inputs.clip(level) };
        let mut vector = vec![0.0; bound.length];
        let sensitivity = bound.sensitivity(Adjacency::Substitute);
        self.release(bound.length, sensitivity, self.plan.levels[level], |row, sum| {
            at.row(row, &mut vector);
            sum.iter_mut().zip(&vector).for_each(|(sum, v)| *sum += v);
        })
    }
}

/// 20 data sets of 5,000 rows and 5 inputs at ε = 1 (μ = .268 at δ = 1e-5), coefficients drawn from the prior.
///
/// Of 120 intervals 90 % hold the true coefficient if they are right; the band is wider than three standard errors.
#[test]
fn nine_in_ten_intervals_hold_the_coefficient() {
    let (design, mut held, mut squares) = (InputDesign::new(5, vec![], vec![]).unwrap(), 0, 0.0);
    let public = PublicNumbers { rows: 5000.0, sources: 1.0, mu: 0.268 };
    for replicate in 0..20 {
        let mut noise = Noise(ChaCha8Rng::from_seed([replicate; 32]));
        let theta: Vec<f64> = (0..6).map(|_| 0.5 * noise.normal()).collect();
        let rows = drawn_rows(&theta, 5000, &mut noise);
        let plan = LevelPlan::with_first(LevelPlan::first_of(&design, public));
        let mut run = Run { rows: &rows, plan, design: &design, mu: public.mu, noise };
        let (inputs, belief) = run.belief();
        let readout = LevelReadout { design: &design, inputs: &inputs, belief: &belief, prior: &[4.0; 6] };
        let (mut evidence, mut next) = (Evidence::default(), readout.start());
        for level in 0..LEVELS {
            let (sum, deviation) = run.level(&inputs, &next, level);
            evidence.add(&inputs, 5000.0, &next.point, &sum, deviation).unwrap();
            next = readout.advance(&evidence, &next).unwrap().0;
        }
        let draws = belief.draws([replicate; 32], DRAWS).unwrap();
        let (posterior, _) = readout.posteriors(&evidence, &next.point, &draws).unwrap();
        for (j, truth) in theta.iter().enumerate() {
            let off = posterior.mean[j] - truth;
            held += usize::from(off.abs() < 1.645 * posterior.covariance[j * (j + 3) / 2].sqrt());
            squares += off * off / 120.0;
        }
    }
    let (coverage, error) = (f64::from(held as u32) / 120.0, f64::sqrt(squares));
    assert!((0.8..0.98).contains(&coverage), "{coverage} of the intervals hold, error {error}");
    assert!(error < 0.07, "error of coefficients {error}, coverage {coverage}");
}
