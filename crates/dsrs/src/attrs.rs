//! The attributes of the engine in Facet shapes: `#[facet(dsrs::…)]`. Knows nothing of the code that
//! reads them; the payload of `accessor` is defined in `predict`.

use facet::{Facet, Field, Shape, Variant};

/// An attribute of a field or a type, read from its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(opaque)]
#[repr(u8)]
pub enum Attr {
    /// The name that the LM sees.
    Alias(&'static str),
    /// How an input is written into a prompt.
    Format(&'static str),
    /// A condition that is only recorded.
    Check(ConstraintAttr),
    /// A condition that must hold.
    Assert(ConstraintAttr),
    /// Coercion accepts only exact text.
    Strict,
    /// The type is a predictor.
    Parameter,
    /// The walker skips this.
    Skip,
    /// The type is a module that is built at run time.
    DynModule,
}

/// An expression over `this`, and the label under which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstraintAttr {
    /// The expression.
    pub expression: &'static str,
    /// The label, if it has one.
    pub label: Option<&'static str>,
}

// The grammar macro of Facet loses the namespace of attributes on generic types and requires `facet`
// in the manifest of the user, so the dispatch is written out.
#[doc(hidden)]
#[macro_export]
macro_rules! __attr {
    (@const $($rest:tt)*) => { $crate::__attr!($($rest)*) };
    (@ns {$ns:path} alias { | $(=)? $name:literal }) => {
        $crate::__attr!(@make "alias", $crate::attrs::Attr::Alias($name))
    };
    (@ns {$ns:path} alias { $field:tt : $ty:ty | $(=)? $name:literal }) => {
        $crate::__attr!(@make "alias", $crate::attrs::Attr::Alias($name))
    };
    (@ns {$ns:path} format { | $(=)? $name:literal }) => {
        $crate::__attr!(@make "format", $crate::attrs::Attr::Format($name))
    };
    (@ns {$ns:path} format { $field:tt : $ty:ty | $(=)? $name:literal }) => {
        $crate::__attr!(@make "format", $crate::attrs::Attr::Format($name))
    };
    (@ns {$ns:path} check { $field:tt : $ty:ty | $expression:literal $(, $label:literal)? }) => {
        $crate::__attr!(@make "check", $crate::attrs::Attr::Check($crate::__attr!(@condition $expression $($label)?)))
    };
    (@ns {$ns:path} assert { $field:tt : $ty:ty | $expression:literal $(, $label:literal)? }) => {
        $crate::__attr!(@make "assert", $crate::attrs::Attr::Assert($crate::__attr!(@condition $expression $($label)?)))
    };
    (@ns {$ns:path} strict { $($field:tt : $ty:ty)? }) => {
        $crate::__attr!(@make "strict", $crate::attrs::Attr::Strict)
    };
    (@ns {$ns:path} skip { $($field:tt : $ty:ty)? }) => {
        $crate::__attr!(@make "skip", $crate::attrs::Attr::Skip)
    };
    (@ns {$ns:path} parameter { $($field:tt : $ty:ty)? }) => {
        $crate::__attr!(@make "parameter", $crate::attrs::Attr::Parameter)
    };
    (@ns {$ns:path} accessor { | $(=)? $payload:expr }) => {
        $crate::__attr!(@make "accessor", $payload)
    };
    (@ns {$ns:path} length { $field:tt : $ty:ty | $least:expr, $most:expr }) => {
        $crate::__attr!(@rule "length", Length($least, $most))
    };
    (@ns {$ns:path} text { $field:tt : $ty:ty | $format:expr }) => {
        $crate::__attr!(@rule "text", Text($format))
    };
    (@ns {$ns:path} minimum { $field:tt : $ty:ty | $bound:expr }) => {
        $crate::__attr!(@rule "minimum", Minimum($bound as f64))
    };
    (@ns {$ns:path} above { $field:tt : $ty:ty | $bound:expr }) => {
        $crate::__attr!(@rule "above", Above($bound as f64))
    };
    (@ns {$ns:path} maximum { $field:tt : $ty:ty | $bound:expr }) => {
        $crate::__attr!(@rule "maximum", Maximum($bound as f64))
    };
    (@ns {$ns:path} distinct { $field:tt : $ty:ty | $noun:literal }) => {
        $crate::__attr!(@rule "distinct", Distinct($noun))
    };
    (@ns {$ns:path} items { $field:tt : $ty:ty | $least:expr }) => {
        $crate::__attr!(@rule "items", Items($least))
    };
    (@ns {$ns:path} each { $field:tt : $ty:ty | $format:expr }) => {
        $crate::__attr!(@rule "each", Each($format))
    };
    (@ns {$ns:path} object { $field:tt : $ty:ty | $most:expr }) => {
        $crate::__attr!(@rule "object", Object($most))
    };
    (@ns {$ns:path} object { $($field:tt : $ty:ty)? }) => {
        $crate::__attr!(@rule "object", Object(usize::MAX))
    };
    (@ns {$ns:path} nullable { $field:tt : $ty:ty | $word:literal }) => {
        $crate::__attr!(@rule "nullable", Nullable($word))
    };
    (@ns {$ns:path} schema { | $name:literal }) => {
        $crate::__attr!(@rule "schema", Schema($name))
    };
    (@ns {$ns:path} schema { $field:tt : $ty:ty | $name:literal }) => {
        $crate::__attr!(@rule "schema", Schema($name))
    };
    (@ns {$ns:path} keywords { | $json:expr }) => {
        $crate::__attr!(@rule "keywords", Keywords($json))
    };
    (@ns {$ns:path} keywords { $field:tt : $ty:ty | $json:expr }) => {
        $crate::__attr!(@rule "keywords", Keywords($json))
    };
    (@ns {$ns:path} value_schema { $field:tt : $ty:ty | $make:expr }) => {
        $crate::__attr!(@rule "value_schema", ValueSchema($make))
    };
    (@rule $key:literal, $rule:ident ($($value:expr),+)) => {
        $crate::__attr!(@make $key, $crate::__Rule::$rule($($value),+))
    };
    (@condition $expression:literal) => {
        $crate::attrs::ConstraintAttr { expression: $expression, label: ::core::option::Option::None }
    };
    (@condition $expression:literal $label:literal) => {
        $crate::attrs::ConstraintAttr { expression: $expression, label: ::core::option::Option::Some($label) }
    };
    (@make $key:literal, $payload:expr) => {
        $crate::facet::Attr::new(::core::option::Option::Some("dsrs"), $key, &const { $payload })
    };
    (@ns {$ns:path} $other:ident $($rest:tt)*) => {
        ::core::compile_error!(concat!(
            "unknown or malformed attribute `dsrs::", stringify!($other),
            "`; known: alias = \"…\", format = \"…\", check(\"…\"[, \"…\"]), assert(\"…\"[, \"…\"]), strict, skip, parameter, accessor = …, and the rules of documents: \
             length(least, most), text(&FORMAT), minimum(least), above(bound), maximum(most), items(least), each(&FORMAT), object, object(bytes), nullable(\"word\"), distinct(\"noun\"), schema(\"Name\"), keywords(JSON), value_schema(function)"
        ))
    };
}

/// The attributes of a type.
pub fn of_shape(shape: &'static Shape) -> impl Iterator<Item = Attr> {
    read(shape.attributes)
}

/// The attributes of a field.
pub fn of_field(field: &'static Field) -> impl Iterator<Item = Attr> {
    read(field.attributes)
}

/// The attributes of an enum variant.
pub fn of_variant(variant: &'static Variant) -> impl Iterator<Item = Attr> {
    read(variant.attributes)
}

fn read(attributes: &'static [facet::Attr]) -> impl Iterator<Item = Attr> {
    let own = attributes.iter().filter(|attribute| attribute.ns == Some("dsrs"));
    own.filter_map(|attribute| attribute.get_as::<Attr>().copied())
}
