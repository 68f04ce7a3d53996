//! Matches a text to one of several names: exact, in another spelling, at the start of the text, as
//! a whole word, by a part. Never selects one of two equally likely names. Does not know enums or
//! literals.

mod index;
mod prose;
mod spelling;

use std::sync::Arc;

pub(super) use index::NameIndex;
pub(super) use prose::{Mention, mentions};
pub(super) use spelling::{bare, folded, letters, opening};

use super::{Leniencies, LeniencyKind};

/// The limit of text length times number of names; a longer text is prose, not a name.
const ESSAY: usize = 4096 * 4096;

/// How many bytes of a text are compared with a name at the cost of one comparison.
const BYTES_A_COMPARISON: usize = 32;

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
    /// The comparisons that are left do not suffice to find out.
    Stopped,
}

/// A name and the leniencies needed to find it.
type NameMatch<'n> = Result<(&'n Arc<str>, Leniencies), NameError<'n>>;

/// A way to find the names that a text means, all equally likely.
type NameSearch = for<'n> fn(&str, &NameIndex<'n>) -> Vec<Name<'n>>;

const SPELLING: Leniencies = Leniencies::NONE.with(LeniencyKind::Spelling);
const PROSE: Leniencies = Leniencies::NONE.with(LeniencyKind::Prose);
const PART: Leniencies = Leniencies::NONE.with(LeniencyKind::Part);

/// Finds names that the whole text or its beginning spells. Each is a look-up.
const LOOKUPS: [(Leniencies, NameSearch); 3] =
    [(SPELLING, ignoring_case), (SPELLING, ignoring_punctuation), (PROSE, at_opening)];

/// Finds names anywhere in a text. Each compares the text with every name.
const SEARCHES: [(Leniencies, NameSearch); 5] = [
    (PROSE.with(LeniencyKind::Choice), quoted_beside_others),
    (PROSE, mentioned_as_spelled),
    (PROSE, mentioned_as_words),
    (PART, names_containing),
    (PART, names_inside_words),
];

/// The name that a text means, with the given leniencies. A text that is not a name in another
/// spelling is searched for names, which takes from `comparisons`.
pub(super) fn near<'n>(
    text: &str,
    names: &NameIndex<'n>,
    allowed: Leniencies,
    comparisons: &mut usize,
) -> NameMatch<'n> {
    let is_spelling = !names.ignoring_punctuation(text).is_empty();
    if is_spelling && !allowed.has(LeniencyKind::Spelling) {
        return Err(NameError::None);
    }
    if let Some(found) = first(&LOOKUPS, text, names, allowed) {
        return found;
    }
    let needed = names.len().saturating_mul(1 + text.len() / BYTES_A_COMPARISON);
    *comparisons = comparisons.checked_sub(needed).ok_or(NameError::Stopped)?;
    first(&SEARCHES, text, names, allowed).unwrap_or(Err(NameError::None))
}

/// The result of the first way that finds a name.
fn first<'n>(
    ways: &[(Leniencies, NameSearch)],
    text: &str,
    names: &NameIndex<'n>,
    allowed: Leniencies,
) -> Option<NameMatch<'n>> {
    let mut ways = ways.iter().filter(|(used, _)| allowed.covers(*used));
    ways.find_map(|(used, way)| Some(only(&way(text, names))?.map(|name| (name, *used))))
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

fn ignoring_case<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    names.ignoring_case(text)
}

fn ignoring_punctuation<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    names.ignoring_punctuation(text)
}

fn at_opening<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    let Some(opening) = opening(text) else { return Vec::new() };
    let exactly = names.ignoring_case(opening);
    if exactly.is_empty() { names.ignoring_punctuation(opening) } else { exactly }
}

/// The only name that the text has exactly as it is spelled, if it is in quotes there and other
/// names are mentioned in another spelling: `TWO` in `"TWO" is one of them`.
fn quoted_beside_others<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    if is_essay(text, names) {
        return Vec::new();
    }
    let exact = prose::mentions(text, names.spellings());
    let exact: Vec<&Mention> = exact.iter().filter(|mention| !mention.denied).collect();
    let Some(name) = exact.first().and_then(|first| names.get(first.name)) else {
        return Vec::new();
    };
    let is_only = || {
        let mut mentioned = exact.iter().filter_map(|mention| names.get(mention.name));
        mentioned.all(|other| other.name == name.name)
    };
    let has_others = || mentioned_as_words(text, names).iter().any(|other| other.name != name.name);
    let is_quoted = exact.iter().any(|mention| prose::is_quoted(text, mention));
    if is_quoted && is_only() && has_others() { vec![name] } else { Vec::new() }
}

