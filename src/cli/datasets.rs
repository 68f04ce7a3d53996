//! The command `datasets push`: a file of examples becomes a dataset, or its next version.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::failure::{CommandFailure, at_file};
use super::session::{ClientArgs, Session, print_json, print_line};
use super::table::{TextTable, cell};

/// Datasets of a server
#[derive(Debug, Args)]
pub(super) struct DatasetsArgs {
    #[command(subcommand)]
    command: DatasetsCommand,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Subcommand)]
enum DatasetsCommand {
    /// List the datasets, newest first
    List,
    /// Send examples; the same examples make no version
    Push(PushArgs),
}

#[derive(Debug, Args)]
struct PushArgs {
    /// A file: `.csv`, `.jsonl` or `.json`; `-` is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The name of the dataset; that of the file by default
    #[arg(long)]
    name: Option<String>,
    /// What the columns or members are that are inputs; needed for CSV
    #[arg(long, value_name = "A,B")]
    inputs: Option<String>,
    /// The expected ones; all others by default
    #[arg(long, value_name = "A,B")]
    expected: Option<String>,
    /// A description of the version
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The format; the extension of the file by default
    #[arg(long, value_parser = ["csv", "jsonl", "json"])]
    format: Option<String>,
}

/// Runs a command about datasets.
pub(super) async fn run(args: DatasetsArgs) -> Result<(), CommandFailure> {
    let session = Session::open(&args.client)?;
    match args.command {
        DatasetsCommand::List => list(&session).await,
        DatasetsCommand::Push(push) => push_file(&session, push).await,
    }
}

async fn list(session: &Session) -> Result<(), CommandFailure> {
    let datasets = session.server.list(&["datasets"], &[], usize::MAX).await?;
    if session.json {
        return print_json(&datasets.into());
    }
    let mut table = TextTable::new(&["name", "version", "examples", "updated", "description"]);
    for dataset in &datasets {
        let members = ["name", "version", "count", "updated_at", "description"];
        table.row(members.map(|name| cell(&dataset[name])));
    }
    table.print()
}

async fn push_file(session: &Session, args: PushArgs) -> Result<(), CommandFailure> {
    let place = args.file.display().to_string();
    let media_type = media_type(&args)?;
    let name = name(&args)?;
    let body = read(&args.file)?;
    let path = ["datasets", &name];
    let before = match session.server.get(&path).json().await {
        Ok(found) => Some(found["version"].clone()),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    let call = match before {
        Some(_) => session.server.put(&path),
        None => session.server.post(&["datasets"]),
    };
    let call = match media_type {
        "application/json" => call,
        _ => call.query(&query(&args, &name, before.is_none())),
    };
    let pushed = call.body(media_type, body).json().await;
    let pushed = pushed.map_err(|error| at_file(&place, error))?;
    let result = match before {
        None => "created",
        Some(version) if version == pushed["version"] => "unchanged",
        Some(_) => "changed",
    };
    if session.json {
        return print_json(&pushed);
    }
    let text = |member: &str| cell(&pushed[member]);
    let (version, count, duplicates) = (text("version"), text("count"), text("duplicates"));
    print_line(&format!(
        "{name} {result}, version {version} with {count} examples ({duplicates} duplicates)"
    ))
}

fn query(args: &PushArgs, name: &str, is_new: bool) -> Vec<(&'static str, String)> {
    let member = |name, value: &Option<String>| value.clone().map(|value| (name, value));
    let name = is_new.then(|| ("name", name.to_owned()));
    let more = [
        member("inputs", &args.inputs),
        member("expected", &args.expected),
        member("description", &args.description),
    ];
    name.into_iter().chain(more.into_iter().flatten()).collect()
}

fn media_type(args: &PushArgs) -> Result<&'static str, CommandFailure> {
    let extension = args.file.extension().map(|end| end.to_string_lossy().into_owned());
    match args.format.clone().or(extension).as_deref() {
        Some("csv") => Ok("text/csv"),
        Some("jsonl" | "ndjson") => Ok("application/jsonl"),
        Some("json") if args.has_members() => Err(CommandFailure::usage(
            "--inputs, --expected and --description are members of a JSON document; write them there",
        )),
        Some("json") => Ok("application/json"),
        _ => Err(CommandFailure::usage("the file is no .csv, .jsonl or .json; use --format")),
    }
}

impl PushArgs {
    fn has_members(&self) -> bool {
        self.inputs.is_some() || self.expected.is_some() || self.description.is_some()
    }
}

fn name(args: &PushArgs) -> Result<String, CommandFailure> {
    let of_file = || args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().or_else(|| of_file().filter(|name| name != "-"));
    name.ok_or_else(|| CommandFailure::usage("examples of stdin need a --name"))
}

fn read(file: &Path) -> Result<Vec<u8>, CommandFailure> {
    let unreadable =
        |error| CommandFailure::usage(format!("cannot read {}: {error}", file.display()));
    if file.as_os_str() != "-" {
        return std::fs::read(file).map_err(unreadable);
    }
    let mut body = Vec::new();
    std::io::stdin().read_to_end(&mut body).map_err(unreadable)?;
    Ok(body)
}
