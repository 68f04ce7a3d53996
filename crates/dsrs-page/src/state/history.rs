//! `/graphs/{graph}/state`: the versions of the state as a line of history, and one of them in full.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};

use crate::form::encoded;
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::badge::{Tone, badge};
use crate::parts::empty::empty;
use crate::parts::figure::score;
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::shell::{PageSection, View};
use crate::state::heading::{author, crumbs};
use crate::state::selected::{selected, transfer};
use crate::state::timeline::{HistoryItem, RowLanes, interleaved, lanes, lines, width};
use crate::visitor::Visitor;
use dsrs_app::{PredictorOutline, StateHistory};
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::state::StateSummaryRow;
use dsrs_store::state_activation::ActivationItem;

/// The history as a view draws it.
struct Timeline<'t> {
    row: &'t GraphRow,
    path: String,
    selected: i32,
    history: &'t StateHistory,
}

/// `GET /graphs/{graph}/state`: the active state beside the history, or `version`.
pub(crate) async fn history(
    visitor: Visitor,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let chosen = query.number("version");
    let Visitor { app, scope, .. } = &visitor;
    let row = app.graph_get(scope, &GraphRef::parse(&graph), None).await?;
    let page = PageRequest::of(format!("state/{}", row.id), query)?;
    let listed = Box::pin(app.state_history(scope, row.id, page.numbered()?)).await?;
    let number = chosen.unwrap_or(row.state.version);
    let path = format!("/graphs/{}/state", encoded(&row.name));
    let timeline = Timeline { row: &row, path: path.clone(), selected: number, history: &listed };
    let own = chosen.map_or_else(|| path.clone(), |version| format!("{path}?version={version}"));
    let is_untuned = listed.versions.items.len() == 1 && row.state.predictors == "{}";
    let body = html! {
        (head(&crumbs(&row), &html! { "State" }, &html! {}))
        (graph_tabs(&visitor, &row.name, GraphTab::State))
        @if is_untuned && page.after.is_none() { (untuned(&visitor, &row)) }
        div.state-view {
            div.history {
                (timeline.show())
                (pager(&own, page.after.is_none(), page.next_of(&listed.versions).as_deref()))
                (transfer(&visitor, &row))
            }
            (selected(&visitor, &row, number).await?)
        }
        (SameRequest::get(&format!("/v1{path}/versions")).show())
    };
    let view = View::new(format!("State of {}", row.name), PageSection::Graphs)
        .styles(&["state.css"])
        .scripts(&["state.js"]);
    Ok(visitor.show(&view, body))
}

/// What is there before anything is tuned, and how to begin.
fn untuned(visitor: &Visitor, row: &GraphRow) -> Markup {
    let name = encoded(&row.name);
    empty(
        "Nothing is tuned yet",
        &html! {
            p.muted { "Every predictor uses the instruction of its signature, without demos. What you edit, import or optimize "
                "becomes a version of the state, beside the graph." }
            div.actions {
                @if visitor.may(KeyScope::Execute) { a.button href={ "/optimizations/new?graph=" (name) } { "Optimize" } }
            }
        },
    )
}

impl Timeline<'_> {
    fn show(&self) -> Markup {
        let items = interleaved(&self.history.versions.items, &self.history.activations);
        let rows = lanes(&items);
        let lanes = width(&rows);
        let is_alone = self.history.versions.items.len() < 2;
        html! {
            form.panel action={ (self.path) "/diff" } method="get" {
                header { h2 { "History" } @if !is_alone { span.small.muted { "from · to" } button type="submit" { "Compare" } } }
                ol class={ "timeline lanes-" (lanes) } data-single[is_alone] {
                    @for (item, row) in items.iter().zip(&rows) {
                        @match item {
                            HistoryItem::Version(version) => (self.version(version, row, lanes)),
                            HistoryItem::Activation(found) => (self.activation(found, row, lanes)),
                        }
                    }
                }
            }
        }
    }

    fn version(&self, version: &StateSummaryRow, row: &RowLanes, lanes: usize) -> Markup {
        let number = version.version;
        let is_current = number == self.selected;
        html! {
            li.step aria-current=[is_current.then_some("true")] {
                (lines(row, lanes, version.in_force))
                div.what {
                    p.line {
                        a href={ (self.path) "?version=" (number) "#selected" } { b { "State " (number) } }
                        (self.activity(version))
                        @if let Some(found) = version.score { span.small { "score " b { (score(found)) } } }
                    }
                    p.small { (self.change(version)) }
                    p.small.muted { (author(&version.created_by, version.optimization)) " · " (ago(version.created_at)) " · graph version " (version.graph_version) }
                }
                (self.choice(number))
            }
        }
    }

    fn activity(&self, version: &StateSummaryRow) -> Markup {
        html! {
            @if version.in_force {
                @if version.graph_version == self.row.newest_version { (badge(Tone::Good, "active")) }
                @else { (badge(Tone::Plain, &format!("active for graph version {}", version.graph_version))) }
            }
        }
    }

    /// What the version changed, in a word.
    fn change(&self, version: &StateSummaryRow) -> Markup {
        let outline = self.history.outlines.get(&version.version);
        html! {
            @match (outline, version.parent) {
                (None, _) => span.muted { "a long state" },
                (Some(found), None) if found.is_empty() => span.muted { "untuned" },
                (Some(found), Some(parent)) if found.is_empty() => span.muted { "the same as state " (parent) },
                (Some(found), _) => @for (index, one) in found.iter().enumerate() { @if index > 0 { ", " } (outlined(one)) },
            }
            @if let Some(parent) = version.parent { @if parent != version.version - 1 { span.muted { " · from state " (parent) } } }
        }
    }

    fn activation(&self, found: &ActivationItem, row: &RowLanes, lanes: usize) -> Markup {
        let (to, before) = (found.state_version, found.before);
        let word =
            if before.is_some_and(|before| before > to) { "Rolled back" } else { "Activated" };
        html! {
            li.step.activation {
                (lines(row, lanes, false))
                div.what {
                    p.small {
                        b { (word) } " to " a href={ (self.path) "?version=" (to) "#selected" } { "state " (to) }
                        @if let Some(before) = before { " from " (before) }
                        @if found.graph_version != self.row.newest_version { " for graph version " (found.graph_version) }
                        span.muted { " · " (author(&found.created_by, found.optimization)) " · " (ago(found.created_at)) }
                    }
                }
            }
        }
    }

    /// The two ends of a comparison.
    fn choice(&self, number: i32) -> Markup {
        let newest = self.history.versions.items.first().map(|version| version.version);
        let second = self.history.versions.items.get(1).map(|version| version.version);
        html! {
            div.pick {
                label title={ "Compare from state " (number) } { span.sr { "From state " (number) } input type="radio" name="from" value=(number) checked[second == Some(number)]; }
                label title={ "Compare with state " (number) } { span.sr { "To state " (number) } input type="radio" name="to" value=(number) checked[newest == Some(number)]; }
            }
        }
    }
}

/// What changed in one predictor.
fn outlined(found: &PredictorOutline) -> Markup {
    let mut words = Vec::new();
    if found.instruction {
        words.push("instruction".to_owned());
    }
    match found.demos {
        Some((before, after)) if before == after => words.push("demos".to_owned()),
        Some((before, after)) => words.push(format!("demos {before} → {after}")),
        None => {}
    }
    if found.settings {
        words.push("settings".to_owned());
    }
    html! { (words.join(" and ")) " of " code { (found.path) } }
}