fn mentioned_as_spelled<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    mentioned(&spelling::apart(text), names, &names.forms().apart)
}

fn mentioned_as_words<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    mentioned(&spelling::words(text), names, &names.forms().words)
}

/// The names mentioned in a text. `spelled` has one or more spellings of each name, in rounds of
/// all names.
fn mentioned<'n>(text: &str, names: &NameIndex<'n>, spelled: &[String]) -> Vec<Name<'n>> {
    if names.len() == 0 || is_essay(text, names) {
        return Vec::new();
    }
    let mentions = mentions(text, spelled);
    let meant = mentions.iter().filter(|mention| !mention.denied);
    let mut found: Vec<usize> = meant.map(|mention| mention.name % names.len()).collect();
    found.sort_by_key(|name| names.rank(*name));
    found.into_iter().filter_map(|name| names.get(name)).collect()
}

const fn is_essay(text: &str, names: &NameIndex<'_>) -> bool {
    text.len().saturating_mul(names.len()) > ESSAY
}

fn names_containing<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    let part = letters(text);
    names.filter_by_letters(|name| !part.is_empty() && name.contains(&part))
}

/// The names inside words of the text, unless a prefix inverts their meaning.
fn names_inside_words<'n>(text: &str, names: &NameIndex<'n>) -> Vec<Name<'n>> {
    const TURNS: &[&str] =
        &["un", "in", "im", "ir", "il", "dis", "non", "mis", "de", "anti", "a", "not", "no"];
    if is_essay(text, names) {
        return Vec::new();
    }
    let words = spelling::words(text);
    let within = |word: &str, name: &str| {
        word != name && word.find(name).is_some_and(|start| !TURNS.contains(&&word[..start]))
    };
    names
        .filter_by_letters(|name| name.len() > 2 && words.split(' ').any(|word| within(word, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, names: &[&str]) -> String {
        let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
        let names = names.iter().map(|name| Name { name, shown_name: name, spelling: name });
        match near(text, &NameIndex::of(names), Leniencies::ALL, &mut 1_000) {
            Ok((name, used)) => {
                let used: Vec<&str> = used.kinds().map(LeniencyKind::as_str).collect();
                format!("{name} {}", used.join(" "))
            }
            Err(NameError::None) => "none".to_owned(),
            Err(NameError::Stopped) => "stopped".to_owned(),
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

    #[test]
    fn a_quoted_exact_name_wins_over_names_in_another_case() {
        assert_eq!(read("TWO\" is one of them", &["ONE", "TWO"]), "TWO prose choice");
        assert_eq!(read("“TWO” is one of them", &["ONE", "TWO"]), "TWO prose choice");
        assert_eq!(read("TWO is one of them", &["ONE", "TWO"]), "ONE or TWO");
        assert_eq!(read("\"Two\" is one of them", &["ONE", "TWO"]), "ONE or TWO");
        assert_eq!(read("\"TWO\" is ONE of them", &["ONE", "TWO"]), "ONE or TWO");
        assert_eq!(read("not \"TWO\" but one", &["ONE", "TWO"]), "ONE prose");
        assert_eq!(read("TWO's one of them", &["ONE", "TWO"]), "ONE or TWO");
        assert_eq!(read("I say \"TWO\"", &["ONE", "TWO"]), "TWO prose");
    }

    #[test]
    fn a_search_takes_comparisons_and_a_lookup_takes_none() {
        let names: Vec<Arc<str>> = (0..100).map(|n| Arc::from(format!("name {n}"))).collect();
        let names = names.iter().map(|name| Name { name, shown_name: name, spelling: name });
        let names = NameIndex::of(names);
        let mut left = 150;
        let mut read = |text: &str| near(text, &names, Leniencies::ALL, &mut left).is_ok();
        assert!(read("NAME 7") && read("Name-7") && read("Name 7. Surely"));
        assert!(read("it is name 7"));
        assert!(!read("it is name 7"));
        assert_eq!(left, 50);
    }
}
