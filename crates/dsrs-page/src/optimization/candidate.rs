//! `/optimizations/{id}/candidates/{number}`: what a candidate changes, and what it scored.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::evaluation::id_of;
use crate::optimization::changes::changes;
use crate::optimization::outline::full_score;
use crate::parts::figure::{cost, count, score};
use crate::parts::head::head;
use crate::parts::json::json;
use crate::parts::same_request::SameRequest;
use crate::parts::values::plain;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::Optimizations;
use dsrs_http::ApiProblem;

/// `GET /optimizations/{id}/candidates/{number}`.
pub(crate) async fn candidate(
    visitor: Visitor,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let id = id_of(&id)?;
    let missing = || ApiProblem::not_found(format!("there is no candidate `{number}`"));
    let number: i32 = number.parse().map_err(|_| missing())?;
    let row = app.job_get::<Optimizations>(scope, id).await?;
    let (found, diff) = Box::pin(app.optimization_candidate(scope, id, number)).await?;
    let scores: Value = serde_json::from_str(&found.scores).unwrap_or_default();
    let origin: String = serde_json::from_str(&found.origin).unwrap_or_default();
    let title = format!("Optimization of {}", row.graph_name);
    let up = [
        ("/optimizations".to_owned(), "Optimizations"),
        (format!("/optimizations/{id}"), title.as_str()),
    ];
    let body = html! {
        (head(&up, &html! { "Candidate " (number) }, &html! {}))
        p.figures {
            span { (origin) }
            @for parent in &found.parents { span { "from " a href={ "/optimizations/" (id) "/candidates/" (parent) } { "candidate " (parent) } } }
        }
        (scored(&scores))
        @if let Some(code) = scores["cause"]["code"].as_str() {
            p.reason { b { (scores["cause"]["n"]) } " failed with " code { (code) } ": "
                (scores["cause"]["detail"].as_str().unwrap_or_default()) }
        }
        section.panel { header { h2 { "Changes from the original program" } }
            div.body { (changes(&serde_json::from_str(&diff).unwrap_or_default())) } }
        section.panel { header { h2 { "State" } } div.body { pre.json { (json(&found.state)) } } }
        @if let Some(definition) = &found.definition {
            section.panel { header { h2 { "Graph" } } div.body { pre.json { (json(definition)) } } }
        }
        (SameRequest::get(&format!("/v1/optimizations/{id}/candidates/{number}")).show())
    };
    let view = View::new(format!("Candidate {number}"), PageSection::Optimizations)
        .styles(&["quality.css"]);
    Ok(visitor.show(&view, body))
}

fn scored(scores: &Value) -> Markup {
    let partial = scores["partial"].as_array().map(Vec::as_slice).unwrap_or_default();
    let all = std::iter::once(("all examples", &scores["full"]))
        .chain(partial.iter().map(|scored| ("a part", scored)));
    html! {
        table.stack {
            thead { tr { th { "Tried on" } th.number { "Score" } th.number { "Examples" } th.number { "Failed" } th.number { "No score" } th.number { "Calls" } th.number { "Tokens" } th.number { "Cost" } } }
            tbody {
                @for (what, scored) in all {
                    @match full_score(scored) {
                        None => tr { td { (what) } td.muted colspan="7" data-label="Score" { @if scored.is_null() { "not tried" } @else { (plain(scored)) } } },
                        Some(full) => tr {
                            td { (what) }
                            td.number data-label="Score" { b { (score(full.score)) } }
                            td.number data-label="Examples" { (full.n) }
                            td.number data-label="Failed" { (full.failures) }
                            td.number data-label="No score" { (full.unmeasured) }
                            td.number data-label="Calls" { (count(full.lm_calls as i64)) }
                            td.number data-label="Tokens" { (count(full.tokens as i64)) }
                            td.number data-label="Cost" { (full.cost.map_or_else(|| "–".to_owned(), cost)) }
                        },
                    }
                }
            }
        }
    }
}
