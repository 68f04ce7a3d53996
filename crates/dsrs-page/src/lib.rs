//! The page: what a person sees who opens the server in a browser. Views read through `app` as the routes of the
//! API do, and render HTML; scripts call the API itself. May not know SQL.

mod asset;
mod dataset;
mod drawing;
mod evaluation;
mod form;
mod graph;
mod optimization;
mod parse;
mod parts;
mod problem;
mod problem_catalogue;
mod reference;
mod run;
mod run_form;
mod schedule;
mod search;
mod shell;
mod sign_in;
mod state;
mod usage;
mod visitor;
mod webhook;

use axum::{Router, middleware};

use dsrs_http::{HtmlAccess, HtmlRoutes};
use dsrs_store::key_scope::KeyScope;

/// A view needs a key that may read.
const READ: HtmlAccess = HtmlAccess::Needs(KeyScope::Read);

/// A view that changes something.
const WRITE: HtmlAccess = HtmlAccess::Needs(KeyScope::Write);

/// A view that runs something.
const EXECUTE: HtmlAccess = HtmlAccess::Needs(KeyScope::Execute);

/// A view for administrators of a workspace.
const ADMIN: HtmlAccess = HtmlAccess::Needs(KeyScope::Admin);

/// Every view on one page.
pub fn routes() -> HtmlRoutes {
    HtmlRoutes::default()
        .get("/assets/{hash}/{name}", HtmlAccess::Open, asset::asset)
        .get("/sign-in", HtmlAccess::Open, sign_in::form)
        .post("/sign-in", HtmlAccess::Open, sign_in::start)
        .post("/sign-out", HtmlAccess::Open, sign_in::end)
        .get("/", HtmlAccess::Index, graph::list::graphs)
        .post("/graphs/example", WRITE, graph::list::post_example)
        .get("/graphs", READ, graph::list::moved)
        .get("/datasets", READ, dataset::list::datasets)
        .post("/datasets", WRITE, dataset::change::create)
        .get("/datasets/{dataset}", READ, dataset::view::dataset)
        .post("/datasets/{dataset}", WRITE, dataset::change::replace)
        .post("/datasets/{dataset}/delete", WRITE, dataset::change::delete)
        .get("/evaluations", READ, evaluation::list::evaluations)
        .post_job("/evaluations", EXECUTE, evaluation::start::start)
        .get("/evaluations/new", EXECUTE, evaluation::start::form)
        .post("/evaluations/new", EXECUTE, evaluation::start::preview)
        .get("/evaluations/compare", READ, evaluation::compare::compare)
        .get("/evaluations/{id}", READ, evaluation::view::evaluation)
        .post("/evaluations/{id}/cancel", EXECUTE, evaluation::view::cancel)
        .post("/drawing", READ, graph::drawing::drawing)
        .get("/new", WRITE, graph::editor::new)
        .post("/new", WRITE, graph::editor::create)
        .get("/graphs/{graph}", READ, graph::view::graph)
        .post("/graphs/{graph}", READ, graph::view::with_inputs)
        .get("/graphs/{graph}/versions", READ, graph::versions::versions)
        .get("/graphs/{graph}/online-evaluation", WRITE, graph::judgement_form::form)
        .post("/graphs/{graph}/online-evaluation", WRITE, graph::judgement_form::preview)
        .post("/graphs/{graph}/online-evaluation/set", WRITE, graph::judgement_form::set)
        .post("/graphs/{graph}/online-evaluation/pause", WRITE, graph::judgement::pause)
        .post("/graphs/{graph}/online-evaluation/resume", WRITE, graph::judgement::resume)
        .post("/graphs/{graph}/online-evaluation/delete", WRITE, graph::judgement::delete)
        .get("/graphs/{graph}/edit", WRITE, graph::editor::edit)
        .post("/graphs/{graph}/edit", WRITE, graph::editor::save)
        .get("/graphs/{graph}/state", READ, state::history::history)
        .get("/graphs/{graph}/state/diff", READ, state::diff::diff)
        .get("/graphs/{graph}/state/activate", READ, state::activate::confirm)
        .post("/graphs/{graph}/state/activate", WRITE, state::activate::activate)
        .post("/graphs/{graph}/state/import", WRITE, state::import::import)
        .get("/graphs/{graph}/predictors/{path}", READ, state::predictor::predictor)
        .post("/graphs/{graph}/predictors/{path}", READ, state::predictor::preview)
        .post("/graphs/{graph}/predictors/{path}/save", WRITE, state::predictor::save)
        .get("/optimizations", READ, optimization::list::optimizations)
        .post_job("/optimizations", EXECUTE, optimization::start::start)
        .get("/optimizations/new", EXECUTE, optimization::start::form)
        .post("/optimizations/new", EXECUTE, optimization::start::preview)
        .get("/optimizations/{id}", READ, optimization::view::optimization)
        .post("/optimizations/{id}/cancel", EXECUTE, optimization::activate::cancel)
        .post("/optimizations/{id}/activate", WRITE, optimization::activate::activate)
        .get("/optimizations/{id}/candidates/{number}", READ, optimization::candidate::candidate)
        .get("/graphs/{graph}/run", EXECUTE, run_form::form::form)
        .post_run("/graphs/{graph}/run", EXECUTE, run_form::execute)
        .post("/graphs/{graph}/run/request", EXECUTE, run_form::request_json)
        .get("/runs", READ, run::list::runs)
        .get("/runs/compare", READ, run::compare::compare)
        .get("/runs/{id}", READ, run::view::run)
        .post("/runs/{id}/cancel", EXECUTE, run::actions::cancel)
        .post_job("/runs/{id}/resume", EXECUTE, run::actions::resume)
        .post_job("/runs/{id}/signal", EXECUTE, run::actions::signal)
        .post("/runs/{id}/example", WRITE, run::actions::make_example)
        .post("/runs/{id}/feedback", EXECUTE, run::give_feedback::give)
        .get("/usage", READ, usage::view::usage)
        .get("/schedules", READ, schedule::list::schedules)
        .post("/schedules", EXECUTE, schedule::save::create)
        .get("/schedules/new", EXECUTE, schedule::save::new)
        .post("/schedules/new", EXECUTE, schedule::save::preview_new)
        .get("/schedules/{id}", READ, schedule::view::schedule)
        .post("/schedules/{id}", EXECUTE, schedule::save::change)
        .get("/schedules/{id}/edit", EXECUTE, schedule::save::edit)
        .post("/schedules/{id}/edit", EXECUTE, schedule::save::preview_edit)
        .post("/schedules/{id}/pause", EXECUTE, schedule::change::pause)
        .post("/schedules/{id}/resume", EXECUTE, schedule::change::resume)
        .post("/schedules/{id}/fire", EXECUTE, schedule::change::fire)
        .post("/schedules/{id}/delete", EXECUTE, schedule::change::delete)
        .get("/webhooks", ADMIN, webhook::list::webhooks)
        .post("/webhooks", ADMIN, webhook::save::create)
        .get("/webhooks/new", ADMIN, webhook::save::new)
        .post("/webhooks/new", ADMIN, webhook::save::preview_new)
        .get("/webhooks/{id}", ADMIN, webhook::view::webhook)
        .post("/webhooks/{id}", ADMIN, webhook::save::change)
        .get("/webhooks/{id}/edit", ADMIN, webhook::save::edit)
        .post("/webhooks/{id}/edit", ADMIN, webhook::save::preview_edit)
        .post("/webhooks/{id}/test", ADMIN, webhook::change::test)
        .post("/webhooks/{id}/pause", ADMIN, webhook::change::pause)
        .post("/webhooks/{id}/resume", ADMIN, webhook::change::resume)
        .post("/webhooks/{id}/delete", ADMIN, webhook::change::delete)
        .post("/webhooks/{id}/messages/{message}/replay", ADMIN, webhook::change::replay)
        .get("/problems", HtmlAccess::Open, problem_catalogue::problems)
        .get("/problems/{code}", HtmlAccess::Open, problem_catalogue::problem)
        .get("/search", READ, search::search)
        .get("/strategies/{name}", READ, reference::strategy)
        .get("/optimizers/{name}", READ, reference::optimizer)
        .get("/parse", READ, parse::form)
        .post("/parse", READ, parse::read)
}

/// Shows a problem as a page to those who opened a page.
pub fn with_problem_pages(router: Router) -> Router {
    router.layer(middleware::from_fn(problem::show))
}
