//! The defaults of the fields of a struct, as payloads. Facet gives out a default only as part of a
//! whole value, so one is made of them and of the simplest values for the other fields. Knows nothing
//! of signatures.

use facet::{
    ConstTypeId, Def, Facet, Field, ScalarType, Shape, StructKind, Type, UserType, Variant,
};

use super::shape::flat_fields;
use super::{ReflectError, from_payload, to_payload};
use crate::value::{Map, Payload};

/// The fields of a struct that have a default, by name, with its value. Flattened structs count as
/// their fields.
///
/// ```
/// use dsrs::{Data, reflect::defaults};
///
/// #[derive(Data)]
/// struct Query {
///     text: String,
///     #[default = 3]
///     count: u8,
/// }
/// let found = defaults::<Query>().unwrap();
/// assert_eq!((found.len(), found["count"].to_json().as_str()), (1, "3"));
/// ```
///
/// # Errors
/// If the type is not a struct with named fields, or a default cannot be represented as data.
pub fn defaults<T: Facet<'static>>() -> Result<Map, ReflectError> {
    let fields = flat_fields(T::SHAPE)?;
    let has_default =
        |name: &str| fields.iter().any(|field| field.name() == name && field.field.has_default());
    if !fields.iter().any(|field| field.field.has_default()) {
        return Ok(Map::new());
    }
    let value = made::<T>(false)?;
    let members = value.as_map().into_iter().flatten();
    let found = members.filter(|(name, _)| has_default(name));
    Ok(found.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// A value with every optional part, and with one element in every list, so that it has the defaults of all structs
/// within it.
///
/// # Errors
/// If the type has no such value, or one that cannot be represented as data.
pub fn example<T: Facet<'static>>() -> Result<Payload, ReflectError> {
    made::<T>(true)
}

fn made<T: Facet<'static>>(has_all: bool) -> Result<Payload, ReflectError> {
    let data = SmallValue { has_all, within: Vec::new() }
        .of(T::SHAPE)
        .ok_or_else(|| ReflectError::new(format!("`{}` has no finite value", T::SHAPE)))?;
    to_payload(&from_payload::<T>(&data)?)
}

/// Makes the data of a small value, without members that have a default.
struct SmallValue {
    /// Whether it has every optional part.
    has_all: bool,
    /// The types that the part in progress is within.
    within: Vec<ConstTypeId>,
}

impl SmallValue {
    /// The data of a shape. `None` if every value would contain another of the same type.
    fn of(&mut self, shape: &'static Shape) -> Option<Payload> {
        if let Some(kind) = shape.scalar_type() {
            return Some(scalar(kind));
        }
        if shape.id == Payload::SHAPE.id {
            return Some(Payload::Null);
        }
        match shape.def {
            Def::Option(option) => Some(self.optional(option.t()).unwrap_or_default()),
            Def::List(list) => Some(Payload::list(self.optional(list.t()).into_iter().collect())),
            Def::Set(_) => Some(Payload::list(Vec::new())),
            Def::Map(_) => Some(Payload::map(Map::new())),
            Def::Array(array) => Some(Payload::list(vec![self.of(array.t())?; array.n])),
            Def::Pointer(pointer) => self.of(pointer.pointee()?),
            _ if self.within.contains(&shape.id) => None,
            _ => {
                self.within.push(shape.id);
                let found = self.user_type(shape);
                self.within.pop();
                found
            }
        }
    }

    fn optional(&mut self, shape: &'static Shape) -> Option<Payload> {
        if self.has_all { self.of(shape) } else { None }
    }

    fn user_type(&mut self, shape: &'static Shape) -> Option<Payload> {
        match shape.ty {
            Type::User(UserType::Struct(found)) if shape.is_transparent() => {
                self.of(found.fields.first()?.shape())
            }
            Type::User(UserType::Struct(found)) => self.fields(found.kind, found.fields),
            Type::User(UserType::Enum(found)) => {
                found.variants.iter().find_map(|one| self.variant(one))
            }
            _ => None,
        }
    }

    fn variant(&mut self, variant: &'static Variant) -> Option<Payload> {
        match (variant.data.kind, variant.data.fields) {
            (StructKind::Unit, _) => Some(variant.effective_name().into()),
            (StructKind::Tuple | StructKind::TupleStruct, [single]) => self.of(single.shape()),
            (kind, members) => self.fields(kind, members),
        }
    }

    fn fields(&mut self, kind: StructKind, fields: &'static [Field]) -> Option<Payload> {
        match kind {
            StructKind::Unit => Some(Payload::Null),
            StructKind::Tuple | StructKind::TupleStruct => {
                let members = fields.iter().map(|field| self.of(field.shape()));
                members.collect::<Option<_>>().map(Payload::list)
            }
            StructKind::Struct => {
                let mut members = Map::new();
                for field in fields {
                    match self.of(field.shape()) {
                        Some(Payload::Map(inner)) if field.is_flattened() => {
                            members.extend((*inner).clone());
                        }
                        _ if field.has_default() && !field.is_flattened() => {}
                        value => drop(members.insert(field.effective_name().into(), value?)),
                    }
                }
                Some(Payload::map(members))
            }
        }
    }
}

fn scalar(kind: ScalarType) -> Payload {
    use ScalarType as S;
    match kind {
        S::Unit => Payload::Null,
        S::Bool => Payload::Bool(false),
        S::Char => "a".into(),
        S::String | S::CowStr | S::Str => "".into(),
        S::F32 | S::F64 => Payload::Float(0.0),
        _ => Payload::Int(0),
    }
}
