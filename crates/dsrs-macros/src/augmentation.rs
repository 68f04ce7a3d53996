//! `derive(Augmentation)`: a wrapper that adds fields to any outputs.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{DeriveInput, Error, Path, Result, Token};

use crate::attributes::{emitted, find};
use crate::{check, derives};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let fields = check::named_fields(input, "an augmentation")?;
    if !input.generics.params.is_empty() {
        let message = "an augmentation has no parameters of its own";
        return Err(Error::new_spanned(&input.generics, message));
    }
    let mut own = TokenStream::new();
    let mut names = Vec::new();
    for field in &fields.named {
        check::supported(&field.ty)?;
        let (name, ty, attributes) = (&field.ident, &field.ty, emitted(field, false)?);
        own.extend(quote!(#attributes pub #name: #ty,));
        names
            .extend(name.as_ref().map(|name| name.to_string().trim_start_matches("r#").to_owned()));
    }
    let (place, derives) = options(input)?;
    Ok(wrapper(input, place, &derives, &own, &names, &fields.named))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AddedPosition {
    Before,
    After,
}

/// Where the fields are added, and what the wrapper derives besides its own.
fn options(input: &DeriveInput) -> Result<(AddedPosition, Vec<Path>)> {
    let (mut place, mut derives) = (AddedPosition::Before, Vec::new());
    let Some(attribute) = find(&input.attrs, "augment") else { return Ok((place, derives)) };
    attribute.parse_nested_meta(|meta| {
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("output") => {}
            Some("prepend") => place = AddedPosition::Before,
            Some("append") => place = AddedPosition::After,
            Some("derive") => derives::add(&meta, &mut derives)?,
            _ => {
                let message = "write #[augment(output, prepend)] or #[augment(output, append)]";
                return Err(Error::new_spanned(&meta.path, message));
            }
        }
        Ok(())
    })?;
    Ok((place, derives))
}

fn wrapper(
    input: &DeriveInput,
    place: AddedPosition,
    derives: &[Path],
    own: &TokenStream,
    names: &[String],
    fields: &Punctuated<syn::Field, Token![,]>,
) -> TokenStream {
    let (ident, vis) = (&input.ident, &input.vis);
    let derives = derives::attribute(derives);
    let with = format_ident!("With{ident}");
    let docs =
        format!("Outputs with those that [`{ident}`] adds; the others are accessible by `Deref`.");
    let inner = quote! {
        /// The outputs without the added ones.
        #[facet(flatten)]
        pub inner: O,
    };
    let body =
        if place == AddedPosition::Before { quote!(#own #inner) } else { quote!(#inner #own) };
    let idents = fields.iter().filter_map(|field| field.ident.as_ref());
    quote! {
        #[doc = #docs]
        #[allow(missing_docs)]
        #[derive(Clone, Debug, ::dsrs::facet::Facet)]
        #derives
        #[facet(crate = ::dsrs::facet)]
        #vis struct #with<O> { #body }

        impl<O> ::core::ops::Deref for #with<O> {
            type Target = O;

            fn deref(&self) -> &O {
                &self.inner
            }
        }

        impl<O> #with<O> {
            /// The outputs without the added ones.
            #[must_use]
            pub fn into_inner(self) -> O {
                self.inner
            }
        }

        impl<O> ::dsrs::signature::static_names::NamedFields for #with<O> {
            const NAMES: ::dsrs::signature::static_names::NameTree = ::dsrs::signature::static_names::NameTree {
                own: &[#(#names),*],
                flattened: &[&{
                    #[allow(unused_imports)]
                    use ::dsrs::signature::static_names::UnknownFields as _;
                    ::dsrs::signature::static_names::NameProbe::<O>::NAMES
                }],
            };
        }

        impl ::dsrs::signature::Augmentation for #ident {
            type Wrap<T: ::dsrs::signature::Data> = #with<T>;
        }

        // The struct only declares the added fields; this use avoids warnings about dead code.
        const _: fn(&#ident) = |added| { #(let _ = &added.#idents;)* };
    }
}
