//! The representation of types. A `TypeIR` may refer to definitions by name; a `Type` includes them.
//! Knows nothing of the notations that types are read from.

use std::sync::Arc;

use indexmap::IndexMap;

use super::alias_index::AliasIndex;
use super::condition_text::ConditionText;
use crate::value::Payload;

/// The type of a value. Named classes, enums and aliases are looked up in [`TypeDefs`], which makes
/// recursive types possible.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeIR {
    /// Text.
    Str,
    /// 64-bit integer.
    Int,
    /// Finite number.
    Float,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// Any value except an error.
    Any,
    /// Bytes; base64 in JSON.
    Bytes,
    /// A failure as data.
    Error,
    /// One fixed value.
    Literal(Literal),
    /// Ordered elements of one type.
    List(Arc<TypeIR>),
    /// Values of one type by string keys.
    Dict(Arc<TypeIR>),
    /// A fixed number of elements, each of its own type.
    Tuple(Arc<[TypeIR]>),
    /// Any of two or more members: never nested, without duplicates, `Null` last.
    Union(Arc<[TypeIR]>),
    /// A class without a name.
    Class(Arc<Class>),
    /// A reference to a definition.
    Named(Arc<str>),
}

/// The value of a literal type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A string.
    Str(Arc<str>),
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
}

/// Named members, each with a type.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Class {
    /// The description for LMs and readers.
    pub description: Option<Arc<str>>,
    /// The members, in written order.
    pub fields: IndexMap<Arc<str>, ClassField>,
}

/// One member of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassField {
    /// Its type.
    pub ty: TypeIR,
    /// The description for LMs and readers.
    pub description: Option<Arc<str>>,
    /// The name that an LM sees instead of the real one.
    pub alias: Option<Arc<str>>,
    /// The value if it is absent.
    pub default: Option<Payload>,
    /// Conditions on the value.
    pub constraints: Vec<Constraint>,
    /// Whether coercion accepts only exact text.
    pub strict: bool,
}

impl ClassField {
    /// A member with a type and no attributes.
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
    /// The consequence of a failure.
    pub kind: ConstraintKind,
    /// The expression.
    pub expression: ConditionText,
    /// The name under which it is reported.
    pub label: Option<Arc<str>>,
}

/// The consequence of a failed constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// The prediction fails, after its retries.
    Assert,
    /// The failure is recorded beside the value.
    Check,
}

/// Named members without values.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Enum {
    /// The description for LMs and readers.
    pub description: Option<Arc<str>>,
    /// The members, in written order.
    pub members: IndexMap<Arc<str>, EnumMember>,
    /// The members by alias. The members do not change once it is used.
    pub aliases: AliasIndex,
}

impl Enum {
    /// The name of the member with this alias.
    pub(crate) fn by_alias(&self, alias: &str) -> Option<&Arc<str>> {
        let aliases = self.members.values().map(|member| member.alias.as_ref());
        let (name, member) = self.members.get_index(self.aliases.find(alias, aliases)?)?;
        (member.alias.as_deref() == Some(alias)).then_some(name)
    }
}

/// One member of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EnumMember {
    /// The description for LMs and readers.
    pub description: Option<Arc<str>>,
    /// The name that an LM sees instead of the real one.
    pub alias: Option<Arc<str>>,
}

/// A named definition.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeDef {
    /// A class.
    Class(Class),
    /// An enum.
    Enum(Enum),
    /// A name for another type; may be recursive through containers.
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

/// A complete type: a [`TypeIR`] with the definitions that it refers to.
#[derive(Clone, Debug)]
pub struct Type {
    /// The type.
    pub ir: TypeIR,
    /// The definitions; shared by all types of a graph.
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
