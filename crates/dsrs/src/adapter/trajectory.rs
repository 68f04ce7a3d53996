//! The steps before an answer as the text of an input: numbered steps of labelled texts, verbatim.
//! The labels are no headers, so that an LM does not continue the steps as its layout.

use std::fmt::Write as _;

/// Steps as text. A line says how many of the first steps are left out; the others keep their
/// numbers.
pub(super) fn write<L: AsRef<str>, T: AsRef<str>>(
    left_out: usize,
    steps: impl IntoIterator<Item = impl IntoIterator<Item = (L, T)>>,
) -> String {
    let note = match left_out {
        0 => String::new(),
        1 => "(1 earlier step left out)".to_owned(),
        more => format!("({more} earlier steps left out)"),
    };
    write_after(&note, left_out, steps)
}

/// Steps as text after a note about the first ones, which are left out.
pub(super) fn write_after<L: AsRef<str>, T: AsRef<str>>(
    note: &str,
    left_out: usize,
    steps: impl IntoIterator<Item = impl IntoIterator<Item = (L, T)>>,
) -> String {
    let mut text = match note {
        "" => String::new(),
        note => format!("{note}\n\n"),
    };
    for (number, step) in (1..).zip(steps).skip(left_out) {
        let _ = writeln!(text, "Step {number}");
        for (label, entry) in step {
            let entry = entry.as_ref().trim_end();
            // A text of several lines starts on its own line, so that its indentation stays intact.
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
    fn steps_are_numbered_and_texts_stay_verbatim() {
        let steps =
            [vec![("thought", "look"), ("result", "one\n  two")], vec![("thought", "done")]];
        assert_eq!(
            write(0, steps.clone()),
            "Step 1\nthought: look\nresult:\none\n  two\n\nStep 2\nthought: done"
        );
        assert_eq!(write(1, steps), "(1 earlier step left out)\n\nStep 2\nthought: done");
    }

    #[test]
    fn an_empty_trajectory_says_so() {
        assert_eq!(write(0, Vec::<Vec<(&str, &str)>>::new()), "(no steps yet)");
    }
}
