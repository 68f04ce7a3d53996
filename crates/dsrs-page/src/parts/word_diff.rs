//! The difference of two texts word by word: what was removed, and what was added.

use maud::{Markup, html};

/// The most steps of a comparison; longer texts are shown whole, one after the other.
const MOST_STEPS: usize = 4_000_000;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Same,
    Removed,
    Added,
}

/// Both texts in one, with what was removed and added marked.
pub(crate) fn word_diff(before: &str, after: &str) -> Markup {
    html! {
        p.word-diff {
            @for (kind, text) in pieces(before, after) {
                @match kind {
                    Kind::Same => (text),
                    Kind::Removed => del { (text) },
                    Kind::Added => ins { (text) },
                }
            }
        }
    }
}

fn pieces(before: &str, after: &str) -> Vec<(Kind, String)> {
    let (old, new) = (words(before), words(after));
    let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = ends.take_while(|(one, other)| one == other).count();
    let (old_middle, new_middle) =
        (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let mut found = Vec::new();
    push(&mut found, Kind::Same, &old[..start]);
    middle(&mut found, old_middle, new_middle);
    push(&mut found, Kind::Same, &old[old.len() - end..]);
    found
}

/// The words of a text, each with the space behind it.
fn words(text: &str) -> Vec<&str> {
    text.split_inclusive(char::is_whitespace).collect()
}

fn push(found: &mut Vec<(Kind, String)>, kind: Kind, words: &[&str]) {
    if words.is_empty() {
        return;
    }
    match found.last_mut() {
        Some((last, text)) if *last == kind => text.push_str(&words.concat()),
        _ => found.push((kind, words.concat())),
    }
}

/// The difference by the longest common subsequence.
fn middle(changes: &mut Vec<(Kind, String)>, old: &[&str], new: &[&str]) {
    if old.len() * new.len() > MOST_STEPS {
        push(changes, Kind::Removed, old);
        push(changes, Kind::Added, new);
        return;
    }
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let below = (row + 1) * width + column;
            lengths[row * width + column] = match one.trim_end() == other.trim_end() {
                true => lengths[below + 1] + 1,
                false => lengths[below].max(lengths[row * width + column + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < old.len() && column < new.len() {
        let below = (row + 1) * width + column;
        if old[row].trim_end() == new[column].trim_end() {
            push(changes, Kind::Same, &new[column..=column]);
            (row, column) = (row + 1, column + 1);
        } else if lengths[below] >= lengths[row * width + column + 1] {
            push(changes, Kind::Removed, &old[row..=row]);
            row += 1;
        } else {
            push(changes, Kind::Added, &new[column..=column]);
            column += 1;
        }
    }
    push(changes, Kind::Removed, &old[row..]);
    push(changes, Kind::Added, &new[column..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_changed_are_marked_and_markup_is_text() {
        let html =
            word_diff("Name the capital of it.", "Name <b> the capital, of it.").into_string();
        assert_eq!(
            html,
            "<p class=\"word-diff\">Name <ins>&lt;b&gt; </ins>the <del>capital </del><ins>capital, </ins>of it.</p>"
        );
        assert_eq!(word_diff("", "a").into_string(), "<p class=\"word-diff\"><ins>a</ins></p>");
        assert_eq!(word_diff("a b", "a b").into_string(), "<p class=\"word-diff\">a b</p>");
    }

    #[test]
    fn long_texts_are_shown_whole() {
        let (one, other) = ("a ".repeat(3_000), "b ".repeat(3_000));
        let found = pieces(&one, &other);
        assert_eq!(
            found.iter().map(|piece| piece.0).collect::<Vec<_>>(),
            [Kind::Removed, Kind::Added]
        );
    }
}
