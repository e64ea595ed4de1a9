//! `posterity demo federation`: an authority, a server, two compute nodes and four hospitals, each a process of its own, on this machine.

use crate::arguments::DemoArguments;
use crate::clock;
use crate::failure::Failure;
use crate::federation::net::{failure, runtime, stopped};
use federation::identity::{Address, Authority, Invite, InviteSecret, PartyName, PartyRole, fingerprint};
use federation::store::{self, InviteRow, ServerStore};
use federation::studies::{SiteFiles, deal};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use study::{FEDERATION_DEMO, Folders, Study};
use tokio::sync::watch;

/// A file that says that a folder is a demonstration's, and may be removed by the next one.
const MARK: &str = ".posterity-demo";

/// Longest time for each step.
const PATIENCE: Duration = Duration::from_secs(180);

/// Runs the whole federation, and ends every process that it has started, also when it is told to stop.
pub(crate) fn federation(asked: &DemoArguments, json: bool) -> Result<String, Failure> {
    let runtime = runtime()?;
    let stop = {
        let _inside = runtime.enter();
        stopped()
    };
    let (folder, _lock) = fresh(&asked.folder)?;
    let mut processes = Processes { members: Vec::new(), stop };
    let dealt = play(asked, json, &folder, &mut processes);
    let was_stopped = processes.is_stopped();
    drop(processes);
    match dealt {
        Err(_) if was_stopped => Ok("stopped; all processes have ended\n".to_owned()),
        Err(failure) => Err(failure),
        Ok(dealt) => told(&folder, &dealt, json),
    }
}

/// Everything up to the end of the run, or of the server's stay after it.
fn play(asked: &DemoArguments, json: bool, folder: &Path, processes: &mut Processes) -> Result<SiteFiles, Failure> {
    let say = |line: &str| {
        if !json {
            println!("{line}");
        }
    };
    let path = folder.join("study.toml");
    std::fs::write(&path, FEDERATION_DEMO).map_err(|error| Failure::file("cannot write", &path, error))?;
    let study = Study::open(&path)?;
    let dealt = deal(&study, &Folders { study: folder.to_owned(), data: None }, &folder.join("data"))?;
    say("starting a server, two compute nodes and four hospitals on this machine, each with its own folder and key");
    let (ca, server_home) = (folder.join("ca"), folder.join("server"));
    let addresses = open_server(asked, folder, &ca, &server_home, processes)?;
    let of = |key: &str| addresses.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let token = std::fs::read_to_string(of("token")).unwrap_or_default();
    say(&format!("dashboard   {}/login?token={}", of("dashboard"), token.trim()));
    if !asked.stay {
        say("            it closes when the run ends; --stay keeps it until Ctrl-C");
    }
    let database = server_home.join("server.sqlite");
    let parties = Inviter { folder, ca: &ca, database: &database, enrolment: &of("enrolment") };
    for node in study.served.iter().flat_map(|served| &served.nodes) {
        parties.join(PartyRole::Node, node)?;
        let mut run = command(folder, node.as_str())?;
        run.args(["node", "run", "--home"]).arg(folder.join(node.as_str()));
        processes.start(node.as_str(), run)?;
    }
    let policy = folder.join("site.toml");
    let mut text = federation::policy::DEFAULT.replace("approval = \"manual\"", "approval = \"automatic\"");
    for node in study.served.iter().flat_map(|served| &served.nodes) {
        // What the nodes' owners would read out.
        let read_out = super::agent::fingerprint(PartyRole::Node, &folder.join(node.as_str()), false)?;
        text.push_str(&format!("{node} = \"{}\"\n", read_out.trim()));
    }
    std::fs::write(&policy, text).map_err(|error| Failure::file("cannot write", &policy, error))?;
    for site in &dealt.sites {
        let name = PartyName::new(&site.name).map_err(|why| failure("F102", why, "report this as a bug"))?;
        parties.join(PartyRole::Site, &name)?;
        let mut run = command(folder, &site.name)?;
        run.args(["agent", "run", "--home"]).arg(folder.join(&site.name));
        run.arg("--data").arg(&site.path).arg("--policy").arg(&policy);
        processes.start(&site.name, run)?;
        say(&format!("joined      {} with {} rows, which stay in {}", site.name, site.rows, site.path.display()));
    }
    processes.wait_for(&folder.join("results").join("report.html"))?;
    if asked.stay {
        say("the run has ended; the server runs until you press Ctrl-C");
        processes.wait_for_stop()?;
    } else {
        processes.wait_for_all()?;
    }
    Ok(dealt)
}

