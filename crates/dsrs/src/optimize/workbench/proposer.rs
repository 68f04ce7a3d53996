//! What an optimizer asks of models itself: proposals, and vectors of texts. Paid for and kept like
//! everything else; knows nothing of candidates.

use std::sync::Arc;

use super::Workbench;
use crate::lm::Embeddings;
use crate::optimize::EarlyStop;
use crate::predict::{DynPredictor, LmOverrides, PredictError, SchemaPredictor, embed};
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// The name under which the calls of optimizers stand in traces.
const OPTIMIZER: &str = "optimizer";

/// Why a proposal was not made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AskError {
    /// The work stops.
    #[error(transparent)]
    Stop(#[from] EarlyStop),
    /// The LM failed, or did not answer what was asked. Another proposal may come out.
    #[error(transparent)]
    Failed(PredictError),
}

impl Workbench {
    /// Asks the proposer: a signature of the optimizer's own, predicted as any other. `number` tells
    /// proposals apart that are asked for alike: from 1 on, each has a seed of its own at this
    /// temperature; 0 takes the model as it is.
    ///
    /// # Errors
    /// When the work stops, or when the LM does not answer what was asked.
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
            // Its time begins when it is its turn.
            let ctx = evaluator.ctx(OPTIMIZER, self.task().proposer.clone());
            let ctx = if number == 0 { ctx } else { ctx.for_attempt_at(number, temperature) };
            match predictor.forward(&ctx, inputs.clone()).await {
                Ok(outputs) => return Ok(outputs),
                Err(_) if evaluator.is_to_be_repeated(&ctx.run, tries) => tries += 1,
                Err(error) => {
                    evaluator.check_stop(&error)?;
                    return Err(AskError::Failed(error));
                }
            }
        }
    }

    /// Vectors of texts from an embedding model, by its alias.
    ///
    /// # Errors
    /// When the work stops, or when the model fails.
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
