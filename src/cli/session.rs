//! What every command of the client has: the server, and where its result goes.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde_json::Value;

use super::failure::CommandFailure;
use crate::client::ServerConnection;
use dsrs_config::Environment;

/// The server if none is named.
const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";

/// The flags of every command of the client.
#[derive(Debug, Args)]
pub(super) struct ClientArgs {
    /// The server [env: DSRS_URL] [default: http://127.0.0.1:8080]; the key is in DSRS_API_KEY
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    /// Print JSON, also to a terminal
    #[arg(long, global = true)]
    json: bool,
}

/// A server, and where the result of a command goes.
pub(super) struct Session {
    pub(super) server: ServerConnection,
    /// Whether JSON was asked for.
    pub(super) json: bool,
    /// Whether stdout is a terminal.
    pub(super) is_terminal: bool,
    /// Whether a terminal may be sent colours.
    pub(super) has_colour: bool,
}

impl Session {
    /// Prepares calls; opens no connection.
    pub(super) fn open(args: &ClientArgs) -> Result<Self, CommandFailure> {
        let env = Environment::of_process();
        let url = args.server.as_deref().or_else(|| env.get("DSRS_URL")).unwrap_or(DEFAULT_SERVER);
        let server = ServerConnection::new(url, env.get("DSRS_API_KEY"))?;
        let is_terminal = io::stdout().is_terminal();
        let has_colour = is_terminal && env.get("NO_COLOR").is_none();
        Ok(Self { server, json: args.json, is_terminal, has_colour })
    }

    /// Whether a single document is printed as JSON: if asked for, or to a pipe.
    pub(super) fn prints_json(&self) -> bool {
        self.json || !self.is_terminal
    }

    /// A text in bold, where the terminal has that.
    pub(super) fn bold(&self, text: &str) -> String {
        match self.has_colour {
            true => format!("\x1b[1m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// Prints a document, indented.
pub(super) fn print_json(document: &Value) -> Result<(), CommandFailure> {
    print_line(&format!("{document:#}"))
}

/// Prints a line to stdout.
pub(super) fn print_line(line: &str) -> Result<(), CommandFailure> {
    Ok(writeln!(io::stdout().lock(), "{line}")?)
}
