//! The field names of generated structs at compile time: duplicate names after flattening are a
//! compiler error instead of an error of the first call. Only the derives use this.

use std::marker::PhantomData;

/// The field names of a struct: its own, and those of flattened structs.
#[derive(Debug)]
pub struct NameTree {
    /// The names of fields that are not flattened.
    pub own: &'static [&'static str],
    /// The names of flattened structs.
    pub flattened: &'static [&'static NameTree],
}

/// A struct whose field names are known at compile time.
pub trait NamedFields {
    /// The names.
    const NAMES: NameTree;
}

/// Finds the field names of any type: those of a [`NamedFields`] type, else none.
pub struct NameProbe<T>(PhantomData<T>);

impl<T: NamedFields> NameProbe<T> {
    /// The names.
    pub const NAMES: NameTree = T::NAMES;
}

/// The fallback of [`NameProbe`] for types whose names only the shape has: they are checked when the
/// schema is built.
pub trait UnknownFields {
    /// No names.
    const NAMES: NameTree = NameTree { own: &[], flattened: &[] };
}

impl<T> UnknownFields for NameProbe<T> {}

/// Fails the compilation if a name occurs twice.
pub const fn assert_distinct(names: &NameTree) {
    let mut index = 0;
    while index < names.own.len() {
        assert!(
            count(names, names.own[index]) < 2,
            "two fields of this signature have the same name after flattening; rename one"
        );
        index += 1;
    }
    let mut inner = 0;
    while inner < names.flattened.len() {
        assert_flattened(names, names.flattened[inner]);
        inner += 1;
    }
}

const fn assert_flattened(whole: &NameTree, part: &NameTree) {
    let mut index = 0;
    while index < part.own.len() {
        assert!(
            count(whole, part.own[index]) < 2,
            "two fields of this signature have the same name after flattening; rename one"
        );
        index += 1;
    }
    let mut inner = 0;
    while inner < part.flattened.len() {
        assert_flattened(whole, part.flattened[inner]);
        inner += 1;
    }
}

const fn count(names: &NameTree, name: &str) -> usize {
    let (mut found, mut index) = (0, 0);
    while index < names.own.len() {
        if same(names.own[index], name) {
            found += 1;
        }
        index += 1;
    }
    let mut inner = 0;
    while inner < names.flattened.len() {
        found += count(names.flattened[inner], name);
        inner += 1;
    }
    found
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}
