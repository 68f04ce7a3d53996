//! The MCP servers of the settings: what to start or where to ask. Knows nothing of the protocol.

use std::time::Duration;

use indexmap::IndexMap;
use url::Url;

use super::parse;
use super::reader::Reader;
use super::secrets::{SecretText, Secrets};

/// One MCP server.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// How it is spoken to.
    pub transport: McpTransport,
    /// Time limit of one call.
    pub timeout: Duration,
}

/// How an MCP server is spoken to.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A child process, over its input and output.
    Child {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// All its variables: those of the settings, and the few of ours that programs need. The
        /// others of ours may be secrets.
        env: IndexMap<String, SecretText>,
    },
    /// Streamable HTTP.
    Http {
        /// Where it is.
        url: Url,
        /// What every request carries.
        headers: IndexMap<String, SecretText>,
    },
}

/// Reads every `[mcp.NAME]`.
pub(super) fn read_servers(
    read: &mut Reader<'_>,
    secrets: &Secrets,
) -> IndexMap<String, McpConfig> {
    let mut servers = IndexMap::new();
    for name in read.layers.chosen("mcp") {
        check_name(read, &name);
        if let Some(server) = read_server(read, &name, secrets) {
            servers.insert(name, server);
        }
    }
    servers
}

fn check_name(read: &mut Reader<'_>, name: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > 63 || !name.chars().all(fits) {
        read.problems.push(format!(
            "mcp.{}: the name of an MCP server is up to 63 letters, digits, \"_\" and \"-\"",
            name.escape_debug()
        ));
    }
}

fn read_server(read: &mut Reader<'_>, name: &str, secrets: &Secrets) -> Option<McpConfig> {
    let at = |member: &str| format!("mcp.{name}.{member}");
    let command = read.given(&at("command")).map(super::layers::Given::items);
    let url = read.optional(&at("url"), parse::http_url);
    let env = read_texts(read, &at("env"), secrets);
    let headers = read_texts(read, &at("headers"), secrets);
    let timeout = read.required(&at("timeout_ms"), parse::millis);
    let own_env = !env.is_empty();
    let child = command.as_deref().and_then(|command| command.split_first());
    let transport = match (child, url, read.given(&at("url")).is_some()) {
        (Some((program, arguments)), None, false) if headers.is_empty() => McpTransport::Child {
            program: program.clone(),
            arguments: arguments.to_vec(),
            env: inherited(read).chain(env).collect(),
        },
        (None, Some(url), _) if command.is_none() && !own_env => {
            McpTransport::Http { url, headers }
        }
        // The URL has been told of.
        (None, None, true) => return None,
        _ => {
            read.problems.push(format!(
                "mcp.{name}: expected either a command, with env if need be, or a url, with headers"
            ));
            return None;
        }
    };
    Some(McpConfig { transport, timeout: timeout? })
}

/// What programs need of our variables to find themselves and others.
fn inherited(read: &Reader<'_>) -> impl Iterator<Item = (String, SecretText)> {
    let names = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"];
    let found = |name: &str| Some((name.to_owned(), SecretText::plain(read.env.get(name)?)));
    names.into_iter().filter_map(found)
}

fn read_texts(
    read: &mut Reader<'_>,
    table: &str,
    secrets: &Secrets,
) -> IndexMap<String, SecretText> {
    let members = read.layers.members(table).into_iter();
    let texts = members.filter_map(|member| {
        let text = read.with_secrets(&format!("{table}.{member}"), secrets)?;
        Some((member, text))
    });
    texts.collect()
}
