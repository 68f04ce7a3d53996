//! Reads `[secrets]`: each text with the hosts and MCP servers that it may go to. The old form, a text
//! alone, is read too; such a secret goes nowhere. Does not know what refers to a secret.

use indexmap::IndexSet;
use secrecy::SecretString;

use super::allow::{Destination, read_destinations};
use super::layers::SettingOrigin;
use super::nearest::hint;
use super::reader::SettingReader;
use super::secrets::{Secret, Secrets};
use super::settings::{SecretSettings, SecretTextSettings};
use super::value::SECRET;

/// Reads every `[secrets.NAME]`.
pub(super) fn read_secrets(read: &mut SettingReader<'_>) -> Option<Secrets> {
    let members = SecretTextSettings::read(read, "")?.names;
    let names: IndexSet<&str> =
        members.iter().filter_map(|member| member.split('.').next()).collect();
    let mut secrets = Vec::new();
    for name in names {
        match unusable(name) {
            Some(reason) => {
                read.problems.push(format!("secrets.{}: {reason}", name.escape_debug()));
            }
            None => secrets.extend(read_secret(read, name)),
        }
    }
    Some(secrets.into_iter().collect())
}

fn unusable(name: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let usable = name.len() <= 63 && name.chars().all(fits);
    (!usable).then_some("the name of a secret has up to 63 letters, digits and \"_\"")
}

fn read_secret(read: &mut SettingReader<'_>, name: &str) -> Option<Secret> {
    let settings = SecretSettings::read(read, name)?;
    let hosts = read_hosts(read, name, &settings.hosts);
    let mcp = read_mcp_names(read, name, settings.mcp);
    let text = read_text(read, name, settings.value)?;
    let secret = Secret { name: name.to_owned(), text, hosts, mcp };
    if secret.hosts.is_empty() && secret.mcp.is_empty() {
        read.warnings.push(format!(
            "secrets.{name} goes nowhere: list the hosts that it may be sent to in \
             secrets.{name}.hosts (or DSRS_SECRETS__{upper}__HOSTS), and the MCP servers that it may \
             be passed to in secrets.{name}.mcp (or DSRS_SECRETS__{upper}__MCP)",
            upper = name.to_uppercase()
        ));
    }
    Some(secret)
}

/// The text of `secrets.NAME.value`, or of `secrets.NAME`, which is the old form in a file and the
/// short one among environment variables. A variable wins over the file.
fn read_text(
    read: &mut SettingReader<'_>,
    name: &str,
    value: Option<SecretString>,
) -> Option<SecretString> {
    let (short, long) = (format!("secrets.{name}"), format!("secrets.{name}.value"));
    let plain = read.optional(&short, SECRET.parse)?;
    let (of_value, of_plain) = (read.given(&long), read.given(&short));
    if of_value.is_none() && of_plain.is_none() {
        read.problems.push(format!(
            "{long} is missing; set it in the file, or set DSRS_SECRETS__{}",
            name.to_uppercase()
        ));
    }
    let in_file = of_value.is_some_and(|text| matches!(text.origin, SettingOrigin::File { .. }));
    match of_plain {
        Some(_) if in_file => plain,
        _ => value.or(plain),
    }
}

fn read_hosts(read: &mut SettingReader<'_>, name: &str, entries: &[String]) -> Vec<Destination> {
    let path = format!("secrets.{name}.hosts");
    let hosts = read_destinations(read, &path, entries);
    if let (true, Some(given)) = (hosts.contains(&Destination::Public), read.given(&path)) {
        read.refuse(&path, given, "a secret cannot go to every host; list those that need it");
    }
    hosts
}

/// The MCP servers of a secret; a misspelled one is a problem.
fn read_mcp_names(read: &mut SettingReader<'_>, name: &str, servers: Vec<String>) -> Vec<String> {
    let path = format!("secrets.{name}.mcp");
    let known = read.layers.chosen("mcp");
    for server in servers.iter().filter(|server| !known.contains(server)) {
        let hint = hint(server, known.iter().map(String::as_str));
        let reason = format!("there is no MCP server \"{}\"{hint}", server.escape_debug());
        if let Some(given) = read.given(&path) {
            read.refuse(&path, given, &reason);
        }
    }
    servers
}
