//! A real server with sites and nodes that speak in turn, in one thread: whatever one of them says can be looked at or held back.

use super::hand::{Front, Hand, Owner};
use federation::log::SimulatedDisk;
use federation::message::{Member, Request};
use federation::party::{Party, SiteParty, Standing};
use federation::wire::{self, Unverified};
use std::collections::VecDeque;

/// A server, and everybody who takes part.
pub(crate) struct Company {
    pub(crate) front: Front,
    /// The sites' disks.
    pub(crate) disks: Vec<SimulatedDisk>,
    pub(crate) sites: Vec<SiteParty<SimulatedDisk>>,
    nodes: Vec<Box<dyn Party>>,
    queues: Vec<VecDeque<Vec<u8>>>,
}

impl Company {
    /// Everybody of a hand, the sites with these owners.
    pub(crate) fn new(hand: Hand, owner: impl Fn(usize) -> Owner) -> Self {
        let front = Front::running(hand);
        let cast = front.hand.cast.clone();
        let disks: Vec<SimulatedDisk> = cast.sites.iter().map(|_| SimulatedDisk::new()).collect();
        let sites = disks.iter().enumerate().map(|(m, disk)| front.hand.site(m, disk, owner(m))).collect();
        let node = |k| Box::new(front.hand.node(k, &SimulatedDisk::new())) as Box<dyn Party>;
        let nodes = (0..cast.nodes.len()).map(node).collect();
        Self { front, disks, sites, nodes, queues: vec![VecDeque::new(); cast.sites.len() + cast.nodes.len()] }
    }

    /// The sites, then the nodes.
    pub(crate) fn members(&self) -> Vec<Member> {
        let nodes = (0..).zip(&self.nodes).map(|(node, _)| Member::Node(node));
        (0..self.sites.len()).map(Member::Site).chain(nodes).collect()
    }

    fn party(&mut self, member: Member) -> (&mut dyn Party, &mut VecDeque<Vec<u8>>) {
        let sites = self.sites.len();
        match member {
            Member::Site(site) => (&mut self.sites[site], &mut self.queues[site]),
            Member::Node(node) => (self.nodes[node as usize].as_mut(), &mut self.queues[sites + node as usize]),
            Member::Server => panic!("the server does not call"),
        }
    }

    /// What a member says next: what it has to say, or a poll.
    pub(crate) fn next(&mut self, member: Member) -> (Vec<u8>, Request) {
        let (party, queue) = self.party(member);
        let bytes = queue.pop_front().unwrap_or_else(|| party.attend(0));
        let request = Unverified::read(&bytes).unwrap().claimed_request().unwrap();
        (bytes, request)
    }

    /// The server hears it, and the member the reply.
    pub(crate) fn deliver(&mut self, member: Member, bytes: &[u8]) {
        let reply = self.front.reply(self.front.caller(member).0, bytes);
        let (party, queue) = self.party(member);
        queue.extend(party.hear(&reply, &wire::content_digest(bytes).unwrap()).unwrap());
    }

    /// Whether everybody knows that the run is over.
    pub(crate) fn is_over(&self) -> bool {
        let over = |party: &dyn Party| matches!(party.standing(), Standing::Finished(_));
        self.sites.iter().all(|site| over(site)) && self.nodes.iter().all(|node| over(node.as_ref()))
    }
}
