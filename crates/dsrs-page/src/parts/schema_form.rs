//! The fields of a form made from a JSON Schema. The name of a field is the JSON Pointer of its value, so that a
//! problem of the request is shown at its field. `schema_entry` reads the form back.

use std::cell::Cell;

use maud::{Markup, html};
use serde_json::Value;

use crate::form::Form;
use crate::parts::values::plain;
use dsrs_http::ApiProblem;

/// The suffix of the field that chooses among the alternatives of `oneOf`.
pub(super) const CHOICE: &str = "#";

/// How a value is entered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entry<'s> {
    /// One of these values.
    Choice(&'s [Value]),
    Text,
    Integer,
    Number,
    Flag,
    /// A list of texts, one a line.
    Lines,
    /// An object with these members.
    Members(&'s serde_json::Map<String, Value>),
    /// One of these schemas.
    OneOf(&'s [Value]),
    /// Anything else, as JSON.
    Document,
}

impl<'s> Entry<'s> {
    /// How a value of a schema is entered.
    pub(super) fn of(schema: &'s Value) -> Self {
        if let Some(alternatives) = schema["oneOf"].as_array() {
            return Self::OneOf(alternatives);
        }
        if let Some(values) = schema["enum"].as_array() {
            return Self::Choice(values);
        }
        match schema["type"].as_str() {
            Some("string") => Self::Text,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Flag,
            Some("array") if schema["items"]["type"] == "string" => Self::Lines,
            Some("object") => match schema["properties"].as_object() {
                Some(members) if !members.is_empty() => Self::Members(members),
                _ => Self::Document,
            },
            _ => Self::Document,
        }
    }
}

/// A form with its values so far and the problems of its last request.
pub(crate) struct SchemaForm<'a> {
    pub(crate) form: &'a Form,
    pub(crate) problem: Option<&'a ApiProblem>,
    /// Whether a field with a problem was shown, which has the focus.
    has_focus: Cell<bool>,
}

/// What marks a field with a problem: for readers of the screen, and the focus if it is the first one.
#[derive(Clone, Copy, Default)]
pub(crate) struct FieldMark {
    /// `aria-invalid`.
    pub(crate) invalid: Option<&'static str>,
    pub(crate) is_first: bool,
}

impl<'a> SchemaForm<'a> {
    /// A form with these values.
    pub(crate) fn new(form: &'a Form, problem: Option<&'a ApiProblem>) -> Self {
        Self { form, problem, has_focus: Cell::new(false) }
    }

    /// Whether a field that was shown has the focus.
    pub(crate) fn has_focus(&self) -> bool {
        self.has_focus.get()
    }

    /// The mark of a field at a pointer. Fields are shown in the order of the page.
    pub(crate) fn mark(&self, name: &str) -> FieldMark {
        match self.within(name).next() {
            None => FieldMark::default(),
            Some(_) => FieldMark { invalid: Some("true"), is_first: !self.has_focus.replace(true) },
        }
    }

    /// The mark of a field for the problems of exactly these places.
    pub(crate) fn mark_own(&self, names: &[&str]) -> FieldMark {
        match names.iter().any(|name| self.own(name).next().is_some()) {
            false => FieldMark::default(),
            true => FieldMark { invalid: Some("true"), is_first: !self.has_focus.replace(true) },
        }
    }

    /// The fields of a schema. `name` is the pointer of its value, `label` its name for people.
    pub(crate) fn fields(&self, schema: &Value, name: &str, label: &str) -> Markup {
        match Entry::of(schema) {
            Entry::Members(members) => html! {
                @for (member, schema) in members {
                    @let own = format!("{name}/{member}");
                    @match Entry::of(schema) {
                        Entry::Members(_) | Entry::OneOf(_) => fieldset { legend { (member) } (about(schema)) (self.fields(schema, &own, member)) },
                        _ => (self.fields(schema, &own, member)),
                    }
                }
                (self.problems(name))
            },
            Entry::OneOf(alternatives) => self.one_of(alternatives, name, label),
            entry => html! {
                label { (label) (about(schema)) (self.input(schema, entry, name)) (self.problems_within(name)) }
            },
        }
    }

    fn one_of(&self, alternatives: &[Value], name: &str, label: &str) -> Markup {
        let field = format!("{name}{CHOICE}");
        let chosen = self
            .form
            .text(&field)
            .parse()
            .unwrap_or(0_usize)
            .min(alternatives.len().saturating_sub(1));
        // An alternative that is one field shows the problem itself.
        let is_one_field = alternatives.get(chosen).is_some_and(|schema| {
            only_member(schema).is_none() && !matches!(Entry::of(schema), Entry::Members(_))
        });
        let FieldMark { invalid, is_first } =
            if is_one_field { FieldMark::default() } else { self.mark_own(&[name]) };
        html! {
            label { (label)
                select name=(field) data-reshapes aria-invalid=[invalid] autofocus[is_first] {
                    @for (index, schema) in alternatives.iter().enumerate() {
                        option value=(index) selected[index == chosen] { (title(schema)) }
                    }
                }
            }
            @if let Some(schema) = alternatives.get(chosen) {
                @match only_member(schema) {
                    Some((member, inner)) => (self.fields(inner, &format!("{name}/{member}"), member)),
                    None => @match Entry::of(schema) {
                        Entry::Choice(values) => (self.named(values, name)),
                        _ => (self.fields(schema, name, "value")),
                    },
                }
            }
            @if !is_one_field { (self.problems(name)) }
        }
    }

    /// An alternative that is one of a few names.
    fn named(&self, values: &[Value], name: &str) -> Markup {
        let FieldMark { invalid, is_first } = self.mark(name);
        html! {
            label { "name"
                select name=(name) aria-invalid=[invalid] autofocus[is_first] { (options(values, self.form.text(name))) }
                (self.problems_within(name))
            }
        }
    }

    fn input(&self, schema: &Value, entry: Entry<'_>, name: &str) -> Markup {
        let value = self.form.text(name);
        let default = schema.get("default").map(plain).unwrap_or_default();
        let hint = if default.is_empty() { String::new() } else { format!("default {default}") };
        let FieldMark { invalid, is_first } = self.mark(name);
        match entry {
            Entry::Choice(values) => html! {
                select name=(name) aria-invalid=[invalid] autofocus[is_first] {
                    option value="" selected[value.is_empty()] { @if hint.is_empty() { "not set" } @else { (hint) } }
                    (options(values, value))
                }
            },
            Entry::Flag => html! {
                select name=(name) aria-invalid=[invalid] autofocus[is_first] {
                    option value="" selected[value.is_empty()] { @if hint.is_empty() { "not set" } @else { (hint) } }
                    @for word in ["true", "false"] { option value=(word) selected[word == value] { (word) } }
                }
            },
            Entry::Integer | Entry::Number => html! {
                input type="number" name=(name) value=(value) placeholder=(hint) min=[bound(schema, "minimum")] max=[bound(schema, "maximum")]
                    step=(if entry == Entry::Integer { "1" } else { "any" }) aria-invalid=[invalid] autofocus[is_first];
            },
            Entry::Lines => {
                html! { textarea name=(name) rows="2" placeholder="one on each line" aria-invalid=[invalid] autofocus[is_first] { "\n" (value) } }
            }
            // An input of one line would lose the line ends.
            Entry::Text if value.contains('\n') => {
                html! { textarea name=(name) rows=(text_rows(value)) spellcheck="false" aria-invalid=[invalid] autofocus[is_first] { "\n" (value) } }
            }
            Entry::Text => {
                html! { input name=(name) value=(value) placeholder=(hint) autocomplete="off" spellcheck="false" aria-invalid=[invalid] autofocus[is_first]; }
            }
            _ => {
                html! { textarea.mono name=(name) rows="3" spellcheck="false" placeholder=(document_hint(schema, &hint)) aria-invalid=[invalid] autofocus[is_first] { "\n" (value) } }
            }
        }
    }

    /// The problems of a value and of its parts, for a field that holds all of it.
    pub(crate) fn problems_within(&self, name: &str) -> Markup {
        html! {
            @for (rest, text) in self.within(name) {
                span.field-problem { @if !rest.is_empty() { code { (rest) } " " } (text) }
            }
        }
    }

    /// The problems of a value.
    pub(crate) fn problems(&self, name: &str) -> Markup {
        html! { @for text in self.own(name) { span.field-problem { (text) } } }
    }

    /// Whether one of these members of the value at a pointer has a problem or a part with one, so that a fold is open.
    pub(crate) fn has_problem(&self, at: &str, members: &[&str]) -> bool {
        members.iter().any(|member| self.within(&format!("{at}/{member}")).next().is_some())
    }

    /// Whether the value at a pointer has a problem as a whole.
    pub(crate) fn has_own_problem(&self, name: &str) -> bool {
        self.own(name).next().is_some()
    }

    /// What follows a pointer in those of the problems at it and within it, and their texts.
    fn within(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let items = self.problem.map(ApiProblem::items).unwrap_or_default();
        items.iter().filter_map(move |item| {
            let rest = item.pointer.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((rest, item.detail.as_ref()))
        })
    }

    fn own(&self, name: &str) -> impl Iterator<Item = &str> {
        let items = self.problem.map(ApiProblem::items).unwrap_or_default();
        items.iter().filter(move |item| item.pointer == name).map(|item| item.detail.as_ref())
    }
}

/// How many rows of a text area a text with several lines gets.
pub(super) fn text_rows(text: &str) -> usize {
    text.lines().count().clamp(2, 12)
}

fn options(values: &[Value], chosen: &str) -> Markup {
    html! { @for known in values { @let text = plain(known); option value=(text) selected[text == chosen] { (text) } } }
}

/// What a field for JSON holds.
fn document_hint<'h>(schema: &Value, hint: &'h str) -> &'h str {
    match schema["type"].as_str() {
        _ if !hint.is_empty() => hint,
        Some("object") => "JSON: {…}",
        Some("array") => "JSON: […]",
        _ => "JSON, or a plain text",
    }
}

