//! What stands in for a value that is not given. One rule for class members, node inputs and graph
//! inputs. Knows nothing of where they are.

use super::resolve::resolve;
use super::{TypeDefs, TypeIR};
use crate::value::Payload;

/// What an absent value is: its default, else null if its type may be null, else nothing stands in
/// for it. A value of type `any` must be given, though it may be given as null.
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
