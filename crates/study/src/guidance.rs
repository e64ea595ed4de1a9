//! Which method to try first for such clients, which one the papers would, and why.

use super::sites::Sites;
use inference::describe::Offer;
use inference::settings::Aggregator;
use inference::{Method, StudyModel};

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
    pub(crate) settings: &'static str,
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
pub(crate) fn guidance(model: &StudyModel, methods: &[Method], sites: &Sites) -> Guidance {
    let papers = papers(methods, sites);
    let few = sites.inputs.is_some_and(|inputs| inputs < inference::regression::MOST_INPUTS);
    let model = model.settings.build(None, 0);
    let has = |offer: Offer| model.offers().contains(&offer);
    let (algorithm, settings) = if !has(Offer::GaussianPosterior) {
        ("chain", CHAIN)
    } else if has(Offer::GaussianLikelihood) && papers.trusted && few {
        ("statistics", STATISTICS)
    } else if has(Offer::LinearPredictor) {
        ("noise-aware", NOISE_AWARE)
    } else if papers.trusted {
        ("global-vi", GLOBAL_VI)
    } else {
        ("pvi", DP_OPTIMISATION)
    };
    Guidance { algorithm, settings, papers }
}

/// Settings of sufficient statistics.
const STATISTICS: &str = "statistics = { bound = the largest encoded value }, an aggregator: one or two rounds, with intervals that \
     count the noise; noise-aware PVI where nobody adds up";

/// Settings of noise-aware PVI.
const NOISE_AWARE: &str = "schedule = \"synchronous\", rounds = 15, clip = the root of k, the number of inputs that are not 0 in a \
     row (half of it where rows times ε is under 1500, the rows over the root of the clients where there is no aggregator), \
     damping at most 4 / k, all rows, an aggregator if there is one; the rest has usual values";

/// Settings of a chain.
const CHAIN: &str = "a posterior of two modes is no Gaussian: chain = { sampler = \"barker\", iterations, step, batch, counts_as }, \
     whose draws see both";

/// Settings of DP optimisation.
const DP_OPTIMISATION: &str = "solver = \"dp-optimisation\", few long updates of adam with keep_state = true, the mean of the \
     last rounds, and a clip that few rows reach; noise-aware PVI is for linear and logistic models";

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
    let local = match typical {
        None => "how many rows a client has is not declared".to_owned(),
        Some(rows) if rows >= ENOUGH_ROWS => {
            format!("a typical client has {about}{rows} training rows, which is enough")
        }
        Some(rows) => format!("a typical client has only {about}{rows} training rows"),
    };
    let enough = typical.is_none_or(|rows| rows >= ENOUGH_ROWS);
    let why = match (aggregator, enough) {
        (true, _) => {
            "with an aggregator the clients share one noise, and virtual clients use that for simple models, \
                      more robustly than local averaging"
        }
        (false, true) => "then DP optimisation does well, whatever the number of clients and the model",
        (false, false) => {
            "then noise at each client is dear: DP optimisation cannot share it, virtual clients can, so an \
                           aggregator would help most"
        }
    };
    let solver = if !aggregator && enough { "dp-optimisation" } else { "virtual" };
    Papers { trusted: aggregator, solver, aggregator: solver == "virtual", why: format!("{local}; {why}") }
}

/// The middle one, or the smaller of the two in the middle.
fn median(rows: &[u64]) -> Option<u64> {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
