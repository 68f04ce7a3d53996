//! `derive(Signature)`: the input and output structs, the trait, and a shape for the marker itself.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Generics, Result, parse_quote};

use crate::attributes::{Side, docs, find, side, text};
use crate::check;
use crate::default::DefaultValue;
use crate::derives::SignatureDerives;
use crate::emit::{EmittedStruct, bare};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (inputs, outputs) = sides(input)?;
    if outputs.fields.is_empty() {
        let message = "a signature has at least one output: mark a field with #[output]";
        return Err(Error::new_spanned(&input.ident, message));
    }
    let structs = [&inputs, &outputs].map(|side| side.item(&input.vis, &input.generics));
    let [input_item, output_item] = structs;
    let (input_item, output_item) = (input_item?, output_item?);
    let parts = [input_item, output_item, marker(input), implementation(input, &inputs, &outputs)?];
    let parts = parts.into_iter().chain([conversion(input, &inputs, &outputs)]);
    Ok(parts.collect())
}

fn sides(input: &DeriveInput) -> Result<(EmittedStruct<'_>, EmittedStruct<'_>)> {
    let fields = check::named_fields(input, "a signature")?;
    let of = |name: &str, what: &str, derives: Vec<syn::Path>| EmittedStruct {
        ident: format_ident!("{}{name}", input.ident),
        docs: format!("The {what} of [`{}`].", input.ident),
        fields: Vec::new(),
        derives,
    };
    let derives = SignatureDerives::of(&input.attrs)?;
    let mut inputs = of("Input", "inputs", derives.input);
    let mut outputs = of("Output", "outputs", derives.output);
    let mut problems: Option<Error> = None;
    for field in &fields.named {
        let found = check::supported(&field.ty).and_then(|()| side(field));
        match found {
            Ok((Side::Input, flatten)) => inputs.fields.push((field, flatten)),
            Ok((Side::Output, flatten)) => outputs.fields.push((field, flatten)),
            Err(error) => match &mut problems {
                Some(known) => known.combine(error),
                None => problems = Some(error),
            },
        }
    }
    problems.map_or(Ok((inputs, outputs)), Err)
}

/// A signature type is never constructed. Modules that are generic over it are reflected on, so it
/// needs a shape: an opaque one.
fn marker(input: &DeriveInput) -> TokenStream {
    let (ident, name) = (&input.ident, input.ident.to_string());
    let mut generics = input.generics.clone();
    generics.type_params_mut().for_each(|ty| ty.bounds.push(parse_quote!('static)));
    generics.params.insert(0, parse_quote!('__facet));
    let (implementing, _, clause) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    quote! {
        // SAFETY: an opaque shape promises nothing but the size and alignment of the type.
        #[automatically_derived]
        unsafe impl #implementing ::dsrs::facet::Facet<'__facet> for #ident #arguments #clause {
            const SHAPE: &'static ::dsrs::facet::Shape = &const {
                ::dsrs::facet::ShapeBuilder::for_sized::<Self>(#name)
                    .ty(::dsrs::facet::Type::User(::dsrs::facet::UserType::Opaque))
                    .def(::dsrs::facet::Def::Undefined)
                    .build()
            };
        }
    }
}

fn implementation(
    input: &DeriveInput,
    inputs: &EmittedStruct<'_>,
    outputs: &EmittedStruct<'_>,
) -> Result<TokenStream> {
    let ident = &input.ident;
    let instructions = match find(&input.attrs, "instruction") {
        Some(attribute) => text(attribute)?.value(),
        None => docs(&input.attrs),
    };
    let default_checks = default_checks(inputs, outputs)?;
    let generics = bounded(&input.generics);
    let (implementing, arguments, clause) = generics.split_for_impl();
    let (input_ty, output_ty) = (inputs.ty(&input.generics), outputs.ty(&input.generics));
    Ok(quote! {
        impl #implementing ::dsrs::signature::Signature for #ident #arguments #clause {
            type Input = #input_ty;
            type Output = #output_ty;

            fn instructions() -> &'static str {
                #instructions
            }

            #default_checks
        }
    })
}

/// The check of the defaults that may not fit their types. Without any, the method of the trait is used.
fn default_checks(
    inputs: &EmittedStruct<'_>,
    outputs: &EmittedStruct<'_>,
) -> Result<Option<TokenStream>> {
    let mut each = Vec::new();
    for (field, _) in inputs.fields.iter().chain(outputs.fields.iter()) {
        let Some(attribute) = find(&field.attrs, "default") else { continue };
        if let DefaultValue::Data(data) = DefaultValue::of(attribute, field)? {
            let (ty, name) = (&field.ty, field.ident.as_ref().map(bare));
            each.push(quote! { ::dsrs::signature::check_default::<#ty>(#name, &#data)?; });
        }
    }
    Ok((!each.is_empty()).then(|| {
        quote! {
            fn check_defaults() -> ::core::result::Result<(), ::dsrs::reflect::ReflectError> {
                #(#each)*
                ::core::result::Result::Ok(())
            }
        }
    }))
}

/// Every type parameter can appear in a prompt, so it must be data.
fn bounded(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for ty in generics.type_params_mut() {
        ty.bounds.push(parse_quote!(::dsrs::signature::Data));
    }
    generics
}

/// Conversions between the derived struct and its inputs and outputs.
fn conversion(
    input: &DeriveInput,
    inputs: &EmittedStruct<'_>,
    outputs: &EmittedStruct<'_>,
) -> TokenStream {
    let ident = &input.ident;
    let (implementing, arguments, clause) = input.generics.split_for_impl();
    let (input_ty, output_ty) = (inputs.ty(&input.generics), outputs.ty(&input.generics));
    let (input_ident, output_ident) = (&inputs.ident, &outputs.ident);
    let names = |side: &EmittedStruct<'_>| -> Vec<_> {
        side.fields.iter().filter_map(|(field, _)| field.ident.clone()).collect()
    };
    let (ins, outs) = (names(inputs), names(outputs));
    quote! {
        #[allow(dead_code)]
        impl #implementing #ident #arguments #clause {
            /// Splits into inputs and outputs.
            pub fn into_parts(self) -> (#input_ty, #output_ty) {
                (#input_ident { #(#ins: self.#ins),* }, #output_ident { #(#outs: self.#outs),* })
            }

            /// Combines inputs and outputs.
            pub fn from_parts(input: #input_ty, output: #output_ty) -> Self {
                Self { #(#ins: input.#ins,)* #(#outs: output.#outs,)* }
            }
        }
    }
}
