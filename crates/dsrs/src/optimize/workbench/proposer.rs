//! LM calls of an optimizer itself: proposals and embeddings. They count against the budget and are
//! recorded like all others. Knows nothing of candidates.

use std::sync::{Arc, PoisonError};

use super::Workbench;
use crate::lm::Embeddings;
use crate::optimize::EarlyStop;
use crate::predict::{DynPredictor, LmOverrides, PredictError, SchemaPredictor, embed};
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// The name of optimizer calls in traces.
const OPTIMIZER: &str = "optimizer";

/// Why a proposal failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AskError {
    /// The work stops.
    #[error(transparent)]
    Stop(#[from] EarlyStop),
    /// The LM failed, or its answer did not fit. Another proposal may succeed.
    #[error(transparent)]
    Failed(PredictError),
}

/// The requests for proposals so far.
#[derive(Debug, Default)]
pub(super) struct ProposalCounts {
    asked: usize,
    failed: usize,
    /// The last failure.
    why: Option<PredictError>,
}

impl Workbench {
    /// Why there is no proposal, if some were asked for and all of them failed.
    pub(in crate::optimize) fn without_proposals(&self) -> Option<String> {
        let counts = self.shared.proposals.lock().unwrap_or_else(PoisonError::into_inner);
        let why = counts.why.as_ref().filter(|_| counts.failed == counts.asked)?;
        let (count, code) = (counts.failed, why.kind.code());
        Some(format!("all {count} requests for proposals failed, the last with `{code}`: {why}"))
    }

    fn count_proposal(&self, failure: Option<&PredictError>) {
        let mut counts = self.shared.proposals.lock().unwrap_or_else(PoisonError::into_inner);
        counts.asked += 1;
        if let Some(why) = failure {
            counts.failed += 1;
            counts.why = Some(why.clone());
        }
    }

    /// Asks the proposer LM to predict a signature of the optimizer. `number` distinguishes proposals
    /// with equal inputs: from 1 on, each has its own seed at this temperature; 0 uses the settings
    /// of the model.
    ///
    /// # Errors
    /// If the work stops, or the LM does not answer the signature.
    pub async fn ask(
        &self,
        signature: &Arc<SignatureSchema>,
        inputs: Fields,
        number: usize,
        temperature: f64,
    ) -> Result<Fields, AskError> {
        let evaluator = &self.task().evaluator;
        let predictor = SchemaPredictor::new(signature.clone(), OPTIMIZER);
        let _turn = self.shared.limit.acquire().await.map_err(|_| EarlyStop::Cancelled)?;
        let mut tries = 0;
        loop {
            // The timeout starts when the call gets its permit.
            let ctx = evaluator.ctx(OPTIMIZER, self.task().proposer.clone());
            let ctx = if number == 0 { ctx } else { ctx.for_attempt_at(number, temperature) };
            match predictor.forward(&ctx, inputs.clone()).await {
                Ok(outputs) => {
                    self.count_proposal(None);
                    return Ok(outputs);
                }
                Err(_) if evaluator.should_repeat(&ctx.run, tries) => tries += 1,
                Err(error) => {
                    evaluator.check_stop(&error)?;
                    self.count_proposal(Some(&error));
                    return Err(AskError::Failed(error));
                }
            }
        }
    }

    /// Embeds texts with the embedding model of an alias.
    ///
    /// # Errors
    /// If the work stops or the model fails.
    pub async fn embed(&self, alias: &str, texts: &[Arc<str>]) -> Result<Embeddings, AskError> {
        let evaluator = &self.task().evaluator;
        let ctx = evaluator.ctx(OPTIMIZER, LmOverrides::default());
        let _turn = self.shared.limit.acquire().await.map_err(|_| EarlyStop::Cancelled)?;
        match embed(&ctx, alias, texts, |_| {}).await {
            Ok((embedded, _)) => Ok(embedded),
            Err(error) => {
                evaluator.check_stop(&error)?;
                Err(AskError::Failed(error))
            }
        }
    }
}
