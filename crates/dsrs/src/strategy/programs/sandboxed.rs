//! The failures of strategies that need a sandbox where there is none.

use crate::predict::{PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem};

/// The refusal of a definition; `at` is the place of the node.
pub(in crate::strategy) fn no_sandbox(at: &At<'_>) -> Problem {
    let detail = "there is no sandbox to run programs in; the operator of the server can enable one \
                  (`[sandbox]`), in a build with the feature `sandbox`";
    let pointer = at.key("strategy").pointer();
    Problem { pointer, code: Code::InvalidConfig, detail: detail.into() }
}

/// The failure of a stored definition whose sandbox is gone.
pub(in crate::strategy) fn sandbox_is_gone() -> PredictError {
    let message = "there is no longer a sandbox to run programs in";
    PredictError::new(PredictErrorKind::Sandbox, message)
}
