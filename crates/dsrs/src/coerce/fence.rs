//! Code in the fences of Markdown: takes code out of a fence, all of it, also if it contains fences. Knows no language.

/// The code in a text: what is in the fence around it, or in its first fence, or the text itself.
pub(crate) fn unfenced(text: &str) -> &str {
    let whole = text.trim();
    let inner = around(whole).or_else(|| first(whole));
    inner.map_or(text, |code| code.trim_matches('\n'))
}

/// A text in a fence that is longer than any in it.
pub(crate) fn fenced(code: &str, language: &str) -> String {
    let longest = code.lines().filter_map(opening).map(|(length, _)| length).max();
    let fence = "`".repeat(longest.map_or(3, |length| (length + 1).max(3)));
    format!("{fence}{language}\n{}\n{fence}", code.trim_end_matches('\n'))
}

/// The inside of a fence that begins and ends the text: whatever is between belongs to the code.
fn around(text: &str) -> Option<&str> {
    let (head, rest) = text.split_once('\n')?;
    let (length, _) = opening(head)?;
    let (code, last) = rest.rsplit_once('\n').unwrap_or(("", rest));
    closes(last, length).then_some(code)
}

/// The inside of the first fence. A fence with a word in it opens one more; text around it is none of the code.
fn first(text: &str) -> Option<&str> {
    let mut open: Vec<usize> = Vec::new();
    let mut start = None;
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        let next = place + line.len();
        match (opening(line), open.last()) {
            (Some((length, _)), None) => {
                open.push(length);
                start = Some(next);
            }
            (Some((length, "")), Some(&last)) if length >= last => {
                open.pop();
                if open.is_empty() {
                    return text.get(start?..place);
                }
            }
            (Some((length, word)), Some(_)) if !word.is_empty() => open.push(length),
            _ => {}
        }
        place = next;
    }
    text.get(start?..)
}

/// The length of the fence that a line begins with, and the word after it.
fn opening(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let length = line.len() - line.trim_start_matches('`').len();
    let word = line.get(length..)?.trim();
    let is_word = !word.contains(['`', ' ']);
    (length >= 3 && is_word).then_some((length, word))
}

fn closes(line: &str, least: usize) -> bool {
    opening(line).is_some_and(|(length, word)| length >= least && word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_code_is_taken_off() {
        for (text, code) in [
            ("int x;", "int x;"),
            ("```java\nint x;\n```", "int x;"),
            ("\n```\n  int x;\n\nint y;\n```\n", "  int x;\n\nint y;"),
            ("Here it is:\n```java\nint x;\n```\nDone.", "int x;"),
            ("```java\nint x;", "int x;"),
            ("````md\n```\na\n```\n````", "```\na\n```"),
            ("a ``` b", "a ``` b"),
            ("```\n```", ""),
        ] {
            assert_eq!(unfenced(text), code, "{text}");
        }
    }

    #[test]
    fn code_that_contains_fences_is_whole() {
        let readme = "# Use\n\n```sh\nmake\n```\n\nThen:\n\n```\nrun\n```\n\nDone.";
        assert_eq!(unfenced(&format!("```markdown\n{readme}\n```")), readme);
        let said =
            format!("Here is the file:\n\n```markdown\n{}\n```\nThat is all.", &readme[..21]);
        assert_eq!(unfenced(&said), &readme[..21]);
        assert_eq!(unfenced(&fenced(readme, "markdown")), readme);
        assert!(fenced(readme, "markdown").starts_with("````markdown\n# Use"));
        assert_eq!(fenced("int x;\n", "java"), "```java\nint x;\n```");
    }
}
