//! The dashboard over a made-up run that goes on by itself: for work on the page.
//!
//! `cargo run -p posterity-federation --example dashboard_demo -- [port] [rounds made at once] [milliseconds a round]`

#[path = "../tests/dashboard/hospitals.rs"]
mod hospitals;

use federation::dashboard::{CONNECTIONS_OF_AN_ADDRESS, Metrics, SiteStatus, Token, serve};
use hospitals::{Hospitals, RUN};
use std::sync::Arc;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = std::env::args().skip(1).map(|word| word.parse::<u64>()).collect::<Result<Vec<_>, _>>()?;
    let number = |place: usize, otherwise: u64| numbers.get(place).copied().unwrap_or(otherwise);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", u16::try_from(number(0, 0))?)).await?;
    let (source, token) = (Arc::new(Hospitals::new(60)), Token::generate()?);
    let address = listener.local_addr()?;
    println!("http://{address}/login?token={}", token.hex());
    println!("http://{address}/runs/{RUN}");
    (0..number(1, 3)).for_each(|_| source.step());
    tokio::spawn(go_on(Arc::clone(&source), Duration::from_millis(number(2, 1000))));
    let until = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    Ok(serve(listener, None, source, Arc::new(Metrics::default()), token, CONNECTIONS_OF_AN_ADDRESS, until).await?)
}

/// A round after each pause; half-way one hospital turns out to be alive twice.
async fn go_on(source: Arc<Hospitals>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        source.step();
        source.change(|view| {
            if view.round >= view.rounds / 2 {
                view.sites.iter_mut().filter(|site| site.name == "tampere").for_each(|site| {
                    (site.standing, site.asked) = (SiteStatus::Frozen, None);
                });
            }
        });
    }
}
