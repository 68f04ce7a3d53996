//! A proxy between a server and Postgres that does what networks and connection poolers do: it can turn
//! the connections that listen silent, without closing them, and it can drop every notification.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

/// The statement that begins to listen, as the driver writes it.
const LISTEN: &[u8] = b"LISTEN \"";

/// The type of the message that carries a notification.
const NOTIFICATION: u8 = b'A';

/// The proxy; it ends with the test's runtime.
pub struct DatabaseProxy {
    /// The URL of the database through the proxy.
    pub url: String,
    rules: Arc<Rules>,
}

#[derive(Default)]
struct Rules {
    silent: AtomicBool,
    drops_notifications: AtomicBool,
}

/// One connection through the proxy.
#[derive(Default)]
struct Connection {
    listens: AtomicBool,
    /// Bytes of it were swallowed: it is silent for ever.
    swallowed: AtomicBool,
}

impl DatabaseProxy {
    /// In front of a database of the cluster of the tests.
    pub async fn start(database: &str) -> Self {
        let direct = url::Url::parse(database).unwrap();
        let (_, directory) = direct.query_pairs().find(|(name, _)| name == "host").unwrap();
        let socket = PathBuf::from(directory.into_owned()).join(".s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (user, name) = (direct.username(), direct.path());
        let url = format!("postgres://{user}@{address}{name}?sslmode=disable");
        let rules = Arc::new(Rules::default());
        let shared = rules.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let Ok(server) = UnixStream::connect(&socket).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let connection = Arc::new(Connection::default());
                tokio::spawn(send(shared.clone(), connection.clone(), from_client, to_server));
                tokio::spawn(receive(shared.clone(), connection, from_server, to_client));
            }
        });
        Self { url, rules }
    }

    /// From now on, connections that listen are silent: what is sent on them is swallowed.
    pub fn silence(&self) {
        self.rules.silent.store(true, Ordering::SeqCst);
    }

    /// New connections are not silent any more.
    pub fn restore(&self) {
        self.rules.silent.store(false, Ordering::SeqCst);
    }

    /// From now on, no notification arrives, as behind a pooler in transaction mode.
    pub fn drop_notifications(&self) {
        self.rules.drops_notifications.store(true, Ordering::SeqCst);
    }
}

impl Connection {
    fn is_silent(&self, rules: &Rules) -> bool {
        if rules.silent.load(Ordering::SeqCst) && self.listens.load(Ordering::SeqCst) {
            self.swallowed.store(true, Ordering::SeqCst);
        }
        self.swallowed.load(Ordering::SeqCst)
    }
}

async fn send(
    rules: Arc<Rules>,
    connection: Arc<Connection>,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let sent = &bytes[..count];
        if sent.windows(LISTEN.len()).any(|window| window == LISTEN) {
            connection.listens.store(true, Ordering::SeqCst);
        }
        if !connection.is_silent(&rules) && to.write_all(sent).await.is_err() {
            return;
        }
    }
    // Postgres learns that a client has left, silent or not.
    let _ = to.shutdown().await;
}

async fn receive(
    rules: Arc<Rules>,
    connection: Arc<Connection>,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) {
    // A type, a length that counts itself, and the content.
    let mut head = [0; 5];
    while from.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut message = head.to_vec();
        message.resize(1 + length as usize, 0);
        if from.read_exact(&mut message[5..]).await.is_err() {
            break;
        }
        let dropped = head[0] == NOTIFICATION && rules.drops_notifications.load(Ordering::SeqCst);
        let passes = !dropped && !connection.is_silent(&rules);
        if passes && to.write_all(&message).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
