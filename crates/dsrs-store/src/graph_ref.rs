//! How a caller names a graph: by id or by name. Knows no tables.

use std::sync::Arc;

use uuid::Uuid;

use super::StoreError;

/// How a caller names a graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GraphRef {
    /// By id.
    Id(Uuid),
    /// By name; a deleted graph no longer has one.
    Name(Arc<str>),
}

impl GraphRef {
    /// Reads a path segment: a UUIDv7 in its usual hyphenated form is an id, all else a name.
    pub fn parse(text: &str) -> Self {
        let id = Some(text).filter(|text| text.len() == 36).map(Uuid::try_parse);
        match id {
            Some(Ok(id)) if id.get_version_num() == 7 => Self::Id(id),
            _ => Self::Name(text.into()),
        }
    }

    pub(super) fn id(&self) -> Option<Uuid> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Name(_) => None,
        }
    }

    /// The name to look for. One with U+0000 is no graph's, and no text of the database.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Name(name) => Some(&**name).filter(|name| !name.contains('\0')),
        }
    }

    pub(super) fn not_found(&self) -> StoreError {
        match self {
            Self::Id(id) => StoreError::not_found("graph", id),
            Self::Name(name) => StoreError::not_found("graph", name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GraphRef;

    #[test]
    fn a_hyphenated_uuid_v7_is_an_id_and_all_else_a_name() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        assert!(matches!(GraphRef::parse(id), GraphRef::Id(found) if found.to_string() == id));
        for name in ["support-reply", "01890a5dac96774bbcceb302099a8057", "a", ""] {
            assert_eq!(GraphRef::parse(name), GraphRef::Name(name.into()));
        }
    }
}
