//! Handlers of one type. axum makes a stack of services for the type of each handler; with one type there is one stack,
//! which halves what the compiler does for the routes. Knows no route.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;

use dsrs_app::App;

/// What a function that is a handler returns.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler without the types of its arguments.
#[derive(Clone)]
pub(crate) struct ErasedHandler(Arc<dyn Fn(Request, Arc<App>) -> Answering + Send + Sync>);

impl ErasedHandler {
    pub(crate) fn new<H, T>(handler: H) -> Self
    where
        H: Handler<T, Arc<App>, Future = Answering>,
    {
        Self(Arc::new(move |request, app| handler.clone().call(request, app)))
    }
}

impl Handler<(), Arc<App>> for ErasedHandler {
    type Future = Answering;

    fn call(self, request: Request, app: Arc<App>) -> Answering {
        (self.0)(request, app)
    }
}
