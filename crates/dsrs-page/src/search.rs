//! `/search`: everything that a short text may name: graphs, state versions, datasets, runs and jobs by id,
//! strategies, optimizers, and the operations of the API.

use std::sync::LazyLock;

use axum::response::Response;
use dsrs::optimize::optimizers;
use dsrs::strategy::registry;
use maud::{Markup, html};
use serde_json::Value;

use crate::form::encoded;
use crate::parts::badge::status;
use crate::parts::head::head;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::SearchMatches;
use dsrs_http::{ApiProblem, Query};
use dsrs_store::search::{IdMatch, NamedMatch};

/// The longest text that is searched, in characters.
const LONGEST: usize = 200;

/// The most documents that are shown.
const MOST_DOCUMENTS: usize = 12;

/// A result: where it leads, its name, and what it is.
struct Hit {
    href: String,
    name: String,
    note: Markup,
}

/// A place in the documentation.
struct DocumentEntry {
    href: String,
    name: String,
    note: String,
    /// The words that find it, in lower case.
    words: String,
}

static DOCUMENTS: LazyLock<Vec<DocumentEntry>> = LazyLock::new(documents);

/// `GET /search`.
pub(super) async fn search(visitor: Visitor, mut query: Query) -> Result<Response, ApiProblem> {
    let text = query.text("q").unwrap_or_default();
    query.close()?;
    let text = text.trim().chars().take(LONGEST).collect::<String>();
    let found = match text.is_empty() {
        true => SearchMatches::default(),
        false => visitor.app.search(&visitor.scope, &text).await?,
    };
    let view = View::new("Search", PageSection::Other);
    Ok(visitor.show(&view, page(&text, &groups(&text, &found))))
}

fn groups(text: &str, found: &SearchMatches) -> Vec<(&'static str, Vec<Hit>)> {
    let ids =
        |matches: &[IdMatch], path: &str| matches.iter().map(|hit| id_hit(hit, path)).collect();
    let groups: Vec<(&'static str, Vec<Hit>)> = vec![
        ("Graphs", found.graphs.iter().map(|hit| named_hit(hit, "graphs")).collect()),
        ("State versions", found.states.iter().map(state_hit).collect()),
        ("Datasets", found.datasets.iter().map(|hit| named_hit(hit, "datasets")).collect()),
        ("Runs", ids(&found.runs, "runs")),
        ("Evaluations", ids(&found.evaluations, "evaluations")),
        ("Optimizations", ids(&found.optimizations, "optimizations")),
        ("Documentation", document_hits(text)),
    ];
    groups.into_iter().filter(|(_, hits)| !hits.is_empty()).collect()
}

fn named_hit(hit: &NamedMatch, path: &str) -> Hit {
    Hit {
        href: format!("/{path}/{}", encoded(&hit.name)),
        name: hit.name.clone(),
        note: html! { "version " (hit.version) },
    }
}

fn state_hit(hit: &NamedMatch) -> Hit {
    Hit {
        href: format!("/graphs/{}/state?version={}", encoded(&hit.name), hit.version),
        name: format!("{} state {}", hit.name, hit.version),
        note: html! {},
    }
}

fn id_hit(hit: &IdMatch, path: &str) -> Hit {
    Hit {
        href: format!("/{path}/{}", hit.id),
        name: hit.id.to_string(),
        note: html! { (hit.graph_name) " " (status(&hit.status)) },
    }
}

/// Entries that have every word of the text.
fn document_hits(text: &str) -> Vec<Hit> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let fits = |entry: &&DocumentEntry| {
        !words.is_empty() && words.iter().all(|word| entry.words.contains(word))
    };
    let mut hits: Vec<&DocumentEntry> = DOCUMENTS.iter().filter(fits).collect();
    hits.sort_by_key(|entry| !words.iter().any(|word| entry.name.to_lowercase().contains(word)));
    let hits = hits.into_iter().take(MOST_DOCUMENTS);
    hits.map(|entry| Hit {
        href: entry.href.clone(),
        name: entry.name.clone(),
        note: html! { (entry.note) },
    })
    .collect()
}

fn documents() -> Vec<DocumentEntry> {
    let entry = |href: String, name: String, note: String, more: &str| DocumentEntry {
        words: format!("{name} {note} {more}").to_lowercase(),
        href,
        name,
        note,
    };
    let strategies = registry::list().map(|strategy| {
        let name = strategy.name();
        entry(
            format!("/strategies/{name}"),
            name.to_owned(),
            "strategy".to_owned(),
            strategy.description(),
        )
    });
    let optimizers = optimizers().map(|optimizer| {
        let name = optimizer.name();
        entry(
            format!("/optimizers/{name}"),
            name.to_owned(),
            "optimizer".to_owned(),
            &optimizer.description(),
        )
    });
    let document = dsrs_http::make_openapi();
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        item.as_object()
            .into_iter()
            .flatten()
            .map(move |(method, operation)| (path, method, operation))
    });
    let operations = operations.filter_map(|(path, method, operation)| {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let tag = operation.pointer("/tags/0").and_then(Value::as_str)?;
        let href = format!("/docs/#/{tag}/{}", text("operationId")?);
        let note = format!("{} {path}", method.to_uppercase());
        Some(entry(
            href,
            text("summary")?.to_owned(),
            note,
            text("description").unwrap_or_default(),
        ))
    });
    strategies.chain(optimizers).chain(operations).collect()
}

fn page(text: &str, groups: &[(&'static str, Vec<Hit>)]) -> Markup {
    html! {
        (head(&[], &html! { "Search" }, &html! {}))
        form.search-view action="/search" method="get" {
            label { span.sr { "Search" }
                input type="search" name="q" value=(text) autofocus autocomplete="off" maxlength=(LONGEST)
                    placeholder="A graph, a dataset, an id, `name 3` for a state version, an operation";
            }
        }
        section #results aria-live="polite" {
            @if text.is_empty() { p.muted { "Type a name, the beginning of an id, or a word of the documentation." } }
            @else if groups.is_empty() { p.muted { "Nothing has the name or id " b { (text) } "." } }
            @for (title, hits) in groups {
                h2 { (title) }
                ul.hits { @for hit in hits { li { a href=(hit.href) { span.name { (hit.name) } span.note { (hit.note) } } } } }
            }
        }
    }
}
