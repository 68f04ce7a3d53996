//! The MCP servers of the settings: a process to start or a URL to call. Does not know the protocol.

use std::time::Duration;

use indexmap::IndexMap;
use url::Url;

use super::reader::SettingReader;
use super::secrets::{SecretText, Secrets};
use super::settings::McpSettings;

/// One MCP server.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// How to reach it.
    pub transport: McpTransport,
    /// Time limit of one call.
    pub timeout: Duration,
    /// What stands before the names of its tools, so that they differ from those of other servers.
    pub prefix: String,
}

/// How to reach an MCP server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A child process, over its input and output.
    Child {
        program: String,
        arguments: Vec<String>,
        /// All its environment variables: those of the settings, and the few of this process that
        /// programs need. Others of this process may be secrets.
        env: IndexMap<String, SecretText>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: Url,
        /// The headers of every request.
        headers: IndexMap<String, SecretText>,
    },
}

/// Reads every `[mcp.NAME]`.
pub(super) fn read_servers(
    read: &mut SettingReader<'_>,
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

fn check_name(read: &mut SettingReader<'_>, name: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > 63 || !name.chars().all(fits) {
        read.problems.push(format!(
            "mcp.{}: the name of an MCP server has up to 63 letters, digits, \"_\" and \"-\"",
            name.escape_debug()
        ));
    }
}

fn read_server(read: &mut SettingReader<'_>, name: &str, secrets: &Secrets) -> Option<McpConfig> {
    let settings = McpSettings::read(read, name)?;
    let env = read_texts(read, name, "env", settings.env, secrets);
    let headers = read_texts(read, name, "headers", settings.headers, secrets);
    let has_url = read.given(&format!("mcp.{name}.url")).is_some();
    let transport = match (settings.command.split_first(), settings.url) {
        (Some((program, arguments)), None) if !has_url && headers.is_empty() => {
            McpTransport::Child {
                program: program.clone(),
                arguments: arguments.to_vec(),
                env: inherited_env(read).chain(env).collect(),
            }
        }
        (None, Some(url)) if env.is_empty() => McpTransport::Http { url, headers },
        // The URL is already reported.
        (None, None) if has_url => return None,
        _ => {
            read.problems.push(format!(
                "mcp.{name}: expected either a command, with an optional env, or a url, with optional headers"
            ));
            return None;
        }
    };
    let prefix = settings.prefix.unwrap_or_default();
    check_prefix(read, name, &prefix);
    Some(McpConfig { transport, timeout: settings.timeout?, prefix })
}

/// A prefix is a part of names that every provider of models accepts.
fn check_prefix(read: &mut SettingReader<'_>, name: &str, prefix: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if prefix.len() > 32 || !prefix.chars().all(fits) {
        read.problems
            .push(format!("mcp.{name}.prefix: expected up to 32 letters, digits, \"_\" and \"-\""));
    }
}

/// The variables of this process that programs need to find themselves and others.
fn inherited_env(read: &SettingReader<'_>) -> impl Iterator<Item = (String, SecretText)> {
    let names = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"];
    let found = |name: &str| Some((name.to_owned(), SecretText::plain(read.env.get(name)?)));
    names.into_iter().filter_map(found)
}

fn read_texts(
    read: &mut SettingReader<'_>,
    server: &str,
    table: &str,
    members: Vec<String>,
    secrets: &Secrets,
) -> IndexMap<String, SecretText> {
    let texts = members.into_iter().filter_map(|member| {
        let path = format!("mcp.{server}.{table}.{member}");
        let text = SecretText::of_setting(read, &path, secrets, server)?;
        Some((member, text))
    });
    texts.collect()
}
