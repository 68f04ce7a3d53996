//! The derives of generated structs that an author asks for.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, Path, Result, Token};

use crate::attributes::find;

/// What the generated structs of a signature derive besides their own.
#[derive(Default)]
pub(crate) struct SignatureDerives {
    pub(crate) input: Vec<Path>,
    pub(crate) output: Vec<Path>,
}

impl SignatureDerives {
    /// Reads `#[signature(derive(…), input(derive(…)), output(derive(…)))]`.
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        let Some(attribute) = find(attributes, "signature") else { return Ok(found) };
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("input") {
                return meta.parse_nested_meta(|meta| add(&meta, &mut found.input));
            }
            if meta.path.is_ident("output") {
                return meta.parse_nested_meta(|meta| add(&meta, &mut found.output));
            }
            let before = found.input.len();
            add(&meta, &mut found.input)?;
            found.output.extend_from_slice(&found.input[before..]);
            Ok(())
        })?;
        Ok(found)
    }
}

/// Adds the paths of `derive(…)`.
pub(crate) fn add(meta: &ParseNestedMeta<'_>, derives: &mut Vec<Path>) -> Result<()> {
    if !meta.path.is_ident("derive") {
        return Err(meta.error("write derive(…), input(derive(…)) or output(derive(…))"));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    derives.extend(Punctuated::<Path, Token![,]>::parse_terminated(&content)?);
    Ok(())
}

/// The attribute for these derives.
pub(crate) fn attribute(derives: &[Path]) -> Option<TokenStream> {
    (!derives.is_empty()).then(|| quote!(#[derive(#(#derives),*)]))
}
