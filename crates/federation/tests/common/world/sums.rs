//! What goes wrong in sums: nodes that renounce or keep their part back, and a server that asks a second question.

use super::{FaultWorld, MessageInFlight};
use crate::common::message_kind::{MessageKind, kind};
use federation::identity::{PartyName, PartyRole};
use federation::message::{Attempt, Instruction, MemberId, NodeState, Request, SealedMessage};
use federation::wire::{self, Sender, ServerReply, UnverifiedContent};
use inference::algorithm::Answers;
use privacy::GridVector;
use privacy::secure_sum::Renunciation;
use prost::Message as _;

impl FaultWorld {
    /// The attempt at a sum that is under way, and a node of it.
    fn present(&mut self) -> Option<(Attempt, usize)> {
        let header = self.server.as_ref()?.coordinator().header();
        let at = Attempt { round: header.round, attempt: header.session };
        let (sites, nodes) = (self.manifest.sites.len(), self.manifest.nodes.len());
        (nodes > 0).then(|| (at, sites + self.random.below(nodes)))
    }

    /// A node says that it will not publish in the present attempt.
    pub(super) fn renounce(&mut self) {
        let Some((at, party)) = self.present() else { return };
        self.troubles += 1;
        self.say_renounced(at, party);
    }

    fn say_renounced(&mut self, at: Attempt, party: usize) {
        let MemberId::Node(node) = self.actors[party].member else { return };
        let (name, key, _) = self.keys.nodes[node as usize].clone();
        let sender = Sender { role: PartyRole::Node, name, manifest: Some(self.manifest.digest()) };
        let state = NodeState::Renounced(Renunciation::Lost);
        let (bytes, _) = wire::sign(&key, &sender, &Request::Standing { at, state });
        self.launch(MessageInFlight { party, bytes, reply_to: None });
    }

    /// A node will keep its part of the present attempt to itself.
    pub(super) fn withhold(&mut self) {
        let Some((at, party)) = self.present() else { return };
        self.actors[party].withheld = Some(at);
    }

    /// Whether a node keeps this to itself; it says then that it will never send it.
    pub(super) fn is_withheld(&mut self, party: usize, bytes: &[u8]) -> bool {
        let Some(at) = self.actors[party].withheld else { return false };
        let said = UnverifiedContent::read(bytes).and_then(|said| said.claimed_request());
        let part = |letter: &SealedMessage| letter.at == at && kind(letter) == MessageKind::Part;
        let is_part = matches!(said, Ok(Request::Letters(letters)) if letters.iter().any(part));
        if is_part {
            self.troubles += 1;
            self.say_renounced(at, party);
        }
        is_part
    }

    /// The server asks a site another question of the round that is under way: it gets no answer, or that question is the round's.
    pub(super) fn ask_something_else(&mut self) {
        let Some((at, _)) = self.present() else { return };
        let party = self.random.below(self.manifest.sites.len());
        let (built, terms) = (&self.parts.built, &self.parts.built.terms[0]);
        let state = built.protocol.start().unwrap();
        let total = GridVector::new(terms.shape.grid(), vec![1 << 20; terms.shape.dimension()]);
        let from = (0..self.manifest.sites.len()).collect();
        let folded = built.protocol.fold(&state, &Answers::Sum { total, from }).unwrap();
        let query = built.protocol.ask(&folded.state).unwrap();
        let Some(machine) = &mut self.actors[party].party else { return };
        let to = wire::content_digest(&machine.attend(0)).unwrap();
        let sender = Sender {
            role: PartyRole::Server,
            name: PartyName::new("server").unwrap(),
            manifest: Some(self.manifest.digest()),
        };
        let instructions = vec![Instruction::Ask { at, query }];
        let reply = wire::sign_reply(&self.keys.server, &sender, &ServerReply { to, seen: None, instructions });
        self.troubles += 1;
        self.launch(MessageInFlight { party, bytes: reply.encode_to_vec(), reply_to: Some(to) });
    }
}
