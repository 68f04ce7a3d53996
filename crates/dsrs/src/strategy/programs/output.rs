//! What the LM sees of a program that has ended: its output, cut to a length, and its failure. Knows no prompts.

use crate::sandbox::SessionOutput;

/// What stands for a program that printed nothing.
const NOTHING: &str = "(no output: the program printed nothing and its last line has no value)";

/// What the LM sees of an answer without a program.
pub(in crate::strategy) const NO_PROGRAM: &str = "There was no program in the answer.";

/// The most characters of one output that the LM sees.
#[derive(Clone, Copy, Debug)]
pub(in crate::strategy) struct OutputLimit(pub(in crate::strategy) usize);

impl OutputLimit {
    /// The text for the LM.
    pub(in crate::strategy) fn text(self, output: &SessionOutput) -> String {
        let mut text = self.cut(output.printed.trim_end(), output.omitted);
        let failure = output
            .failure
            .as_ref()
            .map(|failure| format!("The program failed:\n{}", failure.message));
        let lost = output.variables_lost.then(|| {
            "The variables of the programs so far are lost; the inputs are there.".to_owned()
        });
        for note in failure.into_iter().chain(lost) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&note);
        }
        if text.is_empty() { NOTHING.to_owned() } else { text }
    }

    /// The beginning and the end of a text, or its beginning if the end is not known, with a note of what is left out.
    fn cut(self, text: &str, omitted: usize) -> String {
        let Self(most) = self;
        // A text has at least as many bytes as characters.
        let length = if text.len() <= most { 0 } else { text.chars().count() };
        if length <= most && omitted == 0 {
            return text.to_owned();
        }
        let tail = if omitted == 0 { most / 2 } else { 0 };
        let head: String = text.chars().take(most - tail).collect();
        let end: String = text.chars().skip(length.saturating_sub(tail)).collect();
        let end = if tail == 0 { "" } else { end.as_str() };
        let all = text.chars().count() + omitted;
        let left_out = all - head.chars().count() - end.chars().count();
        format!("{head}\n… ({left_out} of {all} characters of the output are left out) …\n{end}")
            .trim_end()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{SandboxError, SandboxFailure};

    fn output(printed: &str, omitted: usize) -> SessionOutput {
        let printed = printed.into();
        SessionOutput { printed, omitted, failure: None, variables_lost: false }
    }

    #[test]
    fn a_long_output_has_its_beginning_and_its_end() {
        let limit = OutputLimit(10);
        assert_eq!(limit.text(&output("0123456789", 0)), "0123456789");
        let cut = "01234\n… (3 of 13 characters of the output are left out) …\n89abc";
        assert_eq!(limit.text(&output("0123456789abc", 0)), cut);
        // The sandbox has not recorded the end.
        let cut = "äbcdefghij\n… (7 of 17 characters of the output are left out) …";
        assert_eq!(limit.text(&output("äbcdefghijklm", 4)), cut);
        let cut = "abc\n… (4 of 7 characters of the output are left out) …";
        assert_eq!(limit.text(&output("abc", 4)), cut);
    }

    #[test]
    fn a_failure_follows_what_was_printed() {
        let limit = OutputLimit(10);
        assert_eq!(limit.text(&output("", 0)), NOTHING);
        let failure = SandboxError::new(SandboxFailure::Raised, "line 2\nNameError: x");
        let failed = SessionOutput { failure: Some(failure.clone()), ..output("a\n", 0) };
        assert_eq!(limit.text(&failed), "a\nThe program failed:\nline 2\nNameError: x");
        let lost = limit.text(&SessionOutput::failed(failure, true));
        assert!(lost.ends_with("are lost; the inputs are there."), "{lost}");
    }
}
