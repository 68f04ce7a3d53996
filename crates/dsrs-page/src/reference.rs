//! `/strategies/{name}` and `/optimizers/{name}`: what the server knows how to do, with the schema of each config.

use axum::extract::Path;
use axum::response::Response;
use dsrs::optimize::optimizers;
use dsrs::strategy::registry;
use dsrs::value::Payload;
use maud::{Markup, html};
use serde_json::Value;

use crate::form::encoded;
use crate::parts::badge::{Tone, badge};
use crate::parts::head::head;
use crate::parts::json::json;
use crate::parts::same_request::SameRequest;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, ProblemCode};

/// `GET /strategies/{name}`.
pub(super) async fn strategy(
    visitor: Visitor,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    let found = visitor.app.strategy_get(&name)?;
    let facts = html! {
        (badge(Tone::Plain, "strategy"))
        @if found.calls_lm() { (badge(Tone::Info, "calls an LM")) }
    };
    let names: Vec<&str> = registry::list().map(|strategy| strategy.name()).collect();
    let body =
        entry(&facts, &name, found.description(), &found.config_schema(), "strategies", &names);
    Ok(visitor.show(&View::new(name, PageSection::Other), body))
}

/// `GET /optimizers/{name}`.
pub(super) async fn optimizer(
    visitor: Visitor,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    let found = optimizers().find(|optimizer| optimizer.name() == name);
    let missing =
        || ApiProblem::new(ProblemCode::NotFound, format!("there is no optimizer `{name}`"));
    let found = found.ok_or_else(missing)?;
    let facts = html! {
        (badge(Tone::Plain, "optimizer"))
        @if found.changes_graph() { (badge(Tone::Info, "changes graphs")) }
    };
    let names: Vec<&str> = optimizers().map(|optimizer| optimizer.name()).collect();
    let body =
        entry(&facts, &name, &found.description(), &found.config_schema(), "optimizers", &names);
    Ok(visitor.show(&View::new(name, PageSection::Other), body))
}

fn entry(
    facts: &Markup,
    name: &str,
    description: &str,
    schema: &Payload,
    path: &str,
    others: &[&str],
) -> Markup {
    html! {
        (head(&[], &html! { (name) }, facts))
        p { (description) }
        (settings(schema))
        section.panel {
            header { h2 { "JSON Schema of the config" } }
            div.body { pre.json tabindex="0" { (json(&schema.to_json())) } }
        }
        (SameRequest::get(&format!("/v1/{path}/{name}")).show())
        nav aria-label="Others" {
            p.muted.small { @for other in others { a href={ "/" (path) "/" (encoded(other)) } { (other) } " " } }
        }
    }
}

/// The members of a config as a table.
fn settings(schema: &Payload) -> Markup {
    let schema: Value = serde_json::from_str(&schema.to_json()).unwrap_or_default();
    let text = |member: &Value, name: &str| match member.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let members = schema.get("properties").and_then(Value::as_object);
    html! {
        @if let Some(members) = members.filter(|members| !members.is_empty()) {
            table.stack {
                thead { tr { th { "Setting" } th { "Type" } th { "Default" } th { "Meaning" } } }
                tbody { @for (name, member) in members {
                    tr {
                        td data-label="Setting" { code { (name) } }
                        td data-label="Type" { code { (text(member, "type")) } }
                        td data-label="Default" { code { (text(member, "default")) } }
                        td data-label="Meaning" { span { (text(member, "description")) } }
                    }
                } }
            }
        }
    }
}
