//! The command `models test`: asks the endpoints of configured models what works. Calls no server.

use clap::{Args, Subcommand};
use dsrs::lm::Models;
use serde_json::{Value, json};

use super::failure::CommandFailure;
use super::session::{print_json, print_line};
use super::table::{TextTable, shortened};
use dsrs_app::{FeatureCheck, FeatureOutcome, check_embedding, check_model, engine_models};
use dsrs_config::Config;

#[derive(Args)]
pub(super) struct ModelsArgs {
    #[command(subcommand)]
    command: ModelsCommand,
}

#[derive(Subcommand)]
enum ModelsCommand {
    /// Ask models what works; each costs a few short requests
    Test(TestArgs),
}

#[derive(Args)]
struct TestArgs {
    /// The alias of the model; all models if it is left out
    alias: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Tests the models of the settings. Fails if one of them does not answer.
pub(super) async fn run(args: ModelsArgs, config: Config) -> Result<(), CommandFailure> {
    let ModelsCommand::Test(args) = args.command;
    let models = engine_models(&config.models, &config.limits)
        .map_err(|error| CommandFailure::no(error.to_string()))?;
    let mut documents = Vec::new();
    let mut answers = true;
    for alias in aliases(&models, args.alias.as_deref())? {
        let checks = match (models.get(&alias), models.embedding(&alias)) {
            (Some(model), _) => check_model(model).await,
            (None, Some(model)) => check_embedding(model).await,
            (None, None) => Vec::new(),
        };
        answers &= !checks.iter().take(1).any(is_failure);
        match args.json {
            true => documents.push(as_json(&alias, &checks)),
            false => print(&alias, &checks)?,
        }
    }
    if args.json {
        print_json(&Value::Array(documents))?;
    }
    if answers { Ok(()) } else { Err(CommandFailure::printed()) }
}

fn aliases(models: &Models, named: Option<&str>) -> Result<Vec<String>, CommandFailure> {
    let chat = models.iter().map(|model| model.alias.to_string());
    let all: Vec<String> =
        chat.chain(models.embedding_models().map(|model| model.alias.to_string())).collect();
    match named {
        Some(alias) if models.get(alias).is_some() || models.embedding(alias).is_some() => {
            Ok(vec![alias.to_owned()])
        }
        Some(alias) => Err(CommandFailure::usage(format!(
            "no model `{alias}` is configured; known: {}",
            all.join(", ")
        ))),
        None if all.is_empty() => Err(CommandFailure::usage(
            "no model is configured; set OPENAI_API_KEY or OPENAI_BASE_URL, or add [models.NAME] to \
             the settings (docs/models.md)",
        )),
        None => Ok(all),
    }
}

fn is_failure(check: &FeatureCheck) -> bool {
    matches!(check.outcome, FeatureOutcome::Fails(_))
}

fn words(check: &FeatureCheck) -> (&'static str, &str) {
    match &check.outcome {
        FeatureOutcome::Works(remark) => ("works", remark),
        FeatureOutcome::Fails(reason) => ("fails", reason),
        FeatureOutcome::Skipped(reason) => ("-", reason),
    }
}

fn print(alias: &str, checks: &[FeatureCheck]) -> Result<(), CommandFailure> {
    print_line(&format!("{alias}:"))?;
    let mut table = TextTable::new(&["feature", "result", "ms", "remark"]);
    for check in checks {
        let (result, remark) = words(check);
        table.row([
            check.feature.to_owned(),
            result.to_owned(),
            check.took.as_millis().to_string(),
            shortened(remark, 160),
        ]);
    }
    table.print()
}

fn as_json(alias: &str, checks: &[FeatureCheck]) -> Value {
    let check = |check: &FeatureCheck| {
        let (result, remark) = words(check);
        let result = if result == "-" { "skipped" } else { result };
        json!({
            "feature": check.feature,
            "result": result,
            "remark": remark,
            "duration_ms": check.took.as_millis() as u64
        })
    };
    json!({ "model": alias, "features": checks.iter().map(check).collect::<Vec<_>>() })
}
