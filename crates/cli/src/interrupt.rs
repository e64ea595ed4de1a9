//! A last line where somebody stops a command from its terminal: what is kept, and how to go on.

use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

/// What is said; nothing before there is something to go on with.
static LINE: Mutex<String> = Mutex::new(String::new());
static LISTENING: Once = Once::new();

/// Says this line, from now on, where Ctrl-C ends the process.
pub(crate) fn say(line: String) {
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = line;
    LISTENING.call_once(|| drop(std::thread::Builder::new().name("interrupt".into()).spawn(listen)));
}

/// Waits for Ctrl-C. Files of a run appear whole or not at all, so that the process can end at once: exit code 130, as a
/// shell says of a command that was interrupted. Where nothing can be listened for, the signal ends the process by itself.
fn listen() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
        let line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.is_empty() {
            // Behind a line that moves. Standard error may be closed; then there is nobody to tell.
            drop(writeln!(std::io::stderr(), "\n{line}"));
        }
        std::process::exit(130);
    }
}
