//! How long a message of a run may be: whatever a party says fits, and not much more does.

use crate::common::study::{ROWS, SEED, TestKeys, aligned, method};
use federation::identity::{PartyName, PartyRole};
use federation::log::Position;
use federation::manifest::{Manifest, Pace, RunBuilder, RunParts};
use federation::message::{Attempt, MemberId, Request, Update};
use federation::sealed_message::SealedChannel;
use federation::server::longest_request;
use federation::wire::{SMALL_BYTES, Sender, sign};
use inference::settings::{Aggregator, Promise};
use inference::{InputLayout, Logistic, Model, Network, Output, build};
use privacy::secure_sum::{Body, ClientSet, Message, Partial, Seed, SumParty, WordVector};
use privacy::{Assembly, Grid, GridVector};
use std::sync::Arc;

const AT: Attempt = Attempt { round: u64::MAX, attempt: u64::MAX };

/// Builds the methods of the small study for any number of inputs and nodes; `aligned` is a network's, whose gates let through
/// half as many numbers as an answer has.
struct WideBuilder(usize);

impl RunBuilder for WideBuilder {
    fn open(&self, manifest: &Manifest) -> Result<Arc<RunParts>, String> {
        let mut method = method(&manifest.method, 2, 0);
        let mut model: Arc<dyn Model> = Arc::new(Logistic::default());
        if manifest.method == "aligned" {
            method = aligned(2);
            model = Arc::new(Network { hidden: Vec::new(), output: Output::Binary, draws: 1, seed: SEED });
        }
        if let Some(Promise { aggregator: Aggregator::SecureSum(sum), .. }) = &mut method.promise {
            sum.nodes = u32::try_from(manifest.nodes.len()).map_err(|error| error.to_string())?;
        }
        let rows = vec![ROWS as u64; manifest.sites.len()];
        let built = build(&method, &rows, model, &InputLayout::new(self.0, self.0).unwrap(), &1.0.into(), SEED);
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
    fn letter(&self, own: MemberId, to: SumParty, body: Body) -> federation::message::SealedMessage {
        let session = self.assembly().session(self.manifest.run(), AT.round, AT.attempt);
        let (manifest, digest) = (&*self.manifest, self.manifest.digest());
        let channel = SealedChannel { own, key: &self.keys.server, manifest, digest, at: AT, question: [1; 32] };
        channel.write(to, &Message { session, body }).unwrap()
    }

    /// The lengths of all letters that the last site, and the last node, write at a time.
    fn longest_letters(&self) -> [usize; 2] {
        let (sites, nodes) = (self.manifest.sites.len(), self.manifest.nodes.len());
        let (client, others) = (sites as u64 - 1, 0..u32::try_from(nodes).unwrap() - 1);
        let last = others.end;
        let bytes = vec![255_u8; 8 * self.assembly().shape().dimension()];
        let words: WordVector = postcard::from_bytes(&postcard::to_allocvec(&bytes).unwrap()).unwrap();
        let site = |to, body| self.letter(MemberId::Site(sites - 1), SumParty::Node(to), body);
        let seeds = others.clone().map(|node| site(node, Body::Seed { client, node, seed: Seed::default() }));
        let from_site = seeds.chain([site(last, Body::Vector { client, words: words.clone() })]).collect();
        let node = |to, body| self.letter(MemberId::Node(last), to, body);
        let partial = Partial { node: last, digest: [1; 32], set: ClientSet::none(sites as u64), words };
        let to_each = others.flat_map(|to| {
            let holdings = Body::Holdings { node: last, held: ClientSet::none(sites as u64) };
            let confirmation = Body::Confirmation { node: last, digest: [1; 32] };
            [holdings, confirmation].map(|body| node(SumParty::Node(to), body))
        });
        let from_node = to_each.chain([node(SumParty::Opener, Body::Partial(partial))]).collect();
        [from_site, from_node].map(|letters| self.length(&Request::Letters(letters)))
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
    for (study, width) in [("synchronous", 3000), ("aligned", 8000)] {
        let run = WideRun::new(study, width, 3, 0);
        let numbers = run.parts.built.problem.family.len();
        assert!(numbers >= 2 * width, "{numbers}");
        let answer = GridVector::new(Grid::new(20).unwrap(), vec![1 << 62; numbers]);
        let position = Position { sequence: u64::MAX, digest: [1; 32] };
        let length = run.length(&Request::Update(Update { at: AT, question: [1; 32], answer, position }));
        let longest = run.longest();
        assert!((longest - SMALL_BYTES..longest).contains(&length), "{study}: {length} of {longest}");
    }
}

#[test]
fn all_letters_that_go_together_fit_with_little_to_spare() {
    let run = WideRun::new("sum", 60, 70, 2);
    for length in run.longest_letters() {
        let longest = run.longest();
        assert!(length < longest && longest < length + SMALL_BYTES + 16_000, "{length} of {longest}");
    }
}

#[test]
fn the_short_letters_to_very_many_nodes_fit_too() {
    let run = WideRun::new("sum", 2, 70, 250);
    let lengths = run.longest_letters();
    // A node writes two letters to every other one: more than the room that every request has.
    assert!(lengths[1] > SMALL_BYTES + 16_000, "{lengths:?}");
    assert!(lengths.iter().all(|length| *length < run.longest()), "{lengths:?} of {}", run.longest());
}
