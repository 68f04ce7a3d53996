//! What the form begins with: the inputs of a recorded run, an example of a dataset, or the defaults.

use dsrs::graph::Program;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::parts::values::members;
use crate::visitor::Visitor;
use dsrs_http::ApiProblem;
use dsrs_store::dataset_example::PageLimits;

/// The inputs of a run.
pub(super) async fn of_run(visitor: &Visitor, id: &str) -> Result<Map<String, Value>, ApiProblem> {
    let id = Uuid::try_parse(id).map_err(|_| ApiProblem::parameter("`run` is the id of a run"))?;
    Ok(members(&visitor.app.run_get(&visitor.scope, id).await?.inputs))
}

/// The inputs of an example of a dataset, by its position from 0.
pub(super) async fn of_example(
    visitor: &Visitor,
    dataset: &str,
    position: i32,
) -> Result<Map<String, Value>, ApiProblem> {
    let row = visitor.app.dataset_get(&visitor.scope, dataset, None).await?;
    let version = (row.id, row.version.version);
    let one = PageLimits { count: 1, bytes: i64::MAX };
    let found =
        visitor.app.dataset_examples(&visitor.scope, version, None, position - 1, one).await?;
    Ok(found.first().map(|row| members(&row.inputs)).unwrap_or_default())
}

/// The defaults of the inputs.
pub(super) fn of_defaults(program: &Program) -> Map<String, Value> {
    let value = |text: String| serde_json::from_str(&text).unwrap_or_default();
    let fields = program.graph().inputs();
    fields
        .filter_map(|field| {
            Some((field.name.to_string(), value(field.default.as_ref()?.to_json())))
        })
        .collect()
}
