//! A form for values of types, and the reading of what a person filled in. Fields are named by JSON Pointer. Which
//! control a type has is `value_control`. Knows no view.

use dsrs::types::{Class, TypeDefs, TypeIR};
use maud::{Markup, html};
use serde_json::{Number, Value};

use crate::form::Form;
use crate::parts::schema_entry::json_or_text;
use crate::parts::schema_form::FieldMark;
use crate::parts::value_control::{Control, control};
use dsrs_http::ApiProblem;

/// In place of the number of a row that a script adds.
const NEW_ROW: &str = "+";

/// The name of an item of a list.
const ITEM: &str = "item";

/// A field of a form: its place, its type, and what is known of it.
pub(crate) struct ValueField<'t> {
    /// The JSON Pointer of its value in the request.
    pub(crate) pointer: String,
    /// The name that a person reads.
    pub(crate) name: &'t str,
    pub(crate) ty: &'t TypeIR,
    pub(crate) defs: &'t TypeDefs,
    pub(crate) description: Option<&'t str>,
    /// Whether it has a default, so that it may be left out.
    pub(crate) has_default: bool,
}

/// A value as the text of a field.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the server refused, by the place in the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldProblems<'p> {
    items: Vec<(&'p str, &'p str)>,
    /// Whether another field of the view has the focus.
    is_focused: bool,
}

impl<'p> FieldProblems<'p> {
    /// Those of a problem of the API.
    pub(crate) fn of(problem: Option<&'p ApiProblem>) -> Self {
        let items = problem.into_iter().flat_map(ApiProblem::items);
        let items = items.map(|item| (item.pointer.as_ref(), item.detail.as_ref())).collect();
        Self { items, is_focused: false }
    }

    /// The same below fields one of which may have the focus.
    pub(crate) fn below(self, has_focus: bool) -> Self {
        Self { is_focused: has_focus, ..self }
    }

    /// What marks a field that shows its problems itself.
    fn mark(&self, pointer: &str) -> FieldMark {
        let is_own = |(place, _): &&(&str, &str)| is_within(place, pointer);
        match self.items.iter().position(|item| is_own(&item)) {
            None => FieldMark::default(),
            Some(at) => FieldMark { invalid: Some("true"), is_first: at == 0 && !self.is_focused },
        }
    }

