//! The commands `keys` and `workspaces`: they work on the database, with or without a running server. The
//! text of a new key goes to stdout, everything about it to stderr.

use dsrs_api::plain_name::PlainName;
use std::io::{self, Write};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{Arg, ArgMatches, Command, value_parser};
use secrecy::ExposeSecret;

use dsrs_api::key::{KeyLimits, KeyRequest, KeyScope};
use dsrs_api::workspace::WorkspaceRequest;
use dsrs_app::{
    AppError, Identity, KeyAdministration, KeyInWorkspace, workspace_create, workspace_list,
};
use dsrs_config::read_duration;
use dsrs_store::{Db, ListQuery};

/// The name under which the command line acts.
const ACTOR: &str = "command-line";

/// Rows that are read at once.
const PAGE: u32 = 200;

/// Why a command failed, in one line.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    App(#[from] AppError),
    #[error(
        "--expires must be an age such as `90d` or an RFC 3339 time in the future, found `{0}`"
    )]
    Expiry(String),
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

/// The commands about keys.
pub(super) fn keys() -> Command {
    let workspace = || {
        let arg = Arg::new("workspace").long("workspace").value_name("NAME");
        arg.default_value("default").help("the workspace of the key")
    };
    let create = Command::new("create")
        .about("Create a key and print it; it is shown only once")
        .arg(name_arg("the name of the key"))
        .arg(workspace())
        .arg(scopes_arg())
        .arg(limit_arg("requests-per-minute", "requests in a minute"))
        .arg(limit_arg("runs-per-minute", "runs that start in a minute"))
        .arg(limit_arg("concurrent-runs", "runs at the same time"))
        .arg(limit_arg("tokens-per-day", "tokens in a day (UTC)"))
        .arg(
            Arg::new("cost-per-day")
                .long("cost-per-day")
                .value_name("PRICE")
                .value_parser(read_cost)
                .help("money in a day (UTC), in the unit of the prices"),
        )
        .arg(Arg::new("expires").long("expires").value_name("AGE|TIME").help(
            "when the key ends: an age such as `90d`, or an RFC 3339 time; never if not given",
        ));
    Command::new("keys")
        .about("Manage API keys")
        .subcommand_required(true)
        .subcommand(create)
        .subcommand(Command::new("list").about("List keys").arg(workspace()))
        .subcommand(
            Command::new("revoke")
                .about("Revoke a key on all servers at once")
                .arg(Arg::new("key").required(true).value_name("NAME|ID").help("the key"))
                .arg(workspace()),
        )
}

/// The commands about workspaces.
pub(super) fn workspaces() -> Command {
    Command::new("workspaces")
        .about("Manage workspaces")
        .subcommand_required(true)
        .subcommand(
            Command::new("create")
                .about("Create a workspace")
                .arg(name_arg("the name of the workspace")),
        )
        .subcommand(Command::new("list").about("List workspaces"))
}

fn name_arg(help: &'static str) -> Arg {
    Arg::new("name").required(true).value_name("NAME").value_parser(read_name).help(help)
}

fn scopes_arg() -> Arg {
    Arg::new("scopes")
        .long("scopes")
        .value_name("SCOPES")
        .default_value("read,execute")
        .value_parser(read_scopes)
        .help("what the key may do: read, execute, write, admin, separated by commas")
}

fn limit_arg(name: &'static str, help: &'static str) -> Arg {
    let at_least_one = value_parser!(i64).range(1..);
    Arg::new(name).long(name).value_name("COUNT").value_parser(at_least_one).help(help)
}

fn read_name(text: &str) -> Result<PlainName, String> {
    PlainName::parse(text).ok_or_else(|| format!("expected {}", PlainName::EXPECTED))
}

fn read_scopes(text: &str) -> Result<Vec<KeyScope>, String> {
    let scope = |word: &str| {
        KeyScope::parse(word.trim()).ok_or_else(|| format!("there is no scope `{}`", word.trim()))
    };
    text.split(',').map(scope).collect()
}

fn read_cost(text: &str) -> Result<f64, String> {
    let cost = text.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost > 0.0);
    cost.ok_or_else(|| "expected a number above 0".to_owned())
}

/// Runs a command about keys.
pub(super) async fn run_keys(db: Db, args: ArgMatches) -> Result<(), CommandError> {
    let Some((command, args)) = args.subcommand() else { return Ok(()) };
    let operator = Identity::administrator(ACTOR);
    let workspace = args.get_one::<String>("workspace").map(String::as_str);
    let keys = KeyAdministration::open(&db, &operator, workspace).await?;
    match command {
        "create" => create(&db, &keys, args).await,
        "revoke" => revoke(&keys, args).await,
        _ => list(&keys).await,
    }
}

