//! The command line: the commands of a server with the flags of its settings, the commands of a client,
//! and a hidden command with which the server starts itself as a sandbox. Failures become lines on stderr
//! and an exit code.

mod administration;
mod client_commands;
mod datasets;
mod documents;
mod engine;
mod eval;
mod failure;
mod graph_push;
mod graphs;
mod log;
mod mcp;
mod message_lines;
mod models;
mod optimize;
mod progress;
#[cfg(feature = "archive")]
mod run_export;
#[cfg(not(feature = "archive"))]
mod run_export_absent;
mod run_graph;
mod run_inputs;
mod run_text;
mod runs;
mod session;
mod settings_check;
mod shell_files;
mod state;
mod table;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use failure::CommandFailure;

use crate::serve;
use dsrs_config::{
    Config, Environment, FlagCommands, Flags, SANDBOX_COMMAND, Setting, SettingKind, all_settings,
};
use dsrs_store::Db;

/// The flag of `migrate` after an upgrade.
const COMPACT_RUNS: &str = "compact-runs";

/// Runs the program as its arguments say.
pub fn run() -> ExitCode {
    let matches = command().get_matches();
    if matches.subcommand_name() == Some(SANDBOX_COMMAND) {
        // Before settings, log and threads: the child confines itself and must not have them.
        return dsrs_sandbox::child_main();
    }
    let done = match matches.subcommand() {
        Some(("migrate", args)) => {
            let makes_compact = args.get_flag(COMPACT_RUNS);
            with_config(args, |config| serve::migrate(config, makes_compact))
        }
        Some(("worker", args)) => with_config(args, serve::work),
        Some(("keys", args)) => administer(args, |db| administration::run_keys(db, args.clone())),
        Some(("workspaces", args)) => {
            administer(args, |db| administration::run_workspaces(db, args.clone()))
        }
        Some(("openapi", args)) => print_openapi(args),
        Some(("config", args)) => check_settings(args),
        Some(("models", args)) => test_models(args),
        Some(("engine", args)) => check_engine(args),
        Some(("completions", args)) => shell_files::print_completions(args, command()),
        Some(("man", _)) => shell_files::print_manual(command()),
        Some(("serve", args)) => with_config(args, serve::serve),
        #[cfg(feature = "archive")]
        Some(("runs", args)) if args.subcommand_name() == Some("export") => {
            let args = args.subcommand_matches("export").unwrap_or(args);
            administer(args, |db| run_export::run(db, args.clone()))
        }
        #[cfg(not(feature = "archive"))]
        Some(("runs", args)) if args.subcommand_name() == Some("export") => {
            Err(run_export_absent::refusal())
        }
        Some((name, args)) => client_commands::run(name, args),
        None => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The flags by name; clap borrows the names for the lifetime of the process.
static FLAGS: LazyLock<Vec<(String, &'static Setting)>> =
    LazyLock::new(|| all_settings().filter_map(|row| Some((row.flag_name()?, row))).collect());

/// The exit codes of every command; docs/cli.md explains them.
const EXIT_CODES: &str = "Exit codes: 0 done; 1 refused, failed, different, or below a threshold; 2 the \
    command line or a file cannot be used; 3 the server cannot be reached or cannot answer now";

fn command() -> Command {
    Command::new("dsrs-server")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Hosts typed graphs of language-model prompting strategies over HTTP")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("serve").about("Serve the HTTP API").arg(config_arg()).args(flags(&[
                FlagCommands::Serve,
                FlagCommands::Work,
                FlagCommands::All,
            ])),
        )
        .subcommand(
            Command::new("worker")
                .about("Process background work without serving the HTTP API")
                .arg(config_arg())
                .args(flags(&[FlagCommands::Work, FlagCommands::All])),
        )
        .subcommand(
            Command::new("migrate")
                .about("Migrate the database and exit")
                .arg(config_arg())
                .arg(
                    Arg::new(COMPACT_RUNS)
                        .long(COMPACT_RUNS)
                        .action(ArgAction::SetTrue)
                        .help("Store runs in the compact form from now on: no server of the release before may run, now or later"),
                )
                .args(flags(&[FlagCommands::All])),
        )
        .subcommand(on_database(administration::keys()))
        .subcommand(on_database(administration::workspaces()))
        .subcommand(openapi_command())
        .subcommand(config_command())
        .subcommand(models_command())
        .subcommand(engine_command())
        .subcommands(client_commands::all())
        .mut_subcommand("runs", with_export)
        .subcommands(shell_files::commands())
        .subcommand(Command::new(SANDBOX_COMMAND).hide(true))
}

