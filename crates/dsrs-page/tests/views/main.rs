//! The page over HTTP, as a browser without scripts sees it. One file a noun.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod assets;
mod changed_forms;
mod datasets;
mod editor;
mod evaluations;
mod filled_form;
mod graph;
mod graphs;
mod marked_forms;
mod modules;
mod online_evaluation_forms;
mod online_evaluations;
mod optimizations;
mod parse;
mod problems;
mod run_form;
mod runs;
mod schedule_forms;
mod schedules;
mod search;
mod sessions;
mod state;
mod usage;
mod webhook_forms;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use dsrs_app::App;
use dsrs_config::Config;
use dsrs_test::{Answer, Remote};
use dsrs_test_api::Routes;
use reqwest::Method;

/// The service with the routes of the API and of the page.
type Api = dsrs_test_api::Api<AllRoutes>;

struct AllRoutes;

impl Routes for AllRoutes {
    fn router(app: Arc<App>, config: &Config) -> Router {
        dsrs_page::with_problem_pages(dsrs_http::router(app, config, dsrs_page::routes()))
    }
}

/// What browsers accept when they open a page.
pub const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");

/// Opens a view.
pub async fn open(remote: &Remote, path: &str) -> Answer {
    remote.send(Method::GET, path, &[HTML], None).await
}

/// Sends a form of the page.
pub async fn submit(remote: &Remote, path: &str, fields: &[(&str, &str)]) -> Answer {
    submit_with(remote, path, fields, &[]).await
}

/// The same with more headers.
pub async fn submit_with(
    remote: &Remote,
    path: &str,
    fields: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> Answer {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields {
        body.append_pair(name, value);
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    let headers = [&[HTML, form], headers].concat();
    remote.send(Method::POST, path, &headers, Some(body.finish())).await
}

/// The text of a view without its tags, each run of white space as one space.
pub fn words(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, behind)| behind));
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