/// The authority and the server; says where the server is.
fn open_server(
    asked: &DemoArguments,
    folder: &Path,
    ca: &Path,
    home: &Path,
    processes: &mut Processes,
) -> Result<serde_json::Value, Failure> {
    let name = PartyName::new("demo-authority").map_err(|why| failure("F201", why, "report this as a bug"))?;
    Authority::init(ca, &name, clock::seconds())?;
    let mut serve = command(folder, "server")?;
    serve.args(["serve"]).arg(folder.join("study.toml")).arg("--ca").arg(ca).arg("--home").arg(home);
    serve.args(["--listen", "127.0.0.1:0", "--enrol", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"]);
    serve.arg("--out").arg(folder.join("results"));
    if !asked.stay {
        serve.arg("--until-finished");
    }
    processes.start("server", serve)?;
    addresses(&home.join("addresses.json"), processes)
}

/// Where everything is, when all is over.
fn told(folder: &Path, dealt: &SiteFiles, json: bool) -> Result<String, Failure> {
    let results = folder.join("results");
    let (report, numbers) = (results.join("report.html"), results.join("results.json"));
    #[cfg(feature = "rehearsal")]
    let compared = super::rehearsal::compare(&folder.join("server/server.sqlite"), dealt)?;
    if json {
        return Ok(format!("{}\n", serde_json::json!({ "report": report, "results": numbers, "folder": folder })));
    }
    let lines = [
        #[cfg(feature = "rehearsal")]
        compared,
        format!("report      {}", report.display()),
        format!("results     {}", numbers.display()),
        format!("ledger      posterity ledger show --home {}", folder.join("cleveland").display()),
        format!("predict     posterity predict {} --data {}", results.display(), dealt.held_out.display()),
        "            for held-out rows, which no hospital has".to_owned(),
        "all processes have ended\n".to_owned(),
    ];
    Ok(lines.join("\n"))
}

/// An empty folder, held until its lock is dropped: what an earlier demonstration has left is removed, one that another
/// uses is refused, and any other folder is left alone.
fn fresh(folder: &Path) -> Result<(PathBuf, File), Failure> {
    let mark = folder.join(MARK);
    if folder.exists() && !mark.exists() {
        let message = format!("the folder {} exists and is not a demonstration's", folder.display());
        return Err(failure("F207", message, "choose another folder with --folder"));
    }
    let unusable = |error| Failure::file("cannot write", folder, error);
    std::fs::create_dir_all(folder).map_err(unusable)?;
    let lock = File::options().create(true).truncate(false).write(true).open(&mark).map_err(unusable)?;
    if lock.try_lock().is_err() {
        let message = format!("another demonstration is running in {}", folder.display());
        return Err(failure("F207", message, "wait until it ends, stop it, or choose another folder with --folder"));
    }
    for entry in std::fs::read_dir(folder).map_err(unusable)? {
        let path = entry.map_err(unusable)?.path();
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false if path == mark => Ok(()),
            false => std::fs::remove_file(&path),
        };
        removed.map_err(|error| Failure::file("cannot remove", &path, error))?;
    }
    std::fs::create_dir_all(folder.join("logs")).map_err(unusable)?;
    let folder = folder.canonicalize().map_err(|error| Failure::file("cannot read", folder, error))?;
    Ok((folder, lock))
}

/// This program, with its output in a log of its own.
fn command(folder: &Path, name: &str) -> Result<Command, Failure> {
    let program =
        std::env::current_exe().map_err(|error| failure("F205", error.to_string(), "report this as a bug"))?;
    let path = folder.join("logs").join(format!("{name}.log"));
    let log = std::fs::File::create(&path).map_err(|error| Failure::file("cannot write", &path, error))?;
    let errors = log.try_clone().map_err(|error| Failure::file("cannot write", &path, error))?;
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(log).stderr(errors).current_dir(folder);
    Ok(command)
}

/// Invites and joins, as two people would on two machines.
struct Inviter<'a> {
    folder: &'a Path,
    ca: &'a Path,
    database: &'a Path,
    enrolment: &'a str,
}

