//! Converts Rust values to payloads, flattened and renamed as the attributes of their shapes require.
//! Maps are written in the order of their keys.

use facet::{Def, Facet, ScalarType, StructKind, Type as FacetType, UserType};
use facet_reflect::{HasFields, Peek};

use super::ReflectError;
use crate::value::{Map, Payload};

/// Converts a value to plain data.
///
/// ```
/// use dsrs::reflect::to_payload;
/// assert_eq!(to_payload(&vec![Some(1_u8), None]).unwrap().to_json(), "[1,null]");
/// ```
///
/// # Errors
/// For an integer beyond `i64`, a float that is not finite, and types that data cannot represent.
pub fn to_payload<T: Facet<'static>>(value: &T) -> Result<Payload, ReflectError> {
    write(Peek::new(value))
}

fn write(value: Peek<'_, 'static>) -> Result<Payload, ReflectError> {
    let shape = value.shape();
    if let Some(kind) = shape.scalar_type() {
        return scalar(value, kind);
    }
    if shape.id == Payload::SHAPE.id {
        return read::<Payload>(value).cloned();
    }
    match shape.def {
        Def::Option(_) => {
            let option = value.into_option().map_err(|error| broken(value, &error))?;
            return option.value().map_or(Ok(Payload::Null), write);
        }
        Def::List(_) | Def::Array(_) | Def::Slice(_) => {
            let list = value.into_list_like().map_err(|error| broken(value, &error))?;
            return elements(list.iter());
        }
        Def::Set(_) => {
            let set = value.into_set().map_err(|error| broken(value, &error))?;
            return elements(set.iter());
        }
        Def::Map(_) => return map(value),
        Def::Pointer(_) => {
            let pointer = value.into_pointer().map_err(|error| broken(value, &error))?;
            let inner =
                pointer.borrow_inner().ok_or_else(|| broken(value, &"is an empty pointer"))?;
            return write(inner);
        }
        _ => {}
    }
    match shape.ty {
        FacetType::User(UserType::Struct(_)) => structure(value),
        FacetType::User(UserType::Enum(_)) => variant(value),
        _ => Err(broken(value, &"cannot be represented as data")),
    }
}

fn elements<'m>(found: impl Iterator<Item = Peek<'m, 'static>>) -> Result<Payload, ReflectError> {
    let each = found
        .enumerate()
        .map(|(index, one)| write(one).map_err(|error| error.below(&format!("[{index}]"))));
    each.collect::<Result<_, _>>().map(Payload::list)
}

fn map(value: Peek<'_, 'static>) -> Result<Payload, ReflectError> {
    let map = value.into_map().map_err(|error| broken(value, &error))?;
    let mut members = Map::new();
    for (key, member) in map.iter() {
        let name = key.as_str().ok_or_else(|| broken(value, &"has a key that is not a string"))?;
        members.insert(name.into(), write(member).map_err(|error| error.below(name))?);
    }
    members.sort_unstable_keys();
    Ok(Payload::map(members))
}

fn structure(value: Peek<'_, 'static>) -> Result<Payload, ReflectError> {
    let found = value.into_struct().map_err(|error| broken(value, &error))?;
    let field = |index: usize| found.field(index).map_err(|error| broken(value, &error));
    if value.shape().is_transparent() {
        return write(field(0)?);
    }
    match found.ty().kind {
        StructKind::Unit => Ok(Payload::Null),
        StructKind::Tuple | StructKind::TupleStruct => {
            let members: Result<Vec<_>, _> = (0..found.ty().fields.len()).map(field).collect();
            elements(members?.into_iter())
        }
        StructKind::Struct => {
            let mut members = Map::new();
            for (item, member) in found.fields_for_serialize() {
                let name = item.effective_name();
                let written = write(member).map_err(|error| error.below(name))?;
                members.insert(name.into(), written);
            }
            Ok(Payload::map(members))
        }
    }
}

fn variant(value: Peek<'_, 'static>) -> Result<Payload, ReflectError> {
    let found = value.into_enum().map_err(|error| broken(value, &error))?;
    let variant = found.active_variant().map_err(|error| broken(value, &error))?;
    let fields = variant.data.fields;
    let member = |index: usize| {
        let field = found.field(index).map_err(|error| broken(value, &error))?;
        write(field.ok_or_else(|| broken(value, &"lacks a field"))?)
    };
    match variant.data.kind {
        StructKind::Unit => Ok(variant.effective_name().into()),
        StructKind::Struct => {
            let named = fields.iter().enumerate().map(|(index, field)| {
                let written = member(index).map_err(|error| error.below(field.name))?;
                Ok((field.effective_name().into(), written))
            });
            named.collect::<Result<Map, _>>().map(Payload::map)
        }
        _ if fields.len() == 1 => member(0),
        _ => (0..fields.len()).map(member).collect::<Result<_, _>>().map(Payload::list),
    }
}

fn scalar(value: Peek<'_, 'static>, kind: ScalarType) -> Result<Payload, ReflectError> {
    use ScalarType as S;
    match kind {
        S::Unit => Ok(Payload::Null),
        S::Bool => read::<bool>(value).map(|flag| (*flag).into()),
        S::Char => read::<char>(value).map(|c| c.to_string().into()),
        S::String | S::CowStr | S::Str => {
            value.as_str().map(Payload::from).ok_or_else(|| broken(value, &"is not a string"))
        }
        S::F32 => read::<f32>(value).and_then(|number| float(value, widened(*number))),
        S::F64 => read::<f64>(value).and_then(|number| float(value, *number)),
        S::U8 => whole::<u8>(value),
        S::U16 => whole::<u16>(value),
        S::U32 => whole::<u32>(value),
        S::U64 => whole::<u64>(value),
        S::USize => whole::<usize>(value),
        S::I8 => whole::<i8>(value),
        S::I16 => whole::<i16>(value),
        S::I32 => whole::<i32>(value),
        S::I64 => whole::<i64>(value),
        S::ISize => whole::<isize>(value),
        _ => Err(broken(value, &"cannot be represented as data")),
    }
}

fn read<'m, T: Facet<'static>>(value: Peek<'m, 'static>) -> Result<&'m T, ReflectError> {
    value.get::<T>().map_err(|error| broken(value, &error))
}

fn whole<T: Facet<'static> + Copy + TryInto<i64>>(
    value: Peek<'_, 'static>,
) -> Result<Payload, ReflectError> {
    let number = (*read::<T>(value)?).try_into();
    number
        .map(Payload::Int)
        .map_err(|_| broken(value, &"is outside the range of signed 64-bit integers"))
}

/// The `f64` with the same shortest decimal form: 0.1 and not 0.10000000149011612.
fn widened(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

fn float(value: Peek<'_, 'static>, number: f64) -> Result<Payload, ReflectError> {
    if number.is_finite() {
        return Ok(Payload::Float(number));
    }
    Err(broken(value, &"is not a finite number"))
}

fn broken(value: Peek<'_, 'static>, why: &dyn std::fmt::Display) -> ReflectError {
    ReflectError::new(format!("a value of `{}`: {why}", value.shape()))
}
