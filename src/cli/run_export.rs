//! The command `runs export`: writes ended runs from the database to files, as the archive does. The names of the files
//! go to stdout.

use std::fmt::Write as _;
use std::io::{self, Write};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::{Arg, ArgMatches, Command};
use uuid::Uuid;

use dsrs_archive::{ArchiveError, RunFiles, export};
use dsrs_config::{Environment, storage_options};
use dsrs_store::id_time::first_id;
use dsrs_store::run_archive::{ArchivedFile, EndedRuns};
use dsrs_store::{Db, StoreError};

/// Why the export failed, in one line.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error("--to: {0}")]
    Files(ArchiveError),
    #[error("--{0} must be a day such as 2026-11-24, or an RFC 3339 time, found `{1}`")]
    Time(&'static str, String),
    #[error("{}", .0.cause())]
    Store(#[from] StoreError),
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

/// The command.
pub(super) fn command() -> Command {
    let time = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("DAY|TIME").help(help)
    };
    Command::new("export")
        .about("Write ended runs from the database to Parquet files")
        .long_about(
            "Write ended runs from the database to Parquet files, as the archive does (docs/archive.md). Works with \
             or without a running server, and removes nothing.",
        )
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("URL")
                .required(true)
                .help("directory or bucket: `file:///…`, `s3://…`, `gs://…`, `az://…`"),
        )
        .arg(time("since", "only runs that were created at this time or later"))
        .arg(time("until", "only runs that were created before this time"))
}

/// Runs the command.
pub(super) async fn run(db: Db, args: ArgMatches) -> Result<(), ExportError> {
    let url = args.get_one::<String>("to").map_or("", String::as_str);
    let options = storage_options(&Environment::of_process());
    let files = RunFiles::open(url, &options).map_err(ExportError::Files)?;
    let runs = EndedRuns {
        first: time(&args, "since")?.map(first_id),
        end: time(&args, "until")?.map_or(Uuid::max(), first_id),
        before: db.now().await?,
    };
    let report = |file: &ArchivedFile| eprintln!("{} runs, {} bytes", file.rows(), file.bytes);
    let name = |first: Uuid| format!("runs/exported/{first}.parquet");
    let complete = export(&db, &files, runs, name, report).await?;
    let mut names = String::new();
    for file in &complete {
        // Writing to a text cannot fail.
        let _ = writeln!(names, "{}", file.name);
    }
    io::stdout().write_all(names.as_bytes())?;
    Ok(())
}

fn time(args: &ArgMatches, name: &'static str) -> Result<Option<DateTime<Utc>>, ExportError> {
    let Some(text) = args.get_one::<String>(name) else { return Ok(None) };
    let day = text.parse::<NaiveDate>().map(|day| day.and_time(NaiveTime::MIN).and_utc());
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc));
    day.or(time).map(Some).map_err(|_| ExportError::Time(name, text.clone()))
}
