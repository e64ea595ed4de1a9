//! Which method to try first for such clients, which one the papers would, and why.

use super::meant::Study;
use super::sites::Sites;
use inference::describe::Offer;
use inference::settings::Aggregator;
use inference::{Kind, Method, Schema};

/// Training rows of a client from which on local data count as enough.
///
/// The paper names no number. In its experiments DP optimisation did well with 2,442 rows a client and fell behind with
/// 122 of them: the line is drawn between.
const ENOUGH_ROWS: u64 = 1_000;

/// A suggestion.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Guidance {
    /// The algorithm to try first.
    pub(crate) algorithm: &'static str,
    /// With which settings.
    pub(crate) settings: String,
    /// What the papers' own methods are good for.
    pub(crate) papers: Papers,
}

/// What the papers suggest.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Papers {
    /// The solver to try first.
    pub(crate) solver: &'static str,
    /// Whether it wants an aggregator.
    pub(crate) aggregator: bool,
    /// In a sentence.
    pub(crate) why: String,
    /// Whether some method of the study has an aggregator.
    #[serde(skip)]
    trusted: bool,
}

/// For models of xᵀθ noise-aware PVI: on Adult it beats the papers' methods on every split, with and without an
/// aggregator; docs/maths/noise-aware.md says where its settings come from, how far they carry, and what the rule rests on.
///
/// For linear models of few inputs with an aggregator one sum of sufficient statistics says it all (paper1-fig2).
///
/// On the digits (studies/digits-softmax.toml) and with a network on Adult (tmlr-fig4) it is behind DP optimisation without an
/// aggregator, and behind global VI with one.
pub(crate) fn guidance(study: &Study, sites: &Sites, schema: Option<&Schema>) -> Guidance {
    let papers = papers(&study.methods, sites);
    let few = sites.inputs.is_some_and(|inputs| inputs < inference::regression::MOST_INPUTS);
    let model = study.model.settings.build(None, 0);
    let has = |offer: Offer| model.offers().contains(&offer);
    let (algorithm, settings) = if has(Offer::ConjugatePosterior) {
        ("conjugate", CONJUGATE.to_owned())
    } else if !has(Offer::GaussianPosterior) {
        ("chain", CHAIN.to_owned())
    } else if has(Offer::GaussianLikelihood) && papers.trusted && few {
        ("statistics", STATISTICS.to_owned())
    } else if has(Offer::LinearPredictor) {
        ("noise-aware", noise_aware(study, sites, schema, papers.trusted))
    } else if papers.trusted {
        ("global-vi", GLOBAL_VI.to_owned())
    } else {
        ("pvi", DP_OPTIMISATION.to_owned())
    };
    Guidance { algorithm, settings, papers }
}

/// Settings of conjugate families: there are none.
const CONJUGATE: &str = "nothing to choose: the bounds are the schema's, and an aggregator adds the noise once";

/// Settings of sufficient statistics.
const STATISTICS: &str = "statistics = { bound = … } with the largest encoded value, and an aggregator: one or two rounds, and \
     intervals that count the noise; without an aggregator use noise-aware PVI";

/// Rows times ε under which noise-aware PVI does better with half the clip (docs/maths/noise-aware.md).
const ENOUGH_BUDGET: f64 = 1500.0;

/// Settings of noise-aware PVI, in numbers where the schema, the rows and ε are known: clip √k, k the inputs that are not 0
/// in a row; half of it where rows times ε is small, of all rows divided by the root of the clients without an aggregator;
/// damping at most 4 / k.
fn noise_aware(study: &Study, sites: &Sites, schema: Option<&Schema>, trusted: bool) -> String {
    const START: &str = "schedule = \"synchronous\", rounds = 15";
    let aggregator = if trusted { "" } else { "; an aggregator if there is one" };
    let Some(schema) = schema else {
        return format!(
            "{START}, clip = √k and damping of at most 4 / k, where k is the number of non-zero inputs of a row{aggregator}"
        );
    };
    let used = schema.columns().iter().filter(|column| !matches!(column.kind, Kind::Ignore)).count();
    let k = used + usize::from(study.model.intercept);
    let rows: u64 = sites.rows.iter().sum();
    let shared = if trusted { 1.0 } else { (sites.rows.len() as f64).sqrt() };
    let epsilon = study.methods.iter().find_map(|method| method.promise.as_ref()).map(|promise| promise.epsilon.get());
    let budget = epsilon.filter(|_| sites.basis.has_rows()).map(|epsilon| rows as f64 / shared * epsilon);
    let (half, divided, why) = match budget.filter(|budget| *budget < ENOUGH_BUDGET) {
        Some(budget) => {
            let of = if trusted { "rows · ε" } else { "rows · ε / √clients" };
            (0.5, " / 2", format!("; {of} is {budget:.0}, under {ENOUGH_BUDGET}"))
        }
        None => (1.0, "", String::new()),
    };
    let clip = half * (k as f64).sqrt();
    let usual = if trusted { 0.25 } else { 0.15 };
    let most = 4.0 / k as f64;
    let damping = if most < usual { format!(", damping = {most:.2}") } else { String::new() };
    format!("{START}, clip = {clip:.1} (√{k}{divided}: each row has {k} non-zero inputs{why}){damping}{aggregator}")
}

/// Settings of a chain.
const CHAIN: &str = "chain = { sampler = \"barker\", iterations = …, step = …, batch = …, counts_as = … }: its draws find both \
     modes of the posterior, which no Gaussian has";

/// Settings of DP optimisation.
const DP_OPTIMISATION: &str = "solver = \"dp-optimisation\", few long updates by Adam with keep_state = true, readout = { average = … }, \
     and a clip that few rows reach; noise-aware PVI is for linear and logistic models";

/// Settings of global VI.
const GLOBAL_VI: &str = "solver = \"dp-optimisation\", schedule = \"synchronous\", many rounds of one small step each, an \
     aggregator; noise-aware PVI is for linear and logistic models";

/// Heikkilä et al. 2022, section 5: DP optimisation with simple or complex models and any number of clients, as long as
/// these have enough local data; local averaging and virtual clients for simple models, above all with an aggregator;
/// of the two, virtual clients are the more robust.
fn papers(methods: &[Method], sites: &Sites) -> Papers {
    let trusted = |m: &Method| m.promise.as_ref().is_some_and(|p| p.aggregator != Aggregator::None);
    let aggregator = methods.iter().any(trusted);
    let typical = median(&sites.rows).filter(|_| sites.basis.has_rows());
    let about = sites.basis.about();
    let enough = typical.is_none_or(|rows| rows >= ENOUGH_ROWS);
    let why = match (aggregator, typical) {
        (true, _) => {
            "with an aggregator all clients share one noise, which virtual clients use for simple models more \
                      robustly than local averaging does"
                .to_owned()
        }
        (false, None) => {
            "the rows of a client are not declared; with enough of them DP optimisation does well, whatever \
                          the model and the number of clients"
                .to_owned()
        }
        (false, Some(rows)) if enough => format!(
            "a typical client has {about}{rows} training rows, enough for DP optimisation to do well, whatever the model \
             and the number of clients"
        ),
        (false, Some(rows)) => format!(
            "a typical client has only {about}{rows} training rows, too few for noise of its own: virtual clients share \
             one noise, where there is an aggregator"
        ),
    };
    let alone = !aggregator && enough;
    let solver = if alone { "dp-optimisation" } else { "virtual" };
    Papers { trusted: aggregator, solver, aggregator: !alone, why }
}

/// The middle one, or the smaller of the two in the middle.
fn median(rows: &[u64]) -> Option<u64> {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
