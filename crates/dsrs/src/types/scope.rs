//! `TypeScope`: the definitions of one graph while the graph is read. Types are checked against it,
//! and the definitions that a type includes are added to it. Knows nothing of signatures or nodes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::finite::{names_itself, without_value};
use super::names::{legal_name, unknown_type};
use super::parse_expr::NameUse;
use super::{Class, Type, TypeDef, TypeDefs, TypeIR, admit, admit_default};
use crate::problem::{At, Code, Problem, Problems};
use crate::value::Payload;

/// How many definitions a graph may have.
pub const DEFINITION_LIMIT: usize = 1000;

/// How many JSON Schemas may be read for one graph. A definition that only a field supports is read
/// at each use, so that a short document can ask for very many.
const SCHEMA_LIMIT: usize = 100_000;

/// The definitions of one graph while the graph is read.
///
/// ```
/// use dsrs::{problem::{At, Problems}, types::TypeScope, value::Payload};
/// let types = Payload::from_json(r#"{"Person": {"class": {"name": "str", "age": "int?"}}}"#).unwrap();
/// let mut problems = Problems::new();
/// let mut scope = TypeScope::read(&types, &At::Root.key("types"), &mut problems);
/// let ty = scope.read_type(&"List[Person]".into(), &At::Root.key("type"), &mut problems).unwrap();
/// assert!(problems.is_empty());
/// assert_eq!(ty.to_string(), "list[Person]");
/// assert!(scope.finish().get("Person").is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct TypeScope {
    defs: Arc<TypeDefs>,
    /// Declared but not read yet; `any` until then.
    pending: HashSet<Arc<str>>,
    /// Defined since the last call of `settle`, with their places.
    fresh: Vec<(Arc<str>, String)>,
    /// Defaults whose types refer to definitions that are not read yet.
    open: Vec<OpenDefault>,
    /// The JSON Schemas read so far, by this scope and its copies.
    schemas: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
struct OpenDefault {
    default: Payload,
    ty: TypeIR,
    pointer: String,
}

/// The owner of a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultOwner {
    /// A member of a class: the default must be complete.
    Definition,
    /// A field of a signature or graph.
    Field,
}

/// The problem of a graph with more definitions than allowed.
pub(super) fn too_many() -> String {
    format!("a graph has at most {DEFINITION_LIMIT} types")
}

impl From<Arc<TypeDefs>> for TypeScope {
    fn from(defs: Arc<TypeDefs>) -> Self {
        Self { defs, ..Self::default() }
    }
}

impl TypeScope {
    /// No definitions yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The definitions so far.
    #[must_use]
    pub const fn defs(&self) -> &Arc<TypeDefs> {
        &self.defs
    }

    /// The definitions, complete.
    #[must_use]
    pub fn finish(self) -> Arc<TypeDefs> {
        self.defs
    }

    /// Reports every name that is not defined. Returns whether all are defined.
    pub(crate) fn check_names(
        &self,
        names: &[NameUse],
        at: &At<'_>,
        problems: &mut Problems,
    ) -> bool {
        let mut known = true;
        for NameUse { name, column } in names {
            if !self.defs.0.contains_key(name) {
                let reason = unknown_type(name, self.defs.0.keys().map(AsRef::as_ref));
                problems.add(at, Code::InvalidType, format!("column {column}: {reason}"));
                known = false;
            }
        }
        known
    }

