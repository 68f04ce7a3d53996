//! The derives of `dsrs`. They turn one struct into the types that the engine reflects on and know
//! nothing of prompts: names, order, docs and attributes travel in Facet shapes.

mod attributes;
mod augmentation;
mod check;
mod emit;
mod signature;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a signature of a struct: see `dsrs::signature::Signature`.
///
/// Every field is `#[input]` or `#[output]`; doc comments are the instructions and descriptions.
/// `#[input(flatten)]` and `#[output(flatten)]` put the fields of a struct in the place of the
/// field. Further attributes of a field: `#[alias = "…"]`, `#[format("json" | "yaml" | "text")]`,
/// `#[check("expression", label = "…")]`, `#[assert("expression", label = "…")]`, `#[strict]`,
/// `#[default]` or `#[default = value]`. `#[instruction = "…"]` on the struct stands over its docs.
#[proc_macro_derive(
    Signature,
    attributes(input, output, flatten, alias, format, check, assert, strict, default, instruction)
)]
pub fn signature(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    signature::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes an augmentation of a struct: see `dsrs::signature::Augmentation`.
///
/// For `struct Reasoning { reasoning: String }` it writes `WithReasoning<O>`, which holds the
/// fields beside those of `O`; `#[augment(output, prepend)]` puts them before, `append` behind.
#[proc_macro_derive(
    Augmentation,
    attributes(augment, alias, format, check, assert, strict, default)
)]
pub fn augmentation(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    augmentation::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
