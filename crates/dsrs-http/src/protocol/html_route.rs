//! The routes of the page: each declares beside its handler who may open it. Knows no view.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{get, post};

use super::erased_handler::{Answering, ErasedHandler};
use dsrs_app::{App, Start};
use dsrs_store::key_scope::KeyScope;

/// Who may open a route of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HtmlAccess {
    /// Everybody: the sign-in and the assets.
    Open,
    /// Everybody who does not ask for HTML; a browser needs a key with the scope `read`.
    Index,
    /// A key with this scope.
    Needs(KeyScope),
}

/// What a route of the page declares.
#[derive(Clone, Debug)]
pub(crate) struct HtmlRoute {
    pub(crate) pattern: &'static str,
    pub(crate) method: Method,
    pub(crate) access: HtmlAccess,
    /// What a request starts.
    pub(crate) starts: Option<Start>,
}

/// The routes of the page, with their declarations.
#[derive(Default)]
pub struct HtmlRoutes {
    pub(crate) router: Router<Arc<App>>,
    pub(crate) declared: Vec<HtmlRoute>,
}

impl HtmlRoutes {
    /// Adds a view.
    pub fn get<H, T>(self, pattern: &'static str, access: HtmlAccess, handler: H) -> Self
    where
        H: Handler<T, Arc<App>, Future = Answering>,
        T: 'static,
    {
        let Self { router, declared } = self.declare(pattern, Method::GET, access);
        Self { router: router.route(pattern, get(ErasedHandler::new(handler))), declared }
    }

    /// Adds the target of a form.
    pub fn post<H, T>(self, pattern: &'static str, access: HtmlAccess, handler: H) -> Self
    where
        H: Handler<T, Arc<App>, Future = Answering>,
        T: 'static,
    {
        let Self { router, declared } = self.declare(pattern, Method::POST, access);
        Self { router: router.route(pattern, post(ErasedHandler::new(handler))), declared }
    }

    /// Adds the target of a form that starts a job: counted by the quotas of keys like that of the API.
    pub fn post_job<H, T>(self, pattern: &'static str, access: HtmlAccess, handler: H) -> Self
    where
        H: Handler<T, Arc<App>, Future = Answering>,
        T: 'static,
    {
        let mut added = self.post(pattern, access, handler);
        if let Some(route) = added.declared.last_mut() {
            route.starts = Some(Start::Job);
        }
        added
    }

    /// Adds the target of a form that runs a graph: counted like that of the API.
    pub fn post_run<H, T>(self, pattern: &'static str, access: HtmlAccess, handler: H) -> Self
    where
        H: Handler<T, Arc<App>, Future = Answering>,
        T: 'static,
    {
        let mut added = self.post(pattern, access, handler);
        if let Some(route) = added.declared.last_mut() {
            route.starts = Some(Start::Run);
        }
        added
    }

    fn declare(mut self, pattern: &'static str, method: Method, access: HtmlAccess) -> Self {
        self.declared.push(HtmlRoute { pattern, method, access, starts: None });
        self
    }
}
