//! Matches a text to one of several names: exact, in another spelling, at the start of the text, as
//! a whole word, by a part. Never selects one of two equally likely names. Does not know enums or
//! literals.

mod prose;
mod spelling;

use std::sync::Arc;

pub(super) use prose::{Mention, mentions};
pub(super) use spelling::{bare, folded, letters, opening};

use super::{Leniencies, LeniencyKind};

/// The limit of text length times number of names; a longer text is prose, not a name.
const ESSAY: usize = 4096 * 4096;

/// One spelling of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'n> {
    /// The name itself.
    pub(super) name: &'n Arc<str>,
    /// The name shown to the LM.
    pub(super) shown_name: &'n Arc<str>,
    /// A spelling: the shown name or the name itself.
    pub(super) spelling: &'n str,
}

/// Why a text matches no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameError<'n> {
    /// None is close.
    None,
    /// These are equally close, as shown to the LM.
    Tie(Vec<&'n str>),
}

type NameMatch<'n> = Result<(&'n Arc<str>, LeniencyKind), NameError<'n>>;

/// The name that equals the text.
pub(super) fn exact<'n>(text: &str, names: impl Iterator<Item = Name<'n>>) -> Option<&'n Arc<str>> {
    let mut names = names;
    names.find(|name| name.spelling == text).map(|name| name.name)
}

/// The name that a text means, with the given leniencies.
pub(super) fn near<'n>(text: &str, names: &[Name<'n>], allowed: Leniencies) -> NameMatch<'n> {
    type Way = for<'a, 'n> fn(&'a str, &'a [Name<'n>]) -> Vec<Name<'n>>;
    let ways: [(LeniencyKind, Way); 7] = [
        (LeniencyKind::Spelling, ignoring_case),
        (LeniencyKind::Spelling, ignoring_punctuation),
        (LeniencyKind::Prose, at_opening),
        (LeniencyKind::Prose, mentioned_as_spelled),
        (LeniencyKind::Prose, mentioned_as_words),
        (LeniencyKind::Part, names_containing),
        (LeniencyKind::Part, names_inside_words),
    ];
    let is_spelling = !ignoring_punctuation(text, names).is_empty();
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

/// The only name among those found; a tie if there are several. `None` if there is none.
fn only<'n>(found: &[Name<'n>]) -> Option<Result<&'n Arc<str>, NameError<'n>>> {
    let first = found.first()?;
    if found.iter().all(|other| other.name == first.name) {
        return Some(Ok(first.name));
    }
    let mut shown_name: Vec<&str> = found.iter().map(|name| name.shown_name.as_ref()).collect();
    shown_name.dedup();
    Some(Err(NameError::Tie(shown_name)))
}

fn filter_names<'n>(names: &[Name<'n>], is: impl Fn(&str) -> bool) -> Vec<Name<'n>> {
    names.iter().filter(|name| is(name.spelling)).copied().collect()
}

fn ignoring_case<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let read = folded(text.trim());
    filter_names(names, |name| folded(name) == read)
}

fn ignoring_punctuation<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let read = letters(text);
    filter_names(names, |name| !read.is_empty() && letters(name) == read)
}

fn at_opening<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let Some(opening) = opening(text) else { return Vec::new() };
    let exactly = ignoring_case(opening, names);
    if exactly.is_empty() { ignoring_punctuation(opening, names) } else { exactly }
}

fn mentioned_as_spelled<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let apart = |name: &str| spelling::apart(&spelling::split_camel_case(name));
    let spelled = names.iter().map(|name| spelling::apart(name.spelling));
    let camels = names.iter().map(|name| apart(name.spelling));
    mentioned(&spelling::apart(text), names, &spelled.chain(camels).collect::<Vec<_>>())
}

fn mentioned_as_words<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let spelled: Vec<_> = names.iter().map(|name| spelling::words(name.spelling)).collect();
    mentioned(&spelling::words(text), names, &spelled)
}

/// The names mentioned in a text. `spelled` has one or more spellings of each name, in rounds of
/// all names.
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

fn names_containing<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    let part = letters(text);
    filter_names(names, |name| !part.is_empty() && letters(name).contains(&part))
}

/// The names inside words of the text, unless a prefix inverts their meaning.
fn names_inside_words<'n>(text: &str, names: &[Name<'n>]) -> Vec<Name<'n>> {
    const TURNS: &[&str] =
        &["un", "in", "im", "ir", "il", "dis", "non", "mis", "de", "anti", "a", "not", "no"];
    if is_essay(text, names) {
        return Vec::new();
    }
    let words = spelling::words(text);
    let within = |word: &str, name: &str| {
        word != name && word.find(name).is_some_and(|start| !TURNS.contains(&&word[..start]))
    };
    filter_names(names, |name| {
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
            names.iter().map(|name| Name { name, shown_name: name, spelling: name }).collect();
        match near(text, &names, Leniencies::ALL) {
            Ok((name, kind)) => format!("{name} {}", kind.as_str()),
            Err(NameError::None) => "none".to_owned(),
            Err(NameError::Tie(shown_name)) => shown_name.join(" or "),
        }
    }

    #[test]
    fn ties_are_reported_in_the_order_of_the_names() {
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
