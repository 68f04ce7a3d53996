//! The command `runs export` in a build without the feature `archive`: it says what it needs.

use clap::{Arg, Command};

use super::failure::CommandFailure;

/// The command. It takes any arguments, to refuse them with the reason.
pub(super) fn command() -> Command {
    let any = Arg::new("any").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
    Command::new("export")
        .about("Write ended runs from the database to Parquet files (not in this build)")
        .arg(any.hide(true))
}

/// What the command needs.
pub(super) fn refusal() -> CommandFailure {
    CommandFailure::no(
        "runs export: this server was built without the feature `archive`, which writes Parquet files; \
         build it with `--features archive`",
    )
}
