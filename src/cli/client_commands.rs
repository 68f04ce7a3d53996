//! The commands that call a running server, each with its arguments and its code.

use std::future::Future;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::failure::CommandFailure;
use super::{datasets, eval, graphs, mcp, optimize, run_graph, runs, state};

/// Every command of a client.
pub(super) fn all() -> Vec<Command> {
    vec![
        command::<graphs::GraphsArgs>("graphs", "List, push, pull, compare and check graphs"),
        command::<run_graph::RunArgs>("run", "Execute a graph"),
        command::<runs::RunsArgs>("runs", "List, show and follow runs"),
        command::<state::StateArgs>("state", "Pull, push, compare and activate states"),
        command::<datasets::DatasetsArgs>("datasets", "List and push datasets"),
        command::<eval::EvalArgs>("eval", "Score a graph on a dataset"),
        command::<optimize::OptimizeArgs>("optimize", "Improve a graph on a dataset"),
        command::<mcp::McpArgs>("mcp", "Serve graphs as MCP tools over standard input and output"),
    ]
}

fn command<A: Args>(name: &'static str, about: &'static str) -> Command {
    A::augment_args(Command::new(name)).about(about).long_about(None::<&str>)
}

/// Runs one of them.
pub(super) fn run(name: &str, args: &ArgMatches) -> Result<(), CommandFailure> {
    match name {
        "graphs" => call(args, graphs::run),
        "run" => call(args, run_graph::run),
        "runs" => call(args, runs::run),
        "state" => call(args, state::run),
        "datasets" => call(args, datasets::run),
        "eval" => call(args, eval::run),
        "optimize" => call(args, optimize::run),
        "mcp" => call(args, mcp::run),
        _ => Ok(()),
    }
}

fn call<A: FromArgMatches, F>(
    args: &ArgMatches,
    command: impl FnOnce(A) -> F,
) -> Result<(), CommandFailure>
where
    F: Future<Output = Result<(), CommandFailure>>,
{
    let args =
        A::from_arg_matches(args).map_err(|error| CommandFailure::usage(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::usage(format!("cannot start: {error}")))?;
    let done = runtime.block_on(command(args));
    // A read of standard input that has begun may never end.
    runtime.shutdown_background();
    done
}
