//! Optimizers.

use dsrs::optimize::OptimizerFactory;
use dsrs::value::Payload;
use serde::Serialize;
use utoipa::ToSchema;

use super::PageView;

/// An optimizer.
#[derive(Serialize, ToSchema)]
#[schema(as = Optimizer, examples(json!(OptimizerView::example())))]
pub struct OptimizerView<'a> {
    /// The name of the optimizer.
    pub name: &'a str,
    /// The purpose of the optimizer and when to use it.
    pub description: String,
    /// Whether its result may be another graph, not only another state.
    pub changes_graph: bool,
    /// The JSON Schema of its config.
    #[schema(value_type = Object)]
    pub config_schema: Payload,
}

impl<'a> From<&'a dyn OptimizerFactory> for OptimizerView<'a> {
    fn from(optimizer: &'a dyn OptimizerFactory) -> Self {
        Self {
            name: optimizer.name(),
            description: optimizer.description(),
            changes_graph: optimizer.changes_graph(),
            config_schema: optimizer.config_schema(),
        }
    }
}

impl OptimizerView<'static> {
    fn example() -> Self {
        let schema = r#"{"type":"object","properties":{"k":{"type":"integer","default":16}}}"#;
        Self {
            name: "labeled_few_shot",
            description: "Uses examples of the trainset as demos.".to_owned(),
            changes_graph: false,
            config_schema: Payload::from_json(schema).unwrap_or(Payload::Null),
        }
    }
}

/// A page of optimizers.
pub type OptimizerPage = PageView<OptimizerView<'static>>;
