//! A disk in memory that forgets, tears, fails and fills up when it is told to, for tests and simulators.
//!
//! Handles share one state: a test keeps one, the log has another. Nothing happens by chance; what a crash leaves follows
//! from the number that is given to it.

use super::{Disk, DiskError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle of a simulated disk.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<DiskState>>,
}

/// What an operation that fails has done before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureEffect {
    /// The operation did nothing before it failed.
    Nothing,
    /// The first so many bytes of an append, and nothing of anything else.
    Part(u64),
    /// Everything: the answer alone is lost.
    Everything,
}

#[derive(Debug, Default)]
struct DiskState {
    files: BTreeMap<String, FileContent>,
    operations: u64,
    /// The operation that will fail, and what it will have done.
    failing: Option<(u64, FailureEffect)>,
    /// After a failure nothing works until the process is restarted.
    failed: bool,
    full: bool,
    lying: bool,
}

/// A file as programs see it, and as it is after a crash.
#[derive(Debug, Clone, Default)]
struct FileContent {
    seen: Vec<u8>,
    durable: Option<Vec<u8>>,
}

impl SimulatedDisk {
    /// An empty disk that keeps its word.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk that says "durable" and does nothing for it, as one whose cache is never flushed.
    pub fn lying() -> Self {
        let disk = Self::default();
        disk.state().lying = true;
        disk
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Operations that were tried so far; reads do not count. Each of them is a point at which a crash can happen.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// The `n`-th operation from now fails, 1 being the next, and all after it, until [`SimulatedDisk::restart`] or
    /// [`SimulatedDisk::crash`].
    pub fn fail_at(&self, n: u64, effect: FailureEffect) {
        let mut state = self.state();
        state.failing = Some((state.operations.saturating_add(n), effect));
    }

    /// The disk is full: appends and replacements fail, an append after half of its bytes.
    pub fn fill(&self) {
        self.state().full = true;
    }

    /// There is room again.
    pub fn make_room(&self) {
        self.state().full = false;
    }

    /// The process was killed and the machine runs on: what was written is still seen, durable or not.
    pub fn restart(&self) {
        let mut state = self.state();
        state.failed = false;
        state.failing = None;
    }

    /// The machine lost its power. Of each file that which was durable remains; of what was appended since, a beginning
    /// that may be empty or all, and then perhaps zeros or noise in the place of blocks that were not written; of what was
    /// otherwise changed, the old or the new. Which follows from `how`.
    pub fn crash(&self, how: u64) {
        self.restart();
        let mut state = self.state();
        let mut chance = how;
        state.files.retain(|_, content| {
            let kept = content.after_crash(&mut chance);
            content.seen = kept.clone().unwrap_or_default();
            content.durable = kept;
            content.durable.is_some()
        });
    }

    /// Puts a file there, durably, whatever it was before: damage, or a copy of old.
    pub fn put(&self, file: &str, bytes: &[u8]) {
        let content = FileContent { seen: bytes.to_vec(), durable: Some(bytes.to_vec()) };
        self.state().files.insert(file.to_owned(), content);
    }

    /// A disk of its own with the same files, all of them durable: a copy.
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        for (file, content) in &self.state().files {
            copy.put(file, &content.seen);
        }
        copy
    }

    /// Counts an operation and says what it may do: all, or what it does before it fails.
    fn begin(
        &self,
        what: &'static str,
    ) -> Result<MutexGuard<'_, DiskState>, (MutexGuard<'_, DiskState>, FailureEffect, DiskError)> {
        let mut state = self.state();
        state.operations = state.operations.saturating_add(1);
        let failure = DiskError { what, why: "the simulated disk failed".into() };
        if state.failed {
            return Err((state, FailureEffect::Nothing, failure));
        }
        match state.failing {
            Some((at, effect)) if at == state.operations => {
                state.failed = true;
                Err((state, effect, failure))
            }
            _ => Ok(state),
        }
    }

    /// Runs an operation: `task` does the first so many bytes of it.
    fn run(
        &self,
        what: &'static str,
        size: Option<usize>,
        task: impl FnOnce(&mut DiskState, usize),
    ) -> Result<(), DiskError> {
        let all = size.unwrap_or(0);
        match self.begin(what) {
            Ok(mut state) if state.full && size.is_some() => {
                task(&mut state, all / 2);
                state.failed = true;
                Err(DiskError::full(what, "it is a simulated one"))
            }
            Ok(mut state) => {
                task(&mut state, all);
                Ok(())
            }
            Err((mut state, effect, failure)) => {
                match (effect, size) {
                    (FailureEffect::Everything, _) => task(&mut state, all),
                    (FailureEffect::Part(part), Some(_)) => {
                        task(&mut state, usize::try_from(part).unwrap_or(all).min(all))
                    }
                    _ => {}
                }
                Err(failure)
            }
        }
    }
}

impl FileContent {
    fn after_crash(&self, chance: &mut u64) -> Option<Vec<u8>> {
        let (old, seen) = (self.durable.as_deref().unwrap_or_default(), &self.seen);
        if self.durable.as_ref() == Some(seen) {
            return Some(seen.clone());
        }
        let Some(appended) = seen.strip_prefix(old) else {
            return if next(chance).is_multiple_of(2) { self.durable.clone() } else { Some(seen.clone()) };
        };
        if self.durable.is_none() && next(chance).is_multiple_of(4) {
            return None;
        }
        let written = (next(chance) % (appended.len() as u64 + 1)) as usize;
        let mut kept = old.to_vec();
        kept.extend(appended.iter().take(written));
        let rest = appended.len() - written;
        match next(chance) % 4 {
            0 => kept.extend(std::iter::repeat_n(0, rest)),
            1 => kept.extend((0..rest).map(|_| next(chance).to_le_bytes()[0])),
            _ => {}
        }
        Some(kept)
    }
}

/// The next number of a sequence that looks random (SplitMix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Disk for SimulatedDisk {
    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.state().files.get(file).map(|content| content.seen.clone()))
    }

    fn append(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.run("cannot append", Some(bytes.len()), |state, part| {
            let content = state.files.entry(file.to_owned()).or_default();
            content.seen.extend(bytes.iter().take(part));
        })
    }

    fn sync(&mut self, file: &str) -> Result<(), DiskError> {
        self.run("cannot sync", None, |state, _| {
            let lying = state.lying;
            if let Some(content) = state.files.get_mut(file)
                && !lying
            {
                content.durable = Some(content.seen.clone());
            }
        })
    }

    fn truncate(&mut self, file: &str, length: u64) -> Result<(), DiskError> {
        self.run("cannot truncate", None, |state, _| {
            let lying = state.lying;
            if let Some(content) = state.files.get_mut(file) {
                content.seen.truncate(usize::try_from(length).unwrap_or(usize::MAX));
                if !lying {
                    content.durable = Some(content.seen.clone());
                }
            }
        })
    }

    fn replace(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.run("cannot replace", Some(bytes.len()), |state, part| {
            if part < bytes.len() {
                return;
            }
            let durable = (!state.lying).then(|| bytes.to_vec());
            let content = state.files.entry(file.to_owned()).or_default();
            content.seen = bytes.to_vec();
            content.durable = durable.or(content.durable.take());
        })
    }
}
