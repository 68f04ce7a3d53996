//! The precondition of a change: which versions the writer expects to be current. Checked under the
//! lock of what is changed. Knows no HTTP.

use uuid::Uuid;

use crate::AppError;

/// The versions that a writer accepts as current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Any version, or none.
    Any,
    /// Any version, but one.
    Exists,
    /// One of these, each the id of a resource and its version.
    OneOf(Vec<(Uuid, i32)>),
}

impl Precondition {
    /// Whether the writer accepts this version as current.
    pub fn accepts(&self, id: Uuid, version: i32) -> bool {
        match self {
            Self::Any | Self::Exists => true,
            Self::OneOf(versions) => versions.contains(&(id, version)),
        }
    }

    /// Refuses a version that the writer does not accept as current.
    pub(crate) fn check(&self, id: Uuid, version: i32) -> Result<(), AppError> {
        if self.accepts(id, version) { Ok(()) } else { Err(AppError::Stale) }
    }
}