/// The command that prints the document.
fn openapi_command() -> Command {
    let format =
        Arg::new("format").long("format").value_name("VERSION").value_parser(["3.1", "3.0"]);
    let help = "version of OpenAPI; 3.0 is for generators of clients that read no other";
    Command::new("openapi")
        .about("Print the OpenAPI document")
        .arg(format.default_value("3.1").help(help))
}

/// The command about settings, with the flags of `serve`.
fn config_command() -> Command {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let check = Command::new("check")
        .about("Show where each setting comes from; exit code 1 if they cannot be used")
        .arg(switch("all").help("settings that nothing sets, too"))
        .arg(switch("json").help("print JSON"))
        .arg(config_arg())
        .args(flags(&[FlagCommands::Serve, FlagCommands::Work, FlagCommands::All]));
    Command::new("config").about("Check settings").subcommand_required(true).subcommand(check)
}

fn check_settings(args: &ArgMatches) -> Result<(), CommandFailure> {
    match args.subcommand() {
        Some((_, args)) => settings_check::check(args, &read_flags(args)),
        None => Ok(()),
    }
}

/// The command about models, with the flags of `worker`.
fn models_command() -> Command {
    let flags = flags(&[FlagCommands::Work, FlagCommands::All]);
    models::ModelsArgs::augment_args(Command::new("models"))
        .about("Ask the endpoints of models what works")
        .long_about(None::<&str>)
        .mut_subcommand("test", |test| test.arg(config_arg()).args(flags))
}

fn test_models(args: &ArgMatches) -> Result<(), CommandFailure> {
    let given = models::ModelsArgs::from_arg_matches(args);
    let given = given.map_err(|error| CommandFailure::usage(error.to_string()))?;
    let args = args.subcommand().map_or(args, |(_, args)| args);
    block_on_config(args, |config| models::run(given, config))
}

/// The commands of runs, with the one that works on the database.
#[cfg(feature = "archive")]
fn with_export(runs: Command) -> Command {
    runs.subcommand(on_database(run_export::command()))
}

#[cfg(not(feature = "archive"))]
fn with_export(runs: Command) -> Command {
    runs.subcommand(run_export_absent::command())
}

/// The command about the engine of background work, with the flags of `worker`.
fn engine_command() -> Command {
    let flags = flags(&[FlagCommands::Work, FlagCommands::All]);
    engine::EngineArgs::augment_args(Command::new("engine"))
        .about("Check the engine of background work")
        .long_about(None::<&str>)
        .mut_subcommand("check", |check| check.arg(config_arg()).args(flags))
}

fn check_engine(args: &ArgMatches) -> Result<(), CommandFailure> {
    let given = engine::EngineArgs::from_arg_matches(args);
    let given = given.map_err(|error| CommandFailure::usage(error.to_string()))?;
    let args = args.subcommand().map_or(args, |(_, args)| args);
    block_on_config(args, |config| engine::run(given, config))
}

/// A command with the flags of the database.
fn on_database(command: Command) -> Command {
    command.arg(config_arg()).args(flags(&[FlagCommands::All]))
}

fn config_arg() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("PATH")
        .value_parser(value_parser!(PathBuf))
        .help("settings file [env: DSRS_CONFIG] [default: ./dsrs.toml, if it exists]")
}

fn flags(commands: &[FlagCommands]) -> Vec<Arg> {
    let flags = FLAGS.iter().filter(|(_, row)| commands.contains(&row.flag));
    flags.map(|(name, row)| flag(name, row)).collect()
}

