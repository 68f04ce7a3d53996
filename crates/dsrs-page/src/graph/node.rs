//! One node beside the picture: strategy and config, signature, predictors with their state, the prompt, last answers.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::predict::{Demo, DynPredictor};
use dsrs::signature::FieldSchema;
use dsrs::types::{Type, TypeDefs, describe_definitions};
use dsrs::value::{Fields, Payload};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::form::encoded;
use crate::graph::answers::NodeAnswer;
use crate::graph::prompt::{PromptInputs, prompt};
use crate::graph::selection::GraphSelection;
use crate::parts::badge::{Tone, badge, status};
use crate::parts::json::json_value;
use crate::parts::same_request::SameRequest;
use crate::parts::time::duration;
use crate::parts::values::{folded, values};

/// Demos of a predictor that are shown at once.
const MOST_DEMOS: usize = 20;

/// The node that is selected.
pub(super) struct SelectedNode<'n> {
    /// The name of the graph that is viewed.
    pub(super) graph: &'n str,
    /// The program that the node is in: that of the graph, or of one inside of it.
    pub(super) program: Arc<Program>,
    pub(super) name: &'n str,
    pub(super) path: &'n str,
    pub(super) answers: &'n [NodeAnswer],
}

impl SelectedNode<'_> {
    /// Whether it is a node of the graph that is viewed, not of one inside of it.
    fn is_own(&self) -> bool {
        !self.path.contains('/')
    }

    fn graph_path(&self) -> String {
        format!("/graphs/{}", encoded(self.graph))
    }

    /// Its part of the definition.
    fn definition(&self) -> Map<String, Value> {
        let nodes = self.program.document().as_map().and_then(|members| members.get("nodes"));
        let node = nodes.and_then(Payload::as_map).and_then(|nodes| nodes.get(self.name));
        object(node.map_or_else(String::new, Payload::to_json))
    }

    fn predictors(&self) -> Vec<(String, &dyn DynPredictor)> {
        let is_own = |path: &str| {
            path.strip_prefix(self.name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let all = self.program.predictors().into_iter();
        all.filter(|(path, _)| is_own(path)).collect()
    }

    /// The panel.
    pub(super) fn show(&self, selection: &GraphSelection) -> Markup {
        let Some(node) = self.program.graph().node(self.name) else { return html! {} };
        let (schema, predictors) = (node.schema(), self.predictors());
        html! {
            header {
                h2.cut title=(self.path) { (self.name) }
                a.badge.info href={ "/strategies/" (encoded(node.strategy())) } { (node.strategy()) }
            }
            div.body {
                @if self.path != self.name { p.small.muted { "inside of " code { (self.path) } } }
                @if !node.is_op() { p.text { (node.base().instructions) } }
                (fields("Inputs", &schema.inputs, &schema.defs))
                (fields("Outputs", &schema.outputs, &schema.defs))
                (self.settings())
                @for (path, predictor) in &predictors { (self.predictor(path, *predictor)) }
                @if !predictors.is_empty() && !node.is_op() { (self.prompt(selection)) }
                @if self.is_own() { (self.last_answers()) }
            }
        }
    }

    /// Its members in the definition beside strategy and signature.
    fn settings(&self) -> Markup {
        let mut members = self.definition();
        members.retain(|name, value| {
            let is_empty = value.as_object().is_some_and(Map::is_empty);
            !["strategy", "signature"].contains(&name.as_str()) && !is_empty
        });
        html! {
            @if !members.is_empty() {
                section { h3 { "Config and settings" } pre.json tabindex="0" { (json_value(&Value::Object(members))) } }
            }
        }
    }

    fn predictor(&self, path: &str, predictor: &dyn DynPredictor) -> Markup {
        let state = predictor.state();
        html! {
            section {
                h3 {
                    "Predictor "
                    @if self.is_own() {
                        a.mono href={ (self.graph_path()) "/predictors/" (encoded(path)) } { (path) }
                    } @else { span.mono { (path) } }
                    " " @if state.is_default() { (badge(Tone::Plain, "untuned")) } @else { (badge(Tone::Good, "tuned")) }
                }
                details open[state.instruction.is_some()] {
                    summary { "Instruction" @if state.instruction.is_some() { " (from the state)" } }
                    p.text { (predictor.instruction()) }
                }
                @if state.demos.is_empty() { p.small.muted { "No demos" } }
                @else {
                    details {
                        summary { (state.demos.len()) @if state.demos.len() == 1 { " demo" } @else { " demos" } }
                        ol.demos { @for demo in state.demos.iter().take(MOST_DEMOS) { (demo_of(demo)) } }
                        @if state.demos.len() > MOST_DEMOS { p.small.muted { "and " (state.demos.len() - MOST_DEMOS) " more" } }
                    }
                }
            }
        }
    }

    fn prompt(&self, selection: &GraphSelection) -> Markup {
        let Some(node) = self.program.graph().node(self.name) else { return html! {} };
        let last = self.answers.first().map(|answer| &answer.inputs);
        let inputs = PromptInputs::of(node.schema(), selection, last);
        let body = json!({"node": self.name, "inputs": inputs.json()});
        let path = format!("/v1/graphs/{}/render", encoded(self.graph));
        let request = SameRequest { method: "POST", path: &path, body: Some(&body) };
        html! {
            section {
                h3 { "Prompt" }
                p.small.muted { "As it is sent with the active state. No model is called." }
                (prompt(&self.program, (self.name, self.path), selection, &inputs, &self.graph_path()))
                @if self.is_own() { (request.show()) }
            }
        }
    }

    fn last_answers(&self) -> Markup {
        html! {
            section {
                h3 { "Last answers" }
                @if self.answers.is_empty() { p.small.muted { "No run of this graph has reached this node yet." } }
                @for answer in self.answers {
                    article.answer {
                        p.small {
                            a href={ "/runs/" (answer.run) "?node=" (encoded(self.name)) } { "run " (answer.run.to_string().get(..8).unwrap_or_default()) }
                            " " (status(&answer.status))
                            " " span.muted { "version " (answer.version) " · state " (answer.state_version)
                                @if let Some(ms) = answer.duration_ms { " · " (duration(ms)) } }
                        }
                        @if let Some(error) = &answer.error { p.refusal { (folded(error)) } }
                        @if !answer.outputs.is_empty() { (values(&answer.outputs)) }
                        details { summary.small { "Inputs" } (values(&answer.inputs)) }
                    }
                }
            }
        }
    }
}

/// Fields with their types, and the definitions of named types.
fn fields(title: &str, fields: &[FieldSchema], defs: &Arc<TypeDefs>) -> Markup {
    html! {
        @if !fields.is_empty() {
            section {
                h3 { (title) }
                dl.fields-of {
                    @for field in fields {
                        dt { (field.name) }
                        dd {
                            code title=[definitions(field, defs)] { (field.ty) }
                            @if let Some(description) = &field.description { p.small.muted { (description) } }
                            @for constraint in &field.constraints {
                                p.small.muted { code { (constraint.expression) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn definitions(field: &FieldSchema, defs: &Arc<TypeDefs>) -> Option<String> {
    let text = describe_definitions(&[Type::new(field.ty.clone(), defs.clone())]);
    (!text.is_empty()).then_some(text)
}

fn demo_of(demo: &Demo) -> Markup {
    let members = |fields: &Fields| object(Payload::map(fields.clone()).to_json());
    html! { li { (values(&members(&demo.input))) div.arrow aria-label="leads to" { "↓" } (values(&members(&demo.output))) } }
}

fn object(text: String) -> Map<String, Value> {
    match serde_json::from_str(&text) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}
