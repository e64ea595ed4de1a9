//! A PostgreSQL server of a test's own: in a temporary folder, under an unprivileged user, gone when the test ends.
#![allow(dead_code, reason = "every test uses a part of it")]

use postgres::{Client, Config, NoTls};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The user that runs the server where tests run as root, whom PostgreSQL refuses.
const NOBODY: u32 = 65534;

/// How the server is reached.
#[derive(Clone, Copy)]
enum PostgresAddress {
    /// By a unix socket in its folder, and not otherwise.
    Socket,
    /// By this port of this machine too, with a password.
    Loopback(u16),
}

/// A running server. Dropping it stops the server and removes its folder.
pub(crate) struct Postgres {
    binaries: Binaries,
    folder: PathBuf,
    way: PostgresAddress,
    password: String,
    server: Option<ServerProcess>,
}

/// The server process, and what ends the thread that it belongs to.
struct ServerProcess {
    child: Child,
    _keep: mpsc::Sender<()>,
}

/// Where PostgreSQL's programs are, and the libraries that came with them.
#[derive(Clone)]
struct Binaries {
    folder: PathBuf,
    libraries: Option<PathBuf>,
}

impl Postgres {
    /// A server on a unix socket. Where there can be none: why.
    pub(crate) fn start() -> Result<Self, String> {
        Self::begin(PostgresAddress::Socket)
    }

    /// A server that also listens on a port of this machine.
    pub(crate) fn start_on_loopback() -> Result<Self, String> {
        // The port is free again when the server comes to take it.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::begin(PostgresAddress::Loopback(free.map_err(|error| error.to_string())?.port()))
    }

    /// A server, or none, after saying so as every test does.
    pub(crate) fn or_skip() -> Option<Self> {
        Self::start().inspect_err(|why| println!("skipped: PostgreSQL ({why})")).ok()
    }

    fn begin(way: PostgresAddress) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let binaries = Binaries::find().or_else(|why| Binaries::fetch().map_err(|fetch| format!("{why}; {fetch}")))?;
        let name = format!("posterity-pg-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| error.to_string())?;
        let password = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut postgres = Self { binaries, folder: std::env::temp_dir().join(name), way, password, server: None };
        postgres.initialise()?;
        postgres.restart()?;
        Ok(postgres)
    }

