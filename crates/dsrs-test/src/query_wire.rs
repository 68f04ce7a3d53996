//! A wire between a server and Postgres that records the statements of one workspace, and how many rows they
//! return.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf as FromServer, OwnedWriteHalf as ToServer};
use tokio::net::unix::{OwnedReadHalf as FromPostgres, OwnedWriteHalf as ToPostgres};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::cluster::cluster;

/// The setting that says whose rows a session sees.
const VISIBLE: &str = "dsrs.workspace = '";

/// Cheap to clone; it ends with the test's runtime.
#[derive(Clone)]
pub struct QueryWire {
    /// The URL of the database behind the wire.
    pub url: String,
    work: Arc<Mutex<Work>>,
}

#[derive(Default)]
struct Work {
    /// The workspace whose statements are recorded.
    workspace: String,
    statements: Vec<String>,
    rows: usize,
}

/// One connection.
#[derive(Default)]
struct Session {
    /// The statements that the server has prepared, by name.
    prepared: HashMap<Vec<u8>, String>,
}

impl QueryWire {
    /// To the database at this URL of the test cluster.
    pub async fn to(database: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (user, rest) = database.split_once('@').unwrap();
        let name = rest.split(['/', '?']).nth(1).unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("{user}@{address}/{name}?sslmode=disable");
        let wire = Self { url, work: Arc::default() };
        let serving = wire.clone();
        tokio::spawn(async move {
            while let Ok((server, _)) = listener.accept().await {
                tokio::spawn(serving.clone().connect(server));
            }
        });
        wire
    }

    /// Records the work of this workspace from now on.
    pub fn record(&self, workspace: &str) {
        *self.work.lock().unwrap() = Work { workspace: workspace.to_owned(), ..Work::default() };
    }

    /// The statements since then, sorted, and the number of rows that they returned.
    pub fn recorded(&self) -> (Vec<String>, usize) {
        let mut work = self.work.lock().unwrap();
        let mut statements = std::mem::take(&mut work.statements);
        statements.sort();
        (statements, std::mem::take(&mut work.rows))
    }

    async fn connect(self, server: TcpStream) {
        let socket = cluster().postgres.socket_dir().join(".s.PGSQL.5432");
        let (from_postgres, to_postgres) = UnixStream::connect(socket).await.unwrap().into_split();
        let (from_server, to_server) = server.into_split();
        let watched = Arc::new(AtomicBool::new(false));
        let asking = tokio::spawn(self.clone().ask(from_server, to_postgres, watched.clone()));
        self.answer(from_postgres, to_server, &watched).await;
        asking.abort();
    }

    async fn ask(self, mut server: FromServer, mut postgres: ToPostgres, watched: Arc<AtomicBool>) {
        // The first message has a length and no type.
        let mut length = [0; 4];
        let Ok(_) = server.read_exact(&mut length).await else { return };
        let mut first = length.to_vec();
        first.resize(u32::from_be_bytes(length) as usize, 0);
        if server.read_exact(&mut first[4..]).await.is_err()
            || postgres.write_all(&first).await.is_err()
        {
            return;
        }
        let mut session = Session::default();
        while let Some(message) = next_message(&mut server).await {
            self.notice(&mut session, &watched, &message);
            if postgres.write_all(&message).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, mut postgres: FromPostgres, mut server: ToServer, watched: &AtomicBool) {
        while let Some(message) = next_message(&mut postgres).await {
            if message[0] == b'D' && watched.load(Ordering::SeqCst) {
                self.work.lock().unwrap().rows += 1;
            }
            if server.write_all(&message).await.is_err() {
                return;
            }
        }
    }

    /// Records a statement: one that is sent as text, or one that was prepared and is executed.
    fn notice(&self, session: &mut Session, watched: &AtomicBool, message: &[u8]) {
        let mut texts = message[5..].split(|byte| *byte == 0);
        let mut text = || texts.next().unwrap_or_default().to_vec();
        let statement = match message[0] {
            b'Q' => String::from_utf8(text()).unwrap(),
            b'P' => {
                let (name, sql) = (text(), text());
                session.prepared.insert(name, String::from_utf8(sql).unwrap());
                return;
            }
            b'B' => {
                let (_portal, name) = (text(), text());
                session.prepared.get(&name).cloned().unwrap_or_default()
            }
            _ => return,
        };
        let mut work = self.work.lock().unwrap();
        if let Some((_, visible)) = statement.split_once(VISIBLE) {
            let is_watched = !work.workspace.is_empty() && visible.starts_with(&work.workspace);
            watched.store(is_watched, Ordering::SeqCst);
        }
        if watched.load(Ordering::SeqCst) {
            work.statements.push(statement);
        }
    }
}

/// A type, a length that counts itself, and the content.
async fn next_message(from: &mut (impl AsyncReadExt + Unpin)) -> Option<Vec<u8>> {
    let mut head = [0; 5];
    from.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut message = head.to_vec();
    message.resize(1 + length as usize, 0);
    from.read_exact(&mut message[5..]).await.ok()?;
    Some(message)
}
