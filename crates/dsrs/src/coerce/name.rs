//! Which of several names a text means: spelled exactly, spelled otherwise, opening the text, as a
//! whole word in it, by a part. Never one of two that are equally likely. Knows nothing of enums
//! and literals.

mod prose;
mod spelling;

use std::sync::Arc;

pub(super) use prose::{Mention, mentions};
pub(super) use spelling::{bare, folded, letters, opening};

use super::{Leniencies, LeniencyKind};

/// How long a text may be, times the names that are looked for in it, before it is no answer but an
/// essay.
const ESSAY: usize = 4096 * 4096;

/// One spelling of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'n> {
    /// The name that is meant.
    pub(super) name: &'n Arc<str>,
    /// The name as it was told to the LM.
    pub(super) told: &'n Arc<str>,
    /// A way to spell it: what was told, or the name itself.
    pub(super) spelling: &'n str,
}

/// Why a text names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameError<'n> {
    /// None is near.
    None,
    /// These are equally near, as they were told.
    Tie(Vec<&'n str>),
}

type Named<'n> = Result<(&'n Arc<str>, LeniencyKind), NameError<'n>>;

/// The name that a text spells exactly.
pub(super) fn exact<'n>(text: &str, names: impl Iterator<Item = Name<'n>>) -> Option<&'n Arc<str>> {
    let mut names = names;
    names.find(|name| name.spelling == text).map(|name| name.name)
}

/// The name that a text means by a leniency that is allowed.
pub(super) fn near<'n>(text: &str, names: &[Name<'n>], allowed: Leniencies) -> Named<'n> {
    type Way = for<'a, 'n> fn(&'a str, &'a [Name<'n>]) -> Vec<Name<'n>>;
    let ways: [(LeniencyKind, Way); 7] = [
        (LeniencyKind::Spelling, but_for_case),
        (LeniencyKind::Spelling, but_for_punctuation),
        (LeniencyKind::Prose, at_the_opening),
        (LeniencyKind::Prose, as_they_are_in_prose),
        (LeniencyKind::Prose, as_words_in_prose),
        (LeniencyKind::Part, of_which_it_is_a_part),
        (LeniencyKind::Part, that_are_part_of_it),
    ];
    let is_spelling = !but_for_punctuation(text, names).is_empty();
    if is_spelling && !allowed.has(LeniencyKind::Spelling) {
        return Err(NameError::None);
    }
    for (kind, way) in ways.into_iter().filter(|(kind, _)| allowed.has(*kind)) {
        if let Some(found) = only(&way(text, names)) {
            return found.map(|name| (name, kind));
        }
    }
    Err(NameError::None)
}

/// The only name of those found; a tie when there are several; `None` when there is none.
fn only<'n>(found: &[Name<'n>]) -> Option<Result<&'n Arc<str>, NameError<'n>>> {
    let first = found.first()?;
    if found.iter().all(|other| other.name == first.name) {
        return Some(Ok(first.name));
    }
    let mut told: Vec<&str> = found.iter().map(|name| name.told.as_ref()).collect();
    told.dedup();
    Some(Err(NameError::Tie(told)))
}

fn those<'n>(names: &[Name<'n>], is: impl Fn(&str) -> bool) -> Vec<Name<'n>> {
    names.iter().filter(|name| is(name.spelling)).copied().collect()
}

fn but_for_case<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let read = folded(text.trim());
    those(names, |name| folded(name) == read)
}

fn but_for_punctuation<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let read = letters(text);
    those(names, |name| !read.is_empty() && letters(name) == read)
}

fn at_the_opening<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let Some(opening) = opening(text) else { return Vec::new() };
    let exactly = but_for_case(opening, names);
    if exactly.is_empty() { but_for_punctuation(opening, names) } else { exactly }
}

fn as_they_are_in_prose<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let apart = |name: &str| spelling::apart(&spelling::camel_apart(name));
    let spelled = names.iter().map(|name| spelling::apart(name.spelling));
    let camels = names.iter().map(|name| apart(name.spelling));
    mentioned(&spelling::apart(text), names, &spelled.chain(camels).collect::<Vec<_>>())
}

fn as_words_in_prose<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let spelled: Vec<_> = names.iter().map(|name| spelling::words(name.spelling)).collect();
    mentioned(&spelling::words(text), names, &spelled)
}

/// The names that a text mentions, given one or more spellings of all of them, one after the other.
fn mentioned<'n>(text: &str, names: &[Name<'n>], spelled: &[String]) -> Vec<Name<'n>> {
    if names.is_empty() || is_essay(text, names) {
        return Vec::new();
    }
    let mentions = mentions(text, spelled);
    let meant = mentions.iter().filter(|mention| !mention.denied);
    let mut found: Vec<Name<'n>> =
        meant.filter_map(|mention| names.get(mention.name % names.len())).copied().collect();
    found.sort_by_key(|found| names.iter().position(|name| name.name == found.name));
    found
}

const fn is_essay(text: &str, names: &[Name<'_>]) -> bool {
    text.len().saturating_mul(names.len()) > ESSAY
}

fn of_which_it_is_a_part<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let part = letters(text);
    those(names, |name| !part.is_empty() && letters(name).contains(&part))
}

/// The names that stand in a word of the text, unless what stands before them turns their meaning.
fn that_are_part_of_it<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    const TURNS: &[&str] =
        &["un", "in", "im", "ir", "il", "dis", "non", "mis", "de", "anti", "a", "not", "no"];
    if is_essay(text, names) {
        return Vec::new();
    }
    let words = spelling::words(text);
    let within = |word: &str, name: &str| {
        word != name && word.find(name).is_some_and(|start| !TURNS.contains(&&word[..start]))
    };
    those(names, |name| {
        let name = letters(name);
        name.len() > 2 && words.split(' ').any(|word| within(word, &name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, names: &[&str]) -> String {
        let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
        let names: Vec<Name<'_>> =
            names.iter().map(|name| Name { name, told: name, spelling: name }).collect();
        match near(text, &names, Leniencies::ALL) {
            Ok((name, kind)) => format!("{name} {}", kind.as_str()),
            Err(NameError::None) => "none".to_owned(),
            Err(NameError::Tie(told)) => told.join(" or "),
        }
    }

    #[test]
    fn a_tie_is_told_in_the_order_of_the_names() {
        assert_eq!(read("b or a", &["a", "b"]), "a or b");
        assert_eq!(read("c# or c++", &["c++", "c#", "c"]), "c++ or c#");
        assert_eq!(read("i use c++ daily", &["c++", "c#"]), "c++ prose");
    }

    #[test]
    fn names_without_letters_are_only_ever_exact() {
        assert_eq!(read("is it + or -?", &["+", "-"]), "+ or -");
        assert_eq!(read("", &["+", "-"]), "none");
        assert_eq!(read("...", &["+", "a"]), "none");
    }

    #[test]
    fn denial_reaches_three_words_and_ends_with_its_clause() {
        assert_eq!(read("it isn't a billing matter", &["billing"]), "none");
        assert_eq!(read("not sales, billing", &["billing", "sales"]), "billing prose");
        assert_eq!(read("no, it is really about billing", &["billing"]), "billing prose");
    }
}
