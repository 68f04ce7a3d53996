//! Names by their spellings. Made once for a type, so that a name in another case is found without a
//! search. Does not know what a text means.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::Name;
use super::spelling::{apart, folded, letters, split_camel_case, words};

/// The spellings of names.
#[derive(Debug)]
pub(in crate::coerce) struct NameIndex<'n> {
    names: Vec<Name<'n>>,
    spellings: Vec<&'n str>,
    forms: OnceCell<NameForms>,
}

/// The spellings in the forms that texts are compared in.
#[derive(Debug)]
pub(super) struct NameForms {
    /// Without case, as spelled; then with the words in camel case apart.
    pub(super) apart: Vec<String>,
    /// The words alone.
    pub(super) words: Vec<String>,
    letters: Vec<String>,
    by_case: HashMap<String, Vec<usize>>,
    by_letters: HashMap<String, Vec<usize>>,
    /// The position of the first spelling of the same name.
    ranks: Vec<usize>,
}

impl<'n> NameIndex<'n> {
    pub(in crate::coerce) fn of(names: impl Iterator<Item = Name<'n>>) -> Self {
        let names: Vec<Name<'n>> = names.collect();
        let spellings = names.iter().map(|name| name.spelling).collect();
        Self { names, spellings, forms: OnceCell::new() }
    }

    /// How many spellings there are.
    pub(super) const fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<Name<'n>> {
        self.names.get(index).copied()
    }

    pub(super) fn spellings(&self) -> &[&'n str] {
        &self.spellings
    }

    /// The position of a name among the names.
    pub(super) fn rank(&self, index: usize) -> usize {
        self.forms().ranks.get(index).copied().unwrap_or(index)
    }

    pub(super) fn forms(&self) -> &NameForms {
        self.forms.get_or_init(|| NameForms::of(&self.names))
    }

    pub(super) fn ignoring_case(&self, text: &str) -> Vec<Name<'n>> {
        self.names_at(self.forms().by_case.get(&folded(text.trim())))
    }

    pub(super) fn ignoring_punctuation(&self, text: &str) -> Vec<Name<'n>> {
        self.names_at(self.forms().by_letters.get(&letters(text)))
    }

    fn names_at(&self, indexes: Option<&Vec<usize>>) -> Vec<Name<'n>> {
        indexes.into_iter().flatten().filter_map(|index| self.get(*index)).collect()
    }

    /// The names whose letters have a property.
    pub(super) fn filter_by_letters(&self, has: impl Fn(&str) -> bool) -> Vec<Name<'n>> {
        let letters = self.forms().letters.iter();
        let found = self.names.iter().zip(letters).filter(|(_, letters)| has(letters));
        found.map(|(name, _)| *name).collect()
    }
}

impl NameForms {
    fn of(names: &[Name<'_>]) -> Self {
        let each = |form: &dyn Fn(&str) -> String| -> Vec<String> {
            names.iter().map(|name| form(name.spelling)).collect()
        };
        let mut apart_forms = each(&apart);
        apart_forms.extend(each(&|name| apart(&split_camel_case(name))));
        let letters = each(&letters);
        let mut by_letters = positions(letters.iter().cloned());
        by_letters.remove("");
        Self {
            apart: apart_forms,
            words: each(&words),
            by_case: positions(each(&folded).into_iter()),
            by_letters,
            letters,
            ranks: ranks(names),
        }
    }
}

/// The positions of each text, in order.
fn positions(texts: impl Iterator<Item = String>) -> HashMap<String, Vec<usize>> {
    let mut found: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, text) in texts.enumerate() {
        found.entry(text).or_default().push(index);
    }
    found
}

fn ranks(names: &[Name<'_>]) -> Vec<usize> {
    let mut firsts: HashMap<&Arc<str>, usize> = HashMap::with_capacity(names.len());
    names.iter().enumerate().map(|(index, one)| *firsts.entry(one.name).or_insert(index)).collect()
}
