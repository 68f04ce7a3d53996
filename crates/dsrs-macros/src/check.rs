//! Reports unsupported fields at the field instead of inside an expansion.

use syn::visit::{self, Visit};
use syn::{DeriveInput, Error, Fields, FieldsNamed, Result, Type};

/// The named fields of a struct that borrows nothing.
pub(crate) fn named_fields<'d>(input: &'d DeriveInput, what: &str) -> Result<&'d FieldsNamed> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let text = format!(
            "{what} owns its values: a borrowed one cannot be sent to an LM or stored as a demo; use String, Vec or Box"
        );
        return Err(Error::new_spanned(lifetime, text));
    }
    let syn::Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            format!("{what} is a struct with named fields"),
        ));
    };
    match &data.fields {
        Fields::Named(fields) => Ok(fields),
        _ => Err(Error::new_spanned(&input.ident, format!("{what} is a struct with named fields"))),
    }
}

/// Rejects types that cannot appear in a prompt.
pub(crate) fn supported(ty: &Type) -> Result<()> {
    let mut search = UnsupportedTypeFinder { error: None };
    search.visit_type(ty);
    search.error.map_or(Ok(()), Err)
}

struct UnsupportedTypeFinder {
    error: Option<Error>,
}

impl<'t> Visit<'t> for UnsupportedTypeFinder {
    fn visit_type(&mut self, ty: &'t Type) {
        let text = match ty {
            Type::Reference(_) => "a signature owns its values; use String, Vec or Box",
            Type::Ptr(_) => "a raw pointer has no value that an LM could read or write",
            Type::BareFn(_) => "a function has no value that an LM could read or write",
            Type::TraitObject(_) => "a trait object has no fixed shape; use a struct or an enum",
            Type::ImplTrait(_) => "has no name; use a concrete type",
            Type::Slice(_) => "has no size; use Vec",
            _ => return visit::visit_type(self, ty),
        };
        self.error.get_or_insert_with(|| Error::new_spanned(ty, text));
    }
}
