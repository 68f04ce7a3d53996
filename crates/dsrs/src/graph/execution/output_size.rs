//! The size limit of outputs: all values of a run together are bounded, so a graph cannot double a
//! value forever. Checked before outputs are emitted. Knows nothing of how nodes run.

use crate::predict::{PredictError, PredictErrorKind};
use crate::value::{Fields, SizeBudget};

/// Returns the outputs of a node if they fit into the remaining room of the run.
pub(super) fn within_room(
    room: &mut SizeBudget,
    result: Result<Fields, PredictError>,
) -> Result<Fields, PredictError> {
    let outputs = result?;
    outputs.values().try_for_each(|value| room.take(value)).map_err(|excess| {
        let message = format!("the values of the run {excess}");
        PredictError::new(PredictErrorKind::Op, message)
    })?;
    Ok(outputs)
}
