//! The operations of one path, each a handler with the documentation that `utoipa::path` has generated beside it. In the
//! place of `utoipa_axum::routes!`, for handlers of one type. Knows no route.

use std::sync::Arc;

use axum::handler::Handler;
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa_axum::PathItemExt;
use utoipa_axum::router::UtoipaMethodRouter;

use super::erased_handler::{Answering, ErasedHandler};
use dsrs_app::App;

/// The operations of these handlers: `operations!(graph::graph_get, graph::graph_put)`.
macro_rules! operations {
    ($($module:ident::$name:ident),+ $(,)?) => {
        pastey::paste! {
            $crate::protocol::operations::Operations::default()
                $(.with::<$module::[<__path_ $name>], _, _>($module::$name))+
                .into_routes()
        }
    };
}

pub(crate) use operations;

/// Handlers of one path, with their documentation.
#[derive(Default)]
pub(crate) struct Operations {
    routes: UtoipaMethodRouter<Arc<App>>,
}

impl Operations {
    /// Adds a handler, whose documentation is `D`.
    pub(crate) fn with<D, H, T>(mut self, handler: H) -> Self
    where
        D: utoipa::Path + SchemaReferences + Tags<'static>,
        H: Handler<T, Arc<App>, Future = Answering>,
    {
        let (schemas, paths, router) = &mut self.routes;
        D::schemas(schemas);
        let mut operation = D::operation();
        let tags = D::tags();
        if !tags.is_empty() {
            operation.tags.get_or_insert_default().extend(tags.into_iter().map(str::to_owned));
        }
        let handler = ErasedHandler::new(handler);
        for method in D::methods() {
            let before = std::mem::take(router);
            *router = before.on(method.to_method_filter(), handler.clone());
        }
        paths.add_path_operation(D::path(), D::methods(), operation);
        self
    }

    pub(crate) fn into_routes(self) -> UtoipaMethodRouter<Arc<App>> {
        self.routes
    }
}
