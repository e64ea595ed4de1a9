//! A proxy on loopback that does to a connection what networks do: it delays, cuts, and swallows.

// Each test file uses a part of it.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// What is done to every connection, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkFault {
    /// Nothing.
    Fair,
    /// Each piece is late by so much, in both directions.
    Late(Duration),
    /// Nothing gets through, and nobody is told: connections stay open.
    Partition,
}

/// A proxy; it is gone when dropped, and its connections with it.
pub(crate) struct Proxy {
    address: SocketAddr,
    control: Control,
    cuts: Arc<Mutex<VecDeque<usize>>>,
    accepted: Arc<AtomicUsize>,
    task: AbortHandle,
}

#[derive(Clone)]
struct Control {
    weather: Arc<watch::Sender<NetworkFault>>,
    era: Arc<watch::Sender<u64>>,
}

impl Proxy {
    /// A proxy to that address, at an address of its own.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let control =
            Control { weather: Arc::new(watch::Sender::new(NetworkFault::Fair)), era: Arc::new(watch::Sender::new(0)) };
        let cuts = Arc::new(Mutex::new(VecDeque::new()));
        let accepted = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(run(listener, target, control.clone(), Arc::clone(&cuts), Arc::clone(&accepted)));
        Self { address, control, cuts, accepted, task: task.abort_handle() }
    }

    /// Where it is, as text.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Changes the weather, for open connections too.
    pub(crate) fn weather(&self, weather: NetworkFault) {
        self.control.weather.send_replace(weather);
    }

    /// Cuts all connections that are open now.
    pub(crate) fn cut(&self) {
        self.control.era.send_modify(|era| *era += 1);
    }

    /// The next connections are cut after so many bytes, both directions together; one connection for each number.
    pub(crate) fn cut_after(&self, bytes: impl IntoIterator<Item = usize>) {
        self.cuts.lock().unwrap().extend(bytes);
    }

    /// How many connections there were.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(
    listener: TcpListener,
    target: SocketAddr,
    control: Control,
    cuts: Arc<Mutex<VecDeque<usize>>>,
    accepted: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        accepted.fetch_add(1, Ordering::SeqCst);
        let most = cuts.lock().unwrap().pop_front().unwrap_or(usize::MAX);
        connections.spawn(carry(near, target, control.clone(), most));
    }
}

async fn carry(near: TcpStream, target: SocketAddr, control: Control, most: usize) -> io::Result<()> {
    let mut era = control.era.subscribe();
    let left = Arc::new(AtomicUsize::new(most));
    let far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    tokio::select! {
        end = pump(near_in, far_out, &control, &left) => end,
        end = pump(far_in, near_out, &control, &left) => end,
        _ = era.changed() => Ok(()),
    }
}

/// Carries bytes one way until an end, an error or the cut; the end of one way is the end of the connection.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    control: &Control,
    left: &AtomicUsize,
) -> io::Result<()> {
    let mut weather = control.weather.subscribe();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        let now = *weather.wait_for(|weather| *weather != NetworkFault::Partition).await.map_err(io::Error::other)?;
        if let NetworkFault::Late(by) = now {
            tokio::time::sleep(by).await;
        }
        let allowed = left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(count)))
            .unwrap()
            .min(count);
        to.write_all(&buffer[..allowed]).await?;
        if count == 0 || allowed < count {
            return Ok(());
        }
    }
}
