//! A federation of processes in a folder of its own: everybody's files, free ports, and nobody left when it goes.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod caller;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Longest time for anything that is waited for, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);

/// A port that nobody listens at, and that no line out is given before a server is there: those have ports from 32768 on.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add((std::process::id() % 2000) as u16 * 10);
        let port = 12_000 + number % 20_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A folder, the ports of its server, and the processes that were started in it.
pub(crate) struct Cluster {
    pub(crate) folder: PathBuf,
    /// Of parties, of joining, of the dashboard.
    pub(crate) ports: [u16; 3],
    processes: Vec<(String, Child)>,
}

impl Cluster {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("posterity-cluster-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("logs")).unwrap();
        Self { folder, ports: [(); 3].map(|()| port()), processes: Vec::new() }
    }

    /// `host:port` of one of the three ports.
    pub(crate) fn address(&self, which: usize) -> String {
        format!("127.0.0.1:{}", self.ports[which])
    }

    /// The line of a shell in a folder of the cluster, with this program on its path.
    fn line(&self, place: &str, line: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_posterity")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.folder.join(place)).env("PATH", path).stdin(Stdio::null());
        command
    }

    /// Runs a line to its end.
    pub(crate) fn output(&self, place: &str, line: &str) -> Output {
        self.line(place, line).output().unwrap()
    }

    /// Standard output of a line that must succeed.
    pub(crate) fn told(&self, place: &str, line: &str) -> String {
        let output = self.output(place, line);
        assert!(output.status.success(), "{place}$ {line}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a line that stays; what it says is in a log of this name.
    pub(crate) fn start(&mut self, name: &str, place: &str, line: &str) {
        let log = File::create(self.log_path(name)).unwrap();
        let mut command = self.line(place, &format!("exec {line}"));
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.processes.push((name.to_owned(), command.spawn().unwrap()));
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(name)
    }

    /// What a process has said so far.
    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.log_path(name)).unwrap()
    }

    /// Waits until something is so; who ends with an error in the meantime is an error.
    pub(crate) fn until(&mut self, what: &str, mut so: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !so(self) {
            let ended = self.processes.iter_mut().find_map(|(name, child)| {
                let status = child.try_wait().unwrap().filter(|status| !status.success())?;
                Some((name.clone(), status))
            });
            if let Some((name, status)) = ended {
                panic!("{name} has ended while {what} was waited for: {status}\n{}", self.log(&name));
            }
            assert!(start.elapsed() < PATIENCE, "{what}: not in time\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a process has said something.
    pub(crate) fn until_said(&mut self, name: &str, words: &str) {
        self.until(&format!("{name}: {words}"), |cluster| cluster.log(name).contains(words));
    }

    /// Waits until a process has ended, and gives its exit code.
    pub(crate) fn ended(&mut self, name: &str) -> Option<i32> {
        let at = self.processes.iter().position(|(who, _)| who == name).unwrap();
        let mut child = self.processes.remove(at).1;
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{name} does not end\n{}", self.logs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal to a process of this cluster.
    pub(crate) fn signal(&self, name: &str, signal: &str) {
        let child = &self.processes.iter().find(|(who, _)| who == name).unwrap().1;
        let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        assert!(sent.success(), "{name}");
    }

    /// Who runs still, of those that were started.
    pub(crate) fn running(&mut self) -> Vec<String> {
        let alive = self.processes.iter_mut().filter_map(|(name, child)| {
            let is_alive = child.try_wait().unwrap().is_none();
            is_alive.then(|| name.clone())
        });
        alive.collect()
    }

    fn logs(&self) -> String {
        let logs = fs::read_dir(self.folder.join("logs")).unwrap().map(|entry| entry.unwrap().path());
        logs.map(|path| format!("--- {}\n{}", path.display(), fs::read_to_string(&path).unwrap_or_default())).collect()
    }

    /// Status line, headers and body of a page of the dashboard, with its token or without.
    pub(crate) fn page(&self, path: &str, token: Option<&str>) -> String {
        let mut stream = TcpStream::connect(self.address(2)).unwrap();
        let shown = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{shown}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Every file of a folder with its bytes, by name.
    pub(crate) fn files(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, child) in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
