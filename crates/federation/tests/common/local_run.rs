//! A real server with sites and nodes that speak in turn, in one thread: whatever one of them says can be looked at or held back.

use super::scripted_server::{ScriptedServer, TestOwner, TestServer};
use federation::log::SimulatedDisk;
use federation::message::{Instruction, MemberId, Request};
use federation::party::{PartyMachine, PartyPhase, SiteParty};
use federation::wire::{self, UnverifiedContent};
use std::collections::VecDeque;

/// A server, and everybody who takes part.
pub(crate) struct LocalRun {
    pub(crate) front: TestServer,
    /// The sites' disks.
    pub(crate) disks: Vec<SimulatedDisk>,
    pub(crate) sites: Vec<SiteParty<SimulatedDisk>>,
    /// The nodes' disks.
    pub(crate) node_disks: Vec<SimulatedDisk>,
    nodes: Vec<Box<dyn PartyMachine>>,
    queues: Vec<VecDeque<Vec<u8>>>,
    /// The time that the server was told, in milliseconds.
    now: u64,
}

impl LocalRun {
    /// Everybody of a hand, the sites with these owners.
    pub(crate) fn new(script: ScriptedServer, owner: impl Fn(usize) -> TestOwner) -> Self {
        let front = TestServer::running(script);
        let keys = front.script.keys.clone();
        let disks: Vec<SimulatedDisk> = keys.sites.iter().map(|_| SimulatedDisk::new()).collect();
        let sites = disks.iter().enumerate().map(|(m, disk)| front.script.site(m, disk, owner(m))).collect();
        let node_disks: Vec<SimulatedDisk> = keys.nodes.iter().map(|_| SimulatedDisk::new()).collect();
        let node = |(k, disk)| Box::new(front.script.node(k, disk)) as Box<dyn PartyMachine>;
        let nodes = node_disks.iter().enumerate().map(node).collect();
        let queues = vec![VecDeque::new(); keys.sites.len() + keys.nodes.len()];
        Self { front, disks, sites, node_disks, nodes, queues, now: 0 }
    }

    /// So much time passes that any wait before another attempt is over.
    pub(crate) fn wait(&mut self) {
        self.front.engine.tick(self.now);
        self.now += 61_000;
        self.front.engine.tick(self.now);
    }

    /// A node's process ends, and another takes up what is on its disk.
    pub(crate) fn restart_node(&mut self, node: usize) {
        self.nodes[node] = Box::new(self.front.script.node(node, &self.node_disks[node]));
        let place = self.sites.len() + node;
        self.queues[place].clear();
    }

    /// A site's process ends, and another takes up what is on its disk.
    pub(crate) fn restart_site(&mut self, site: usize, owner: TestOwner) {
        self.sites[site] = self.front.script.site(site, &self.disks[site], owner);
        self.queues[site].clear();
    }

    /// What each site has charged in this run.
    pub(crate) fn charges(&self) -> Vec<usize> {
        self.disks.iter().map(|disk| self.front.script.charges(disk)).collect()
    }

    /// Every member says one thing, in turn.
    pub(crate) fn turn(&mut self) {
        for member in self.members() {
            let (bytes, _) = self.next(member);
            self.deliver(member, &bytes);
        }
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

    /// A member hears this from the server, as if it had polled.
    pub(crate) fn tell(&mut self, member: MemberId, instructions: Vec<Instruction>) {
        let (party, _) = self.party(member);
        let to = wire::content_digest(&party.attend(0)).unwrap();
        let reply = self.front.script.reply(&self.front.script.keys.server, to, None, instructions);
        let (party, queue) = self.party(member);
        queue.extend(party.hear_bytes(&reply, &to).unwrap());
    }

    /// Whether everybody knows that the run is over.
    pub(crate) fn is_over(&self) -> bool {
        let over = |party: &dyn PartyMachine| matches!(party.standing(), PartyPhase::Finished(_));
        self.sites.iter().all(|site| over(site)) && self.nodes.iter().all(|node| over(node.as_ref()))
    }
}
