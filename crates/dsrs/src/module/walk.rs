//! The walker: finds every predictor in a module by reflection. Paths are the same on every walk.
//! It searches structs, options, lists, arrays, maps with text keys and boxes. Anything else that
//! may contain a predictor is an error; nothing is skipped silently.

use std::collections::{HashMap, HashSet};

use facet::{ConstTypeId, Def, Facet, Field, KnownPointer, Shape, Type as Kind, UserType};
use facet_reflect::Peek;

use super::path::PathText;
use crate::attrs::{self, Attr};
use crate::predict::{DynPredictor, PredictAccessorFns};

/// A module that cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: `{ty}` {reason}")]
pub struct WalkError {
    /// The path of the value that cannot be searched.
    pub path: String,
    /// Its Rust type.
    pub ty: String,
    /// Why, and how to fix it.
    pub reason: &'static str,
}

const TRAIT_OBJECT: &str =
    "is a module that only exists at run time; put it into a graph as a node instead";
const OPAQUE: &str = "is opaque; mark the field `#[module(skip)]` if it contains no predictor";
const CONTAINER: &str = "may contain predictors and cannot be searched; use a struct, Option, Vec, array, Box, or a map with String keys, or mark the field `#[module(skip)]`";
const KEYS: &str = "has keys that are not String, so its predictors have no path";
const ACCESSOR: &str = "is marked as a predictor and its accessor is missing, of another type, or of another version of dsrs";
const REFLECTION: &str = "cannot be read by reflection";

/// Every predictor of a module with its path, in the order of the struct. A module that is a
/// predictor itself has the empty path.
///
/// # Errors
/// The first value that cannot be searched, with its path.
pub fn named_predictors<M: Facet<'static>>(
    root: &M,
) -> Result<Vec<(String, &dyn DynPredictor)>, WalkError> {
    let found = leaves(Peek::new(root))?;
    #[allow(unsafe_code)]
    let shared = found.into_iter().map(|leaf| {
        // SAFETY: the accessor comes from the shape of the value at `place` and is for that type
        // (see `Walk::accessor`). `root` owns the value and is borrowed for the lifetime of the
        // handles; a shared borrow of `root` rules out changes.
        let handle = unsafe { &*leaf.accessor.handle(leaf.place) };
        (leaf.path, handle)
    });
    Ok(shared.collect())
}

/// Like [`named_predictors`], with mutable handles.
///
/// # Errors
/// As [`named_predictors`].
pub fn named_predictors_mut<M: Facet<'static>>(
    root: &mut M,
) -> Result<Vec<(String, &mut dyn DynPredictor)>, WalkError> {
    let found = leaves(Peek::new(&*root))?;
    #[allow(unsafe_code)]
    let exclusive = found.into_iter().map(|leaf| {
        // SAFETY: the accessor is for the type at `place`, as above. `root` is borrowed exclusively
        // for the lifetime of the handles. It owns every place through fields, options, lists, maps
        // and boxes only: shared pointers are refused, never followed, so no two places are the
        // same and nothing else points to them. A predictor keeps its content in an `UnsafeCell`,
        // so a pointer from the shared walk may be used to change it. The walk is over: none of its
        // references is alive.
        let handle = unsafe { &mut *leaf.accessor.handle_mut(leaf.place) };
        (leaf.path, handle)
    });
    Ok(exclusive.collect())
}

/// A predictor and its path.
struct FoundPredictor {
    path: String,
    place: *const (),
    accessor: PredictAccessorFns,
}

fn leaves(root: Peek<'_, 'static>) -> Result<Vec<FoundPredictor>, WalkError> {
    let mut walk = Walk::default();
    walk.visit(root)?;
    Ok(walk.predictors)
}

#[derive(Default)]
struct Walk {
    path: PathText,
    predictors: Vec<FoundPredictor>,
    /// Whether a type may contain predictors, cached during the walk.
    holds: HashMap<ConstTypeId, bool>,
}

