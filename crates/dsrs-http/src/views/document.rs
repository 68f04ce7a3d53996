//! Bodies that the shapes of their types describe (`dsrs::document`), as schemas of the OpenAPI document.

use std::borrow::Cow;
use std::marker::PhantomData;

use dsrs::document::{DocumentForm, SchemaDefinitions, schema_name, schema_of};
use dsrs::value::Payload;
use facet::Facet;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The body of a request that creates a `T`. The schema of `WebhookSettings` is `WebhookBody`.
pub struct NewDocument<T>(PhantomData<T>);

/// The body of a request that changes a `T`. The schema of `WebhookSettings` is `WebhookPatch`.
pub struct DocumentPatch<T>(PhantomData<T>);

/// A document that is only created, or a type that documents contain. Its schema has the name of the type.
pub struct SchemaPart<T>(PhantomData<T>);

/// The name of the resource whose settings a document has.
fn resource<T: Facet<'static>>() -> String {
    let name = schema_name::<T>();
    name.strip_suffix("Settings").unwrap_or(&name).to_owned()
}

/// A schema as the library has it. Every schema of ours can be read by it: the tests compare the document.
fn schema(schema: &Payload) -> RefOr<Schema> {
    let read = serde_json::to_value(schema).and_then(serde_json::from_value);
    read.unwrap_or_else(|_| RefOr::T(Schema::default()))
}

fn add(definitions: SchemaDefinitions, schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.extend(definitions.into_iter().map(|(name, value)| (name, schema(&value))));
}

impl<T: Facet<'static>> PartialSchema for NewDocument<T> {
    fn schema() -> RefOr<Schema> {
        schema(&schema_of::<T>(DocumentForm::New).0)
    }
}

impl<T: Facet<'static>> ToSchema for NewDocument<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Body", resource::<T>()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add(schema_of::<T>(DocumentForm::New).1, schemas);
    }
}

impl<T: Facet<'static>> PartialSchema for DocumentPatch<T> {
    fn schema() -> RefOr<Schema> {
        schema(&schema_of::<T>(DocumentForm::Patch).0)
    }
}

impl<T: Facet<'static>> ToSchema for DocumentPatch<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Patch", resource::<T>()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add(schema_of::<T>(DocumentForm::Patch).1, schemas);
    }
}

impl<T: Facet<'static>> PartialSchema for SchemaPart<T> {
    fn schema() -> RefOr<Schema> {
        schema(&schema_of::<T>(DocumentForm::New).0)
    }
}

impl<T: Facet<'static>> ToSchema for SchemaPart<T> {
    fn name() -> Cow<'static, str> {
        schema_name::<T>().into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add(schema_of::<T>(DocumentForm::New).1, schemas);
    }
}
