//! The derives of `dsrs`. They turn one struct into the types that the engine reflects on: names,
//! order, docs and attributes are part of the Facet shapes. They know nothing of prompts.

mod attributes;
mod augmentation;
mod check;
mod condition;
mod data;
mod default;
mod derives;
mod emit;
mod mention;
mod module;
mod signature;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a signature of a struct: see `dsrs::signature::Signature`.
///
/// Every field is `#[input]` or `#[output]`; doc comments are the instructions and descriptions.
/// `#[input(flatten)]` and `#[output(flatten)]` replace the field by the fields of its struct. Further
/// attributes of a field: `#[alias = "…"]`, `#[format("json" | "yaml" | "text")]`,
/// `#[check("expression", label = "…")]`, `#[assert("expression", label = "…")]`, `#[strict]`,
/// `#[default]`, `#[default = value]` or `#[default(value)]`, and those of serde.
///
/// `#[instruction = "…"]` on the struct replaces its docs. `#[signature(derive(PartialEq))]` derives more
/// for the structs of inputs and outputs; `input(derive(…))` and `output(derive(…))` do for one of them.
#[proc_macro_derive(
    Signature,
    attributes(
        input,
        output,
        flatten,
        alias,
        format,
        check,
        assert,
        strict,
        default,
        instruction,
        signature,
        serde
    )
)]
pub fn signature(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    signature::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes an augmentation of a struct: see `dsrs::signature::Augmentation`.
///
/// For `struct Reasoning { reasoning: String }` it generates `WithReasoning<O>`, which has the fields
/// of both; `#[augment(output, prepend)]` puts the added ones first, `append` last, and
/// `derive(PartialEq)` in it derives more for the wrapper.
#[proc_macro_derive(
    Augmentation,
    attributes(augment, alias, format, check, assert, strict, default, serde)
)]
pub fn augmentation(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    augmentation::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a type of fields of a struct or an enum: see `dsrs::Data`, which it implements. Beside it, derive
/// `Clone` and `Debug`.
///
/// Fields may have the attributes of outputs of a signature: `#[alias = "…"]`,
/// `#[check("expression", label = "…")]`, `#[assert("expression", label = "…")]`, `#[strict]`, `#[flatten]`,
/// `#[default]`, `#[default = value]` or `#[default(value)]`; variants may have `#[alias = "…"]`. Doc comments
/// are descriptions. An enum whose variants have fields or numbers needs `#[repr(u8)]`.
#[proc_macro_derive(Data, attributes(alias, check, assert, strict, flatten, default, facet))]
pub fn data(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    data::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Facet's own derive, with the path of this crate where `#[facet(crate = …)]` names no other.
#[proc_macro_derive(Facet, attributes(facet))]
pub fn facet(input: TokenStream) -> TokenStream {
    data::with_path(parse_macro_input!(input as DeriveInput)).into()
}

/// Makes the predictors of a program findable: see `dsrs::Module`, which you implement beside it.
///
/// Every field is searched: predictors, other modules, options, lists, arrays, maps with text keys and
/// boxes of them. What is no part of a program is skipped: data, `Arc<Client>`, channels, functions. A
/// field that may hold predictors and cannot be searched is a compiler error; `#[module(skip)]` keeps a
/// field out of the search. A missing `impl Module` is one, too; a struct of predictors that is only a part of
/// modules needs none if it is marked `#[module(part)]`.
#[proc_macro_derive(Module, attributes(module))]
pub fn module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    module::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
