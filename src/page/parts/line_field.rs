//! A field with one line of text, with its label, its hint and its problems. Knows no view.

use maud::{Markup, html};

use crate::page::parts::schema_form::{FieldMark, SchemaForm};

/// A field with one line of text. Its name is the JSON Pointer of its value.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct LineField<'f> {
    pub(in crate::page) name: &'f str,
    pub(in crate::page) label: &'f str,
    pub(in crate::page) hint: &'f str,
    pub(in crate::page) placeholder: &'f str,
    /// The kind of the input: `url`, `number`; a text by default.
    pub(in crate::page) kind: Option<&'f str>,
    /// The id of a list of suggestions.
    pub(in crate::page) suggestions: Option<&'f str>,
    /// The most characters.
    pub(in crate::page) longest: Option<u32>,
    /// The place around it, whose problems are shown here, too.
    pub(in crate::page) around: Option<&'f str>,
    /// Whether a browser asks for it.
    pub(in crate::page) is_required: bool,
}

impl LineField<'_> {
    /// The field in a form.
    pub(in crate::page) fn show(&self, fields: &SchemaForm<'_>) -> Markup {
        let own = fields.mark(self.name);
        let FieldMark { invalid, is_first } = match self.around {
            Some(around) if own.invalid.is_none() => fields.mark_own(&[around]),
            _ => own,
        };
        let step = (self.kind == Some("number")).then_some("any");
        html! {
            label { (self.label)
                @if !self.hint.is_empty() { span.hint { (self.hint) } }
                input type=[self.kind] step=[step] name=(self.name) value=(fields.form.text(self.name)) placeholder=(self.placeholder)
                    list=[self.suggestions] maxlength=[self.longest] required[self.is_required] autocomplete="off" spellcheck="false"
                    aria-invalid=[invalid] autofocus[is_first];
                (fields.problems(self.name))
                @if let Some(around) = self.around { (fields.problems(around)) }
            }
        }
    }
}

/// One of a few words, each with what it means.
pub(in crate::page) fn word_field(
    fields: &SchemaForm<'_>,
    name: &str,
    label: &str,
    words: &[(&str, &str)],
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
