//! Renames definitions, so that those of several Rust types can stand beside each other. Knows
//! nothing of the place where they stand.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Class, TypeDef, TypeDefs, TypeIR};

/// New names of definitions by their own.
pub(crate) type NewNames = HashMap<Arc<str>, Arc<str>>;

/// Names under which `theirs` can join `ours`: a definition that is there already has its name
/// there, another one of the same name gets `_2` and so on. Only names that change are included.
pub(crate) fn names_beside(theirs: &TypeDefs, ours: &TypeDefs) -> NewNames {
    let mut names = NewNames::new();
    let mut counts: HashMap<&Arc<str>, u32> = HashMap::new();
    // A new name changes the definitions that mention it, which may then differ from ours too. Each
    // pass moves a definition to a later name, so the search ends.
    while let Some(name) = theirs.0.keys().find(|name| clashes(name, theirs, ours, &names)) {
        let count = counts.entry(name).or_insert(1);
        let next = loop {
            *count += 1;
            let next = Arc::from(format!("{name}_{count}"));
            if !theirs.0.keys().any(|own| *renamed(own, &names) == next) {
                break next;
            }
        };
        names.insert(name.clone(), next);
    }
    names
}

fn clashes(name: &Arc<str>, theirs: &TypeDefs, ours: &TypeDefs, names: &NewNames) -> bool {
    let known = ours.get(renamed(name, names));
    known.is_some_and(|known| theirs.get(name).is_some_and(|def| def.renamed(names) != *known))
}

fn renamed<'n>(name: &'n Arc<str>, names: &'n NewNames) -> &'n Arc<str> {
    names.get(name).unwrap_or(name)
}

impl TypeDefs {
    /// The same definitions under new names.
    #[must_use]
    pub(crate) fn renamed(&self, names: &NewNames) -> Self {
        let defs = self.0.iter();
        Self(defs.map(|(name, def)| (renamed(name, names).clone(), def.renamed(names))).collect())
    }
}

impl TypeDef {
    fn renamed(&self, names: &NewNames) -> Self {
        match self {
            Self::Class(class) => Self::Class(class.renamed(names)),
            Self::Enum(members) => Self::Enum(members.clone()),
            Self::Alias(ir) => Self::Alias(ir.renamed(names)),
        }
    }
}

impl Class {
    fn renamed(&self, names: &NewNames) -> Self {
        let mut renamed = self.clone();
        for field in renamed.fields.values_mut() {
            field.ty = field.ty.renamed(names);
        }
        renamed
    }
}

impl TypeIR {
    /// The same type with new names of definitions.
    #[must_use]
    pub(crate) fn renamed(&self, names: &NewNames) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.renamed(names)).collect();
        match self {
            Self::Named(name) => Self::Named(renamed(name, names).clone()),
            Self::List(inner) => Self::list(inner.renamed(names)),
            Self::Dict(inner) => Self::dict(inner.renamed(names)),
            Self::Tuple(parts) => Self::Tuple(all(parts)),
            Self::Union(parts) => Self::Union(all(parts)),
            Self::Class(class) => Self::Class(class.renamed(names).into()),
            plain => plain.clone(),
        }
    }
}
