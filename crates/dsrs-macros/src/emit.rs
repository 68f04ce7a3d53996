//! A generated struct: some fields of the derived struct, with the type parameters that they use.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Error, Field, GenericParam, Generics, Ident, Path, Result, Type, Visibility};

use crate::attributes::emitted;
use crate::derives::attribute;

/// A struct that is generated beside the derived one.
pub(crate) struct EmittedStruct<'f> {
    pub(crate) ident: Ident,
    pub(crate) docs: String,
    /// Each field, and whether it is flattened.
    pub(crate) fields: Vec<(&'f Field, bool)>,
    /// What it derives besides its own.
    pub(crate) derives: Vec<Path>,
}

impl EmittedStruct<'_> {
    /// The struct. Its parameters have no bounds: the derive of Facet adds bounds, and a second bound
    /// of the same trait would be ambiguous.
    pub(crate) fn item(&self, vis: &Visibility, generics: &Generics) -> Result<TokenStream> {
        let (ident, docs) = (&self.ident, &self.docs);
        let parameters = self.parameters(generics).map(declared);
        let mut body = TokenStream::new();
        let mut problems: Option<Error> = None;
        for (field, flatten) in &self.fields {
            let (name, ty) = (&field.ident, &field.ty);
            match (emitted(field, *flatten), &mut problems) {
                (Ok(attributes), _) => body.extend(quote!(#attributes pub #name: #ty,)),
                (Err(error), Some(known)) => known.combine(error),
                (Err(error), none) => *none = Some(error),
            }
        }
        problems.map_or(Ok(()), Err)?;
        let names = self.names(generics);
        let is_data = self.data_checks(generics);
        let derives = attribute(&self.derives);
        Ok(quote! {
            #is_data
            #[doc = #docs]
            #[allow(missing_docs)]
            #[derive(Clone, Debug, ::dsrs::facet::Facet)]
            #derives
            #[facet(crate = ::dsrs::facet)]
            #vis struct #ident <#(#parameters),*> { #body }
            #names
        })
    }

    /// The type with the parameters of the derived struct.
    pub(crate) fn ty(&self, generics: &Generics) -> TokenStream {
        let ident = &self.ident;
        let arguments = self.parameters(generics).map(named);
        quote!(#ident <#(#arguments),*>)
    }

    /// Names a field that is not data before the derive of Facet does, which knows no way out. Types with
    /// parameters are known only where they are used.
    fn data_checks(&self, generics: &Generics) -> TokenStream {
        if self.parameters(generics).next().is_some() {
            return TokenStream::new();
        }
        let checks = self.fields.iter().map(|(field, _)| {
            let ty = &field.ty;
            quote_spanned!(ty.span()=> is_data::<#ty>();)
        });
        quote! {
            const _: fn() = || {
                fn is_data<T: ::dsrs::Data>() {}
                #(#checks)*
            };
        }
    }

    /// The field names of the struct, for the check that they are distinct.
    fn names(&self, generics: &Generics) -> TokenStream {
        let ty = self.ty(generics);
        let parameters: Vec<_> = self.parameters(generics).map(declared).collect();
        let own = self.fields.iter().filter(|(_, flatten)| !flatten);
        let own = own.filter_map(|(field, _)| field.ident.as_ref().map(bare));
        let flattened = self.fields.iter().filter(|(_, flatten)| *flatten);
        let flattened: Vec<_> = flattened.map(|(field, _)| &field.ty).collect();
        // The field names of a type that these derives did not generate are only in its shape.
        let probes = flattened.iter().map(|ty| {
            quote! {
                &{
                    #[allow(unused_imports)]
                    use ::dsrs::signature::static_names::UnknownFields as _;
                    ::dsrs::signature::static_names::NameProbe::<#ty>::NAMES
                }
            }
        });
        let concrete = parameters.is_empty();
        let check = concrete.then(|| {
            quote! {
                const _: () = ::dsrs::signature::static_names::assert_distinct(
                    &<#ty as ::dsrs::signature::static_names::NamedFields>::NAMES,
                );
            }
        });
        quote! {
            impl <#(#parameters),*> ::dsrs::signature::static_names::NamedFields for #ty {
                const NAMES: ::dsrs::signature::static_names::NameTree = ::dsrs::signature::static_names::NameTree {
                    own: &[#(#own),*],
                    flattened: &[#(#probes),*],
                };
            }
            #check
        }
    }

    fn parameters<'g>(&self, generics: &'g Generics) -> impl Iterator<Item = &'g GenericParam> {
        let mut mentioned = IdentCollector(Vec::new());
        self.fields.iter().for_each(|(field, _)| mentioned.visit_type(&field.ty));
        generics.params.iter().filter(move |parameter| match parameter {
            GenericParam::Type(ty) => mentioned.0.contains(&ty.ident),
            GenericParam::Const(constant) => mentioned.0.contains(&constant.ident),
            GenericParam::Lifetime(_) => false,
        })
    }
}

/// The name of a field without the prefix of a raw identifier.
pub(crate) fn bare(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

fn declared(parameter: &GenericParam) -> TokenStream {
    match parameter {
        GenericParam::Type(ty) => {
            let ident = &ty.ident;
            quote!(#ident)
        }
        other => quote!(#other),
    }
}

pub(crate) fn named(parameter: &GenericParam) -> TokenStream {
    match parameter {
        GenericParam::Type(ty) => {
            let ident = &ty.ident;
            quote!(#ident)
        }
        GenericParam::Const(constant) => {
            let ident = &constant.ident;
            quote!(#ident)
        }
        GenericParam::Lifetime(lifetime) => quote!(#lifetime),
    }
}

/// Every identifier that a type mentions.
struct IdentCollector(Vec<Ident>);

impl<'t> Visit<'t> for IdentCollector {
    fn visit_type(&mut self, ty: &'t Type) {
        visit::visit_type(self, ty);
    }

    fn visit_ident(&mut self, ident: &'t Ident) {
        self.0.push(ident.clone());
    }
}
