//! An async function as a tool. Its argument is a Rust struct; the shape of the struct is the JSON
//! Schema for the LM. Does not know who shows the result.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use facet::Facet;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::value::RawValue;

use super::{Ctx, Tool, ToolError};
use crate::lm::ToolSpec;
use crate::problem::{At, Problems};
use crate::reflect::{ReflectError, ShapeTypes, flat_fields, from_payload, to_payload};
use crate::signature::Data;
use crate::types::{
    Class, ClassField, Type, TypeIR, has_member_constraints, report_broken_members, to_json_schema,
};
use crate::value::{Fields, Payload};

/// The result of a tool function: any Rust type of plain data, or data itself.
pub trait ToolOutput: Send {
    /// The result as data.
    ///
    /// # Errors
    /// When the value has no representation as data.
    fn into_data(self) -> Result<Payload, ReflectError>;

    /// The type of all results, whose asserts they hold; `None` if only each result knows its own.
    #[must_use]
    fn ty() -> Option<Type> {
        None
    }
}

impl<T: Data> ToolOutput for T {
    fn into_data(self) -> Result<Payload, ReflectError> {
        to_payload(&self)
    }

    fn ty() -> Option<Type> {
        let mut types = ShapeTypes::default();
        let ir = types.type_of(<T as Facet<'static>>::SHAPE).ok()?;
        Some(Type::new(ir, types.finish().into()))
    }
}

/// Makes a tool of an async function of one struct. The LM sees the message of its error.
///
/// ```
/// use dsrs::Data;
/// use dsrs::predict::{Tool, function_tool};
///
/// #[derive(Data)]
/// struct Split {
///     /// the amount, in cents
///     cents: i64,
///     /// among how many
///     people: i64,
/// }
///
/// let split = function_tool("split", "Splits a bill.", |bill: Split| async move {
///     bill.cents.checked_div(bill.people).ok_or("there is no one to pay")
/// });
/// let spec = split.unwrap().spec().clone();
/// assert!(spec.parameters.get().contains(r#""required":["cents","people"]"#));
/// ```
///
/// # Errors
/// When the argument is not a struct with named fields, or a field has no representation as data.
pub fn function_tool<A, R, E, Running>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    function: impl Fn(A) -> Running + Send + Sync + 'static,
) -> Result<Arc<dyn Tool>, ReflectError>
where
    A: Data,
    R: ToolOutput + 'static,
    E: Display + 'static,
    Running: Future<Output = Result<R, E>> + Send + 'static,
{
    let (name, description) = (name.into(), description.into());
    let found = arguments::<A>().map_err(|error| error.below(&name))?;
    let parameters = parameters(&found).map_err(|error| error.below(&name))?;
    let spec = ToolSpec { name, description, parameters };
    let ty = R::ty();
    let result_schema = ty.as_ref().map(to_json_schema);
    let result = ty.filter(|ty| has_member_constraints(&ty.ir, &ty.defs)).map(Arc::new);
    let call = move |args: Fields| match read_arguments::<A>(&found.ty, args) {
        Ok(args) => ended(function(args), result.clone()).boxed(),
        Err(why) => {
            let message = format!("the arguments do not fit: {why}");
            async move { Err(ToolError::reported(message)) }.boxed()
        }
    };
    Ok(Arc::new(FunctionTool { spec, result_schema, call }))
}

struct FunctionTool<F> {
    spec: ToolSpec,
    result_schema: Option<Payload>,
    call: F,
}

impl<F> Tool for FunctionTool<F>
where
    F: Fn(Fields) -> BoxFuture<'static, Result<Payload, ToolError>> + Send + Sync,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn result_schema(&self) -> Option<Payload> {
        self.result_schema.clone()
    }

    fn call<'a>(
        &'a self,
        _ctx: &'a Ctx,
        args: Fields,
    ) -> BoxFuture<'a, Result<Payload, ToolError>> {
        (self.call)(args)
    }
}

async fn ended<R: ToolOutput, E: Display>(
    running: impl Future<Output = Result<R, E>>,
    ty: Option<Arc<Type>>,
) -> Result<Payload, ToolError> {
    let result = running.await.map_err(|error| ToolError::reported(error.to_string()))?;
    let result = result
        .into_data()
        .map_err(|error| ToolError::reported(format!("the result is not data: {error}")))?;
    let mut broken = Problems::new();
    if let Some(ty) = &ty {
        report_broken_members(&result, ty, &At::Root, &mut broken);
    }
    broken
        .or(result)
        .map_err(|problems| ToolError::reported(format!("the result does not fit: {problems}")))
}

/// The arguments of a function: the members of its struct.
struct ArgumentTypes {
    ty: Type,
    /// The members that a call may leave out.
    spared: Vec<Arc<str>>,
}

