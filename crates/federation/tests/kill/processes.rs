//! Who starts the processes of a federation, kills them, and starts them again.

use crate::common::random::SeededRandom;
use crate::postgres::Postgres;
use crate::run_folder::RunFolder;
use std::fs::OpenOptions;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Most kills of one run: every one may burn a charge, and a budget covers about so many.
const MOST: u64 = 12;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// The next place, whichever it is.
const ANY: &str = "any";

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProcessKind {
    Server,
    Site,
    Node,
}

/// Places at which a process of each kind passes.
pub(crate) const PASSED: [(ProcessKind, &[&str]); 3] = [
    (ProcessKind::Server, &["commit", "committed", "reply"]),
    (ProcessKind::Site, &["append", "appended", "sync", "synced", "replace", "replaced", "send", "sent", "heard"]),
    (ProcessKind::Node, &["replace", "replaced", "send", "sent", "heard"]),
];

/// Kills that are still to be made, over any number of runs.
pub(crate) struct KillCampaign {
    pub(crate) random: SeededRandom,
    pub(crate) wanted: u64,
    pub(crate) made: u64,
    /// Places that nobody has died at yet.
    pub(crate) open: Vec<(ProcessKind, &'static str)>,
}

impl KillCampaign {
    pub(crate) fn new(seed: u64, wanted: u64, kinds: &[ProcessKind]) -> Self {
        let of =
            |(kind, places): (ProcessKind, &'static [&'static str])| places.iter().map(move |place| (kind, *place));
        let open = PASSED.into_iter().filter(|(kind, _)| kinds.contains(kind)).flat_map(of);
        Self { random: SeededRandom::new(seed), wanted, made: 0, open: open.collect() }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.made >= self.wanted && self.open.is_empty()
    }

    /// A place for a process of this kind to die at, and at which passing of it: one where nobody has died yet; when there
    /// is none, any place for every other process.
    fn place(&mut self, kind: ProcessKind) -> Option<(&'static str, usize)> {
        let fitting: Vec<usize> = (0..self.open.len()).filter(|&at| self.open[at].0 == kind).collect();
        match fitting.get(self.random.below(fitting.len())) {
            Some(&at) => Some((self.open.swap_remove(at).1, 1 + self.random.below(8))),
            None if self.made < self.wanted && self.random.once_in(2) => Some((ANY, 1 + self.random.below(60))),
            None => None,
        }
    }

    /// A place that nobody came to is for another run.
    fn put_back(&mut self, kind: ProcessKind, place: Option<&'static str>) {
        self.open.extend(place.filter(|place| *place != ANY).map(|place| (kind, place)));
    }
}

/// One process of the federation.
struct RunProcess {
    kind: ProcessKind,
    name: String,
    part: String,
    child: Option<Child>,
    place: Option<&'static str>,
    /// Whether it was killed from here.
    shot: bool,
}

/// All processes of a run. Dropping it ends them.
pub(crate) struct RunProcesses<'a> {
    stage: &'a RunFolder,
    /// Where the servers keep the run.
    store: String,
    players: Vec<RunProcess>,
    kills: u64,
    /// Sites and nodes that were killed.
    pub(crate) fallen: u64,
}

impl<'a> RunProcesses<'a> {
    /// Starts so many servers on one store, and everybody else, spread over them.
    pub(crate) fn start(stage: &'a RunFolder, servers: usize, place: &str, campaign: &mut KillCampaign) -> Self {
        let ports: Vec<u16> = (0..servers).map(|_| free_port(&mut campaign.random)).collect();
        let player = |kind, name: String, part| RunProcess { kind, name, part, child: None, place: None, shot: false };
        let mut players = Vec::new();
        for (number, port) in ports.iter().enumerate() {
            players.push(player(ProcessKind::Server, format!("server-{number}"), format!("server {port} {place}")));
        }
        for (kind, word, count) in
            [(ProcessKind::Site, "site", stage.scene.sites), (ProcessKind::Node, "node", stage.scene.nodes)]
        {
            for number in 0..count {
                let port = ports[number % ports.len()];
                players.push(player(kind, format!("{word}-{number}"), format!("{word} {number} {port}")));
            }
        }
        let mut processes = Self { stage, store: place.into(), players, kills: 0, fallen: 0 };
        for number in 0..processes.players.len() {
            processes.raise(number, campaign);
        }
        processes
    }

