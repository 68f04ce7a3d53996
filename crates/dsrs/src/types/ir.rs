//! The type representation itself. A `TypeIR` may name definitions; a `Type` brings them along and
//! is complete. Knows nothing of the spellings that it is read from.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::value::Payload;

/// What a value may be. Named classes, enums and aliases are looked up in [`TypeDefs`], which is
/// what makes recursion possible.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeIR {
    /// Text.
    Str,
    /// Whole number of 64 bits.
    Int,
    /// Finite number.
    Float,
    /// Truth value.
    Bool,
    /// Absence.
    Null,
    /// Anything but an error.
    Any,
    /// Bytes, base64 in JSON.
    Bytes,
    /// A failure as data.
    Error,
    /// One fixed value.
    Literal(Literal),
    /// Ordered elements of one type.
    List(Arc<TypeIR>),
    /// Values of one type by text keys.
    Dict(Arc<TypeIR>),
    /// A fixed number of elements, each of its own type.
    Tuple(Arc<[TypeIR]>),
    /// Any of two or more members: never nested, without duplicates, `Null` last.
    Union(Arc<[TypeIR]>),
    /// A class without a name.
    Class(Arc<Class>),
    /// A definition by its name.
    Named(Arc<str>),
}

/// A literal type's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A text.
    Str(Arc<str>),
    /// A whole number.
    Int(i64),
    /// A truth value.
    Bool(bool),
}

/// Named members, each with a type.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Class {
    /// What it stands for.
    pub description: Option<Arc<str>>,
    /// The members, in written order.
    pub fields: IndexMap<Arc<str>, ClassField>,
}

/// One member of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassField {
    /// Its type.
    pub ty: TypeIR,
    /// What it stands for.
    pub description: Option<Arc<str>>,
    /// The name an LM sees instead.
    pub alias: Option<Arc<str>>,
    /// The value it takes when it is absent.
    pub default: Option<Payload>,
    /// What must, or should, hold of it.
    pub constraints: Vec<Constraint>,
    /// Whether the parser may use no leniency for it.
    pub strict: bool,
}

impl ClassField {
    /// A member of a type and nothing else.
    #[must_use]
    pub const fn of(ty: TypeIR) -> Self {
        Self {
            ty,
            description: None,
            alias: None,
            default: None,
            constraints: Vec::new(),
            strict: false,
        }
    }
}

/// A condition on a value, as a Jinja expression over `this`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// What a failure means.
    pub kind: ConstraintKind,
    /// The expression.
    pub expression: Arc<str>,
    /// The name under which it is reported.
    pub label: Option<Arc<str>>,
}

/// What the failure of a constraint means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// The prediction fails, after its retries.
    Assert,
    /// It is reported beside the value.
    Check,
}

/// Named members without values.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Enum {
    /// What it stands for.
    pub description: Option<Arc<str>>,
    /// The members, in written order.
    pub members: IndexMap<Arc<str>, EnumMember>,
}

/// One member of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EnumMember {
    /// What it stands for.
    pub description: Option<Arc<str>>,
    /// The name an LM sees instead.
    pub alias: Option<Arc<str>>,
}

/// A named definition.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeDef {
    /// A class.
    Class(Class),
    /// An enum.
    Enum(Enum),
    /// Another type under a name; may be recursive through containers.
    Alias(TypeIR),
}

/// Definitions by name, in written order.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TypeDefs(pub IndexMap<Arc<str>, TypeDef>);

impl TypeDefs {
    /// The definition of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TypeDef> {
        self.0.get(name)
    }
}

/// A complete type: a [`TypeIR`] with the definitions that it names.
#[derive(Clone, Debug)]
pub struct Type {
    /// The type.
    pub ir: TypeIR,
    /// The definitions it may name. Shared by all types of a graph.
    pub defs: Arc<TypeDefs>,
}

impl Type {
    /// A type over definitions.
    #[must_use]
    pub const fn new(ir: TypeIR, defs: Arc<TypeDefs>) -> Self {
        Self { ir, defs }
    }
}

impl TypeIR {
    /// `list[element]`.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// `dict[str, value]`.
    #[must_use]
    pub fn dict(value: Self) -> Self {
        Self::Dict(Arc::new(value))
    }

    /// The union of members in its normal form: nested unions are flattened, duplicates dropped,
    /// null last; a single member is itself and a union with `any` is `any`.
    #[must_use]
    pub fn union(members: impl IntoIterator<Item = Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        let mut nullable = false;
        for member in members {
            let parts: &[Self] = match &member {
                Self::Union(inner) => inner,
                single => std::slice::from_ref(single),
            };
            for part in parts {
                match part {
                    Self::Any => return Self::Any,
                    Self::Null => nullable = true,
                    other if flat.contains(other) => {}
                    other => flat.push(other.clone()),
                }
            }
        }
        if nullable {
            flat.push(Self::Null);
        }
        if flat.len() == 1 { flat.remove(0) } else { Self::Union(flat.into()) }
    }

    /// `T?`: the union with null.
    #[must_use]
    pub fn optional(self) -> Self {
        Self::union([self, Self::Null])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_are_flat_distinct_and_end_in_null() {
        let inner = TypeIR::Int.optional();
        let union = TypeIR::union([inner, TypeIR::Str, TypeIR::Int]);
        assert_eq!(union, TypeIR::Union([TypeIR::Int, TypeIR::Str, TypeIR::Null].into()));
        assert_eq!(TypeIR::union([TypeIR::Str, TypeIR::Str]), TypeIR::Str);
        assert_eq!(TypeIR::Any.optional(), TypeIR::Any);
    }
}
