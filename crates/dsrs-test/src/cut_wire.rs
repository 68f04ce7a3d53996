//! A wire between a server and Postgres that is cut right after a commit: Postgres has committed, and
//! the server does not learn of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf as FromServer, OwnedWriteHalf as ToServer};
use tokio::net::unix::{OwnedReadHalf as FromPostgres, OwnedWriteHalf as ToPostgres};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::cluster::cluster;
use super::within;

/// What happens to the connection of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Break,
    /// It stays open, and the server waits for the outcome.
    Silence,
}

/// Cheap to clone; it ends with the test's runtime.
#[derive(Clone)]
pub struct CutWire {
    /// The URL of the database behind the wire.
    pub url: String,
    next: Arc<watch::Sender<Option<Cut>>>,
    cuts: watch::Sender<usize>,
}

impl CutWire {
    /// To the database at this URL of the test cluster.
    pub async fn to(database: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (user, rest) = database.split_once('@').unwrap();
        let name = rest.split(['/', '?']).nth(1).unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("{user}@{address}/{name}?sslmode=disable");
        let wire = Self { url, next: Arc::default(), cuts: watch::Sender::new(0) };
        let serving = wire.clone();
        tokio::spawn(async move {
            while let Ok((server, _)) = listener.accept().await {
                tokio::spawn(serving.clone().connect(server));
            }
        });
        wire
    }

    /// Cuts the connection of the next commit.
    pub fn cut_next(&self, how: Cut) {
        self.next.send_replace(Some(how));
    }

    /// Waits until this many connections were cut; each of them has committed.
    pub async fn cut(&self, count: usize) {
        let mut cuts = self.cuts.subscribe();
        within("a commit", cuts.wait_for(|cuts| *cuts >= count)).await.unwrap();
    }

    async fn connect(self, server: TcpStream) {
        let socket: PathBuf = cluster().postgres.socket_dir().join(".s.PGSQL.5432");
        let (from_postgres, to_postgres) = UnixStream::connect(socket).await.unwrap().into_split();
        let (from_server, to_server) = server.into_split();
        let silence = Arc::new(AtomicBool::new(false));
        let broken = Arc::new(AtomicBool::new(false));
        let marks = Marks { silence, broken };
        let asking = tokio::spawn(self.clone().ask(from_server, to_postgres, marks.clone()));
        self.answer(from_postgres, to_server, marks).await;
        asking.abort();
    }

    /// Passes on what the server sends, and notices its commit.
    async fn ask(self, mut server: FromServer, mut postgres: ToPostgres, marks: Marks) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = server.read(&mut bytes).await {
            let sent = &bytes[..length];
            if sent.windows(6).any(|six| six == b"COMMIT")
                && let Some(how) = self.next.send_replace(None)
            {
                marks.silence.store(true, Ordering::SeqCst);
                marks.broken.store(how == Cut::Break, Ordering::SeqCst);
            }
            if postgres.write_all(sent).await.is_err() {
                return;
            }
        }
    }

    /// Passes on what Postgres answers, until the commit to be cut is done.
    async fn answer(&self, mut postgres: FromPostgres, mut server: ToServer, marks: Marks) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = postgres.read(&mut bytes).await {
            if marks.silence.load(Ordering::SeqCst) {
                self.cuts.send_modify(|cuts| *cuts += 1);
                if !marks.broken.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                return;
            }
            if server.write_all(&bytes[..length]).await.is_err() {
                return;
            }
        }
    }
}

/// The state of one connection.
#[derive(Clone)]
struct Marks {
    silence: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
}
