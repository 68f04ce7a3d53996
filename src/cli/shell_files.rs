//! The commands `completions` and `man`: files for shells and manuals, made of the command line itself.

use std::io::Write;

use clap::{ArgMatches, Command, value_parser};
use clap_complete::Shell;

use super::failure::CommandFailure;

/// The name that shells complete.
const PROGRAM: &str = "dsrs-server";

/// The two commands.
pub(super) fn commands() -> [Command; 2] {
    let shell = clap::Arg::new("shell").required(true).value_name("SHELL");
    let shell = shell.value_parser(value_parser!(Shell)).help("the shell");
    [
        Command::new("completions").about("Print the completions for a shell").arg(shell),
        Command::new("man").about("Print the manual page"),
    ]
}

/// Prints the completions of a command line.
pub(super) fn print_completions(
    args: &ArgMatches,
    mut program: Command,
) -> Result<(), CommandFailure> {
    let Some(&shell) = args.get_one::<Shell>("shell") else { return Ok(()) };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut program, PROGRAM, &mut text);
    print(&text)
}

/// Prints the manual page of a command line, one section for each command.
pub(super) fn print_manual(program: Command) -> Result<(), CommandFailure> {
    let mut text = Vec::new();
    let mut program = program.disable_help_subcommand(true);
    program.build();
    clap_mangen::Man::new(program.clone()).render(&mut text)?;
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        section(command, &mut text)?;
        for below in command.get_subcommands() {
            section(below, &mut text)?;
        }
    }
    print(&text)
}

/// A command's own name, flags and arguments; its parts are subsections.
fn section(command: &Command, text: &mut Vec<u8>) -> Result<(), CommandFailure> {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_uppercase();
    writeln!(text, ".SH {}", name.replace('-', "\\-"))?;
    let manual = clap_mangen::Man::new(command.clone());
    let mut parts = Vec::new();
    manual.render_description_section(&mut parts)?;
    manual.render_synopsis_section(&mut parts)?;
    manual.render_options_section(&mut parts)?;
    for line in String::from_utf8_lossy(&parts).lines() {
        match line.strip_prefix(".SH ") {
            Some(title) => writeln!(text, ".SS {title}")?,
            None => writeln!(text, "{line}")?,
        }
    }
    Ok(())
}

fn print(text: &[u8]) -> Result<(), CommandFailure> {
    Ok(std::io::stdout().lock().write_all(text)?)
}