    /// Converts a default to its type, or reports that it does not fit. If the type refers to
    /// definitions that are not read yet, the default stays as it is and `settle` checks it.
    pub(super) fn fit_default(
        &mut self,
        default: &Payload,
        ty: &TypeIR,
        owner: DefaultOwner,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Payload> {
        if self.pending.is_empty() || !names_definitions(ty) {
            let ty = Type::new(ty.clone(), self.defs.clone());
            return match owner {
                DefaultOwner::Definition => admit_default(default, &ty, at, problems),
                DefaultOwner::Field => admit(default, &ty, at, problems),
            };
        }
        let open = OpenDefault { default: default.clone(), ty: ty.clone(), pointer: at.pointer() };
        self.open.push(open);
        Some(default.clone())
    }

    /// Counts a JSON Schema that is about to be read. Reports the first one too many.
    pub(super) fn count_schema(&self, at: &At<'_>, problems: &mut Problems) -> bool {
        let count = self.schemas.fetch_add(1, Ordering::Relaxed);
        if count == SCHEMA_LIMIT {
            let detail = format!(
                "the schemas refer to each other so often that more than {SCHEMA_LIMIT} would have to \
                 be read; a definition with `default`, `pattern` or bounds is read at each reference"
            );
            problems.add_last(at, Code::TooLarge, detail);
        }
        count < SCHEMA_LIMIT
    }

    /// The first of further definitions that is more than a graph may have; asked before any of them
    /// is read.
    pub(super) fn excess<T>(&self, mut more: impl Iterator<Item = T>) -> Option<T> {
        more.nth(DEFINITION_LIMIT.saturating_sub(self.defs.0.len()))
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.defs.0.contains_key(name)
    }

    pub(super) fn is_pending(&self, name: &str) -> bool {
        self.pending.contains(name)
    }

    /// Declares a name before its definition is read.
    pub(super) fn declare(&mut self, name: &Arc<str>) {
        Arc::make_mut(&mut self.defs).0.insert(name.clone(), TypeDef::Alias(TypeIR::Any));
        self.pending.insert(name.clone());
    }

    /// Ends the declaration of a name that is pending. Without a definition, it stays `any`.
    pub(super) fn end_declaration(&mut self, name: &Arc<str>, def: Option<TypeDef>, at: &At<'_>) {
        if self.pending.remove(name)
            && let Some(def) = def
        {
            self.define(name.clone(), def, at);
        }
    }

    /// Sets the definition of a name.
    pub(super) fn define(&mut self, name: Arc<str>, def: TypeDef, at: &At<'_>) {
        self.pending.remove(&name);
        self.fresh.push((name.clone(), at.pointer()));
        Arc::make_mut(&mut self.defs).0.insert(name, def);
    }

    /// Adds a definition under the preferred name or one like it, or finds the same definition there.
    pub(super) fn add_definition(&mut self, preferred: &str, def: TypeDef, at: &At<'_>) -> TypeIR {
        // One more than allowed is enough for `settle` to report it.
        if self.defs.0.len() > DEFINITION_LIMIT {
            return TypeIR::Any;
        }
        let name = self.free_name(preferred, |found| *found == def);
        if !self.is_defined(&name) {
            self.define(name.clone(), def, at);
        }
        TypeIR::Named(name)
    }

    /// The preferred name, or that name with `_2` and so on, if it is free or its definition `fits`.
    pub(super) fn free_name(&self, preferred: &str, fits: impl Fn(&TypeDef) -> bool) -> Arc<str> {
        let name = legal_name(preferred);
        let mut count = 1;
        let mut candidate = name.clone();
        while let Some(found) = self.defs.get(&candidate) {
            if !self.is_pending(&candidate) && fits(found) {
                break;
            }
            count += 1;
            candidate = format!("{name}_{count}").into();
        }
        candidate
    }

    /// Once all definitions are read, checks everything that had to wait for them.
    pub(super) fn settle(&mut self, problems: &mut Problems) {
        if !self.pending.is_empty() {
            return;
        }
        let fresh = std::mem::take(&mut self.fresh);
        if self.defs.0.len() > DEFINITION_LIMIT
            && let Some((_, pointer)) = fresh.last()
        {
            let pointer = pointer.clone();
            problems.push(Problem { pointer, code: Code::TooLarge, detail: too_many() });
            return;
        }
        let broken = self.broken(&fresh);
        for (name, pointer, detail) in broken {
            problems.push(Problem { pointer, code: Code::InvalidType, detail });
            Arc::make_mut(&mut self.defs).0.insert(name, TypeDef::Alias(TypeIR::Any));
        }
        self.check_open(problems);
        self.complete_defaults(&fresh);
    }

    fn check_open(&mut self, problems: &mut Problems) {
        for OpenDefault { default, ty, pointer } in std::mem::take(&mut self.open) {
            let mut found = Problems::new();
            let ty = Type::new(ty, self.defs.clone());
            admit_default(&default, &ty, &At::Root, &mut found);
            problems.append(found.map(|problem| Problem {
                pointer: format!("{pointer}{}", problem.pointer),
                ..problem
            }));
        }
    }

    /// Converts the defaults that had to wait to exactly their types.
    fn complete_defaults(&mut self, fresh: &[(Arc<str>, String)]) {
        let before = self.defs.clone();
        for (name, _) in fresh {
            let Some(TypeDef::Class(class)) = before.get(name) else { continue };
            let mut class = class.clone();
            for field in class.fields.values_mut().filter(|field| names_definitions(&field.ty)) {
                let ty = Type::new(field.ty.clone(), before.clone());
                let fit = |default: &Payload| {
                    admit_default(default, &ty, &At::Root, &mut Problems::new())
                };
                field.default = field.default.as_ref().and_then(fit);
            }
            if before.get(name) != Some(&TypeDef::Class(class.clone())) {
                Arc::make_mut(&mut self.defs).0.insert(name.clone(), TypeDef::Class(class));
            }
        }
    }

    /// Definitions without a meaning, with their places and the reasons.
    fn broken(&self, fresh: &[(Arc<str>, String)]) -> Vec<(Arc<str>, String, String)> {
        let empty = without_value(&self.defs);
        let mut found = Vec::new();
        for (name, pointer) in fresh {
            let detail = if names_itself(name, &self.defs) {
                format!("`{name}` is defined only by itself; put a list, dict or class in between")
            } else if empty.contains(name.as_ref()) {
                format!(
                    "`{name}` has no finite value; make one of the fields in the cycle optional or a list"
                )
            } else {
                continue;
            };
            found.push((name.clone(), pointer.clone(), detail));
        }
        found
    }
}

fn names_definitions(ty: &TypeIR) -> bool {
    match ty {
        TypeIR::Named(_) => true,
        TypeIR::List(inner) | TypeIR::Dict(inner) => names_definitions(inner),
        TypeIR::Tuple(members) | TypeIR::Union(members) => members.iter().any(names_definitions),
        TypeIR::Class(class) => class_names_definitions(class),
        _ => false,
    }
}

fn class_names_definitions(class: &Class) -> bool {
    class.fields.values().any(|field| names_definitions(&field.ty))
}
