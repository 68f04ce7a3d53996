//! The values of `#[default]`, `#[default = value]` and `#[default(value)]`. A text is a value of any type
//! that is read from texts, and brackets are any list.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Error, Expr, ExprArray, ExprLit, Field, Lit, Meta, Result, Type};

/// The default of a field.
pub(crate) enum DefaultValue {
    /// Of its type.
    OfType,
    /// An expression of its type.
    Expression(TokenStream),
    /// Data that is read as its type when the schema is made: a text or a list of texts.
    Data(TokenStream),
}

impl DefaultValue {
    pub(crate) fn of(attribute: &Attribute, field: &Field) -> Result<Self> {
        let value = match &attribute.meta {
            Meta::Path(_) => return Ok(Self::OfType),
            Meta::NameValue(pair) => literal(&pair.value)?,
            Meta::List(list) => list.parse_args()?,
        };
        Ok(match &value {
            Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) if is_string(&field.ty) => {
                Self::Expression(quote!(::std::string::String::from(#value)))
            }
            Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => Self::Data(text(&value)),
            Expr::Array(list) if !list.elems.is_empty() && list.elems.iter().all(is_text) => {
                let elements = list.elems.iter().map(text);
                Self::Data(quote!(::dsrs::value::Payload::list(::std::vec![#(#elements),*])))
            }
            Expr::Array(list) => Self::Expression(list_of(list, &field.ty)),
            other => Self::Expression(other.to_token_stream()),
        })
    }
}

/// The attribute of the emitted field.
pub(crate) fn facet_default(attribute: &Attribute, field: &Field) -> Result<TokenStream> {
    let ty = &field.ty;
    Ok(match DefaultValue::of(attribute, field)? {
        DefaultValue::OfType => quote!(#[facet(default)]),
        DefaultValue::Expression(value) => {
            quote!(#[facet(default = { ::core::convert::identity::<#ty>(#value) })])
        }
        DefaultValue::Data(data) => {
            quote!(#[facet(default = { ::dsrs::signature::read_default::<#ty>(&#data) })])
        }
    })
}

/// The value after `=`, which the compiler accepts only if it is a literal.
fn literal(value: &Expr) -> Result<Expr> {
    // A literal with a sign is none to the compiler.
    let written = value.to_token_stream().to_string();
    if matches!(value, Expr::Lit(_)) && !written.starts_with('-') {
        return Ok(value.clone());
    }
    let spaced = [(" :: ", "::"), ("- ", "-"), ("! ", "!"), (" !", "!")];
    let written = spaced.iter().fold(written, |text, (from, to)| text.replace(from, to));
    let text = format!("only a literal without a sign follows `=`; write `#[default({written})]`");
    Err(Error::new_spanned(value, text))
}

fn is_text(value: &Expr) -> bool {
    matches!(value, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))
}

fn text(value: &Expr) -> TokenStream {
    quote!(::dsrs::value::Payload::from(#value))
}

/// A vector, set or map of these elements, or the array itself.
fn list_of(list: &ExprArray, ty: &Type) -> TokenStream {
    quote!(<#ty as ::core::convert::From<_>>::from(#list))
}

fn is_string(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "String"))
}
