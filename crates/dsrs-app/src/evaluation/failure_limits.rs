//! How much of an evaluation may fail, and what ends it otherwise: examples that failed, or too many without a score.
//! May not know how examples are run.

use std::sync::OnceLock;

use dsrs::optimize::MAX_UNMEASURED;
use uuid::Uuid;

use crate::job::conclusion::Conclusion;
use dsrs_store::evaluation::{self, EvaluationRow, UnmeasuredCause};
use dsrs_store::evaluation_work::FailedExamples;
use dsrs_store::persist;
use dsrs_store::{Db, Scope, StoreError};

/// The limits of an evaluation.
pub(crate) struct FailureLimits {
    evaluation: Uuid,
    total: i32,
    max_errors: Option<i32>,
    max_unmeasured: f64,
    /// Why the evaluation ends.
    exceeded: OnceLock<ExceededLimit>,
}

/// The limit that is exceeded: the code of the problem, and an explanation.
#[derive(Clone)]
struct ExceededLimit {
    code: &'static str,
    detail: String,
}

impl FailureLimits {
    pub(crate) fn of(row: &EvaluationRow) -> Self {
        Self {
            evaluation: row.id,
            total: row.tally.total,
            max_errors: row.max_errors,
            max_unmeasured: row.max_unmeasured.unwrap_or(MAX_UNMEASURED),
            exceeded: OnceLock::new(),
        }
    }

    /// Whether a limit is exceeded. Finds out why.
    pub(crate) async fn are_exceeded(
        &self,
        scope: &Scope,
        db: &Db,
        found: FailedExamples,
    ) -> Result<bool, StoreError> {
        if let Some(most) = self.max_errors.filter(|most| found.failed > *most) {
            let detail = format!(
                "more than {most} examples failed (`max_errors`); the results so far are stored"
            );
            let exceeded = ExceededLimit { code: "too_many_errors", detail };
            self.exceeded.get_or_init(|| exceeded);
            return Ok(true);
        }
        let is_exceeded = f64::from(found.unmeasured) > self.max_unmeasured * f64::from(self.total);
        if is_exceeded && self.exceeded.get().is_none() {
            let cause =
                persist(|| evaluation::unmeasured_cause(scope, db, self.evaluation)).await?;
            let detail = self.too_many(found.unmeasured, cause);
            let exceeded = ExceededLimit { code: "too_many_unmeasured", detail };
            self.exceeded.get_or_init(|| exceeded);
        }
        Ok(is_exceeded)
    }

    fn too_many(&self, unmeasured: i32, cause: Option<UnmeasuredCause>) -> String {
        let Self { total, max_unmeasured, .. } = self;
        let cause = cause.map_or_else(String::new, |cause| {
            let UnmeasuredCause { code, detail, count } = cause;
            let (code, detail) = (code.unwrap_or_default(), detail.unwrap_or_default());
            format!("; {count} of them with `{code}`: {detail}")
        });
        format!(
            "{unmeasured} of {total} examples have no score, more than the share of {max_unmeasured} that may \
             (`max_unmeasured`): their runs failed for reasons that are not the program's{cause}"
        )
    }

    /// How the evaluation ends if a limit is exceeded.
    pub(crate) fn conclusion(&self) -> Conclusion<()> {
        match self.exceeded.get().cloned() {
            Some(ExceededLimit { code, detail }) => Conclusion::failed(code, detail),
            None => {
                Conclusion::failed("internal", "the evaluation stopped before its last example")
            }
        }
    }
}