async fn create(
    db: &Db,
    keys: &KeyAdministration<'_>,
    args: &ArgMatches,
) -> Result<(), CommandError> {
    let limit = |name: &str| args.get_one::<i64>(name).copied();
    let Some(name) = args.get_one::<PlainName>("name") else { return Ok(()) };
    let request = KeyRequest {
        name: name.as_str().to_owned(),
        scopes: args.get_one::<Vec<KeyScope>>("scopes").cloned().unwrap_or_default(),
        workspace: None,
        limits: KeyLimits {
            requests_per_minute: limit("requests-per-minute"),
            runs_per_minute: limit("runs-per-minute"),
            concurrent_runs: limit("concurrent-runs"),
            tokens_per_day: limit("tokens-per-day"),
            cost_per_day: args.get_one("cost-per-day").copied(),
        },
        expires_at: None,
    };
    let end = match args.get_one::<String>("expires") {
        Some(text) => Some(read_end(text, db.now().await.map_err(AppError::from)?)?),
        None => None,
    };
    let created = keys.create(&request, end).await?;
    let KeyInWorkspace { row, workspace } = &created.key;
    let scopes = row.scopes.words().join(", ");
    writeln!(
        io::stderr(),
        "created the key `{}` of the workspace `{workspace}` with {scopes}; it is shown only now:",
        row.name
    )?;
    Ok(writeln!(io::stdout(), "{}", created.text.expose_secret())?)
}

/// An age from now, or a time; in the future.
fn read_end(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, CommandError> {
    let after = |age: Duration| now.checked_add_signed(TimeDelta::from_std(age).ok()?);
    let time = || DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc));
    let end = read_duration(text).and_then(after).or_else(time).filter(|end| *end > now);
    end.ok_or_else(|| CommandError::Expiry(text.to_owned()))
}

async fn revoke(keys: &KeyAdministration<'_>, args: &ArgMatches) -> Result<(), CommandError> {
    let Some(reference) = args.get_one::<String>("key") else { return Ok(()) };
    let found = keys.find(reference).await?;
    let revoked = keys.revoke(found.row.id).await?;
    Ok(writeln!(io::stderr(), "revoked the key `{}` ({}…)", revoked.row.name, revoked.row.prefix)?)
}

async fn list(keys: &KeyAdministration<'_>) -> Result<(), CommandError> {
    let mut query = ListQuery::new(None, PAGE);
    loop {
        let page = keys.list(query).await?;
        for KeyInWorkspace { row, .. } in &page.items {
            let status = match (row.revoked_at, row.expires_at) {
                (Some(at), _) => format!("revoked {}", at.format("%F %T")),
                (None, Some(at)) => format!("expires {}", at.format("%F %T")),
                (None, None) => "does not expire".to_owned(),
            };
            let scopes = row.scopes.words().join(",");
            let (id, name, prefix) = (row.id, &row.name, &row.prefix);
            writeln!(io::stdout(), "{id}  {prefix}…  {scopes:<24}  {status:<28}  {name}")?;
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Runs a command about workspaces.
pub(super) async fn run_workspaces(db: Db, args: ArgMatches) -> Result<(), CommandError> {
    let scope = Identity::administrator(ACTOR).scope;
    let created =
        args.subcommand_matches("create").and_then(|args| args.get_one::<PlainName>("name"));
    if let Some(name) = created {
        let request = WorkspaceRequest { name: name.as_str().to_owned() };
        let row = workspace_create(&scope, &db, &request).await?;
        return Ok(writeln!(io::stderr(), "created the workspace `{}`", row.name)?);
    }
    let mut query = ListQuery::new(None, PAGE);
    loop {
        let page = workspace_list(&scope, &db, query).await?;
        for row in &page.items {
            writeln!(io::stdout(), "{}  {}", row.id, row.name)?;
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ends_after_an_age_or_at_a_time_but_not_in_the_past() {
        let now = DateTime::UNIX_EPOCH;
        let end = |text: &str| read_end(text, now).ok().map(|end| end.timestamp());
        assert_eq!(end("90d"), Some(90 * 86_400));
        assert_eq!(end("1970-01-01T00:00:07Z"), Some(7));
        for wrong in ["1960-01-01T00:00:00Z", "soon", "-3d", ""] {
            assert_eq!(end(wrong), None, "{wrong}");
        }
    }
}
