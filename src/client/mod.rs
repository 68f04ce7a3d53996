//! Requests to a running server over HTTP: connections, answers, problems, events. For the command
//! line, which is a client like any other. Knows no command, and nothing of this process as a server.

mod answer_events;
mod call;
mod connection;
mod error;
mod follow;
mod mcp;
mod refusal;

pub(crate) use answer_events::{AnswerEvents, ServerEvent};
pub(crate) use call::ServerCall;
pub(crate) use connection::ServerConnection;
pub(crate) use error::ClientError;
pub(crate) use follow::Follower;
pub(crate) use mcp::{McpAnswer, McpServerConnection};
pub(crate) use refusal::ServerProblem;
