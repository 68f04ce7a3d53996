//! A network between two parts that can be cut: bytes stop in both directions, without an error. When it is healed,
//! they arrive late, or the connections of before break.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Where a connection leads.
#[derive(Clone)]
pub enum End {
    Socket(PathBuf),
    Address(SocketAddr),
}

/// What becomes of the connections of a network that is healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// What was sent meanwhile arrives.
    Late,
    /// They break.
    Broken,
    /// They stay as they are, without an error: a firewall has forgotten them.
    Silent,
}

/// It ends with the test's runtime.
pub struct Wire {
    /// Where it accepts connections.
    pub address: SocketAddr,
    ends: Arc<Vec<(End, watch::Sender<State>)>>,
}

#[derive(Clone, Copy, Default)]
struct State {
    is_cut: bool,
    /// How often it was healed.
    epoch: usize,
    /// Connections of epochs before this one break.
    broken: usize,
    /// Nothing passes on connections of epochs before this one.
    silent: usize,
}

impl Wire {
    /// A connection leads to one of the ends, to the next one if that refuses it.
    pub async fn to(ends: Vec<End>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ends: Vec<_> =
            ends.into_iter().map(|end| (end, watch::Sender::new(State::default()))).collect();
        let ends = Arc::new(ends);
        let serving = ends.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(connect(serving.clone(), number, client));
            }
        });
        Self { address, ends }
    }

    /// From now on nothing passes to this end or from it.
    pub fn cut(&self, end: usize) {
        self.ends[end].1.send_modify(|state| state.is_cut = true);
    }

    pub fn heal(&self, end: usize, after: After) {
        self.ends[end].1.send_modify(|state| {
            state.is_cut = false;
            state.epoch += 1;
            match after {
                After::Late => {}
                After::Broken => state.broken = state.epoch,
                After::Silent => state.silent = state.epoch,
            }
        });
    }
}

async fn connect(ends: Arc<Vec<(End, watch::Sender<State>)>>, first: usize, client: TcpStream) {
    for number in 0..ends.len() {
        let (end, state) = &ends[(first + number) % ends.len()];
        match end {
            End::Socket(path) => {
                if let Ok(stream) = UnixStream::connect(path).await {
                    return forward(state, client.into_split(), stream.into_split()).await;
                }
            }
            End::Address(address) => {
                if let Ok(stream) = TcpStream::connect(address).await {
                    return forward(state, client.into_split(), stream.into_split()).await;
                }
            }
        }
    }
}

async fn forward(
    state: &watch::Sender<State>,
    client: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    server: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
) {
    let begun = state.borrow().epoch;
    let mut later = state.subscribe();
    tokio::select! {
        () = pass(state, begun, client.0, server.1) => {}
        () = pass(state, begun, server.0, client.1) => {}
        _ = later.wait_for(|state| state.broken > begun) => {}
    }
}

async fn pass(
    state: &watch::Sender<State>,
    begun: usize,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) {
    let mut state = state.subscribe();
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let _ = state.wait_for(|state| !state.is_cut && state.silent <= begun).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
