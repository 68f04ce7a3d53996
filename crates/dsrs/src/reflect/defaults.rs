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
/// use dsrs::{facet::Facet, reflect::defaults};
///
/// #[derive(Facet)]
/// #[facet(crate = dsrs::facet)]
/// struct Query {
///     text: String,
///     #[facet(default = 3)]
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
    let others = simplest(T::SHAPE, &mut Vec::new())
        .ok_or_else(|| ReflectError::new(format!("`{}` has no finite value", T::SHAPE)))?;
    let value = to_payload(&from_payload::<T>(&others)?)?;
    let members = value.as_map().into_iter().flatten();
    let found = members.filter(|(name, _)| has_default(name));
    Ok(found.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The data of a small value of a shape, without members that have a default. `None` if every value
/// would contain another of the same type. `within` are the types that it is part of.
fn simplest(shape: &'static Shape, within: &mut Vec<ConstTypeId>) -> Option<Payload> {
    if let Some(kind) = shape.scalar_type() {
        return Some(scalar(kind));
    }
    if shape.id == Payload::SHAPE.id {
        return Some(Payload::Null);
    }
    match shape.def {
        Def::Option(_) => Some(Payload::Null),
        Def::List(_) | Def::Set(_) => Some(Payload::list(Vec::new())),
        Def::Map(_) => Some(Payload::map(Map::new())),
        Def::Array(array) => Some(Payload::list(vec![simplest(array.t(), within)?; array.n])),
        Def::Pointer(pointer) => simplest(pointer.pointee()?, within),
        _ if within.contains(&shape.id) => None,
        _ => {
            within.push(shape.id);
            let found = user_type(shape, within);
            within.pop();
            found
        }
    }
}

fn user_type(shape: &'static Shape, within: &mut Vec<ConstTypeId>) -> Option<Payload> {
    match shape.ty {
        Type::User(UserType::Struct(found)) if shape.is_transparent() => {
            simplest(found.fields.first()?.shape(), within)
        }
        Type::User(UserType::Struct(found)) => fields(found.kind, found.fields, within),
        Type::User(UserType::Enum(found)) => {
            found.variants.iter().find_map(|one| variant(one, within))
        }
        _ => None,
    }
}

fn variant(variant: &'static Variant, within: &mut Vec<ConstTypeId>) -> Option<Payload> {
    match (variant.data.kind, variant.data.fields) {
        (StructKind::Unit, _) => Some(variant.effective_name().into()),
        (StructKind::Tuple | StructKind::TupleStruct, [single]) => simplest(single.shape(), within),
        (kind, members) => fields(kind, members, within),
    }
}

fn fields(
    kind: StructKind,
    fields: &'static [Field],
    within: &mut Vec<ConstTypeId>,
) -> Option<Payload> {
    match kind {
        StructKind::Unit => Some(Payload::Null),
        StructKind::Tuple | StructKind::TupleStruct => {
            let members = fields.iter().map(|field| simplest(field.shape(), within));
            members.collect::<Option<_>>().map(Payload::list)
        }
        StructKind::Struct => {
            let mut members = Map::new();
            for field in fields {
                match simplest(field.shape(), within) {
                    Some(Payload::Map(inner)) if field.is_flattened() => {
                        members.extend(inner.iter().map(|(name, one)| (name.clone(), one.clone())));
                    }
                    _ if field.has_default() && !field.is_flattened() => {}
                    value => drop(members.insert(field.effective_name().into(), value?)),
                }
            }
            Some(Payload::map(members))
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
