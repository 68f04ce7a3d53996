//! What a node gives is weighed before anybody is told of it: the values of a run have a bound, so
//! that no graph doubles a value for ever. Knows nothing of how nodes run.

use crate::predict::{PredictError, PredictErrorKind};
use crate::value::{Fields, SizeBudget};

/// What a node gave, where the run has room for it.
pub(super) fn weighed(
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
