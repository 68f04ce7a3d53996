//! A field with a short text, with its label, its hint and its problems. Knows no view.

use maud::{Markup, html};

use crate::parts::schema_form::{FieldMark, SchemaForm, text_rows};

/// A field with one line of text, or with as many lines as its text has. Its name is the JSON Pointer of its value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineField<'f> {
    pub(crate) name: &'f str,
    pub(crate) label: &'f str,
    pub(crate) hint: &'f str,
    pub(crate) placeholder: &'f str,
    /// The kind of the input: `url`, `number`; a text by default.
    pub(crate) kind: Option<&'f str>,
    /// The id of a list of suggestions.
    pub(crate) suggestions: Option<&'f str>,
    /// The most characters.
    pub(crate) longest: Option<usize>,
    /// The place around it, whose problems are shown here, too.
    pub(crate) around: Option<&'f str>,
    /// Whether a browser asks for it.
    pub(crate) is_required: bool,
}

impl LineField<'_> {
    pub(crate) fn show(&self, fields: &SchemaForm<'_>) -> Markup {
        let own = fields.mark(self.name);
        let FieldMark { invalid, is_first } = match self.around {
            Some(around) if own.invalid.is_none() => fields.mark_own(&[around]),
            _ => own,
        };
        let text = fields.form.text(self.name);
        let step = (self.kind == Some("number")).then_some("any");
        html! {
            label { (self.label)
                @if !self.hint.is_empty() { span.hint { (self.hint) } }
                // An input of one line would lose the line ends.
                @if text.contains('\n') {
                    textarea name=(self.name) rows=(text_rows(text)) maxlength=[self.longest] required[self.is_required] spellcheck="false"
                        aria-invalid=[invalid] autofocus[is_first] { "\n" (text) }
                } @else {
                    input type=[self.kind] step=[step] name=(self.name) value=(text) placeholder=(self.placeholder)
                        list=[self.suggestions] maxlength=[self.longest] required[self.is_required] autocomplete="off" spellcheck="false"
                        aria-invalid=[invalid] autofocus[is_first];
                }
                (fields.problems(self.name))
                @if let Some(around) = self.around { (fields.problems(around)) }
            }
        }
    }
}

/// One of a few words, each with what it means.
pub(crate) fn word_field(
    fields: &SchemaForm<'_>,
    name: &str,
    label: &str,
    words: &[(&str, String)],
) -> Markup {
    let FieldMark { invalid, is_first } = fields.mark(name);
    let chosen = fields.form.text(name);
    html! {
        label { (label)
            select name=(name) aria-invalid=[invalid] autofocus[is_first] {
                @for (word, meaning) in words { option value=(word) selected[*word == chosen] { (word) ": " (meaning) } }
            }
            (fields.problems(name))
        }
    }
}