impl Walk {
    fn visit(&mut self, value: Peek<'_, 'static>) -> Result<(), WalkError> {
        let shape = value.shape();
        if let Some(accessor) = self.accessor(shape)? {
            let place = value.data().as_byte_ptr().cast::<()>();
            self.predictors.push(FoundPredictor {
                path: self.path.as_str().to_owned(),
                place,
                accessor,
            });
            return Ok(());
        }
        if attrs::of_shape(shape).any(|attribute| attribute == Attr::DynModule) {
            return Err(self.error(shape, TRAIT_OBJECT));
        }
        if !self.may_hold(shape) {
            return Ok(());
        }
        match shape.def {
            Def::Option(_) => {
                let option = value.into_option().map_err(|_| self.error(shape, REFLECTION))?;
                option.value().map_or(Ok(()), |inner| self.visit(inner))
            }
            Def::List(_) | Def::Array(_) => self.elements(value),
            Def::Map(map) if map.k().is_type::<String>() => self.entries(value),
            Def::Map(_) => Err(self.error(shape, KEYS)),
            Def::Pointer(pointer) if pointer.known == Some(KnownPointer::Box) => {
                let inner = value.into_pointer().ok().and_then(|pointer| pointer.borrow_inner());
                let inner = inner.ok_or_else(|| self.error(shape, REFLECTION))?;
                self.visit(inner)
            }
            Def::Scalar | Def::Undefined => self.user_type(value),
            _ => Err(self.error(shape, CONTAINER)),
        }
    }

    /// The accessor of a predictor type. `None` for any other type.
    fn accessor(&self, shape: &'static Shape) -> Result<Option<PredictAccessorFns>, WalkError> {
        let own = || shape.attributes.iter().filter(|attribute| attribute.ns == Some("dsrs"));
        let marked = own().any(|attribute| matches!(attribute.key, "parameter" | "accessor"));
        let decoded = own()
            .find(|attribute| attribute.key == "accessor")
            .and_then(|attribute| attribute.get_as::<PredictAccessorFns>().copied())
            .filter(|accessor| accessor.is_for(shape));
        match decoded {
            None if marked => Err(self.error(shape, ACCESSOR)),
            found => Ok(found),
        }
    }

    fn elements(&mut self, value: Peek<'_, 'static>) -> Result<(), WalkError> {
        let shape = value.shape();
        let list = value.into_list_like().map_err(|_| self.error(shape, REFLECTION))?;
        for (index, element) in list.iter().enumerate() {
            let mark = self.path.mark();
            self.path.index(index);
            self.visit(element)?;
            self.path.back_to(mark);
        }
        Ok(())
    }

    fn entries(&mut self, value: Peek<'_, 'static>) -> Result<(), WalkError> {
        let shape = value.shape();
        let map = value.into_map().map_err(|_| self.error(shape, REFLECTION))?;
        let mut entries = Vec::with_capacity(map.len());
        for (key, entry) in map.iter() {
            entries.push((key.as_str().ok_or_else(|| self.error(shape, KEYS))?, entry));
        }
        // A hash map has no stable order; the bytes of its keys do.
        entries.sort_unstable_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
        for (key, entry) in entries {
            let mark = self.path.mark();
            self.path.key(key);
            self.visit(entry)?;
            self.path.back_to(mark);
        }
        Ok(())
    }

    fn user_type(&mut self, value: Peek<'_, 'static>) -> Result<(), WalkError> {
        let shape = value.shape();
        match shape.ty {
            Kind::User(UserType::Struct(found)) => {
                let held = value.into_struct().map_err(|_| self.error(shape, REFLECTION))?;
                self.fields(shape, found.fields, |index| held.field(index).ok())
            }
            Kind::User(UserType::Enum(_)) => {
                let held = value.into_enum().map_err(|_| self.error(shape, REFLECTION))?;
                let variant = held.active_variant().map_err(|_| self.error(shape, REFLECTION))?;
                self.fields(shape, variant.data.fields, |index| held.field(index).ok().flatten())
            }
            _ => Err(self.error(shape, OPAQUE)),
        }
    }

