//! What the type of a field mentions, as far as its text says.

use syn::visit::{self, Visit};
use syn::{GenericParam, Generics, Ident, Type};

/// Types that share or lock what is in them, or hold none of it.
const SHARED: [&str; 21] = [
    "Arc",
    "Rc",
    "Weak",
    "Mutex",
    "RwLock",
    "RefCell",
    "Cell",
    "OnceCell",
    "OnceLock",
    "LazyCell",
    "LazyLock",
    "Lazy",
    "ArcSwap",
    "PhantomData",
    "Sender",
    "Receiver",
    "SyncSender",
    "UnboundedSender",
    "UnboundedReceiver",
    "WeakSender",
    "JoinHandle",
];

/// What a type mentions.
pub(crate) struct Mentions<'t> {
    /// The type itself and every sized type in it, but not those of functions and trait objects.
    pub(crate) types: Vec<&'t Type>,
    /// Those within a shared one.
    pub(crate) shared: Vec<&'t Type>,
    /// Every identifier.
    pub(crate) idents: Vec<&'t Ident>,
    /// The type parameters among them.
    pub(crate) parameters: Vec<&'t Ident>,
    /// Whether any part of it is shared, a function or a trait object.
    pub(crate) is_shared: bool,
    /// How many shared types are around the current one.
    depth: usize,
}

impl<'t> Mentions<'t> {
    pub(crate) fn of(ty: &'t Type, generics: &Generics) -> Self {
        let mut found = Self {
            types: Vec::new(),
            shared: Vec::new(),
            idents: Vec::new(),
            parameters: Vec::new(),
            is_shared: false,
            depth: 0,
        };
        found.visit_type(ty);
        let is_parameter = |ident: &&Ident| {
            let mut types = generics.params.iter();
            types.any(|known| matches!(known, GenericParam::Type(known) if known.ident == **ident))
        };
        found.parameters = found.idents.iter().copied().filter(is_parameter).collect();
        found
    }

    /// Only the identifiers of a type without own values.
    fn idents_of(&mut self, visit: impl FnOnce(&mut Self)) {
        self.is_shared = true;
        let (types, shared) = (self.types.len(), self.shared.len());
        visit(self);
        self.types.truncate(types);
        self.shared.truncate(shared);
    }
}

impl<'t> Visit<'t> for Mentions<'t> {
    fn visit_type(&mut self, ty: &'t Type) {
        match ty {
            Type::BareFn(_) | Type::TraitObject(_) | Type::Reference(_) | Type::Ptr(_) => {
                self.idents_of(|found| visit::visit_type(found, ty));
            }
            _ => {
                self.types.push(ty);
                if self.depth > 0 {
                    self.shared.push(ty);
                }
                visit::visit_type(self, ty);
            }
        }
    }

    fn visit_path_segment(&mut self, segment: &'t syn::PathSegment) {
        let shares = SHARED.iter().any(|name| segment.ident == name);
        self.is_shared |= shares;
        self.depth += usize::from(shares);
        visit::visit_path_segment(self, segment);
        self.depth -= usize::from(shares);
    }

    fn visit_ident(&mut self, ident: &'t Ident) {
        self.idents.push(ident);
    }
}
