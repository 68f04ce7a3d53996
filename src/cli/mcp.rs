//! `dsrs-server mcp`: the MCP server of a running server over standard input and output, for hosts that start programs.
//! Each line is a message, sent as it is; answers are lines. Knows no method of the protocol but the cancellation.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use indexmap::IndexMap;
use serde_json::{Value, json};
use tokio::io::stdin;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use super::failure::CommandFailure;
use super::message_lines::{LineFault, MessageLines};
use super::session::{ClientArgs, Session, print_line};
use crate::client::{ClientError, McpAnswer, McpServerConnection};

/// The longest line. The server has a limit of its own, which is lower.
const LONGEST_LINE: usize = 64 << 20;

/// How long a cancelled call may take to end before the bridge disconnects from it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(super) struct McpArgs {
    #[command(flatten)]
    client: ClientArgs,
}

type Exchange<'c> = Pin<Box<dyn Future<Output = Result<(), CommandFailure>> + 'c>>;

/// A request in progress, by the id of its message as JSON.
type Requests = IndexMap<String, Cancellation>;

/// How a request is cancelled.
#[derive(Clone, Default)]
struct Cancellation {
    /// Nothing more is printed.
    silenced: CancellationToken,
    /// The server knows of it.
    announced: CancellationToken,
}

/// Exchanges messages until standard input ends, and what was sent is answered.
pub(super) async fn run(args: McpArgs) -> Result<(), CommandFailure> {
    let server = McpServerConnection::new(Session::open(&args.client)?.server);
    let mut lines = FramedRead::new(stdin(), MessageLines::new(LONGEST_LINE));
    let mut exchanges: FuturesUnordered<Exchange<'_>> = FuturesUnordered::new();
    let mut requests = Requests::new();
    let mut has_more = true;
    while has_more || !exchanges.is_empty() {
        tokio::select! {
            line = lines.next(), if has_more => match line {
                Some(line) => {
                    let message = read(line?)?;
                    exchanges.extend(message.map(|message| begin(&server, message, &mut requests)));
                }
                None => has_more = false,
            },
            Some(done) = exchanges.next(), if !exchanges.is_empty() => {
                done?;
                requests.retain(|_, request| !request.is_over());
            }
        }
    }
    Ok(())
}

/// The exchange that a message begins.
fn begin<'c>(
    server: &'c McpServerConnection,
    message: Value,
    requests: &mut Requests,
) -> Exchange<'c> {
    let own = Cancellation::default();
    if let Some(request) = cancelled(&message) {
        let request = requests.swap_remove(&request).unwrap_or_default();
        request.silenced.cancel();
        return Box::pin(async move {
            // A server may leave the runs of disconnected clients running: it has to know first.
            let done = exchange(server, message, &own).await;
            request.announced.cancel();
            done
        });
    }
    if let Some(id) = message.get("id") {
        requests.insert(id.to_string(), own.clone());
    }
    Box::pin(async move {
        let left = own.left(server);
        let done = tokio::select! {
            done = exchange(server, message, &own) => done,
            () = left => Ok(()),
        };
        own.announced.cancel();
        done
    })
}

impl Cancellation {
    /// Ends when the bridge no longer waits for a cancelled call. Without a session the server cannot know the call by
    /// its id: disconnecting cancels it.
    async fn left(&self, server: &McpServerConnection) {
        self.silenced.cancelled().await;
        self.announced.cancelled().await;
        if server.has_session() {
            tokio::time::sleep(PATIENCE).await;
        }
    }

    /// Whether there is nothing to cancel.
    fn is_over(&self) -> bool {
        self.announced.is_cancelled()
    }

    /// Prints a message, unless its request is cancelled.
    fn print(&self, message: &Value) -> Result<(), CommandFailure> {
        if self.silenced.is_cancelled() { Ok(()) } else { write(message) }
    }
}

/// The message of a line. A line that is none is answered.
fn read(line: Result<String, LineFault>) -> Result<Option<Value>, CommandFailure> {
    let detail = match line {
        Ok(line) if line.trim().is_empty() => return Ok(None),
        Ok(line) => match serde_json::from_str::<Value>(&line) {
            Ok(message) if message.is_object() => return Ok(Some(message)),
            Ok(_) => "a line is one JSON-RPC message, an object".to_owned(),
            Err(error) => format!("the line is no JSON: {error}"),
        },
        Err(LineFault::Long(longest)) => format!("the line has more than {longest} bytes"),
        Err(LineFault::Encoding) => "the line is no UTF-8".to_owned(),
    };
    write(&error(&Value::Null, -32700, &detail))?;
    Ok(None)
}

/// The id of the request that a message cancels, as JSON.
fn cancelled(message: &Value) -> Option<String> {
    let is_cancellation = message["method"] == "notifications/cancelled";
    is_cancellation.then(|| message["params"]["requestId"].to_string())
}

/// Sends a message and prints what answers it.
async fn exchange(
    server: &McpServerConnection,
    message: Value,
    own: &Cancellation,
) -> Result<(), CommandFailure> {
    let id = message.get("id").cloned();
    match answer(server, &message, own).await {
        Ok(()) => Ok(()),
        Err(Exchanged::Output(failure)) => Err(failure),
        Err(Exchanged::Server(failure)) => match id {
            Some(id) => own.print(&error(&id, -32603, &failure.to_string())),
            // A notification has no answer.
            None => {
                eprintln!("dsrs-server: {failure}");
                Ok(())
            }
        },
    }
}

/// Why an exchange ended early.
enum Exchanged {
    Output(CommandFailure),
    Server(ClientError),
}

async fn answer(
    server: &McpServerConnection,
    message: &Value,
    own: &Cancellation,
) -> Result<(), Exchanged> {
    match server.send(message).await.map_err(Exchanged::Server)? {
        McpAnswer::Whole(None) => Ok(()),
        McpAnswer::Whole(Some(found)) => own.print(&found).map_err(Exchanged::Output),
        McpAnswer::Events(mut events) => {
            while let Some(event) = events.next().await.map_err(Exchanged::Server)? {
                own.print(&event.data).map_err(Exchanged::Output)?;
            }
            Ok(())
        }
    }
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn write(message: &Value) -> Result<(), CommandFailure> {
    print_line(&message.to_string())
}
