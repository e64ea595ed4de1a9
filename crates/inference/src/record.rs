//! What one run of one method with one seed leaves behind.

use crate::fit::Fit;
use crate::last_rounds::OneParameter;
use crate::recovery::Recovery;
use crate::results::{CalibrationBin, ClientSpending, CurvePoint};
use crate::score::{PredictiveChecks, Scores};
use crate::warning::Warning;
use crate::{Gaussian, Quantiles};

/// Scores on the held-out rows of one site.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteScores {
    /// The site.
    pub site: String,
    /// How its rows were predicted.
    pub scores: Scores<f64>,
}

/// What a site learnt for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteIntercept {
    /// The site.
    pub site: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior deviation.
    pub deviation: f64,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The seed.
    pub seed: u64,
    /// Rounds made.
    pub rounds: u64,
    /// Server-client exchanges.
    pub messages: u64,
    /// Bytes sent by clients.
    pub bytes: u64,
    /// Scores along the way; the last is the end's.
    pub curve: Vec<CurvePoint>,
    /// Scores at the end.
    pub scores: Scores<f64>,
    /// Scores at the end on each site's own held-out rows, of sites that have any. Of "local only" those of each site's
    /// own fit, on all held-out rows where these belong to no site.
    pub sites: Vec<SiteScores>,
    /// KL(q ‖ exact posterior), the mean of the last ten rounds; none where the posterior has no closed form.
    pub kl: Option<f64>,
    /// The only parameter of a conjugate model; none of other models and of baselines.
    pub parameter: Option<OneParameter>,
    /// The served posterior against the coefficients that labels were drawn with; none where nobody knows them.
    pub recovery: Option<Recovery>,
    /// The served posterior.
    pub posterior: Gaussian,
    /// Quantiles of every parameter, where the served posterior is no Gaussian; `posterior` has its moments then.
    pub quantiles: Option<Vec<Quantiles>>,
    /// Draws of each chain, one after the other, warm-up included; empty where the method does not draw.
    pub chains: Vec<Vec<f64>>,
    /// Iterations at the start of each chain that the posterior leaves out.
    pub warm_up: u64,
    /// The variance of the outcome around its mean, where the method learnt it.
    pub outcome_variance: Option<f64>,
    /// Each site's own intercept, where the method has one. In a study each stays at its site.
    pub intercepts: Vec<SiteIntercept>,
    /// Predicted against observed frequency.
    pub calibration: Vec<CalibrationBin>,
    /// Predicted against observed outcomes in groups of held-out rows.
    pub checks: PredictiveChecks,
    /// The largest noise multiplier of the clients; none without privacy.
    pub noise_multiplier: Option<f64>,
    /// The largest clipping bound of the clients; none without privacy.
    pub clip: Option<f64>,
    /// What each client spent; empty without privacy.
    pub spending: Vec<ClientSpending>,
    /// How the search for the optimum ended, of baselines that search for one. Nothing is compared with one that did not
    /// converge.
    pub fit: Option<Fit>,
    /// How far each served mean moved in the last round, in its standard deviations; empty where the method does not approach
    /// its answer round by round, or made one round.
    pub last_moves: Vec<f64>,
    /// What the reader of this record should know of the method's plan.
    pub warnings: Vec<Warning>,
}

/// Looks on while a run goes on. It can stop it between two rounds, and change nothing else.
pub trait Observer {
    /// After each round: the point just reached, and the share of the budget that is left (1 without privacy).
    fn round(&mut self, point: &CurvePoint, of: u64, budget_left: f64);

    /// Whether the run is to stop here: asked before each round.
    fn stops(&mut self) -> bool {
        false
    }
}

impl Observer for () {
    fn round(&mut self, _: &CurvePoint, _: u64, _: f64) {}
}
