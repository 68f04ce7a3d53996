//! Why a verb did not do what it was asked. Transport-free: one table in `http` makes answers of it.

use dsrs::problem::Problems;

use crate::store::StoreError;

/// A verb that was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The body is not of the right shape.
    #[error("the request does not have the right shape")]
    Request(Problems),
    /// The definition is wrong.
    #[error("the graph has problems")]
    Graph(Problems),
    /// The inputs do not fit.
    #[error("the inputs do not fit")]
    Inputs(Problems),
    /// The state does not fit.
    #[error("the state does not fit the graph")]
    State(Problems),
    /// The name in the body is not the name in the path.
    #[error("the body names the graph `{body}`, the path `{path}`")]
    NameMismatch {
        /// In the body.
        body: String,
        /// In the path.
        path: String,
    },
    /// The graph has no such predictor.
    #[error("the graph has no predictor `{0}`")]
    NoPredictor(String),
    /// No model is configured at all.
    #[error("no model is configured; set OPENAI_API_KEY, OPENAI_BASE_URL or [models]")]
    NoModel,
    /// The server is stopping and takes no more work.
    #[error("the server is stopping")]
    Stopping,
    /// A stored definition no longer builds: ours to look at.
    #[error("the stored graph no longer builds")]
    Stored(Problems),
}
