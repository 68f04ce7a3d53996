//! What was done on the way to an answer, as the text of an input: numbered steps of labelled texts,
//! each verbatim. The labels are no headers, so that an LM does not take the steps for a layout to
//! go on with.

use std::fmt::Write as _;

/// Steps as text. `left_out` of the first ones are not shown, and that is said; the others keep
/// their numbers.
pub(super) fn write<L: AsRef<str>, T: AsRef<str>>(
    left_out: usize,
    steps: impl IntoIterator<Item = impl IntoIterator<Item = (L, T)>>,
) -> String {
    let mut text = match left_out {
        0 => String::new(),
        1 => "(1 earlier step left out)\n\n".to_owned(),
        more => format!("({more} earlier steps left out)\n\n"),
    };
    for (number, step) in (1..).zip(steps).skip(left_out) {
        let _ = writeln!(text, "Step {number}");
        for (label, entry) in step {
            let entry = entry.as_ref().trim_end();
            // What has several lines starts on one of its own, so that none of them is bent.
            let between = if entry.contains('\n') { "\n" } else { " " };
            let _ = writeln!(text, "{}:{between}{entry}", label.as_ref());
        }
        text.push('\n');
    }
    match text.trim_end() {
        "" => "(no steps yet)".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_and_their_texts_stand_as_they_are() {
        let steps =
            [vec![("thought", "look"), ("result", "one\n  two")], vec![("thought", "done")]];
        assert_eq!(
            write(0, steps.clone()),
            "Step 1\nthought: look\nresult:\none\n  two\n\nStep 2\nthought: done"
        );
        assert_eq!(write(1, steps), "(1 earlier step left out)\n\nStep 2\nthought: done");
    }

    #[test]
    fn no_steps_are_told_as_such() {
        assert_eq!(write(0, Vec::<Vec<(&str, &str)>>::new()), "(no steps yet)");
    }
}
