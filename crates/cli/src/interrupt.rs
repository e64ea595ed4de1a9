//! Ctrl-C: a run is asked to stop between two rounds, and anything else ends at once.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// What is said where a run is ended at once; none where no run goes on that could be asked to stop.
static LINE: Mutex<Option<String>> = Mutex::new(None);
static ASKED: AtomicBool = AtomicBool::new(false);
static LISTENING: Once = Once::new();

/// A run goes on, and this is what to say of it if it has to end at once; none where it is over.
pub(crate) fn during(line: Option<String>) {
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = line;
    LISTENING.call_once(|| drop(std::thread::Builder::new().name("interrupt".into()).spawn(listen)));
}

/// Whether somebody has asked the run to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Acquire)
}

/// Waits for Ctrl-C. The first asks a run to stop; the second does not wait for the end of its round. Files of a run appear whole
/// or not at all, so that the process can end at once: exit code 130, as a shell says of a command that was interrupted. Where
/// nothing can be listened for, the signal ends the process by itself.
fn listen() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
        let line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_some() && !ASKED.swap(true, Ordering::AcqRel) {
            continue;
        }
        if let Some(line) = &*line {
            // Behind a line that moves. Standard error may be closed; then there is nobody to tell.
            drop(writeln!(std::io::stderr(), "\n{line}"));
        }
        std::process::exit(130);
    }
}
