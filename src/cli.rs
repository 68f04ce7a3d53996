//! The command line: `serve`, `worker`, `migrate`, `openapi`, with a flag for every setting that has one, and
//! the command by which the server starts itself to run a program of a model.
//! Turns failures into one line on stderr and an exit code.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Arg, ArgMatches, Command, value_parser};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, Environment, Flags, Kind, SANDBOX_COMMAND, SETTINGS, Setting};
use crate::serve;

/// Runs the program as its arguments say.
pub fn run() -> ExitCode {
    let matches = command().get_matches();
    if matches.subcommand_name() == Some(SANDBOX_COMMAND) {
        // Before settings, log and threads: it confines itself and then knows none of them.
        return dsrs_sandbox::child_main();
    }
    let done = match matches.subcommand() {
        Some(("migrate", args)) => with_config(args, serve::migrate),
        Some(("worker", args)) => with_config(args, serve::work),
        Some(("openapi", _)) => print_openapi(),
        Some((_, args)) => with_config(args, serve::serve),
        None => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(lines) => {
            for line in lines {
                eprintln!("dsrs-server: {line}");
            }
            ExitCode::FAILURE
        }
    }
}

/// One readable line for each thing that is wrong.
type Complaint = Vec<String>;

/// The flags with the names that clap wants to borrow for good.
static FLAGS: LazyLock<Vec<(String, &'static Setting)>> =
    LazyLock::new(|| SETTINGS.iter().filter_map(|row| Some((row.flag_name()?, row))).collect());

fn command() -> Command {
    Command::new("dsrs-server")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Hosts typed graphs of language-model prompting strategies over HTTP")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("serve")
                .about("Serve the HTTP API")
                .arg(config_arg())
                .args(flags(|_| true)),
        )
        .subcommand(
            Command::new("worker")
                .about("Work on background runs, without serving")
                .arg(config_arg())
                .args(flags(concerns_work)),
        )
        .subcommand(
            Command::new("migrate")
                .about("Bring the database up to date and exit")
                .arg(config_arg())
                .args(flags(concerns_database)),
        )
        .subcommand(Command::new("openapi").about("Print the OpenAPI document"))
        .subcommand(Command::new(SANDBOX_COMMAND).hide(true))
}

/// All but what concerns callers.
fn concerns_work(row: &Setting) -> bool {
    let callers = ["bind", "api_keys_file", "insecure", "runs.record", "worker.enabled"];
    !callers.contains(&row.path) && !matches!(row.path, "idempotency_window" | "limits.body_bytes")
}

fn concerns_database(row: &Setting) -> bool {
    row.path.starts_with("database.") || matches!(row.path, "data_dir" | "log")
}

fn config_arg() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("PATH")
        .value_parser(value_parser!(PathBuf))
        .help("settings file [env: DSRS_CONFIG] [default: ./dsrs.toml, if it is there]")
}

fn flags(wanted: fn(&Setting) -> bool) -> Vec<Arg> {
    let wanted = FLAGS.iter().filter(|(_, row)| wanted(row));
    wanted.map(|(name, row)| flag(name, row)).collect()
}

fn flag(name: &'static str, row: &Setting) -> Arg {
    let arg = Arg::new(row.path).long(name).value_name(row.kind.placeholder()).help(help(row));
    match row.kind {
        Kind::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => arg.allow_hyphen_values(true),
    }
}

fn help(row: &Setting) -> String {
    let mut names = row.also.to_vec();
    let own = row.env_name();
    names.splice(0..0, own.as_deref());
    let words = match row.kind {
        Kind::OneOf(words) => format!(": {}", words.join(", ")),
        _ => String::new(),
    };
    let default = row.default.map(|text| format!(" [default: {text}]")).unwrap_or_default();
    format!("{}{words} [env: {}]{default}", row.doc, names.join(", "))
}

fn given_flags(args: &ArgMatches) -> Flags {
    let given = |row: &Setting| {
        let text = args.try_get_one::<String>(row.path).ok().flatten()?;
        Some((row.path.to_owned(), text.clone()))
    };
    let settings: BTreeMap<String, String> =
        FLAGS.iter().filter_map(|(_, row)| given(row)).collect();
    Flags { config: args.get_one::<PathBuf>("config").cloned(), settings }
}

/// Loads the settings, opens the log and runs a command to its end.
fn with_config<F, E>(args: &ArgMatches, command: fn(Config) -> F) -> Result<(), Complaint>
where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let config = Config::load(&given_flags(args), &Environment::of_process());
    let config = config.map_err(|error| error.problems)?;
    open_log(&config.log)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| vec![format!("cannot start: {error}")])?;
    runtime.block_on(command(config)).map_err(|error| vec![error.to_string()])
}

/// Logs go to stderr; stdout is for what was asked for.
fn open_log(filter: &str) -> Result<(), Complaint> {
    let filter = EnvFilter::builder()
        .parse(filter)
        .map_err(|error| vec![format!("log = \"{}\": {error}", filter.escape_debug())])?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // Told on stderr too, by a panic when nobody reads that any more.
        .log_internal_errors(false)
        .init();
    Ok(())
}

fn print_openapi() -> Result<(), Complaint> {
    let text = serve::openapi().map_err(|error| vec![error.to_string()])?;
    writeln!(std::io::stdout(), "{text}").map_err(|error| vec![error.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(args: &[&str]) -> Flags {
        let matches = command().get_matches_from(args);
        given_flags(matches.subcommand().unwrap().1)
    }

    #[test]
    fn the_command_line_is_one_that_clap_accepts() {
        command().debug_assert();
    }

    #[test]
    fn a_flag_sets_what_its_row_says_and_a_switch_needs_no_word() {
        let flags = flags_of(&[
            "dsrs-server",
            "serve",
            "--config",
            "x.toml",
            "--bind",
            "[::1]:1",
            "--insecure",
            "--limits-body-bytes=1",
            "--runs-record",
            "off",
        ]);
        assert_eq!(flags.config, Some("x.toml".into()));
        let given: Vec<(&str, &str)> =
            flags.settings.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(
            given,
            [
                ("bind", "[::1]:1"),
                ("insecure", "true"),
                ("limits.body_bytes", "1"),
                ("runs.record", "off")
            ]
        );
        let said_no = flags_of(&["dsrs-server", "serve", "--insecure=false"]);
        assert_eq!(said_no.settings["insecure"], "false");
    }

    #[test]
    fn a_worker_takes_what_concerns_its_work_and_nothing_about_callers() {
        let flags = flags_of(&["dsrs-server", "worker", "--worker-concurrency", "8"]);
        assert_eq!(flags.settings["worker.concurrency"], "8");
        for flag in ["--bind", "--insecure", "--worker-enabled", "--limits-body-bytes"] {
            assert!(command().try_get_matches_from(["dsrs-server", "worker", flag]).is_err());
        }
    }

    #[test]
    fn migrate_takes_only_what_concerns_the_database() {
        let flags = flags_of(&["dsrs-server", "migrate", "--database-url", "postgres://h/d"]);
        assert_eq!(flags.settings["database.url"], "postgres://h/d");
        assert!(command().try_get_matches_from(["dsrs-server", "migrate", "--bind", "x"]).is_err());
    }
}
