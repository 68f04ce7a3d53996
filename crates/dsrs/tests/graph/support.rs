//! What the graph tests share: an environment with one model, and documents as text.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{Lm, Models};
use dsrs::predict::RunScope;
use dsrs::problem::Problems;
use dsrs::strategy::BuildEnv;
use dsrs::value::{Fields, Payload};
use tokio::time::Instant;

pub(crate) struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, alias: &str) -> bool {
        ["default", "fast", "vectors"].contains(&alias)
    }

    fn knows_embedder(&self, alias: &str) -> bool {
        alias == "vectors"
    }
}

pub(crate) fn build(document: &str) -> Result<Program, Problems> {
    let document = Payload::from_json(document).expect("the test's document is JSON");
    Program::from_document(&document, &Env)
}

/// A run over one scripted model, with ten minutes.
pub(crate) fn run_on(lm: Arc<dyn Lm>) -> Arc<RunScope> {
    let models = Arc::new(Models::only(lm));
    Arc::new(RunScope::new(models, Instant::now() + Duration::from_secs(600)))
}

/// Fields from JSON text.
pub(crate) fn fields(text: &str) -> Fields {
    Payload::from_json(text).unwrap().as_map().unwrap().clone()
}
