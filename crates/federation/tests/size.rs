//! How long a message of a run may be: whatever a party says fits, and not much more does.

use crate::common::study::{ROWS, SEED, TestKeys, method};
use federation::identity::{PartyName, PartyRole};
use federation::log::Position;
use federation::manifest::{Manifest, Pace, RunBuilder, RunParts};
use federation::message::{Attempt, MemberId, Request, Update};
use federation::sealed_message::SealedChannel;
use federation::server::longest_request;
use federation::wire::{SMALL_BYTES, Sender, sign};
use inference::{Logistic, build};
use privacy::secure_sum::{Body, Members, Message, Partial, Party, Seed, Words};
use privacy::{Assembly, Grid, GridVector};
use std::sync::Arc;

const AT: Attempt = Attempt { round: u64::MAX, attempt: u64::MAX };

/// Builds the methods of the small study for any number of inputs.
struct WideBuilder(usize);

impl RunBuilder for WideBuilder {
    fn open(&self, manifest: &Manifest) -> Result<Arc<RunParts>, String> {
        let method = method(&manifest.method, 2, 0);
        let rows = vec![ROWS as u64; manifest.sites.len()];
        let built = build(&method, &rows, Arc::new(Logistic::default()), self.0, 1.0, SEED);
        Ok(Arc::new(RunParts { method, built: built.map_err(|error| error.to_string())? }))
    }
}

/// A run of so many inputs, sites and nodes.
struct WideRun {
    keys: TestKeys,
    manifest: Arc<Manifest>,
    parts: Arc<RunParts>,
}

impl WideRun {
    fn new(study: &str, width: usize, sites: usize, nodes: usize) -> Self {
        let keys = TestKeys::new(sites, nodes);
        let pace = Pace { rounds: 1, quorum: sites as u64, deadline: None };
        let manifest = keys.manifest(study, 1, pace, &WideBuilder(width));
        let parts = WideBuilder(width).open(&manifest).unwrap();
        Self { keys, manifest, parts }
    }

    fn longest(&self) -> usize {
        longest_request(&self.manifest, &self.parts)
    }

    /// The length of a request as it is sent, under the longest name that there is.
    fn length(&self, request: &Request) -> usize {
        let name = PartyName::new(&"n".repeat(63)).unwrap();
        let sender = Sender { role: PartyRole::Site, name, manifest: Some(self.manifest.digest()) };
        sign(&self.keys.server, &sender, request).0.len()
    }

    /// A letter of one member to another.
    fn letter(&self, own: MemberId, to: Party, body: Body) -> federation::message::SealedMessage {
        let session = self.assembly().session(self.manifest.run(), AT.round, AT.attempt);
        let (manifest, digest) = (&*self.manifest, self.manifest.digest());
        let channel = SealedChannel { own, key: &self.keys.server, manifest, digest, at: AT, question: [1; 32] };
        channel.write(to, &Message { session, body }).unwrap()
    }

    /// The sum of the most numbers in this run.
    fn assembly(&self) -> Assembly {
        let built = &self.parts.built;
        let terms = built.terms.iter().chain(built.openings.iter().flatten().map(|opening| &opening.terms));
        let widest = terms.max_by_key(|terms| terms.shape.dimension()).unwrap();
        built.summing.assembly(widest).unwrap().unwrap()
    }
}

#[test]
fn the_longest_answer_fits_with_little_to_spare() {
    let run = WideRun::new("synchronous", 3000, 3, 0);
    let numbers = run.parts.built.problem.family.len();
    assert!(numbers >= 6000, "{numbers}");
    let answer = GridVector::new(Grid::new(20).unwrap(), vec![1 << 62; numbers]);
    let position = Position { sequence: u64::MAX, digest: [1; 32] };
    let length = run.length(&Request::Update(Update { at: AT, question: [1; 32], answer, position }));
    assert!((run.longest() - SMALL_BYTES..run.longest()).contains(&length), "{length} of {}", run.longest());
}

#[test]
fn all_letters_that_go_together_fit_with_little_to_spare() {
    let run = WideRun::new("sum", 60, 70, 2);
    let bytes = vec![255_u8; 8 * run.assembly().shape().dimension()];
    let words: Words = postcard::from_bytes(&postcard::to_allocvec(&bytes).unwrap()).unwrap();
    let site = |to, body| run.letter(MemberId::Site(69), Party::Node(to), body);
    let from_site = vec![
        site(0, Body::Seed { client: 69, node: 0, seed: Seed::default() }),
        site(1, Body::Vector { client: 69, words: words.clone() }),
    ];
    let node = |to, body| run.letter(MemberId::Node(1), to, body);
    let partial = Partial { node: 1, digest: [1; 32], set: Members::none(70), words };
    let from_node = vec![
        node(Party::Node(0), Body::Holdings { node: 1, held: Members::none(70) }),
        node(Party::Node(0), Body::Confirmation { node: 1, digest: [1; 32] }),
        node(Party::Opener, Body::Partial(partial)),
    ];
    for letters in [from_site, from_node] {
        let (length, longest) = (run.length(&Request::Letters(letters)), run.longest());
        assert!(length < longest && longest < length + SMALL_BYTES + 16_000, "{length} of {longest}");
    }
}
