//! `posterity demo federation`: an authority, a server, two compute nodes and four hospitals, each a process of its own, on this machine.

use crate::arguments::DemoArguments;
use crate::clock;
use crate::failure::Failure;
use crate::federation::deal::deal;
use crate::federation::net::{failure, runtime, stopped};
use crate::study::meant::Study;
use federation::identity::{Address, Authority, Invite, InviteSecret, PartyName, Role, fingerprint};
use federation::store::{self, InviteRow, Store};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The study of the four hospitals, as it is bundled.
const STUDY: &str = include_str!("../../../../../studies/heart-federation.toml");

/// A file that says that a folder is a demonstration's, and may be removed by the next one.
const MARK: &str = ".posterity-demo";

/// Longest time for each step.
const PATIENCE: Duration = Duration::from_secs(180);

/// Runs the whole federation, and ends every process that it has started.
pub(crate) fn federation(asked: &DemoArguments, json: bool) -> Result<String, Failure> {
    let folder = fresh(&asked.folder)?;
    let say = |line: &str| {
        if !json {
            println!("{line}");
        }
    };
    let path = folder.join("study.toml");
    std::fs::write(&path, STUDY).map_err(|error| Failure::file("cannot write", &path, error))?;
    let study = Study::open(&path)?;
    let dealt = deal(&study, &folder, &folder.join("data"))?;
    say("four hospitals, two compute nodes and a server on this machine; each has a folder and a key of its own");
    let name = PartyName::new("demo-authority").map_err(|why| failure("F201", why, "report this"))?;
    let ca = folder.join("ca");
    Authority::init(&ca, &name, clock::seconds())?;
    let server_home = folder.join("server");
    let mut crew = Crew::default();
    let mut serve = command(&folder, "server")?;
    serve.args(["serve"]).arg(&path).arg("--ca").arg(&ca).arg("--home").arg(&server_home);
    serve.args(["--listen", "127.0.0.1:0", "--enrol", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"]);
    serve.arg("--out").arg(folder.join("results"));
    if !asked.stay {
        serve.arg("--until-finished");
    }
    crew.start("server", serve)?;
    let addresses = addresses(&server_home.join("addresses.json"), &mut crew)?;
    let of = |key: &str| addresses.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let token = std::fs::read_to_string(of("token")).unwrap_or_default();
    let dashboard = format!("{}/login?token={}", of("dashboard"), token.trim());
    say(&format!("dashboard   {dashboard}"));
    let database = server_home.join("server.sqlite");
    let parties = Parties { folder: &folder, ca: &ca, database: &database, enrolment: &of("enrolment") };
    for node in study.served.iter().flat_map(|served| &served.nodes) {
        parties.join(Role::Node, node)?;
        let mut run = command(&folder, node.as_str())?;
        run.args(["node", "run", "--home"]).arg(folder.join(node.as_str()));
        crew.start(node.as_str(), run)?;
    }
    let policy = folder.join("site.toml");
    let mut text = federation::policy::DEFAULT.replace("approval = \"manual\"", "approval = \"automatic\"");
    for node in study.served.iter().flat_map(|served| &served.nodes) {
        // What the nodes' owners would read out.
        let read_out = super::agent::fingerprint(Role::Node, &folder.join(node.as_str()), false)?;
        text.push_str(&format!("{node} = \"{}\"\n", read_out.trim()));
    }
    std::fs::write(&policy, text).map_err(|error| Failure::file("cannot write", &policy, error))?;
    for site in &dealt.sites {
        let name = PartyName::new(&site.name).map_err(|why| failure("F102", why, "report this"))?;
        parties.join(Role::Site, &name)?;
        let mut run = command(&folder, &site.name)?;
        run.args(["agent", "run", "--home"]).arg(folder.join(&site.name));
        run.arg("--data").arg(&site.path).arg("--policy").arg(&policy);
        crew.start(&site.name, run)?;
        say(&format!("joined      {} with {} rows, which stay in {}", site.name, site.rows, site.path.display()));
    }
    let report = folder.join("results").join("report.html");
    crew.wait_for(&report)?;
    if asked.stay {
        say("the run is over; the server stays until you press Ctrl-C");
        runtime()?.block_on(async {
            let mut stop = stopped();
            let _ = stop.changed().await;
        });
    } else {
        crew.wait_for_all()?;
    }
    drop(crew);
    #[cfg(feature = "rehearsal")]
    say(&super::rehearsal::compare(&database, &dealt)?);
    Ok(told(&folder, &dealt.held_out, json))
}

/// Where everything is, when all is over.
fn told(folder: &Path, held_out: &Path, json: bool) -> String {
    let (report, results) = (folder.join("results/report.html"), folder.join("results/results.json"));
    if json {
        return format!("{}\n", serde_json::json!({ "report": report, "results": results, "folder": folder }));
    }
    let lines = [
        format!("report      {}", report.display()),
        format!("results     {}", results.display()),
        format!("ledger      posterity ledger show --home {}", folder.join("cleveland").display()),
        format!("held out    {}, rows of no hospital, to predict", held_out.display()),
        "all processes have ended\n".to_owned(),
    ];
    lines.join("\n")
}

/// An empty folder: one that an earlier demonstration has left is removed, any other is left alone.
fn fresh(folder: &Path) -> Result<PathBuf, Failure> {
    if folder.exists() {
        if !folder.join(MARK).exists() {
            let message = format!("{} is there, and is no demonstration's", folder.display());
            return Err(failure("F207", message, "name another one with --folder"));
        }
        std::fs::remove_dir_all(folder).map_err(|error| Failure::file("cannot remove", folder, error))?;
    }
    let made = std::fs::create_dir_all(folder.join("logs")).and_then(|()| std::fs::write(folder.join(MARK), b""));
    made.map_err(|error| Failure::file("cannot write", folder, error))?;
    folder.canonicalize().map_err(|error| Failure::file("cannot read", folder, error))
}

/// This program, with its output in a log of its own.
fn command(folder: &Path, name: &str) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| failure("F205", error.to_string(), "report this"))?;
    let path = folder.join("logs").join(format!("{name}.log"));
    let log = std::fs::File::create(&path).map_err(|error| Failure::file("cannot write", &path, error))?;
    let errors = log.try_clone().map_err(|error| Failure::file("cannot write", &path, error))?;
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(log).stderr(errors).current_dir(folder);
    Ok(command)
}

