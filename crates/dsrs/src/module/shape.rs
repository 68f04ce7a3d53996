//! The shape of a module that `derive(Module)` makes: which of its fields the walker searches. Only the
//! derive uses this.

use std::marker::PhantomData;

use facet::{
    Attr, Def, Facet, Field, FieldBuilder, Opaque, Repr, Shape, ShapeBuilder, StructKind,
    StructTypeBuilder, Type, UserType, shape_of,
};

use super::Module;
use crate::attrs;

/// A type that the walker can search for predictors: data, predictors, and structs with
/// `#[derive(Module)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be searched for predictors",
    label = "no part of a program, as far as the walker can see",
    note = "add `#[derive(Module)]` to the type if it holds predictors, or mark the field `#[module(skip)]` if it is no part of the program"
)]
pub trait Searchable: for<'a> Facet<'a> {}

#[diagnostic::do_not_recommend]
impl<T: for<'a> Facet<'a>> Searchable for T {}

/// What is known of a type: the inherent constants hold if their bounds do, else those of
/// [`Unknown`].
pub struct Probe<T: ?Sized>(PhantomData<T>);

impl<T: Facet<'static>> Probe<T> {
    /// The shape, if the type has one.
    pub const SHAPE: Option<fn() -> &'static Shape> = Some(shape_of::<T>);
}

impl<T: Module> Probe<T> {
    /// Whether it is a module.
    pub const IS_MODULE: bool = true;
}

impl<T: Unpin> Probe<T> {
    /// Whether it is `Unpin`. A predictor is not, nor is a struct that holds one by value.
    pub const IS_UNPIN: bool = true;
}

/// What [`Probe`] knows of other types.
pub trait Unknown {
    /// No shape.
    const SHAPE: Option<fn() -> &'static Shape> = None;
    /// No module.
    const IS_MODULE: bool = false;
    /// Not `Unpin`.
    const IS_UNPIN: bool = false;
}

impl<T: ?Sized> Unknown for Probe<T> {}

const SKIPPED: &[Attr] = &[Attr::new(Some("dsrs"), "skip", &const { attrs::Attr::Skip })];

/// A field of a module. Without a shape the walker skips it.
#[must_use]
pub const fn field<T: 'static>(
    name: &'static str,
    offset: usize,
    shape: Option<fn() -> &'static Shape>,
) -> Field {
    match shape {
        Some(shape) => FieldBuilder::new(name, shape, offset).build(),
        None => FieldBuilder::new(name, shape_of::<Opaque<T>>, offset).attributes(SKIPPED).build(),
    }
}

/// The shape of a module with these fields.
#[must_use]
pub const fn of<M>(name: &'static str, kind: StructKind, fields: &'static [Field]) -> Shape {
    let fields = StructTypeBuilder::new(kind, fields).repr(Repr::RUST).build();
    ShapeBuilder::for_sized::<M>(name)
        .ty(Type::User(UserType::Struct(fields)))
        .def(Def::Undefined)
        .build()
}
