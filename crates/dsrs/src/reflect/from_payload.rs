//! Converts payloads to Rust values, and checks parts of values that are incomplete. A missing member
//! gets the default of the field, or `None` if the field is optional. An `Option<Option<T>>` distinguishes null, which
//! is `Some(None)`, from a missing member.

use std::sync::Arc;

use facet::{
    Def, Facet, Field, ScalarType, Shape, StructKind, Type as FacetType, UserType, Variant,
};
use facet_reflect::{Partial, ReflectError as FacetError};

use super::shape::{FlatField, ShapeTypes, flat_fields};
use super::{ReflectError, abbreviate};
use crate::types::{self, Type};
use crate::value::{Map, Payload};

type PartialValue = Partial<'static, false>;
type BuildResult = Result<PartialValue, ReflectError>;

/// Converts data to a value of a Rust type.
///
/// ```
/// use dsrs::{reflect::from_payload, value::Payload};
/// let data = Payload::from_json("[1, null]").unwrap();
/// assert_eq!(from_payload::<Vec<Option<u8>>>(&data), Ok(vec![Some(1), None]));
/// assert!(from_payload::<Vec<Option<i8>>>(&Payload::from_json("[300]").unwrap()).is_err());
/// ```
///
/// # Errors
/// The place where the data does not fit, and why.
pub fn from_payload<T: Facet<'static>>(data: &Payload) -> Result<T, ReflectError> {
    let building =
        Partial::alloc_owned::<T>().map_err(|error| ReflectError::new(error.to_string()))?;
    let built = fill(building, data)?.build().map_err(|error| step(&error))?;
    built.materialize::<T>().map_err(|error| ReflectError::new(error.to_string()))
}

/// Checks that the members of an object fit the fields of a struct. Those that are missing are not
/// needed, and no value of the struct is made. Returns the members that do not fit.
///
/// ```
/// use dsrs::{Data, reflect::misfits, value::Payload};
///
/// #[derive(Data)]
/// struct Person {
///     name: String,
///     age: u8,
/// }
/// let person = Payload::from_json(r#"{"age": 300}"#).unwrap();
/// let found = misfits::<Person>(person.as_map().unwrap()).unwrap();
/// assert_eq!((found.len(), &*found[0].0), (1, "age"));
/// ```
///
/// # Errors
/// If the type is not a struct with named fields.
pub fn misfits<T: Facet<'static>>(
    data: &Map,
) -> Result<Vec<(Arc<str>, ReflectError)>, ReflectError> {
    let mut found = Vec::new();
    for field in flat_fields(T::SHAPE)? {
        let Some((name, value)) = data.get_key_value(field.name()) else { continue };
        found.extend(fill_field::<T>(&field, value).err().map(|error| (name.clone(), error)));
    }
    Ok(found)
}

/// Fills one field of a struct of which nothing else is needed.
fn fill_field<T: Facet<'static>>(field: &FlatField, data: &Payload) -> Result<(), ReflectError> {
    let mut building =
        Partial::alloc_owned::<T>().map_err(|error| ReflectError::new(error.to_string()))?;
    for name in &field.path {
        building = building.begin_field(name).map_err(|error| step(&error))?;
    }
    fill(building, data).map(drop)
}

fn step(error: &FacetError) -> ReflectError {
    ReflectError::new(error.to_string())
}

fn misfit(shape: &'static Shape, data: &Payload) -> ReflectError {
    ReflectError::new(format!("{} is not a value of `{shape}`", abbreviate(data)))
}