    /// What is refused at a place or within it, but not within one of the parts that show it themselves.
    fn text(&self, pointer: &str, parts: &[ValueField<'_>]) -> Option<String> {
        let own = self.items.iter().filter(|(place, _)| {
            is_within(place, pointer) && !parts.iter().any(|part| is_within(place, &part.pointer))
        });
        let texts: Vec<&str> = own.map(|(_, text)| *text).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

fn is_within(place: &str, pointer: &str) -> bool {
    place.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<'t> ValueField<'t> {
    /// The field, filled in with a value, with what the server refused.
    pub(crate) fn show(&self, value: Option<&Value>, problems: &FieldProblems<'_>) -> Markup {
        self.show_at(value, problems, 0)
    }

    fn show_at(&self, value: Option<&Value>, problems: &FieldProblems<'_>, depth: usize) -> Markup {
        let (control, is_optional) = control(self.ty, self.defs, depth);
        let may_be_empty = is_optional || self.has_default;
        match control {
            Control::Group(class) => self.group(class, value, problems, depth),
            Control::Rows(element) => self.rows(element, value, problems, depth),
            control => html! {
                label.value-field {
                    (self.caption(may_be_empty))
                    (self.input(&control, value, may_be_empty, problems.mark(&self.pointer)))
                    (refusal(problems.text(&self.pointer, &[])))
                }
            },
        }
    }

    fn caption(&self, may_be_empty: bool) -> Markup {
        html! {
            span { (self.name) " " span.hint.mono { (self.ty.to_string()) } @if may_be_empty { " " span.hint { "may be empty" } } }
            @if let Some(description) = self.description { span.hint { (description) } }
        }
    }

    fn input(
        &self,
        control: &Control<'_>,
        value: Option<&Value>,
        may_be_empty: bool,
        mark: FieldMark,
    ) -> Markup {
        let FieldMark { invalid, is_first } = mark;
        let text = value.map(text_of).unwrap_or_default();
        let name = self.pointer.as_str();
        html! {
            @match control {
                Control::Text => textarea name=(name) rows=(rows(&text, if self.is_item() { 1 } else { 2 })) aria-invalid=[invalid] autofocus[is_first] { "\n" (text) },
                Control::Number { is_whole } => input name=(name) value=(text) inputmode=(if *is_whole { "numeric" } else { "decimal" }) autocomplete="off" aria-invalid=[invalid] autofocus[is_first];,
                Control::Bool => (choice(name, &[Value::Bool(true), Value::Bool(false)], value, may_be_empty, mark)),
                Control::Choice(values) => (choice(name, values, value, may_be_empty || self.is_item(), mark)),
                Control::Group(_) | Control::Rows(_) | Control::Json => {
                    @let text = value.filter(|value| !value.is_null()).map(|value| serde_json::to_string_pretty(value).unwrap_or_default()).unwrap_or_default();
                    span.hint { "JSON" }
                    textarea.mono name=(name) rows=(rows(&text, 3)) spellcheck="false" aria-invalid=[invalid] autofocus[is_first] { "\n" (text) }
                }
            }
        }
    }

    fn group(
        &self,
        class: &'t Class,
        value: Option<&Value>,
        problems: &FieldProblems<'_>,
        depth: usize,
    ) -> Markup {
        let members = self.members(class);
        html! {
            fieldset.value-group {
                legend { (self.name) " " span.hint.mono { (self.ty.to_string()) } }
                @if let Some(description) = self.description.or(class.description.as_deref()) { p.hint { (description) } }
                (refusal(problems.text(&self.pointer, &members)))
                @for inner in &members {
                    (inner.show_at(value.and_then(|value| value.get(inner.name)), problems, depth + 1))
                }
            }
        }
    }

    /// A row for each item, and an empty one, which a script replaces by a button.
    fn rows(
        &self,
        element: &'t TypeIR,
        value: Option<&Value>,
        problems: &FieldProblems<'_>,
        depth: usize,
    ) -> Markup {
        let values = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let items: Vec<ValueField<'_>> =
            (0..values.len()).map(|at| self.item(element, &at.to_string())).collect();
        let row = |item: &ValueField<'_>, value: Option<&Value>| {
            html! {
                div.value-row {
                    (item.show_at(value, problems, depth + 1))
                    button.small type="button" hidden data-script data-remove-row aria-label="Remove this item" title="Remove this item" { "✕" }
                }
            }
        };
        html! {
            fieldset.value-rows data-rows=(self.pointer) {
                legend { (self.name) " " span.hint.mono { (self.ty.to_string()) } }
                @if let Some(description) = self.description { p.hint { (description) } }
                (refusal(problems.text(&self.pointer, &items)))
                @for (item, value) in items.iter().zip(values) { (row(item, Some(value))) }
                div.spare-row { (row(&self.item(element, &values.len().to_string()), None)) }
                template { (row(&self.item(element, NEW_ROW), None)) }
                button.small type="button" hidden data-script data-add-row { "Add an item" }
            }
        }
    }

    pub(super) fn item(&self, element: &'t TypeIR, number: &str) -> ValueField<'t> {
        ValueField {
            pointer: format!("{}/{number}", self.pointer),
            name: ITEM,
            ty: element,
            defs: self.defs,
            description: None,
            has_default: false,
        }
    }

    fn is_item(&self) -> bool {
        std::ptr::eq(self.name, ITEM)
    }

    pub(super) fn members(&self, class: &'t Class) -> Vec<ValueField<'t>> {
        let member =
            |(name, field): (&'t std::sync::Arc<str>, &'t dsrs::types::ClassField)| ValueField {
                pointer: format!("{}/{}", self.pointer, name.replace('~', "~0").replace('/', "~1")),
                name,
                ty: &field.ty,
                defs: self.defs,
                description: field.description.as_deref(),
                has_default: field.default.is_some(),
            };
        class.fields.iter().map(member).collect()
    }

    /// The value that a person filled in; nothing if it was left out. What cannot be read stays a text, which the
    /// server refuses with its reason.
    pub(crate) fn read(&self, form: &Form) -> Option<Value> {
        self.read_at(form, 0)
    }

    fn read_at(&self, form: &Form, depth: usize) -> Option<Value> {
        let (control, is_optional) = control(self.ty, self.defs, depth);
        if !form.has_within(&self.pointer) {
            if self.has_default {
                return None;
            }
            if is_optional {
                return Some(Value::Null);
            }
        }
        // Browsers send line ends as CR LF.
        let text = || form.text(&self.pointer).replace("\r\n", "\n");
        match control {
            Control::Group(class) => {
                let members = self.members(class);
                let read = |field: &ValueField<'_>| {
                    Some((field.name.to_owned(), field.read_at(form, depth + 1)?))
                };
                Some(Value::Object(members.iter().filter_map(read).collect()))
            }
            Control::Rows(element) => Some(self.read_rows(element, form, depth)),
            Control::Text => Some(Value::String(text())),
            _ if text().trim().is_empty() => None,
            other => Some(read_text(&other, &text())),
        }
    }

    /// The rows that are not empty, in their order.
    fn read_rows(&self, element: &'t TypeIR, form: &Form, depth: usize) -> Value {
        let numbers = form.numbers_within(&self.pointer);
        let items = numbers.map(|number| self.item(element, &number.to_string()));
        items
            .filter(|item| form.has_within(&item.pointer))
            .filter_map(|item| item.read_at(form, depth + 1))
            .collect()
    }
}

fn refusal(text: Option<String>) -> Markup {
    html! { @if let Some(text) = text { span.refusal role="alert" { (text) } } }
}

fn read_text(control: &Control<'_>, text: &str) -> Value {
    let number = |text: &str| serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number);
    match control {
        Control::Text => Value::from(text),
        Control::Number { .. } => number(text).unwrap_or_else(|| Value::from(text)),
        Control::Bool => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        Control::Choice(values) => values
            .iter()
            .find(|value| text_of(value) == text)
            .cloned()
            .unwrap_or_else(|| Value::from(text)),
        Control::Group(_) | Control::Rows(_) | Control::Json => json_or_text(text),
    }
}

fn choice(
    name: &str,
    values: &[Value],
    chosen: Option<&Value>,
    may_be_empty: bool,
    mark: FieldMark,
) -> Markup {
    let FieldMark { invalid, is_first } = mark;
    let is_chosen = |value: &Value| chosen == Some(value);
    html! {
        select name=(name) aria-invalid=[invalid] autofocus[is_first] {
            @if may_be_empty || !values.iter().any(is_chosen) { option value="" { (if may_be_empty { "none" } else { "choose" }) } }
            @for value in values { option value=(text_of(value)) selected[is_chosen(value)] { (text_of(value)) } }
        }
    }
}

fn rows(text: &str, least: usize) -> usize {
    text.lines().count().clamp(least, 12)
}