impl Inviter<'_> {
    fn join(&self, role: PartyRole, name: &PartyName) -> Result<(), Failure> {
        let invite = self.invite(role, name)?;
        let home = self.folder.join(name.as_str());
        super::join::join(&invite, role, &home, true).map(|_| ())
    }

    fn invite(&self, role: PartyRole, name: &PartyName) -> Result<String, Failure> {
        let store: Box<dyn ServerStore> = store::open(&self.database.display().to_string())?;
        let secret = InviteSecret::generate()
            .ok_or_else(|| failure("F205", "the operating system gave no random numbers", "try again"))?;
        let expires = clock::seconds().saturating_add(3600);
        store.invite(&InviteRow { secret: secret.digest(), role, name: name.clone(), expires })?;
        let root = fingerprint(Authority::open(self.ca)?.root());
        let server = Address::new(self.enrolment).map_err(|why| failure("F203", why, "report this as a bug"))?;
        Ok(Invite { server, secret, root, role, name: name.clone() }.text().to_string())
    }
}

/// The processes of a demonstration: whatever happens, all of them end with it.
struct Processes {
    members: Vec<(String, Child)>,
    /// Whether somebody wants the end.
    stop: watch::Receiver<bool>,
}

impl Processes {
    fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    fn start(&mut self, name: &str, mut command: Command) -> Result<(), Failure> {
        self.check()?;
        let child =
            command.spawn().map_err(|error| failure("F205", format!("cannot start {name}: {error}"), "try again"))?;
        self.members.push((name.to_owned(), child));
        Ok(())
    }

    /// Refuses to go on if somebody has ended who should not have, or if the end is wanted.
    fn check(&mut self) -> Result<(), Failure> {
        if self.is_stopped() {
            return Err(failure("F207", "the demonstration was stopped", "start it again"));
        }
        for (name, child) in &mut self.members {
            if let Ok(Some(status)) = child.try_wait()
                && !status.success()
            {
                let message = format!("{name} has ended: {status}");
                return Err(failure("F207", message, format!("read logs/{name}.log in the demonstration's folder")));
            }
        }
        Ok(())
    }

    fn have_all_ended(&mut self) -> bool {
        self.members.iter_mut().all(|(_, child)| matches!(child.try_wait(), Ok(Some(_))))
    }

    /// Waits until a file is there; not if nobody is left who would make it.
    fn wait_for(&mut self, file: &Path) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            self.check()?;
            let nobody_is_left = self.have_all_ended();
            if file.exists() {
                return Ok(());
            }
            let why = match start.elapsed() > PATIENCE {
                _ if nobody_is_left => "all processes ended before that".to_owned(),
                true => format!("{} s have passed", PATIENCE.as_secs()),
                false => {
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            let message = format!("{} was not created: {why}", file.display());
            return Err(failure("F207", message, "read the logs in the demonstration's folder"));
        }
    }

    /// Waits until everybody has gone home.
    fn wait_for_all(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE && !self.have_all_ended() {
            self.check()?;
            std::thread::sleep(Duration::from_millis(50));
        }
        self.check()
    }

    /// Waits until somebody wants the end, or the server has gone by itself.
    fn wait_for_stop(&mut self) -> Result<(), Failure> {
        while !self.is_stopped() && !self.have_all_ended() {
            self.check()?;
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in &mut self.members {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the server is, as soon as it says so.
fn addresses(path: &Path, processes: &mut Processes) -> Result<serde_json::Value, Failure> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        processes.check()?;
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Ok(addresses) = serde_json::from_str(&text) {
            return Ok(addresses);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(failure("F207", "the server did not start", "read logs/server.log in the demonstration's folder"))
}
