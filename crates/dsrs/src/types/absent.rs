//! The value used for a class member, node input or graph input that is absent. One rule for all
//! three.

use super::resolve::resolve;
use super::{TypeDefs, TypeIR};
use crate::value::Payload;

/// The value of something absent: its default, or null if its type is optional. `None` if neither
/// applies. A value of type `any` is never optional: it must be present, but may be null.
///
/// ```
/// use dsrs::types::{TypeDefs, TypeIR, absent_value};
/// use dsrs::value::Payload;
/// let defs = TypeDefs::default();
/// assert_eq!(absent_value(&TypeIR::Int.optional(), &defs, None), Some(Payload::Null));
/// assert_eq!(absent_value(&TypeIR::Int, &defs, None), None);
/// ```
#[must_use]
pub fn absent_value(ir: &TypeIR, defs: &TypeDefs, default: Option<&Payload>) -> Option<Payload> {
    match default {
        Some(default) => Some(default.clone()),
        None => resolve(ir, defs).is_optional().then_some(Payload::Null),
    }
}
