//! Reads a share of a whole.

use dsrs::problem::{At, Code, Problems};
use dsrs::read::number;
use dsrs::value::Payload;

/// A number from 0 to 1.
pub(crate) fn share(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    let fits = (0.0..=1.0).contains(&found);
    if !fits {
        let detail = format!("expected a share from 0 to 1, found {found}");
        problems.add(at, Code::InvalidValue, detail);
    }
    fits.then_some(found)
}