fn fill(building: PartialValue, data: &Payload) -> BuildResult {
    let shape = building.shape();
    match shape.def {
        Def::Option(option) if data.is_null() && !matches!(option.t().def, Def::Option(_)) => {
            return building.set_default().map_err(|e| step(&e));
        }
        Def::Option(_) => return within(building.begin_some(), data),
        Def::Pointer(_) => return within(building.begin_smart_ptr(), data),
        _ => {}
    }
    if let Some(kind) = shape.scalar_type() {
        return scalar(building, kind, data);
    }
    if shape.id == Payload::SHAPE.id {
        return building.set(data.clone()).map_err(|error| step(&error));
    }
    match (shape.def, data) {
        (Def::List(_), Payload::List(found)) => {
            let list = building.init_list_with_capacity(found.len()).map_err(|e| step(&e))?;
            elements(list, found, |list, _| list.begin_list_item())
        }
        (Def::Set(_), Payload::List(found)) => {
            let set = building.init_set().map_err(|e| step(&e))?;
            elements(set, found, |set, _| set.begin_set_item())
        }
        (Def::Array(array), Payload::List(found)) if found.len() == array.n => {
            elements(building, found, PartialValue::begin_nth_field)
        }
        (Def::Map(_), Payload::Map(found)) if shape.id == Map::SHAPE.id => {
            building.set(Map::clone(found)).map_err(|error| step(&error))
        }
        (Def::Map(_), Payload::Map(found)) => map(building, found),
        (Def::List(_) | Def::Set(_) | Def::Array(_) | Def::Map(_), _) => Err(misfit(shape, data)),
        _ => user_type(building, shape, data),
    }
}

/// Fills the value that was just begun, and ends it.
fn within(begun: Result<PartialValue, FacetError>, data: &Payload) -> BuildResult {
    let filled = fill(begun.map_err(|error| step(&error))?, data)?;
    filled.end().map_err(|error| step(&error))
}

fn elements(
    mut building: PartialValue,
    found: &[Payload],
    begin: impl Fn(PartialValue, usize) -> Result<PartialValue, FacetError>,
) -> BuildResult {
    for (index, one) in found.iter().enumerate() {
        let filled = within(begin(building, index), one);
        building = filled.map_err(|error| error.below(&format!("[{index}]")))?;
    }
    Ok(building)
}

fn map(building: PartialValue, found: &Map) -> BuildResult {
    let mut building = building.init_map().map_err(|error| step(&error))?;
    for (name, one) in found {
        building = within(building.begin_key(), &Payload::Str(name.clone()))?;
        building = within(building.begin_value(), one).map_err(|error| error.below(name))?;
    }
    Ok(building)
}

fn user_type(building: PartialValue, shape: &'static Shape, data: &Payload) -> BuildResult {
    match shape.ty {
        FacetType::User(UserType::Struct(_)) if shape.is_transparent() => {
            within(building.begin_nth_field(0), data)
        }
        FacetType::User(UserType::Struct(found)) => {
            members(building, shape, found.fields, found.kind, data)
        }
        FacetType::User(UserType::Enum(found)) => {
            let chosen = found.variants.iter().position(|variant| fits(variant, data));
            let chosen = chosen.ok_or_else(|| misfit(shape, data))?;
            let building = building.select_nth_variant(chosen).map_err(|error| step(&error))?;
            let fields = &found.variants[chosen].data;
            match (fields.kind, fields.fields) {
                (StructKind::Unit, _) => Ok(building),
                (StructKind::Struct, fields) => {
                    members(building, shape, fields, StructKind::Struct, data)
                }
                (_, [_]) => within(building.begin_nth_field(0), data),
                (kind, fields) => members(building, shape, fields, kind, data),
            }
        }
        _ => Err(misfit(shape, data)),
    }
}

/// Whether data matches a variant. A variant without fields matches its name.
fn fits(variant: &'static Variant, data: &Payload) -> bool {
    if variant.data.kind == StructKind::Unit {
        return data.as_str() == Some(variant.effective_name());
    }
    let mut types = ShapeTypes::default();
    let Ok(ir) = types.variant(variant) else { return false };
    let ty = Type::new(ir, types.finish().into());
    types::fits(data, &ty)
}

