//! What a program prints, up to a limit. Knows no interpreter's state.

use std::borrow::Cow;

use monty_types::{ExcType, MontyException, PrintWriterCallback};

/// The printed text, up to its limit.
pub(crate) struct PrintBuffer {
    text: String,
    limit: usize,
    overflow: Overflow,
}

/// What happens to text beyond the limit.
enum Overflow {
    /// The program gets an exception. The flag stays true if it catches the exception.
    Refused(bool),
    /// The text is left out; so many characters were.
    LeftOut(usize),
}

impl PrintBuffer {
    /// A buffer that refuses more than its limit of bytes.
    pub(crate) const fn refusing(limit: usize) -> Self {
        Self { text: String::new(), limit, overflow: Overflow::Refused(false) }
    }

    /// A buffer that leaves out what is beyond its limit of bytes.
    pub(crate) const fn leaving_out(limit: usize) -> Self {
        Self { text: String::new(), limit, overflow: Overflow::LeftOut(0) }
    }

    /// Whether the program printed more than a refusing buffer accepts.
    pub(crate) const fn has_overflowed(&self) -> bool {
        matches!(self.overflow, Overflow::Refused(true))
    }

    /// The characters that were left out.
    pub(crate) const fn omitted(&self) -> usize {
        match self.overflow {
            Overflow::LeftOut(characters) => characters,
            Overflow::Refused(_) => 0,
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), MontyException> {
        let fits = self.text.len() + text.len() <= self.limit;
        match &mut self.overflow {
            Overflow::Refused(false) if fits => self.text.push_str(text),
            Overflow::Refused(overflowed) => {
                *overflowed = true;
                let message = Some("printed too much".into());
                return Err(MontyException::new(ExcType::MemoryError, message));
            }
            Overflow::LeftOut(0) if fits => self.text.push_str(text),
            Overflow::LeftOut(omitted) => {
                // Once something is missing, so is all that follows.
                let room = if *omitted == 0 { self.limit - self.text.len() } else { 0 };
                let end = text.floor_char_boundary(room);
                self.text.push_str(&text[..end]);
                *omitted += text[end..].chars().count();
            }
        }
        Ok(())
    }
}

impl PrintWriterCallback for PrintBuffer {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output)
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]))
    }
}
