//! The command `engine check`: whether this server and its engine fit each other. Calls the engine and no server.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::failure::CommandFailure;
use super::session::{print_json, print_line};
use super::table::TextTable;
use dsrs_app::{EngineFinding, check_engine};
use dsrs_config::{Config, EngineKind};

#[derive(Args)]
pub(super) struct EngineArgs {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Check versions, registration and signatures of the engine of background work
    Check(CheckArgs),
}

#[derive(Args)]
struct CheckArgs {
    /// Register the workers, and continue work that is paused
    #[arg(long)]
    apply: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Checks the engine of the settings. Fails if something does not fit.
pub(super) async fn run(args: EngineArgs, config: Config) -> Result<(), CommandFailure> {
    let EngineCommand::Check(args) = args.command;
    let Some(restate) = &config.engine.restate else {
        return print_line("engine = \"postgres\": the database alone, nothing to check");
    };
    let findings = check_engine(restate, args.apply).await;
    let findings = findings.map_err(|error| CommandFailure::no(error.to_string()))?;
    match args.json {
        true => print_json(&as_json(&config, &findings))?,
        false => print(&config, &findings)?,
    }
    match findings.iter().all(|finding| finding.fits) {
        true => Ok(()),
        false => Err(CommandFailure::printed()),
    }
}

fn print(config: &Config, findings: &[EngineFinding]) -> Result<(), CommandFailure> {
    print_line(match config.engine.kind {
        EngineKind::Restate => "engine = \"restate\"",
        EngineKind::Postgres => {
            "engine = \"postgres\": what Restate still has is moved to the database"
        }
    })?;
    let mut table = TextTable::new(&["what", "", "remark"]);
    for finding in findings {
        let result = if finding.fits { "ok" } else { "FAILS" };
        table.row([finding.what.clone(), result.to_owned(), finding.remark.clone()]);
    }
    table.print()
}

fn as_json(config: &Config, findings: &[EngineFinding]) -> Value {
    let engine = match config.engine.kind {
        EngineKind::Restate => "restate",
        EngineKind::Postgres => "postgres",
    };
    let finding = |finding: &EngineFinding| json!({ "what": finding.what, "fits": finding.fits, "remark": finding.remark });
    json!({ "engine": engine, "findings": findings.iter().map(finding).collect::<Vec<_>>() })
}