/// Invites and joins, as two people would on two machines.
struct Parties<'a> {
    folder: &'a Path,
    ca: &'a Path,
    database: &'a Path,
    enrolment: &'a str,
}

impl Parties<'_> {
    fn join(&self, role: Role, name: &PartyName) -> Result<(), Failure> {
        let invite = self.invite(role, name)?;
        let home = self.folder.join(name.as_str());
        super::join::join(&invite, role, &home, true).map(|_| ())
    }

    fn invite(&self, role: Role, name: &PartyName) -> Result<String, Failure> {
        let store: Box<dyn Store> = store::open(&self.database.display().to_string())?;
        let secret = InviteSecret::generate().ok_or_else(|| failure("F205", "no random numbers", "try again"))?;
        let expires = clock::seconds().saturating_add(3600);
        store.invite(&InviteRow { secret: secret.digest(), role, name: name.clone(), expires })?;
        let root = fingerprint(Authority::open(self.ca)?.root());
        let server = Address::new(self.enrolment).map_err(|why| failure("F203", why, "report this"))?;
        Ok(Invite { server, secret, root, role, name: name.clone() }.text().to_string())
    }
}

/// The processes of a demonstration: whatever happens, all of them end with it.
#[derive(Default)]
struct Crew(Vec<(String, Child)>);

impl Crew {
    fn start(&mut self, name: &str, mut command: Command) -> Result<(), Failure> {
        let child =
            command.spawn().map_err(|error| failure("F205", format!("{name} does not start: {error}"), "try again"))?;
        self.0.push((name.to_owned(), child));
        Ok(())
    }

    /// Refuses to go on if somebody has ended who should not have.
    fn check(&mut self) -> Result<(), Failure> {
        for (name, child) in &mut self.0 {
            if let Ok(Some(status)) = child.try_wait()
                && !status.success()
            {
                let message = format!("{name} has ended: {status}");
                return Err(failure(
                    "F207",
                    message,
                    format!("its log is logs/{name}.log in the demonstration's folder"),
                ));
            }
        }
        Ok(())
    }

    /// Waits until a file is there.
    fn wait_for(&mut self, file: &Path) -> Result<(), Failure> {
        let start = Instant::now();
        while !file.exists() {
            self.check()?;
            if start.elapsed() > PATIENCE {
                let message = format!("{} was not made in {} s", file.display(), PATIENCE.as_secs());
                return Err(failure("F207", message, "look at the logs in the demonstration's folder"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Waits until everybody has gone home.
    fn wait_for_all(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            self.check()?;
            if self.0.iter_mut().all(|(_, child)| matches!(child.try_wait(), Ok(Some(_)))) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the server is, as soon as it says so.
fn addresses(path: &Path, crew: &mut Crew) -> Result<serde_json::Value, Failure> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        crew.check()?;
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Ok(addresses) = serde_json::from_str(&text) {
            return Ok(addresses);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(failure("F207", "the server did not start", "look at logs/server.log in the demonstration's folder"))
}
