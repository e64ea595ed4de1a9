//! Compiles the wire's protocol buffers, without a compiler from outside.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto/posterity.proto");
    let files = protox::compile(["proto/posterity.proto"], ["proto"])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