fn members(
    mut building: PartialValue,
    shape: &'static Shape,
    fields: &'static [Field],
    kind: StructKind,
    data: &Payload,
) -> BuildResult {
    match (kind, data) {
        (StructKind::Unit, Payload::Null) => Ok(building),
        (StructKind::Struct, Payload::Map(found)) => {
            for (index, field) in fields.iter().enumerate() {
                let filled = member(building, index, field, data, found);
                building = filled.map_err(|error| match field.is_flattened() {
                    true => error,
                    false => error.below(field.effective_name()),
                })?;
            }
            Ok(building)
        }
        (StructKind::Tuple | StructKind::TupleStruct, Payload::List(found))
            if found.len() == fields.len() =>
        {
            elements(building, found, PartialValue::begin_nth_field)
        }
        _ => Err(misfit(shape, data)),
    }
}

/// Fills one field. A flattened field reads its members from the same object as its siblings.
fn member(
    building: PartialValue,
    index: usize,
    field: &'static Field,
    whole: &Payload,
    found: &Map,
) -> BuildResult {
    if field.is_flattened() {
        return within(building.begin_nth_field(index), whole);
    }
    match found.get(field.effective_name()) {
        Some(value) => within(building.begin_nth_field(index), value),
        None if field.has_default() => {
            building.set_nth_field_to_default(index).map_err(|error| step(&error))
        }
        None if matches!(field.shape().def, Def::Option(_)) => {
            let begun = building.begin_nth_field(index).and_then(PartialValue::set_default);
            begun.and_then(PartialValue::end).map_err(|error| step(&error))
        }
        None => Err(ReflectError::new("is missing")),
    }
}

fn scalar(building: PartialValue, kind: ScalarType, data: &Payload) -> BuildResult {
    use ScalarType as S;
    let shape = building.shape();
    let set = match (kind, data) {
        (S::Unit, Payload::Null) => building.set(()),
        (S::Bool, Payload::Bool(flag)) => building.set(*flag),
        (S::String, Payload::Str(text)) => building.set(text.to_string()),
        (S::CowStr, Payload::Str(text)) => {
            building.set(std::borrow::Cow::<'static, str>::Owned(text.to_string()))
        }
        (S::F64, Payload::Float(number)) => building.set(*number),
        (S::F32, Payload::Float(number)) => match *number as f32 {
            short if short.is_finite() => building.set(short),
            _ => return Err(misfit(shape, data)),
        },
        (S::F64, Payload::Int(number)) => building.set(*number as f64),
        (S::F32, Payload::Int(number)) => building.set(*number as f32),
        (S::Char, Payload::Str(text)) => match single(text) {
            Some(c) => building.set(c),
            None => return Err(misfit(shape, data)),
        },
        (_, Payload::Int(number)) => return whole(building, kind, *number),
        _ => return Err(misfit(shape, data)),
    };
    set.map_err(|error| step(&error))
}

fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn whole(building: PartialValue, kind: ScalarType, number: i64) -> BuildResult {
    use ScalarType as S;
    match kind {
        S::U8 => narrowed::<u8>(building, number),
        S::U16 => narrowed::<u16>(building, number),
        S::U32 => narrowed::<u32>(building, number),
        S::U64 => narrowed::<u64>(building, number),
        S::USize => narrowed::<usize>(building, number),
        S::I8 => narrowed::<i8>(building, number),
        S::I16 => narrowed::<i16>(building, number),
        S::I32 => narrowed::<i32>(building, number),
        S::I64 => narrowed::<i64>(building, number),
        S::ISize => narrowed::<isize>(building, number),
        _ => Err(misfit(building.shape(), &Payload::Int(number))),
    }
}

fn narrowed<T: Facet<'static> + TryFrom<i64>>(building: PartialValue, number: i64) -> BuildResult {
    let Ok(fitting) = T::try_from(number) else {
        return Err(misfit(building.shape(), &Payload::Int(number)));
    };
    building.set(fitting).map_err(|error| step(&error))
}
