//! Reads and checks the attributes of a field, and writes them as Facet attributes.

use crate::condition;
use crate::default::facet_default;
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Expr, ExprLit, Field, Ident, Lit, LitStr, Meta, MetaNameValue, Result, Token,
    parse_quote,
};

/// The side of a signature that a field belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// The Facet attributes of a variant: only its alias has a meaning.
pub(crate) fn emitted_variant(attributes: &[Attribute]) -> Result<Option<Attribute>> {
    let Some(attribute) = find(attributes, "alias") else { return Ok(None) };
    let written = alias(attribute)?;
    Ok(Some(parse_quote!(#written)))
}

/// The side of a field and whether it is flattened there.
pub(crate) fn side(field: &Field) -> Result<(Side, bool)> {
    let mut found: Option<Side> = None;
    let mut flatten = find(&field.attrs, "flatten").is_some();
    for (name, side) in [("input", Side::Input), ("output", Side::Output)] {
        let Some(attribute) = find(&field.attrs, name) else { continue };
        if found.is_some() {
            return Err(syn::Error::new_spanned(
                attribute,
                "a field is an input or an output, not both",
            ));
        }
        found = Some(side);
        flatten |= is_flattened(attribute)?;
    }
    let missing = || syn::Error::new_spanned(field, "mark the field with #[input] or #[output]");
    Ok((found.ok_or_else(missing)?, flatten))
}

fn is_flattened(attribute: &Attribute) -> Result<bool> {
    match &attribute.meta {
        Meta::Path(_) => Ok(false),
        Meta::List(list) => {
            if let Ok(pair) = list.parse_args::<MetaNameValue>() {
                return Err(description(&pair));
            }
            let word: Ident = list.parse_args()?;
            if word == "flatten" {
                return Ok(true);
            }
            Err(syn::Error::new_spanned(word, "the only word here is `flatten`"))
        }
        Meta::NameValue(_) => {
            Err(syn::Error::new_spanned(attribute, "this attribute has no value"))
        }
    }
}

/// The answer to `#[output(desc = "…")]`, the notation of other libraries.
fn description(pair: &MetaNameValue) -> syn::Error {
    let text = match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.value(),
        _ => "…".to_owned(),
    };
    let way_out =
        format!("the description of a field is its doc comment: write `/// {text}` above it");
    syn::Error::new_spanned(pair, way_out)
}

/// The docs and Facet attributes of an emitted field.
pub(crate) fn emitted(field: &Field, flatten: bool) -> Result<TokenStream> {
    let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let mut out = quote!(#(#docs)*);
    if flatten {
        out.extend(quote!(#[facet(flatten)]));
    }
    for attribute in &field.attrs {
        let Some(name) = attribute.path().get_ident() else { continue };
        out.extend(match name.to_string().as_str() {
            "alias" => alias(attribute)?,
            "format" => format(attribute)?,
            "check" | "assert" => constraint(name, attribute)?,
            "strict" => quote!(#[facet(dsrs::strict)]),
            "default" => facet_default(attribute, field)?,
            "serde" => quote!(#attribute),
            _ => continue,
        });
    }
    Ok(out)
}

fn alias(attribute: &Attribute) -> Result<TokenStream> {
    let alias = text(attribute)?;
    let mut letters = alias.value().chars().collect::<Vec<_>>().into_iter();
    let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let continues =
        letters.clone().count() <= 62 && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !starts || !continues {
        let text = "an alias is a letter or `_`, followed by up to 62 letters, digits or `_`";
        return Err(syn::Error::new_spanned(alias, text));
    }
    Ok(quote!(#[facet(dsrs::alias = #alias)]))
}

fn format(attribute: &Attribute) -> Result<TokenStream> {
    let format = text(attribute)?;
    if !["json", "yaml", "text"].contains(&format.value().as_str()) {
        return Err(syn::Error::new_spanned(
            format,
            "the format is \"json\", \"yaml\" or \"text\"",
        ));
    }
    Ok(quote!(#[facet(dsrs::format = #format)]))
}

/// `("expression")`, `("expression", "label")` or `("expression", label = "label")`.
struct ConstraintArguments {
    expression: LitStr,
    label: Option<LitStr>,
}

impl Parse for ConstraintArguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let expression = input.parse()?;
        let mut label = None;
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            if input.peek(Ident) {
                let word: Ident = input.parse()?;
                if word != "label" {
                    return Err(syn::Error::new_spanned(word, "the only word here is `label`"));
                }
                input.parse::<Token![=]>()?;
            }
            label = Some(input.parse()?);
        }
        Ok(Self { expression, label })
    }
}

fn constraint(kind: &Ident, attribute: &Attribute) -> Result<TokenStream> {
    let ConstraintArguments { expression, label } = attribute.parse_args()?;
    condition::check(&expression)?;
    let arguments = match label {
        Some(label) => quote!(#expression, #label),
        None => quote!(#expression),
    };
    Ok(quote!(#[facet(dsrs::#kind(#arguments))]))
}

/// The text of `#[name = "…"]` or `#[name("…")]`.
pub(crate) fn text(attribute: &Attribute) -> Result<LitStr> {
    match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
            other => Err(syn::Error::new_spanned(other, "expected a string in quotes")),
        },
        Meta::List(list) => list.parse_args(),
        Meta::Path(path) => Err(syn::Error::new_spanned(path, "expected a string in quotes")),
    }
}

/// The lines of the doc comments, without the space after `///`.
pub(crate) fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let lines = lines.filter_map(|attribute| text(attribute).ok()).map(|text| {
        let line = text.value();
        line.strip_prefix(' ').map(str::to_owned).unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The attribute of a name.
pub(crate) fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|attribute| attribute.path().is_ident(name))
}
