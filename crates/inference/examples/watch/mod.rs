//! CPU time of this process and its memory, as the system counts them.

use std::fs;
use std::time::Instant;

/// Measures from its start.
pub(crate) struct Watch {
    pub(crate) wall: Instant,
    cpu: Option<u64>,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_nanoseconds() }
    }

    /// CPU seconds of all threads; wall time where the system does not tell.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        match (self.cpu, cpu_nanoseconds()) {
            (Some(start), Some(end)) => (end - start) as f64 * 1e-9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Nanoseconds that the threads of this process have run, where the system keeps count.
fn cpu_nanoseconds() -> Option<u64> {
    let of = |task: fs::DirEntry| -> Option<u64> {
        fs::read_to_string(task.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    fs::read_dir("/proc/self/task").ok()?.map(|task| of(task.ok()?)).sum()
}

/// Megabytes that the system counts under this name; not a number where it does not tell.
pub(crate) fn megabytes(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |k| k * 1024.0 / 1e6)
}
