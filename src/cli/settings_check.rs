//! The command `config check`: where each setting of a server comes from, and whether the settings can be
//! used.

use clap::ArgMatches;
use serde_json::{Value, json};

use super::failure::CommandFailure;
use super::session::print_json;
use super::table::{TextTable, shortened};
use dsrs_config::{Config, Environment, Flags, SettingSource, setting_sources};

/// Prints the settings; fails with every problem of them.
pub(super) fn check(args: &ArgMatches, flags: &Flags) -> Result<(), CommandFailure> {
    let env = Environment::of_process();
    let is_all = args.get_flag("all");
    let mut sources = setting_sources(flags, &env);
    sources.retain(|source| is_all || !source.is_default);
    match args.get_flag("json") {
        true => print_json(&sources.iter().map(as_json).collect())?,
        false => table(&sources).print()?,
    }
    let config = Config::load(flags, &env).map_err(|error| error.problems)?;
    for warning in &config.warnings {
        eprintln!("dsrs-server: {warning}");
    }
    if config.is_open() {
        // The database is not opened, so that a key in it is not known.
        eprintln!(
            "dsrs-server: bind {} can be reached by others; the server starts only if its database has a key",
            config.bind
        );
    }
    Ok(())
}

fn as_json(source: &SettingSource) -> Value {
    json!({ "path": source.path, "text": source.text, "origin": source.origin })
}

fn table(sources: &[SettingSource]) -> TextTable {
    let mut table = TextTable::new(&["setting", "text", "origin"]);
    for source in sources {
        table.row([source.path.clone(), shortened(&source.text, 60), source.origin.clone()]);
    }
    table
}
