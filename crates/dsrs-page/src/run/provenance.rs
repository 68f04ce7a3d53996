//! Where an output of a run comes from: the inputs, nodes, prompts and calls of the model behind it.

use std::sync::Arc;

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::form::encoded;
use crate::run::waterfall::node_link;
use crate::visitor::Visitor;
use dsrs_http::ApiProblem;
use dsrs_store::run::RunRow;

/// The lineage of one value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputLineage {
    kind: String,
    #[serde(rename = "ref")]
    reference: String,
    sources: Vec<String>,
    pub(super) nodes: Vec<String>,
    pub(super) inputs: Vec<String>,
    parameters: Vec<Parameter>,
    lm_calls: Vec<u32>,
    fields: Map<String, Value>,
}

/// The state of a predictor at the time of a call.
#[derive(Debug, Deserialize)]
struct Parameter {
    path: String,
    #[serde(default)]
    state_version: Option<i32>,
    #[serde(default)]
    graph: Option<String>,
}

#[derive(Deserialize)]
struct Provenance {
    outputs: Map<String, Value>,
}

/// The lineage of an output, or of a field in it (`answer.mood`); nothing if it is not known.
pub(super) async fn lineage(
    visitor: &Visitor,
    run: &RunRow,
    output: &str,
) -> Result<Option<OutputLineage>, ApiProblem> {
    let text = visitor.app.run_provenance(&visitor.scope, Arc::new(run.clone())).await?;
    let Ok(Provenance { outputs }) = serde_json::from_str(&text) else { return Ok(None) };
    let found = outputs.get(output).or_else(|| {
        let (name, field) = output.split_once('.')?;
        outputs.get(name)?.get("fields")?.get(field)
    });
    Ok(found.and_then(|found| serde_json::from_value(found.clone()).ok()))
}

/// The lineage in words and links. `lm_calls` are spans of the waterfall below.
pub(super) fn panel(run: &RunRow, output: &str, lineage: &OutputLineage) -> Markup {
    let path = format!("/runs/{}", run.id);
    html! {
        section.panel #provenance {
            header {
                h2 { "Where " code { (output) } " comes from" }
                a.button.quiet href=(path) { "Close" }
            }
            div.body {
                dl.facts {
                    dt { "Value" } dd { code { (lineage.reference) } " " span.muted { (lineage.kind) } }
                    @if !lineage.sources.is_empty() { dt { "Directly from" } dd { (list(&lineage.sources)) } }
                    dt { "Inputs" } dd { @if lineage.inputs.is_empty() { span.muted { "none" } } @else { (list(&lineage.inputs)) } }
                    dt { "Nodes" } dd { @for node in &lineage.nodes { a.badge.info href=(node_link(&run.graph_name, outermost(node))) { (node) } " " } }
                    dt { "Instructions and demos" }
                    dd { @for parameter in &lineage.parameters { (parameter_link(&run.graph_name, parameter)) " " } }
                    dt { "Calls of the model" }
                    dd { @for call in &lineage.lm_calls { a href={ "#span-" (call) } { "span " (call) } " " } }
                    @if !lineage.fields.is_empty() {
                        dt { "Fields" }
                        dd { @for field in lineage.fields.keys() { a href={ (path) "?output=" (encoded(&format!("{output}.{field}"))) "#provenance" } { (field) } " " } }
                    }
                }
            }
        }
    }
}

fn outermost(node: &str) -> &str {
    node.split('.').next().unwrap_or(node)
}

fn list(references: &[String]) -> Markup {
    html! { @for reference in references { code { (reference) } " " } }
}

fn parameter_link(graph: &str, parameter: &Parameter) -> Markup {
    let graph = parameter.graph.as_deref().unwrap_or(graph);
    let href = format!("/graphs/{}/predictors/{}", encoded(graph), encoded(&parameter.path));
    html! {
        span { a href=(href) { code { (parameter.path) } }
            @if let Some(version) = parameter.state_version { " " span.muted.small { "state " (version) } } }
    }
}
