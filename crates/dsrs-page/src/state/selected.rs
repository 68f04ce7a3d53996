//! One state version in full beside the history: what every predictor uses, and what can be done with the version.

use dsrs::graph::Program;
use dsrs::predict::{Demo, DynPredictor, lm_to_payload};
use dsrs::value::Payload;
use maud::{Markup, html};

use crate::form::encoded;
use crate::parts::badge::{Tone, badge};
use crate::parts::figure::score;
use crate::parts::json::json;
use crate::parts::time::ago;
use crate::parts::values::{folded, members, values};
use crate::state::heading::author;
use crate::visitor::Visitor;
use dsrs_http::ApiProblem;
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::state::StateRow;

/// Demos of a predictor that are shown.
const MOST_DEMOS: usize = 20;

/// Where a version stands against the newest graph version.
struct Standing<'s> {
    row: &'s GraphRow,
    path: String,
    /// Whether it is active for its own graph version.
    is_active: bool,
    /// Whether an edit starts from it: active for the newest graph version.
    is_edited: bool,
}

/// The panel of a state version.
pub(super) async fn selected(
    visitor: &Visitor,
    row: &GraphRow,
    version: i32,
) -> Result<Markup, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let graph = GraphRef::Id(row.id);
    let version_row = app.state_version(scope, &graph, version).await?;
    let own = version_row.row.graph_version;
    let active = match own == row.newest_version {
        true => row.state.version,
        false => app.graph_get(scope, &graph, Some(own)).await?.state.version,
    };
    let standing = Standing {
        row,
        path: format!("/graphs/{}", encoded(&row.name)),
        is_active: active == version,
        is_edited: row.state.version == version,
    };
    Ok(html! {
        section.panel #selected aria-label="Selected state" {
            header {
                h2 { "State " (version) }
                @if standing.is_active { (badge(Tone::Good, "active")) }
            }
            div.body {
                (standing.facts(&version_row.row))
                (standing.actions(visitor, &version_row.row))
                (standing.predictors(visitor, &version_row.program))
            }
        }
    })
}

impl Standing<'_> {
    fn facts(&self, state: &StateRow) -> Markup {
        html! {
            dl.facts {
                dt { "Author" } dd { (author(&state.created_by, state.optimization)) ", " (ago(state.created_at)) }
                dt { "For" } dd { "graph version " (state.graph_version) @if state.graph_version == self.row.newest_version { " (newest)" } }
                @if let Some(parent) = state.parent { dt { "From" } dd { a href={ "?version=" (parent) } { "state " (parent) } } }
                @if let Some(found) = state.score { dt { "Score" } dd { b { (score(found)) } } }
            }
        }
    }

    fn actions(&self, visitor: &Visitor, state: &StateRow) -> Markup {
        let version = state.version;
        html! {
            div.actions {
                @if !self.is_active && visitor.may(KeyScope::Write) {
                    a.button.primary href={ (self.path) "/state/activate?version=" (version) } { (verb(self.row, state)) }
                }
                @if let Some(parent) = state.parent {
                    a.button href={ (self.path) "/state/diff?from=" (parent) "&to=" (version) } { "Changes from " (parent) }
                }
                a.button href={ "/v1" (self.path) "/state/versions/" (version) } download={ (self.row.name) "-state-" (version) ".json" } { "Download" }
                a.button href={ "/v1" (self.path) "/state/versions/" (version) "?format=dspy" } download={ (self.row.name) "-state-" (version) "-dspy.json" } { "Download for DSPy" }
            }
        }
    }

    fn predictors(&self, visitor: &Visitor, program: &Program) -> Markup {
        html! {
            @for (path, predictor) in program.predictors() { (self.predictor(visitor, &path, predictor)) }
        }
    }

    fn predictor(&self, visitor: &Visitor, path: &str, predictor: &dyn DynPredictor) -> Markup {
        let state = predictor.state();
        let edit = format!("{}/predictors/{}", self.path, encoded(path));
        html! {
            details.predictor open[!state.is_default()] {
                summary {
                    code { (path) } " "
                    @if state.is_default() { (badge(Tone::Plain, "untuned")) } @else { (badge(Tone::Info, "tuned")) }
                }
                div.instruction { (folded(predictor.instruction())) }
                @if let Some(settings) = lm_to_payload(&state.lm) { pre.json { (json(&settings.to_json())) } }
                @if let Some(nearest) = &state.nearest {
                    p.small.muted { "Each call shows the " (nearest.k) " nearest of " (state.demos.len()) " demos, by " (nearest.model) "." }
                }
                @for (output, rule) in &state.decisions {
                    p.small.muted { "Decides " code { (output) } " by " span.mono { (rule.to_payload().to_json()) } }
                }
                @if !state.demos.is_empty() { (demos(&state.demos)) }
                @if self.is_edited {
                    div { a.button href=(edit) { @if visitor.may(KeyScope::Write) { "Edit" } @else { "Prompt" } } }
                }
            }
        }
    }
}

fn demos(demos: &[Demo]) -> Markup {
    let side = |fields: &dsrs::value::Fields| members(&Payload::map(fields.clone()).to_json());
    html! {
        details {
            summary { (demos.len()) @if demos.len() == 1 { " demo" } @else { " demos" } }
            ol.demos {
                @for demo in demos.iter().take(MOST_DEMOS) {
                    li { (values(&side(&demo.input))) div.arrow aria-label="leads to" { "↓" } (values(&side(&demo.output))) }
                }
            }
            @if demos.len() > MOST_DEMOS { p.small.muted { "and " (demos.len() - MOST_DEMOS) " more" } }
        }
    }
}

/// What activating a version is for the people who do it.
pub(super) fn verb(row: &GraphRow, state: &StateRow) -> &'static str {
    let is_older = state.graph_version == row.newest_version && state.version < row.state.version;
    if is_older { "Roll back to this …" } else { "Activate …" }
}

/// Import of a state: a document of this server, or a file of DSPy.
pub(super) fn transfer(visitor: &Visitor, row: &GraphRow) -> Markup {
    let path = format!("/graphs/{}/state", encoded(&row.name));
    html! {
        @if visitor.may(KeyScope::Write) {
            details.panel.import {
                summary { "Import a state" }
                form.fields action={ (path) "/import" } method="post" {
                    input type="hidden" name="seen" value=(row.state.version);
                    (import_field(""))
                    button type="submit" { "Import and activate" }
                }
            }
        }
    }
}

/// The text of a state to import. `state.js` fills it from a file.
pub(super) fn import_field(text: &str) -> Markup {
    html! {
        label {
            "JSON"
            span.hint { "What Download gives, or what " code { "program.save(\"x.json\")" } " of DSPy writes. Predictors that it leaves out return to their defaults." }
            textarea.mono name="state" rows="6" required spellcheck="false" { "\n" (text) }
        }
        label hidden data-script { "From a file" input type="file" accept=".json,application/json" data-into="state"; }
    }
}
