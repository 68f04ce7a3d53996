//! Builds the programs of candidates, with the stored graphs that they use. May not know optimizers.

use std::sync::Arc;

use dsrs::graph::{Program, document_references};
use dsrs::optimize::{Candidate, ProgramBuilder};
use dsrs::problem::{At, Code, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::persist::persist_operation;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::graph_version;
use dsrs_store::optimization::OptimizationRow;

/// Builds candidates of one graph.
pub(crate) struct CandidateBuilder {
    app: Arc<App>,
    scope: Scope,
    graph: Uuid,
    name: String,
    /// The program at the start of the optimization, without its state.
    plain: Arc<Program>,
    document: Arc<Payload>,
}

impl CandidateBuilder {
    /// A builder for the graph version that an optimization starts from.
    pub(crate) async fn new(
        app: Arc<App>,
        scope: Scope,
        row: &OptimizationRow,
    ) -> Result<Self, AppError> {
        let (graph, version, state) = (row.graph_id, row.graph_version, row.state_version);
        let found = graph_version::recorded(&scope, &app.db, graph, version, state).await?;
        let plain = app.plain_program(&scope, &found.definition, &found.content_hash).await?;
        let name = row.graph_name.clone();
        let document = Arc::new(plain.document().clone());
        Ok(Self { app, scope, graph, name, plain, document })
    }

    /// The document of that graph version.
    pub(crate) fn document(&self) -> &Arc<Payload> {
        &self.document
    }

    /// The program of a candidate; as [`ProgramBuilder::build`], while the database is there.
    pub(crate) async fn program(
        &self,
        candidate: &Candidate,
    ) -> Result<Result<Program, Problems>, AppError> {
        if candidate.document == self.document {
            let tune = |env: &dyn BuildEnv| self.plain.with_state(env, &candidate.state, &At::Root);
            let references = document_references(&self.document);
            return Box::pin(self.app.build_stored(&self.scope, references, tune)).await;
        }
        // A changed document is checked like one that a client posts.
        let build = |env: &dyn BuildEnv| {
            let plain = Program::from_document(&candidate.document, env)?;
            plain.with_state(env, &candidate.state, &At::Root)
        };
        let (root, references) =
            (Some((self.graph, self.name.as_str())), document_references(&candidate.document));
        self.app.build_new(&self.scope, root, references, build).await
    }

    async fn built(&self, candidate: &Candidate) -> Result<Arc<Program>, Problems> {
        match persist_operation(&self.app.db, || Box::pin(self.program(candidate))).await {
            Ok(built) => built.map(Arc::new),
            Err(error) => {
                let mut problems = Problems::new();
                problems.add(&At::Root, Code::InvalidValue, error.to_string());
                Err(problems)
            }
        }
    }
}

impl ProgramBuilder for CandidateBuilder {
    fn build<'a>(
        &'a self,
        candidate: &'a Candidate,
    ) -> BoxFuture<'a, Result<Arc<Program>, Problems>> {
        self.built(candidate).boxed()
    }
}