    /// Starts a process, on its way to a place to die at if there is one left for it.
    fn raise(&mut self, number: usize, campaign: &mut KillCampaign) {
        let player = &mut self.players[number];
        let log = self.stage.folder.join(format!("{}.log", player.name));
        let log = OpenOptions::new().append(true).create(true).open(log).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_process_of_a_federation", "--nocapture", "--test-threads=1"]);
        command.env("POSTERITY_STAGE", &self.stage.folder).env("POSTERITY_SCENE", &self.stage.text);
        command.env("POSTERITY_PART", &player.part).stdin(Stdio::piped());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        (player.place, player.shot) = (None, false);
        if self.kills < MOST
            && let Some((place, times)) = campaign.place(player.kind)
        {
            command.env("POSTERITY_FAILPOINT", format!("{place}:{times}"));
            player.place = Some(place);
        }
        player.child = Some(command.spawn().unwrap());
    }

    /// Lives, dies and is raised again until all parties have come to the end of the run.
    pub(crate) fn perform(&mut self, campaign: &mut KillCampaign, mut database: Option<&mut Postgres>) {
        let begun = Instant::now();
        let mut next = begun + pause(&mut campaign.random);
        while self.players.iter().any(|player| player.kind != ProcessKind::Server && player.child.is_some()) {
            assert!(begun.elapsed() < PATIENCE, "the run does not come to its end: {}", self.tell());
            self.bury(campaign);
            if Instant::now() >= next && self.kills < MOST && campaign.made < campaign.wanted {
                next = Instant::now() + pause(&mut campaign.random);
                match &mut database {
                    Some(database) if campaign.random.once_in(8) => {
                        println!("killing the database");
                        database.kill9();
                        database.restart().unwrap();
                        (self.kills, campaign.made) = (self.kills + 1, campaign.made + 1);
                    }
                    _ => self.shoot(campaign),
                }
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        // Places that were not reached are for another run.
        for player in &mut self.players {
            campaign.put_back(player.kind, player.place.take());
        }
    }

    /// Looks who has died, and raises them.
    fn bury(&mut self, campaign: &mut KillCampaign) {
        for number in 0..self.players.len() {
            let player = &mut self.players[number];
            let Some(status) = player.child.as_mut().and_then(|child| child.try_wait().unwrap()) else { continue };
            if status.success() && player.kind != ProcessKind::Server {
                player.child = None;
                continue;
            }
            self.check(number, status);
            let player = &mut self.players[number];
            let place = player.place.take();
            match place {
                Some(place) if !player.shot => println!("{} was killed at the place {place}", player.name),
                _ => println!("{} was killed at a random moment", player.name),
            }
            if player.shot {
                campaign.put_back(player.kind, place);
            }
            self.fallen += u64::from(player.kind != ProcessKind::Server);
            (self.kills, campaign.made) = (self.kills + 1, campaign.made + 1);
            self.raise(number, campaign);
        }
    }

    /// Nobody dies but by a kill.
    fn check(&self, number: usize, status: ExitStatus) {
        let player = &self.players[number];
        let killed = status.signal() == Some(9) && (player.shot || player.place.is_some());
        assert!(killed, "{} has ended by itself: {status}; {}", player.name, self.tell());
    }

    fn shoot(&mut self, campaign: &mut KillCampaign) {
        // A kind first: there are more sites than servers.
        let kind = [ProcessKind::Server, ProcessKind::Site, ProcessKind::Node][campaign.random.below(3)];
        let alive = |player: &&mut RunProcess| player.kind == kind && player.child.is_some() && !player.shot;
        let mut alive: Vec<&mut RunProcess> = self.players.iter_mut().filter(alive).collect();
        let victim = campaign.random.below(alive.len());
        if let Some(player) = alive.get_mut(victim)
            && let Some(child) = &mut player.child
        {
            player.shot = child.kill().is_ok();
        }
    }

    /// The last words of everybody, and what is kept of the run.
    fn tell(&self) -> String {
        let run = self.stage.play().manifest.run();
        let kept = federation::store::open(&self.store).and_then(|store| store.load(&run));
        let mut said = kept.map_or_else(|error| error.to_string(), |kept| format!("{:#?}", kept.header));
        for player in &self.players {
            let text = std::fs::read_to_string(self.stage.folder.join(format!("{}.log", player.name)));
            let text = text.unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            said += &format!("\n{}: {}", player.name, lines[lines.len().saturating_sub(12)..].join("\n    "));
        }
        said
    }
}

impl Drop for RunProcesses<'_> {
    fn drop(&mut self) {
        for child in self.players.iter_mut().filter_map(|player| player.child.as_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How long until the next kill.
fn pause(random: &mut SeededRandom) -> Duration {
    Duration::from_millis(20 + random.word() % 250)
}

/// A port that is free, and outside of the range from which the system gives ports to callers: one of those could be given
/// to a party that calls its dead server, which would then talk to itself.
fn free_port(random: &mut SeededRandom) -> u16 {
    loop {
        let port = 10_000 + (random.word().wrapping_add(u64::from(std::process::id()) * 7919) % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
