//! `derive(Data)` and `derive(Facet)`: the Facet shape of a type of fields, made by the generator of Facet's own
//! derive from a copy of the type with the attributes that Facet reads. Knows no signatures.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, DataEnum, DeriveInput, Error, Fields, Result, Variant, parse_quote};

use crate::attributes::{emitted, emitted_variant, find};
use crate::check;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let text = "data owns its values; use String, Vec or Box";
        return Err(Error::new_spanned(lifetime, text));
    }
    let mut shaped = input.clone();
    shaped.attrs = described(&input.attrs);
    let mut layout = TokenStream::new();
    match &mut shaped.data {
        syn::Data::Struct(found) => shape_fields(&mut found.fields)?,
        syn::Data::Enum(found) => {
            if find(&input.attrs, "repr").is_none() {
                layout = byte_layout(input, found)?;
                shaped.attrs.push(parse_quote!(#[repr(u8)]));
            }
            found.variants.iter_mut().try_for_each(shape_variant)?;
        }
        syn::Data::Union(_) => {
            let text =
                "data is a struct or an enum: a union does not say which of its fields it has";
            return Err(Error::new_spanned(&input.ident, text));
        }
    }
    let shape = with_path(shaped);
    Ok(quote!(#shape #layout))
}

/// The shape of a type with attributes of Facet, which refers to Facet through this library.
pub(crate) fn with_path(mut shaped: DeriveInput) -> TokenStream {
    if !names_its_crate(&shaped.attrs) {
        shaped.attrs.push(parse_quote!(#[facet(crate = ::dsrs::facet)]));
    }
    facet_macros_impl::facet_macros(shaped.into_token_stream())
}

/// The attributes that Facet's generator reads: documentation, layout and its own.
fn described(attributes: &[Attribute]) -> Vec<Attribute> {
    let read = |attribute: &&Attribute| {
        ["doc", "repr", "facet"].iter().any(|name| attribute.path().is_ident(name))
    };
    attributes.iter().filter(read).cloned().collect()
}

fn names_its_crate(attributes: &[Attribute]) -> bool {
    let mut own = attributes.iter().filter(|attribute| attribute.path().is_ident("facet"));
    own.any(|attribute| attribute.meta.to_token_stream().to_string().contains("crate ="))
}

/// Replaces the attributes of fields by those of Facet; all problems at once.
fn shape_fields(fields: &mut Fields) -> Result<()> {
    let mut problems: Option<Error> = None;
    for field in fields {
        let found = check::supported(&field.ty)
            .and_then(|()| emitted(field, find(&field.attrs, "flatten").is_some()));
        match (found, &mut problems) {
            (Ok(written), _) => {
                let mut shaped: Vec<Attribute> = parse_quote!(#written);
                shaped.extend(
                    described(&field.attrs).into_iter().filter(|one| !one.path().is_ident("doc")),
                );
                field.attrs = shaped;
            }
            (Err(error), Some(known)) => known.combine(error),
            (Err(error), none) => *none = Some(error),
        }
    }
    problems.map_or(Ok(()), Err)
}

fn shape_variant(variant: &mut Variant) -> Result<()> {
    let mut attributes = described(&variant.attrs);
    attributes.extend(emitted_variant(&variant.attrs)?);
    variant.attrs = attributes;
    shape_fields(&mut variant.fields)
}

/// Checks at compile time that an enum without `repr` has the layout that its shape says, that of `repr(u8)`. A
/// derive cannot add `repr`, and the compiler promises no layout without it, so each variant is checked.
fn byte_layout(input: &DeriveInput, found: &DataEnum) -> Result<TokenStream> {
    let ident = &input.ident;
    let is_plain = |variant: &Variant| {
        matches!(variant.fields, Fields::Unit) && variant.discriminant.is_none()
    };
    if found.variants.is_empty() {
        return Err(Error::new_spanned(ident, "an enum without variants has no value"));
    }
    if !found.variants.iter().all(is_plain) {
        let text = "the layout of an enum with fields or numbers has to be fixed: add #[repr(u8)]";
        return Err(Error::new_spanned(ident, text));
    }
    let variants = found.variants.iter().map(|variant| &variant.ident);
    let text = format!("the layout of `{ident}` has to be fixed: add #[repr(u8)]");
    Ok(quote! {
        const _: () = {
            assert!(::core::mem::size_of::<#ident>() == 1, #text);
            // SAFETY: the type has the size of a byte, and no field whose value could be uninitialized.
            #(assert!(
                unsafe { ::core::mem::transmute_copy::<#ident, u8>(&#ident::#variants) } == #ident::#variants as u8,
                #text
            );)*
        };
    })
}
