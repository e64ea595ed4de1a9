//! Who takes part in a secure sum and on what terms, and one attempt at opening one.
//!
//! Terms are agreed on before anything is sent: cohort, nodes, noise, event and shape. Each party computes the digest from its own
//! copy, and a message with another digest is refused.

use super::SumError;
use crate::noise::{Digest, NoiseContext};
use crate::{Cohort, CuratorGate, Event, PrivacyError, Shape, ShareGate};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Most clients of a sum: a node keeps 16 bytes for each.
const MOST_CLIENTS: u64 = 1 << 32;

/// Most nodes of a sum: every client makes a mask for each.
const MOST_NODES: u32 = 256;

/// Where the noise of a secure sum comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SumNoise {
    /// Every node adds one rounded Gaussian of the full variance: one honest node suffices.
    Nodes,
    /// Every client adds a share, discrete Gaussian or Skellam as the event says: enough honest clients suffice, whatever the nodes do but collude.
    Clients,
}

/// The terms of a sum. Every party has its own copy, and takes none from another.
///
/// Its digest is what messages are bound to: a server that claims more clients, other noise or other bounds has another
/// digest, and is refused before anything is split.
///
/// # Examples
///
/// ```
/// use privacy::{
///     Adjacency, Assembly, Cohort, Event, Grain, Grid, NoiseMultiplier, NormBound, Shape, Steps, SumNoise,
/// };
///
/// let shape = Shape::new(1, NormBound::new(1.0)?, Grain::Whole, Grid::new(20)?)?;
/// let event = Event::gaussian(NoiseMultiplier::new(1.0)?, Adjacency::Substitute, Steps::ONE);
/// let terms = |nodes| Assembly::new(Cohort::new(5, 0, 1)?, nodes, SumNoise::Nodes, &event, shape);
/// // Other terms have another digest; one node alone would see every vector.
/// assert_ne!(terms(2)?.digest(), terms(3)?.digest());
/// assert!(terms(1).is_err());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Assembly {
    cohort: Cohort,
    nodes: u32,
    noise: SumNoise,
    event: Event,
    shape: Shape,
    digest: Digest,
}

impl Assembly {
    /// Checks that the event is one that this noise serves, for this shape and cohort.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside 2 to 256 nodes or over 2^32 clients, and what the gate of this noise refuses.
    pub fn new(cohort: Cohort, nodes: u32, noise: SumNoise, event: &Event, shape: Shape) -> Result<Self, PrivacyError> {
        if !(2..=MOST_NODES).contains(&nodes) || cohort.clients() > MOST_CLIENTS {
            return Err(PrivacyError::Parameter {
                name: "secure sum",
                found: format!("{nodes} nodes, {} clients", cohort.clients()),
                expected: "2 to 256 nodes (one alone would see every vector), and at most 2^32 clients",
            });
        }
        match noise {
            SumNoise::Nodes => CuratorGate::check(event, &shape)?,
            SumNoise::Clients => ShareGate::check(event, &shape, &cohort)?,
        }
        let digest = digest_of("secure sum: assembly", &(cohort, nodes, noise, event, shape))?;
        Ok(Self { cohort, nodes, noise, event: event.clone(), shape, digest })
    }

    /// N clients, T_c colluders and T_d drop-outs that the noise was sized for.
    pub fn cohort(&self) -> &Cohort {
        &self.cohort
    }

    /// K: the number of nodes. All of them are needed to open a total, and one honest one suffices for secrecy.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Where the noise comes from.
    pub fn noise(&self) -> SumNoise {
        self.noise
    }

    /// The event that every client is charged for.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The shape of the vectors.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// SHA-256 of the canonical bytes of all terms.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// One attempt at the sum of a round.
    pub fn session(&self, run: [u8; 16], round: u64, attempt: u64) -> SumSession {
        SumSession { run, round, attempt, manifest: self.digest }
    }

    /// The node that gets a client's vector; the others get seeds. It rotates, so that every node has the same work.
    pub fn vector_node(&self, client: u64) -> u32 {
        (client % u64::from(self.nodes)) as u32
    }

    /// Refuses a session of other terms than these.
    pub(super) fn check(&self, session: &SumSession) -> Result<(), SumError> {
        let own = SumSession { manifest: self.digest, ..*session };
        own.check(session)
    }

    /// All nodes but one.
    pub(super) fn nodes_but(&self, one: u32) -> impl Iterator<Item = u32> + use<> {
        (0..self.nodes).filter(move |node| *node != one)
    }
}

/// One attempt at opening the sum of one round: every message names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumSession {
    /// The run that the round belongs to.
    pub run: [u8; 16],
    /// The round within the run.
    pub round: u64,
    /// The attempt within the round.
    pub attempt: u64,
    /// Digest of the terms.
    pub manifest: Digest,
}

impl SumSession {
    /// Refuses another session, and says in what it differs.
    pub(super) fn check(&self, other: &Self) -> Result<(), SumError> {
        let differs = |what, expected: String, found: String| Err(SumError::OtherSession { what, expected, found });
        if self == other {
            Ok(())
        } else if self.manifest != other.manifest {
            differs("terms", short(&self.manifest), short(&other.manifest))
        } else if self.run != other.run {
            differs("run", short(&self.run), short(&other.run))
        } else if self.round != other.round {
            differs("round", self.round.to_string(), other.round.to_string())
        } else {
            differs("attempt", self.attempt.to_string(), other.attempt.to_string())
        }
    }

    /// SHA-256 of everything that names the session: masks are bound to it.
    pub(super) fn digest(&self) -> Digest {
        let mut hash = Sha256::new_with_prefix("secure sum: session");
        hash.update(self.run);
        hash.update(self.round.to_le_bytes());
        hash.update(self.attempt.to_le_bytes());
        hash.update(self.manifest);
        hash.finalize().into()
    }

    /// A context for random bits of this session that no gate's noise has: its question is a digest of what they are for.
    pub(super) fn context(&self, purpose: &str, site: u64, context: &NoiseContext) -> NoiseContext {
        let mut hash = Sha256::new_with_prefix("secure sum: random bits");
        hash.update(self.digest());
        hash.update(context.query);
        hash.update(purpose);
        NoiseContext { site, query: hash.finalize().into(), ..*context }
    }
}

/// The first bytes of an identifier, for an error.
fn short(bytes: &[u8]) -> String {
    bytes.iter().take(4).map(|b| format!("{b:02x}")).collect::<String>() + "…"
}

/// SHA-256 of a name and canonical bytes.
pub(super) fn digest_of(name: &str, value: &impl Serialize) -> Result<Digest, PrivacyError> {
    let bytes = postcard::to_allocvec(value).map_err(|_| PrivacyError::Parameter {
        name: "secure sum",
        found: "terms without canonical bytes".into(),
        expected: "finite numbers",
    })?;
    Ok(Sha256::new_with_prefix(name).chain_update(bytes).finalize().into())
}
