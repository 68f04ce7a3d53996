//! `derive(Module)`: the shape of a program, which the walker reads to find its predictors. Fields that
//! are no part of the program are opaque in it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    DeriveInput, Error, Field, Fields, Generics, Ident, LitStr, Member, Result, WherePredicate,
    parse_quote,
};

use crate::attributes::find;
use crate::mention::Mentions;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(input)?;
    let mut parts = Vec::new();
    let mut problems: Option<Error> = None;
    for (index, field) in fields.iter().enumerate() {
        match Part::of(index, field, input) {
            Ok(part) => parts.push(part),
            Err(error) => match &mut problems {
                Some(known) => known.combine(error),
                None => problems = Some(error),
            },
        }
    }
    problems.map_or(Ok(()), Err)?;
    let shape = shape(input, fields, &parts);
    let checks = (!is_part(input)?).then(|| module_checks(input));
    Ok(quote!(#checks #shape))
}

/// Whether the type is a part of modules and no module itself: `#[module(part)]`.
fn is_part(input: &DeriveInput) -> Result<bool> {
    let Some(attribute) = find(&input.attrs, "module") else { return Ok(false) };
    let text =
        "mark a field #[module(skip)], and a struct that is only a part of modules #[module(part)]";
    let word: Ident = attribute.parse_args().map_err(|_| Error::new_spanned(attribute, text))?;
    if word == "part" { Ok(true) } else { Err(Error::new_spanned(attribute, text)) }
}

/// Names a missing `impl Module`, and an input or output that is not data. A type with parameters is known
/// only where it is used.
fn module_checks(input: &DeriveInput) -> TokenStream {
    if !input.generics.params.is_empty() {
        return TokenStream::new();
    }
    let ident = &input.ident;
    quote_spanned! {ident.span()=>
        const _: fn() = || {
            fn is_module<M: ::dsrs::Module>() {}
            fn is_data<T: ::dsrs::Data>() {}
            is_module::<#ident>();
            is_data::<<#ident as ::dsrs::Module>::Input>();
            is_data::<<#ident as ::dsrs::Module>::Output>();
        };
    }
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let text = "a module owns its parts; use String, Vec, Box or Arc";
        return Err(Error::new_spanned(lifetime, text));
    }
    let is_packed = |attribute: &syn::Attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        attribute.path().is_ident("repr") && text.contains("packed")
    };
    if let Some(attribute) = input.attrs.iter().find(|attribute| is_packed(attribute)) {
        return Err(Error::new_spanned(attribute, "a packed module cannot be searched"));
    }
    match &input.data {
        syn::Data::Struct(data) => Ok(&data.fields),
        _ => {
            let text = "derive(Module) is for structs; put the choice into a field, or derive \
                        dsrs::facet::Facet with #[facet(crate = dsrs::facet)] and #[repr(u8)]";
            Err(Error::new_spanned(&input.ident, text))
        }
    }
}

/// One field of a module.
struct Part<'f> {
    field: &'f Field,
    member: Member,
    /// Its step in the paths of predictors.
    name: String,
    /// The types that it mentions.
    mentions: Mentions<'f>,
    search: Search,
}

/// Whether the walker searches a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// If its type has a shape.
    IfAble,
    /// Its type must have a shape: it depends on type parameters.
    Always,
    /// Its type depends on type parameters and is shared, a function or a trait object.
    Never,
    /// The author says so.
    Skip,
}

