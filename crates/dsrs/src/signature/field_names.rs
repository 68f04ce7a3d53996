//! The names in one signature: real names and those that an LM sees. Each must be unique.

use std::sync::Arc;

use indexmap::IndexMap;

use super::FieldSchema;
use crate::problem::{At, Code, Problems};

/// The section that ends an answer.
const COMPLETED: &str = "completed";

/// The names that are in use so far.
#[derive(Debug, Default)]
pub(super) struct FieldNames {
    names: IndexMap<Arc<str>, Arc<str>>,
    lm_names: IndexMap<Arc<str>, Arc<str>>,
}

impl FieldNames {
    /// Adds the names of a field. Reports a name that is in use or reserved, at `at`, and returns
    /// `false`.
    pub(super) fn add(
        &mut self,
        field: &FieldSchema,
        column: Option<usize>,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> bool {
        let (name, seen) = (&field.name, field.lm_name());
        let problem = if seen.as_ref() == COMPLETED {
            let detail = format!("`{COMPLETED}` marks the end of an answer; choose another name");
            Some((Code::ReservedName, detail))
        } else if self.names.contains_key(name) {
            Some((Code::DuplicateName, format!("the signature has two fields named `{name}`")))
        } else {
            self.lm_names.get(seen).map(|other| {
                let detail = format!(
                    "the fields `{other}` and `{name}` would both appear to the LM as `{seen}`"
                );
                (Code::DuplicateName, detail)
            })
        };
        self.names.insert(name.clone(), name.clone());
        self.lm_names.insert(seen.clone(), name.clone());
        let Some((code, detail)) = problem else { return true };
        let column = column.map_or_else(String::new, |column| format!("column {column}: "));
        problems.add(at, code, format!("{column}{detail}"));
        false
    }
}
