//! A real server with sites and nodes that speak in turn, in one thread: whatever one of them says can be looked at or held back.

use super::scripted_server::{ScriptedServer, TestOwner, TestServer};
use federation::log::SimulatedDisk;
use federation::message::{MemberId, Request};
use federation::party::{PartyMachine, PartyPhase, SiteParty};
use federation::wire::{self, UnverifiedContent};
use std::collections::VecDeque;

/// A server, and everybody who takes part.
pub(crate) struct LocalRun {
    pub(crate) front: TestServer,
    /// The sites' disks.
    pub(crate) disks: Vec<SimulatedDisk>,
    pub(crate) sites: Vec<SiteParty<SimulatedDisk>>,
    nodes: Vec<Box<dyn PartyMachine>>,
    queues: Vec<VecDeque<Vec<u8>>>,
}

impl LocalRun {
    /// Everybody of a hand, the sites with these owners.
    pub(crate) fn new(script: ScriptedServer, owner: impl Fn(usize) -> TestOwner) -> Self {
        let front = TestServer::running(script);
        let keys = front.script.keys.clone();
        let disks: Vec<SimulatedDisk> = keys.sites.iter().map(|_| SimulatedDisk::new()).collect();
        let sites = disks.iter().enumerate().map(|(m, disk)| front.script.site(m, disk, owner(m))).collect();
        let node = |k| Box::new(front.script.node(k, &SimulatedDisk::new())) as Box<dyn PartyMachine>;
        let nodes = (0..keys.nodes.len()).map(node).collect();
        Self { front, disks, sites, nodes, queues: vec![VecDeque::new(); keys.sites.len() + keys.nodes.len()] }
    }

    /// The sites, then the nodes.
    pub(crate) fn members(&self) -> Vec<MemberId> {
        let nodes = (0..).zip(&self.nodes).map(|(node, _)| MemberId::Node(node));
        (0..self.sites.len()).map(MemberId::Site).chain(nodes).collect()
    }

    fn party(&mut self, member: MemberId) -> (&mut dyn PartyMachine, &mut VecDeque<Vec<u8>>) {
        let sites = self.sites.len();
        match member {
            MemberId::Site(site) => (&mut self.sites[site], &mut self.queues[site]),
            MemberId::Node(node) => (self.nodes[node as usize].as_mut(), &mut self.queues[sites + node as usize]),
            MemberId::Server => panic!("the server does not call"),
        }
    }

    /// What a member says next: what it has to say, or a poll.
    pub(crate) fn next(&mut self, member: MemberId) -> (Vec<u8>, Request) {
        let (party, queue) = self.party(member);
        let bytes = queue.pop_front().unwrap_or_else(|| party.attend(0));
        let request = UnverifiedContent::read(&bytes).unwrap().claimed_request().unwrap();
        (bytes, request)
    }

    /// The server hears it, and the member the reply.
    pub(crate) fn deliver(&mut self, member: MemberId, bytes: &[u8]) {
        let reply = self.front.reply(self.front.caller(member).0, bytes);
        let (party, queue) = self.party(member);
        queue.extend(party.hear_bytes(&reply, &wire::content_digest(bytes).unwrap()).unwrap());
    }

    /// Whether everybody knows that the run is over.
    pub(crate) fn is_over(&self) -> bool {
        let over = |party: &dyn PartyMachine| matches!(party.standing(), PartyPhase::Finished(_));
        self.sites.iter().all(|site| over(site)) && self.nodes.iter().all(|node| over(node.as_ref()))
    }
}