fn bound(schema: &Value, name: &str) -> Option<String> {
    schema.get(name).map(ToString::to_string)
}

fn about(schema: &Value) -> Markup {
    html! { @if let Some(text) = schema["description"].as_str() { span.hint { (text) } } }
}

/// The member of a schema that stands for one alternative: `{name: options}`.
pub(super) fn only_member(schema: &Value) -> Option<(&String, &Value)> {
    let members = schema["properties"].as_object()?;
    members.iter().next().filter(|_| members.len() == 1)
}

fn title(schema: &Value) -> String {
    let about = schema["description"].as_str().unwrap_or("a value");
    let name = schema["required"].as_array().and_then(|names| names.first()?.as_str());
    name.map_or_else(
        || about.to_owned(),
        |name| format!("{name}: {}", about.split(';').next().unwrap_or(about)),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_becomes_fields_named_by_their_pointers() {
        let form = Form::of(vec![("/c/k".into(), "<3>".into()), ("/m#".into(), "1".into())]);
        let shown = SchemaForm::new(&form, None);
        let schema = json!({"type": "object", "properties": {
            "k": {"type": "integer", "minimum": 1, "default": 16}, "on": {"type": "boolean"},
            "how": {"enum": ["a", "b"], "default": "a"}, "any": {}}});
        let html = shown.fields(&schema, "/c", "config").into_string();
        for part in [
            r#"type="number" name="/c/k" value="&lt;3&gt;" placeholder="default 16" min="1""#,
            r#"select name="/c/on""#,
            r#"<option value="" selected>default a"#,
            r#"textarea class="mono" name="/c/any""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let schema = json!({"oneOf": [{"type": "string", "enum": ["x"]}, {"type": "object", "required": ["f"],
            "properties": {"f": {"type": "object", "properties": {"field": {"type": "string"}}}}}]});
        let html = shown.fields(&schema, "/m", "metric").into_string();
        assert!(html.contains(r#"name="/m/f/field""#) && !html.contains(r#"name="/m""#), "{html}");
    }
}