fn arguments<A: Data>() -> Result<ArgumentTypes, ReflectError> {
    let (mut types, mut class) = (ShapeTypes::default(), Class::default());
    let flat = flat_fields(<A as Facet<'static>>::SHAPE)?;
    for found in &flat {
        let member = types.class_field(found.field).map_err(|error| error.below(found.name()))?;
        let (description, constraints) = (member.description, member.constraints);
        let field = ClassField { description, constraints, ..ClassField::of(member.ty) };
        class.fields.insert(found.name().into(), field);
    }
    let ty = Type::new(TypeIR::Class(class.into()), types.finish().into());
    let spared = flat.iter().filter(|found| found.field.has_default());
    Ok(ArgumentTypes { ty, spared: spared.map(|found| found.name().into()).collect() })
}

/// The arguments as the struct, if they fit and hold its asserts.
fn read_arguments<A: Data>(ty: &Type, args: Fields) -> Result<A, String> {
    let found = from_payload::<A>(&Payload::map(args)).map_err(|error| error.to_string())?;
    // As the struct has them: with defaults, and with numbers of exactly their types.
    let args = to_payload(&found).map_err(|error| error.to_string())?;
    let mut broken = Problems::new();
    report_broken_members(&args, ty, &At::Root, &mut broken);
    broken.or(found).map_err(|problems| problems.to_string())
}

/// The JSON Schema of the arguments. Members that a call may leave out are not required.
fn parameters(arguments: &ArgumentTypes) -> Result<Arc<RawValue>, ReflectError> {
    let mut schema = to_json_schema(&arguments.ty);
    let spared =
        |name: &Payload| arguments.spared.iter().any(|known| Some(&**known) == name.as_str());
    if let Payload::Map(members) = &mut schema
        && let Some(Payload::List(required)) = Arc::make_mut(members).get_mut("required")
    {
        Arc::make_mut(required).retain(|name| !spared(name));
    }
    let text = serde_json::value::to_raw_value(&schema);
    text.map(Arc::from).map_err(|error| ReflectError::new(error.to_string()))
}

#[cfg(test)]
mod tests {
    use facet::Facet;

    use super::*;

    #[derive(Facet)]
    struct Search {
        /// what to look for
        query: String,
        kind: Kind,
        #[facet(default = 3)]
        most: u8,
        within: Option<String>,
    }

    #[derive(Facet)]
    #[repr(u8)]
    #[facet(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Kind {
        Page,
        Picture,
    }

    fn tool() -> Arc<dyn Tool> {
        function_tool("search", "Looks something up.", |search: Search| async move {
            match search.query.as_str() {
                "" => Err("nothing to look for"),
                query => Ok(vec![format!("{query} {}", search.most)]),
            }
        })
        .unwrap()
    }

    async fn call(tool: &dyn Tool, args: &str) -> Result<String, String> {
        let Ok(Payload::Map(args)) = Payload::from_json(args) else { panic!("{args}") };
        let ctx = Ctx::within(Arc::default(), std::time::Duration::from_secs(600));
        let result = tool.call(&ctx, Arc::unwrap_or_clone(args)).await;
        result.map(|found| found.to_json()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_argument_struct_becomes_a_json_schema() {
        assert_eq!(
            tool().spec().parameters.get(),
            r##"{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},"kind":{"$ref":"#/$defs/Kind"},"most":{"type":"integer"},"within":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["query","kind"],"additionalProperties":false,"$defs":{"Kind":{"type":"string","enum":["page","picture"]}}}"##
        );
    }

    #[tokio::test]
    async fn omitted_arguments_get_their_default() {
        let found = call(&*tool(), r#"{"query": "cats", "kind": "page"}"#).await;
        assert_eq!(found.unwrap(), r#"["cats 3"]"#);
    }

    #[tokio::test]
    async fn errors_of_functions_and_arguments_are_reported() {
        let found = call(&*tool(), r#"{"query": "", "kind": "page"}"#).await;
        assert_eq!(found.unwrap_err(), "nothing to look for");
        let found = call(&*tool(), r#"{"query": "cats", "kind": "page", "most": 300}"#).await;
        assert_eq!(
            found.unwrap_err(),
            "the arguments do not fit: `most`: 300 is not a value of `u8`"
        );
    }

    #[tokio::test]
    async fn a_result_may_be_any_data() {
        let echo = |search: Search| async move { Ok::<_, ToolError>(Payload::from(search.query)) };
        let echo = function_tool("echo", "Says it again.", echo).unwrap();
        let found = call(&*echo, r#"{"query": "cats", "kind": "page"}"#).await;
        assert_eq!(found.unwrap(), r#""cats""#);
    }
}
