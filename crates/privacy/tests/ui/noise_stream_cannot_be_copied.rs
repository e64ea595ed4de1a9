//! A copied stream would repeat its noise.
fn fork(stream: &privacy::noise::NoiseStream) -> privacy::noise::NoiseStream {
    stream.clone()
}

fn main() {}