    /// Makes an empty cluster. Its settings are those of a real one: every commit is synced.
    fn initialise(&self) -> Result<(), String> {
        let said = |error: std::io::Error| error.to_string();
        fs::create_dir(&self.folder).map_err(said)?;
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700)).map_err(said)?;
        let secret = self.folder.join("password");
        fs::write(&secret, &self.password).map_err(said)?;
        if is_root() {
            for path in [&self.folder, &secret] {
                chown(path, Some(NOBODY), Some(NOBODY)).map_err(said)?;
            }
        }
        let data = self.folder.join("data");
        let output = self
            .command("initdb")?
            .args(["--username=posterity", "--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8"])
            .args(["--locale=C", "--pgdata"])
            .arg(&data)
            .arg(format!("--pwfile={}", secret.display()))
            .output()
            .map_err(said)?;
        let error = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("initdb failed: {}", error.trim())) }
    }

    /// A program of PostgreSQL, as a user who may run it, that ends when this process does.
    fn command(&self, program: &str) -> Result<Command, String> {
        let program = self.binaries.folder.join(program);
        let mut command = match (find_in_path("setpriv"), is_root()) {
            (Some(setpriv), root) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "QUIT"]);
                if root {
                    command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()]);
                }
                command.arg(program);
                command
            }
            (None, true) => return Err("PostgreSQL refuses root, and there is no setpriv to be somebody else".into()),
            (None, false) => Command::new(program),
        };
        command.current_dir(&self.folder).env_clear().env("PATH", "/usr/bin:/bin").env("TZ", "UTC");
        if let Some(libraries) = &self.binaries.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        Ok(command)
    }

    /// Starts the server, again if need be, and waits until it answers.
    pub(crate) fn restart(&mut self) -> Result<(), String> {
        self.stop("-INT");
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut probe: Config = self.url().parse().map_err(|error: postgres::Error| error.to_string())?;
        probe.connect_timeout(Duration::from_secs(5));
        loop {
            let mut server = self.spawn()?;
            while server.child.try_wait().map_err(|error| error.to_string())?.is_none() {
                if probe.connect(NoTls).is_ok() {
                    self.server = Some(server);
                    return Ok(());
                }
                if Instant::now() > deadline {
                    self.server = Some(server);
                    return Err(format!("the server does not answer: {}", self.log()));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // After a kill, processes of the server before may still hold its memory for a moment.
            if Instant::now() > deadline {
                return Err(format!("the server does not start: {}", self.log()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn spawn(&self) -> Result<ServerProcess, String> {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log"));
        let log = log.map_err(|error| error.to_string())?;
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.folder.join("data")).arg("-k").arg(&self.folder);
        match self.way {
            PostgresAddress::Socket => command.args(["-c", "listen_addresses="]),
            PostgresAddress::Loopback(port) => {
                command.args(["-c", "listen_addresses=127.0.0.1", "-p"]).arg(port.to_string())
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // A child ends with the thread that has made it, so that thread lives for as long as the guard.
        let (keep, until) = mpsc::channel::<()>();
        let (give, take) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = give.send(command.spawn());
            let _ = until.recv();
        });
        let child = take.recv().map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        Ok(ServerProcess { child, _keep: keep })
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The address by which it is reached: a host where it listens, otherwise the socket.
    pub(crate) fn url(&self) -> String {
        self.address("postgres")
    }

    fn address(&self, database: &str) -> String {
        match self.way {
            PostgresAddress::Socket => {
                let socket = self.folder.display().to_string().replace('/', "%2F");
                format!("postgresql://posterity@{socket}/{database}")
            }
            PostgresAddress::Loopback(port) => {
                format!("postgresql://posterity:{}@127.0.0.1:{port}/{database}", self.password)
            }
        }
    }

    /// The address of a new, empty database.
    pub(crate) fn database(&self, name: &str) -> String {
        let mut client = Client::connect(&self.url(), NoTls).unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.address(name)
    }

    /// Kills the server as a power cut would, without a word to it.
    pub(crate) fn kill9(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.child.kill().unwrap();
            assert_eq!(server.child.wait().unwrap().signal(), Some(9));
        }
    }

    /// Asks this very process to end, and waits until it has.
    fn stop(&mut self, signal: &str) {
        if let Some(mut server) = self.server.take() {
            let asked = Command::new("kill").arg(signal).arg(server.child.id().to_string()).status();
            if !asked.is_ok_and(|status| status.success()) {
                let _ = server.child.kill();
            }
            let _ = server.child.wait();
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop("-QUIT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Binaries {
    /// In `PATH`, or where Debian keeps them, the newest first.
    fn find() -> Result<Self, String> {
        if let Some(initdb) = find_in_path("initdb").and_then(|path| fs::canonicalize(path).ok())
            && let Some(folder) = initdb.parent().filter(|folder| folder.join("postgres").is_file())
        {
            return Ok(Self { folder: folder.into(), libraries: None });
        }
        let folder = newest(Path::new("/usr/lib/postgresql")).ok_or("there is no initdb on this machine")?;
        Ok(Self { folder, libraries: None })
    }

    /// Fetches Debian's packages into the build folder and unpacks them there; nothing on the machine changes.
    fn fetch() -> Result<Self, String> {
        let asked = std::env::var_os("CI").is_some() || std::env::var_os("POSTERITY_INSTALL").is_some();
        if !asked {
            return Err("set POSTERITY_INSTALL=1 to fetch it into the build folder".into());
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/postgresql");
        let root = folder.join("root");
        if !root.join("complete").is_file() {
            fs::create_dir_all(&root).map_err(|error| error.to_string())?;
            unpack(&folder, &root)?;
            fs::write(root.join("complete"), "").map_err(|error| error.to_string())?;
        }
        let root = fs::canonicalize(root).map_err(|error| error.to_string())?;
        let binaries = newest(&root.join("usr/lib/postgresql")).ok_or("the packages have no initdb")?;
        let multiarch = run(&folder, "dpkg", &["--print-architecture"])?;
        let triple = if multiarch.trim() == "arm64" { "aarch64-linux-gnu" } else { "x86_64-linux-gnu" };
        Ok(Self { folder: binaries, libraries: Some(root.join("usr/lib").join(triple)) })
    }
}

/// Downloads what an installation would need and unpacks it.
fn unpack(folder: &Path, root: &Path) -> Result<(), String> {
    let depends = run(folder, "apt-cache", &["depends", "postgresql"])?;
    let found = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: postgresql-"));
    let package = format!("postgresql-{}", found.ok_or("apt knows no PostgreSQL")?);
    let plan = run(folder, "apt-get", &["install", "--simulate", "--no-install-recommends", &package])?;
    let mut packages: Vec<&str> =
        plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next()).collect();
    packages.extend([package.as_str(), "libpq5"]);
    packages.sort_unstable();
    packages.dedup();
    let arguments: Vec<&str> = ["download"].into_iter().chain(packages).collect();
    run(folder, "apt-get", &arguments)?;
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        let path = entry.path();
        if path.extension() == Some(OsStr::new("deb")) {
            run(folder, "dpkg-deb", &["-x", &path.display().to_string(), &root.display().to_string()])?;
            fs::remove_file(path).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).current_dir(folder).env("LC_ALL", "C").output();
    let output = output.map_err(|error| format!("{program} cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The programs of the newest version in a folder of versions.
fn newest(folder: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(folder).ok()?.flatten();
    let numbered = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let (_, path) = numbered.filter(|(_, path)| path.join("bin/initdb").is_file()).max()?;
    Some(path.join("bin"))
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}
