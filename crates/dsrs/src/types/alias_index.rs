//! Finds a member by its alias without a search. Made at the first use, from members that no longer
//! change. Knows no members.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The positions of members by alias. It is part of no comparison, and a copy makes its own.
#[derive(Debug, Default)]
pub struct AliasIndex(OnceLock<HashMap<Arc<str>, usize>>);

impl AliasIndex {
    /// The position of the first member with this alias, among the aliases of all members.
    pub(super) fn find<'m>(
        &self,
        alias: &str,
        aliases: impl Iterator<Item = Option<&'m Arc<str>>>,
    ) -> Option<usize> {
        self.0.get_or_init(|| index(aliases)).get(alias).copied()
    }
}

fn index<'m>(aliases: impl Iterator<Item = Option<&'m Arc<str>>>) -> HashMap<Arc<str>, usize> {
    let mut found = HashMap::new();
    for (position, alias) in aliases.enumerate() {
        if let Some(alias) = alias {
            found.entry(alias.clone()).or_insert(position);
        }
    }
    found
}

impl Clone for AliasIndex {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for AliasIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AliasIndex {}