fn flag(name: &'static str, row: &Setting) -> Arg {
    let arg = Arg::new(row.path).long(name).value_name(row.kind.placeholder()).help(help(row));
    match row.kind {
        SettingKind::Switch => {
            arg.num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        _ => arg.allow_hyphen_values(true),
    }
}

fn help(row: &Setting) -> String {
    let mut names = row.also.to_vec();
    let own = row.env_name();
    names.splice(0..0, own.as_deref());
    let words = match row.kind {
        SettingKind::OneOf(words) => format!(": {}", words.join(", ")),
        _ => String::new(),
    };
    let default = row.default.map(|text| format!(" [default: {text}]")).unwrap_or_default();
    format!("{}{words} [env: {}]{default}", row.meaning(), names.join(", "))
}

fn read_flags(args: &ArgMatches) -> Flags {
    let read = |row: &Setting| {
        let text = args.try_get_one::<String>(row.path).ok().flatten()?;
        Some((row.path.to_owned(), text.clone()))
    };
    let settings: BTreeMap<String, String> =
        FLAGS.iter().filter_map(|(_, row)| read(row)).collect();
    Flags { config: args.get_one::<PathBuf>("config").cloned(), settings }
}

/// Loads the settings, opens the log and runs a command.
fn with_config<F, E>(
    args: &ArgMatches,
    command: impl FnOnce(Config) -> F,
) -> Result<(), CommandFailure>
where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    block_on_config(args, |config| {
        let done = command(config);
        async { done.await.map_err(|error| CommandFailure::no(error.to_string())) }
    })
}

/// The same, for a command that says itself how it failed.
fn block_on_config<F>(
    args: &ArgMatches,
    command: impl FnOnce(Config) -> F,
) -> Result<(), CommandFailure>
where
    F: Future<Output = Result<(), CommandFailure>>,
{
    let config = Config::load(&read_flags(args), &Environment::of_process());
    let config = config.map_err(|error| error.problems)?;
    let _log = log::open(&config.log).map_err(|problem| vec![problem])?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| vec![format!("cannot start: {error}")])?;
    runtime.block_on(command(config))
}

/// Runs a command on the database, with or without a running server.
fn administer<F, E>(args: &ArgMatches, command: impl FnOnce(Db) -> F) -> Result<(), CommandFailure>
where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    with_config(args, |config| serve::administer(config, command))
}

fn print_openapi(args: &ArgMatches) -> Result<(), CommandFailure> {
    let is_older = args.get_one::<String>("format").is_some_and(|version| version == "3.0");
    let text = if is_older { serve::openapi30() } else { serve::openapi() };
    let text = text.map_err(|error| CommandFailure::no(error.to_string()))?;
    session::print_line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(args: &[&str]) -> Flags {
        let matches = command().get_matches_from(args);
        read_flags(matches.subcommand().unwrap().1)
    }

    #[test]
    fn clap_accepts_the_command_line() {
        command().debug_assert();
    }

    #[test]
    fn a_flag_sets_its_setting_and_a_switch_needs_no_value() {
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
        let off = flags_of(&["dsrs-server", "serve", "--insecure=false"]);
        assert_eq!(off.settings["insecure"], "false");
    }

    #[test]
    fn a_worker_has_no_flags_about_callers() {
        let flags = flags_of(&["dsrs-server", "worker", "--worker-concurrency", "8"]);
        assert_eq!(flags.settings["worker.concurrency"], "8");
        for flag in ["--bind", "--insecure", "--worker-enabled", "--limits-body-bytes"] {
            assert!(command().try_get_matches_from(["dsrs-server", "worker", flag]).is_err());
        }
    }

    #[test]
    fn migrate_has_only_flags_of_the_database() {
        let flags = flags_of(&["dsrs-server", "migrate", "--database-url", "postgres://h/d"]);
        assert_eq!(flags.settings["database.url"], "postgres://h/d");
        assert!(command().try_get_matches_from(["dsrs-server", "migrate", "--bind", "x"]).is_err());
    }
}
