//! Asking the proposer LM for outputs or one text. Knows no particular prompt.

use std::sync::Arc;

use crate::optimize::{AskError, EarlyStop, Workbench};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// Which of several proposals propose for alike, and how warm: see [`Workbench::ask`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    pub(super) number: usize,
    pub(super) temperature: f64,
}

/// The settings of the model.
pub(super) const PLAIN: Draw = Draw { number: 0, temperature: 0.0 };

/// The outputs of a signature; `None` if the LM failed.
pub(super) async fn propose(
    bench: &Workbench,
    signature: &Arc<SignatureSchema>,
    inputs: Fields,
    draw: Draw,
) -> Result<Option<Fields>, EarlyStop> {
    match bench.ask(signature, inputs, draw.number, draw.temperature).await {
        Ok(outputs) => Ok(Some(outputs)),
        Err(AskError::Stop(stop)) => Err(stop),
        Err(AskError::Failed(_)) => Ok(None),
    }
}

/// The text of one output, if the LM wrote one.
pub(super) async fn propose_text(
    bench: &Workbench,
    signature: &Arc<SignatureSchema>,
    inputs: Fields,
    draw: Draw,
    output: &str,
) -> Result<Option<Arc<str>>, EarlyStop> {
    let outputs = propose(bench, signature, inputs, draw).await?;
    Ok(outputs.and_then(|outputs| text_of(&outputs, output)))
}

/// A trimmed text among outputs; `None` if it is empty.
pub(super) fn text_of(outputs: &Fields, name: &str) -> Option<Arc<str>> {
    let written = outputs.get(name).and_then(Payload::as_str).map(str::trim);
    written.filter(|text| !text.is_empty()).map(Arc::from)
}