impl<'f> Part<'f> {
    fn of(index: usize, field: &'f Field, input: &DeriveInput) -> Result<Self> {
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(syn::Index { index: index as u32, span: field.span() }),
        };
        let name = member.to_token_stream().to_string();
        let name = name.strip_prefix("r#").map(str::to_owned).unwrap_or(name);
        let mentions = Mentions::of(&field.ty, &input.generics);
        let search = match (is_skipped(field)?, mentions.parameters.is_empty()) {
            (true, _) => Search::Skip,
            (false, true) => Search::IfAble,
            (false, false) if mentions.is_shared => Search::Never,
            (false, false) => Search::Always,
        };
        Ok(Self { field, member, name, mentions, search })
    }

    /// What the type parameters must be for the walker to search the field. A bound on a type that
    /// contains the module itself would need itself.
    fn bounds(&self, module: &Ident) -> Vec<WherePredicate> {
        if self.search != Search::Always {
            return Vec::new();
        }
        let bound = |ty: &dyn ToTokens, span: Span| {
            let searchable = quote_spanned!(span=> ::dsrs::module::Searchable);
            parse_quote!(#ty: #searchable)
        };
        if self.mentions.idents.iter().any(|ident| *ident == module || *ident == "Self") {
            let parameters = self.mentions.parameters.iter();
            return parameters.map(|parameter| bound(parameter, parameter.span())).collect();
        }
        vec![bound(&self.field.ty, self.field.ty.span())]
    }

    /// The `facet::Field`.
    fn entry(&self) -> TokenStream {
        let (ty, member, name) = (&self.field.ty, &self.member, &self.name);
        let shape = match self.search {
            Search::IfAble | Search::Always => quote!(::dsrs::module::shape::Probe::<#ty>::SHAPE),
            Search::Never | Search::Skip => quote!(::core::option::Option::None),
        };
        quote! {
            ::dsrs::module::shape::field::<#ty>(#name, ::core::mem::offset_of!(Self, #member), #shape)
        }
    }

    /// Fails the compilation if a predictor would be lost.
    fn checks(&self, module: &Ident) -> TokenStream {
        if self.search == Search::Skip {
            return TokenStream::new();
        }
        let mut out = TokenStream::new();
        for ty in &self.mentions.shared {
            let text =
                self.text(module, "shares a module, which cannot be tuned then; own it instead");
            out.extend(quote_spanned! {ty.span()=>
                assert!(!::dsrs::module::shape::Probe::<#ty>::IS_MODULE, #text);
            });
        }
        let unsearched = self.unsearched(module);
        let whole = &self.field.ty;
        match self.search {
            Search::IfAble => out.extend(quote! {
                if ::dsrs::module::shape::Probe::<#whole>::SHAPE.is_none() { #unsearched }
            }),
            Search::Never => out.extend(unsearched),
            Search::Always | Search::Skip => {}
        }
        out
    }

    /// The checks of a field that the walker does not search.
    fn unsearched(&self, module: &Ident) -> TokenStream {
        let holds = self
            .text(module, "holds a module that cannot be searched; add #[derive(Module)] to it");
        let may_hold = self.text(
            module,
            "may hold predictors and cannot be searched; add #[derive(Module)] to its type",
        );
        let mut out = TokenStream::new();
        for ty in &self.mentions.types {
            out.extend(quote_spanned! {ty.span()=>
                assert!(!::dsrs::module::shape::Probe::<#ty>::IS_MODULE, #holds);
            });
        }
        let whole_types = (self.search == Search::IfAble).then_some(&self.mentions.types);
        for ty in whole_types.into_iter().flatten() {
            out.extend(quote_spanned! {ty.span()=>
                assert!(::dsrs::module::shape::Probe::<#ty>::IS_UNPIN, #may_hold);
            });
        }
        out
    }

    fn text(&self, module: &Ident, problem: &str) -> LitStr {
        let way_out = "or mark the field #[module(skip)] if it is no part of the program";
        let text = format!("the field `{}` of `{module}` {problem}, {way_out}", self.name);
        LitStr::new(&text, self.field.span())
    }
}

fn is_skipped(field: &Field) -> Result<bool> {
    let Some(attribute) = find(&field.attrs, "module") else { return Ok(false) };
    let text = "write #[module(skip)]";
    let word: Ident = attribute.parse_args().map_err(|_| Error::new_spanned(attribute, text))?;
    if word == "skip" { Ok(true) } else { Err(Error::new_spanned(word, text)) }
}

fn shape(input: &DeriveInput, fields: &Fields, parts: &[Part<'_>]) -> TokenStream {
    let (ident, name) = (&input.ident, input.ident.to_string());
    let kind = match fields {
        Fields::Named(_) => quote!(Struct),
        Fields::Unnamed(_) => quote!(TupleStruct),
        Fields::Unit => quote!(Unit),
    };
    let generics = bounded(&input.generics, ident, parts);
    let (implementing, _, clause) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    let entries = parts.iter().map(Part::entry);
    let checks = parts.iter().map(|part| part.checks(ident));
    quote! {
        // SAFETY: the offsets are those of the compiler, each with the shape of its field's own type
        // or with none.
        #[automatically_derived]
        unsafe impl #implementing ::dsrs::facet::Facet<'__facet> for #ident #arguments #clause {
            const SHAPE: &'static ::dsrs::facet::Shape = &const {
                #[allow(unused_imports)]
                use ::dsrs::module::shape::Unknown as _;
                #(#checks)*
                ::dsrs::module::shape::of::<Self>(
                    #name,
                    ::dsrs::facet::StructKind::#kind,
                    &const { [#(#entries),*] },
                )
            };
        }
    }
}

fn bounded(generics: &Generics, module: &Ident, parts: &[Part<'_>]) -> Generics {
    let mut generics = generics.clone();
    generics.type_params_mut().for_each(|ty| ty.bounds.push(parse_quote!('static)));
    let bounds = parts.iter().flat_map(|part| part.bounds(module));
    generics.make_where_clause().predicates.extend(bounds);
    generics.params.insert(0, parse_quote!('__facet));
    generics
}
