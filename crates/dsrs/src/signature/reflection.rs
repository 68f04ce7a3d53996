//! The schema of a typed signature, built once per type from the shapes of its inputs and outputs.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use facet::{Facet, Shape};

use super::field_names::FieldNames;
use super::read::default_instructions;
use super::{Augmentation, Data, FieldFormat, FieldPath, FieldSchema, Signature, SignatureSchema};
use crate::attrs::{self, Attr};
use crate::problem::{At, Problems};
use crate::reflect::{FlatField, ReflectError, ShapeTypes, defaults, flat_fields};
use crate::types::{TypeDefs, report_broken};
use crate::value::Payload;

/// The schemas by signature type. A `static` in a generic function would be shared by all types.
type SchemaCache = RwLock<HashMap<TypeId, Result<Arc<SignatureSchema>, ReflectError>>>;

impl SignatureSchema {
    /// The schema of a typed signature; built once per type and shared.
    ///
    /// # Panics
    /// If the signature is invalid: two fields with the same name, or a type that data cannot
    /// represent. This is a mistake in the program, and the message names it. [`Self::try_of`]
    /// returns it as an error.
    #[must_use]
    #[expect(
        clippy::panic,
        reason = "a signature type is written by a programmer, not read from input"
    )]
    pub fn of<S: Signature>() -> Arc<Self> {
        match Self::try_of::<S>() {
            Ok(schema) => schema,
            Err(error) => panic!("the signature `{}`: {error}", std::any::type_name::<S>()),
        }
    }

    /// The schema of a typed signature.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn try_of<S: Signature>() -> Result<Arc<Self>, ReflectError> {
        static CACHE: OnceLock<SchemaCache> = OnceLock::new();
        let known = CACHE.get_or_init(SchemaCache::default);
        let id = TypeId::of::<S>();
        if let Some(found) = known.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return found.clone();
        }
        let built = build::<S>().map(Arc::new);
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(id).or_insert(built).clone()
    }
}

fn build<S: Signature>() -> Result<SignatureSchema, ReflectError> {
    S::check_defaults()?;
    let mut schema = from_types::<S::Input, S::Output>(S::instructions())?;
    if S::instructions().trim().is_empty()
        && let Some(plain) = S::unaugmented()?
    {
        schema.instructions = plain.instructions.clone();
    }
    Ok(schema)
}

/// The schema for a pair of structs, inputs with their defaults and outputs.
///
/// # Errors
/// The first invalid field.
pub(crate) fn from_types<I: Data, O: Data>(
    instructions: &str,
) -> Result<SignatureSchema, ReflectError> {
    let mut types = ShapeTypes::default();
    let mut inputs = fields(<I as Facet<'static>>::SHAPE, &mut types)?;
    let outputs = fields(<O as Facet<'static>>::SHAPE, &mut types)?;
    let mut defaults = defaults::<I>()?;
    for input in &mut inputs {
        input.default = checked_default(input, defaults.shift_remove(&input.name))?;
    }
    check_names(inputs.iter().chain(&outputs))?;
    let instructions = match instructions.trim() {
        "" => default_instructions(&inputs, &outputs),
        text => text.into(),
    };
    Ok(SignatureSchema { instructions, inputs, outputs, defs: types.finish().into() })
}

/// The fields of one struct, without defaults, and the definitions of their types.
///
/// # Errors
/// The first invalid field.
pub(crate) fn fields_of<T: Data>() -> Result<(Vec<FieldSchema>, Arc<TypeDefs>), ReflectError> {
    let mut types = ShapeTypes::default();
    let found = fields(<T as Facet<'static>>::SHAPE, &mut types)?;
    Ok((found, types.finish().into()))
}

/// The outputs that an augmentation adds, for strategies over schemas.
///
/// # Panics
/// As [`SignatureSchema::of`], and if the added outputs have named types: the definitions of the
/// schema do not include them.
#[must_use]
#[expect(clippy::panic, reason = "an augmentation is written by a programmer, not read from input")]
pub fn added_outputs<A: Augmentation>() -> Vec<FieldSchema> {
    let mut types = ShapeTypes::default();
    let added = fields(<A::Wrap<Nothing> as Facet<'static>>::SHAPE, &mut types);
    match added {
        Ok(added) if types.finish().0.is_empty() => added,
        Ok(_) => panic!("`{}` adds outputs of named types", std::any::type_name::<A>()),
        Err(error) => panic!("`{}`: {error}", std::any::type_name::<A>()),
    }
}

/// An empty struct of outputs.
#[derive(Facet)]
struct Nothing {}

fn fields(shape: &'static Shape, types: &mut ShapeTypes) -> Result<Vec<FieldSchema>, ReflectError> {
    flat_fields(shape)?.into_iter().map(|flat| field(flat, types)).collect()
}

fn field(flat: FlatField, types: &mut ShapeTypes) -> Result<FieldSchema, ReflectError> {
    let found = types.class_field(flat.field).map_err(|error| error.below(flat.field.name))?;
    let format = attrs::of_field(flat.field).find_map(|attribute| match attribute {
        Attr::Format(name) => FieldFormat::named(name),
        _ => None,
    });
    Ok(FieldSchema {
        name: flat.name().into(),
        alias: found.alias,
        ty: found.ty,
        description: found.description,
        format,
        language: None,
        reasoning: false,
        default: None,
        constraints: found.constraints,
        strict: found.strict,
        path: FieldPath(flat.path),
    })
}

/// The default of an input, which holds the asserts of the input.
fn checked_default(
    field: &FieldSchema,
    default: Option<Payload>,
) -> Result<Option<Payload>, ReflectError> {
    let mut problems = Problems::new();
    if let Some(default) = &default {
        report_broken(&field.constraints, "default", default, &At::Root, &mut problems);
    }
    match problems.iter().next() {
        None => Ok(default),
        Some(problem) => Err(ReflectError::new(problem.detail.clone()).below(&field.name)),
    }
}

/// Checks names by the same rules as for signatures in documents.
fn check_names<'f>(fields: impl Iterator<Item = &'f FieldSchema>) -> Result<(), ReflectError> {
    let mut problems = Problems::new();
    let mut names = FieldNames::default();
    for field in fields {
        names.add(field, None, &At::Root, &mut problems);
    }
    problems.iter().next().map_or(Ok(()), |found| Err(ReflectError::new(found.detail.clone())))
}