    fn fields<'m>(
        &mut self,
        owner: &'static Shape,
        fields: &'static [Field],
        value: impl Fn(usize) -> Option<Peek<'m, 'static>>,
    ) -> Result<(), WalkError> {
        for (index, field) in fields.iter().enumerate().filter(|(_, field)| !is_skipped(field)) {
            let mark = self.path.mark();
            self.path.field(field.name);
            if field.has_builtin_attr("opaque") {
                return Err(self.error(field.shape(), OPAQUE));
            }
            let held = value(index).ok_or_else(|| self.error(owner, REFLECTION))?;
            self.visit(held)?;
            self.path.back_to(mark);
        }
        Ok(())
    }

    /// Whether a value of this type may contain a predictor or something that must be refused.
    fn may_hold(&mut self, shape: &'static Shape) -> bool {
        if let Some(known) = self.holds.get(&shape.id) {
            return *known;
        }
        let mut search = TypeSearch { known: &self.holds, seen: HashSet::new() };
        let holds = search.finds(shape);
        let seen = search.seen;
        self.holds.insert(shape.id, holds);
        if !holds {
            // Without a match, every type below was searched completely. After a match, types
            // inside a cycle may be unfinished; they are searched again on demand.
            self.holds.extend(seen.into_iter().map(|id| (id, false)));
        }
        holds
    }

    fn error(&self, shape: &'static Shape, reason: &'static str) -> WalkError {
        WalkError { path: self.path.as_str().to_owned(), ty: shape.to_string(), reason }
    }
}

/// A search through a type and the types in it, which may form cycles.
struct TypeSearch<'w> {
    known: &'w HashMap<ConstTypeId, bool>,
    seen: HashSet<ConstTypeId>,
}

impl TypeSearch<'_> {
    fn finds(&mut self, shape: &'static Shape) -> bool {
        if let Some(known) = self.known.get(&shape.id) {
            return *known;
        }
        if !self.seen.insert(shape.id) || attrs::of_shape(shape).any(|found| found == Attr::Skip) {
            return false;
        }
        let is_marked = |found| matches!(found, Attr::Parameter | Attr::DynModule);
        attrs::of_shape(shape).any(is_marked) || self.finds_inside(shape)
    }

    fn finds_inside(&mut self, shape: &'static Shape) -> bool {
        match shape.def {
            Def::Option(option) => self.finds(option.t()),
            Def::List(list) => self.finds(list.t()),
            Def::Array(array) => self.finds(array.t()),
            Def::Slice(slice) => self.finds(slice.t()),
            Def::Set(set) => self.finds(set.t()),
            Def::Map(map) => self.finds(map.k()) || self.finds(map.v()),
            Def::Result(result) => self.finds(result.t()) || self.finds(result.e()),
            Def::Pointer(pointer) => pointer.pointee().is_some_and(|inner| self.finds(inner)),
            Def::Scalar => false,
            _ => match shape.ty {
                Kind::User(UserType::Struct(found)) => self.finds_in_field(found.fields),
                Kind::User(UserType::Enum(found)) => {
                    found.variants.iter().any(|variant| self.finds_in_field(variant.data.fields))
                }
                Kind::User(UserType::Opaque) => true,
                _ => false,
            },
        }
    }

    fn finds_in_field(&mut self, fields: &'static [Field]) -> bool {
        let mut searched = fields.iter().filter(|field| !is_skipped(field));
        searched.any(|field| field.has_builtin_attr("opaque") || self.finds(field.shape()))
    }
}

fn is_skipped(field: &'static Field) -> bool {
    attrs::of_field(field).any(|attribute| attribute == Attr::Skip)
}
