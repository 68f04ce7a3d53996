//! A form for values of types: a text area for texts, a choice for enums, lines for lists, a group for classes, JSON for
//! the rest; and the reading of what a person filled in. Fields are named by JSON Pointer. Knows types, but no view.

use dsrs::types::{Class, Literal, TypeDef, TypeDefs, TypeIR};
use maud::{Markup, html};
use serde_json::{Map, Number, Value};

use crate::page::form::Form;

/// Classes within classes that get a group of their own; deeper ones are JSON.
const DEEPEST: usize = 4;

/// How a person fills in a value.
enum Control<'t> {
    Text,
    Number {
        is_whole: bool,
    },
    Bool,
    Choice(Vec<Value>),
    /// A list of texts, numbers or choices, one a line.
    Lines(Box<Control<'t>>),
    Group(&'t Class),
    Json,
}

/// A field of a form: its place, its type, and what is known of it.
pub(in crate::page) struct ValueField<'t> {
    /// The JSON Pointer of its value in the request.
    pub(in crate::page) pointer: String,
    /// The name that a person reads.
    pub(in crate::page) name: &'t str,
    pub(in crate::page) ty: &'t TypeIR,
    pub(in crate::page) defs: &'t TypeDefs,
    pub(in crate::page) description: Option<&'t str>,
    /// Whether it has a default, so that it may be left out.
    pub(in crate::page) has_default: bool,
}

/// The control of a type, and whether it may be null.
fn control<'t>(ty: &'t TypeIR, defs: &'t TypeDefs, depth: usize) -> (Control<'t>, bool) {
    match ty {
        TypeIR::Str => (Control::Text, false),
        TypeIR::Int => (Control::Number { is_whole: true }, false),
        TypeIR::Float => (Control::Number { is_whole: false }, false),
        TypeIR::Bool => (Control::Bool, false),
        TypeIR::Literal(literal) => (Control::Choice(vec![literal_value(literal)]), false),
        TypeIR::List(element) => match control(element, defs, depth + 1) {
            (inner @ (Control::Text | Control::Number { .. } | Control::Choice(_)), false) => {
                (Control::Lines(Box::new(inner)), false)
            }
            _ => (Control::Json, false),
        },
        TypeIR::Union(members) => union_control(members, defs, depth),
        TypeIR::Class(class) if depth < DEEPEST => (Control::Group(class), false),
        TypeIR::Named(name) if depth < DEEPEST => match defs.get(name) {
            Some(TypeDef::Class(class)) => (Control::Group(class), false),
            Some(TypeDef::Enum(found)) => (
                Control::Choice(
                    found.members.keys().map(|name| Value::from(name.as_ref())).collect(),
                ),
                false,
            ),
            Some(TypeDef::Alias(alias)) => control(alias, defs, depth + 1),
            None => (Control::Json, false),
        },
        _ => (Control::Json, false),
    }
}

fn union_control<'t>(
    members: &'t [TypeIR],
    defs: &'t TypeDefs,
    depth: usize,
) -> (Control<'t>, bool) {
    let is_optional = members.last() == Some(&TypeIR::Null);
    let others =
        if is_optional { members.split_last().map_or(members, |(_, rest)| rest) } else { members };
    let literals: Option<Vec<Value>> = others
        .iter()
        .map(|member| match member {
            TypeIR::Literal(literal) => Some(literal_value(literal)),
            _ => None,
        })
        .collect();
    match (literals, others) {
        (Some(values), _) => (Control::Choice(values), is_optional),
        (None, [one]) => (control(one, defs, depth).0, is_optional),
        _ => (Control::Json, is_optional),
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Str(text) => Value::from(text.as_ref()),
        Literal::Int(number) => Value::from(*number),
        Literal::Bool(truth) => Value::from(*truth),
    }
}

/// A value as the text of a field.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl<'t> ValueField<'t> {
    /// The field, filled in with a value; `problem` says what the server refused.
    pub(in crate::page) fn show(
        &self,
        value: Option<&Value>,
        problem: &dyn Fn(&str) -> Option<String>,
    ) -> Markup {
        self.show_at(value, problem, 0)
    }

    fn show_at(
        &self,
        value: Option<&Value>,
        problem: &dyn Fn(&str) -> Option<String>,
        depth: usize,
    ) -> Markup {
        let (control, is_optional) = control(self.ty, self.defs, depth);
        let may_be_empty = is_optional || self.has_default;
        let refused = problem(&self.pointer);
        if let Control::Group(class) = control {
            return self.group(class, value, problem, depth, refused);
        }
        html! {
            label.value-field {
                span { (self.name) " " span.hint.mono { (self.ty.to_string()) } @if may_be_empty { " " span.hint { "may be empty" } } }
                @if let Some(description) = self.description { span.hint { (description) } }
                (self.input(&control, value, may_be_empty))
                @if let Some(refused) = refused { span.refusal role="alert" { (refused) } }
            }
        }
    }

    fn input(&self, control: &Control<'_>, value: Option<&Value>, may_be_empty: bool) -> Markup {
        let text = value.map(text_of).unwrap_or_default();
        let name = self.pointer.as_str();
        html! {
            @match control {
                Control::Text => textarea name=(name) rows=(rows(&text, 2)) { "\n" (text) },
                Control::Number { is_whole } => input name=(name) value=(text) inputmode=(if *is_whole { "numeric" } else { "decimal" }) autocomplete="off";,
                Control::Bool => (choice(name, &[Value::Bool(true), Value::Bool(false)], value, may_be_empty)),
                Control::Choice(values) => (choice(name, values, value, may_be_empty)),
                Control::Lines(_) => {
                    span.hint { "one a line" }
                    textarea name=(name) rows="3" { "\n" (lines(value)) }
                }
                Control::Group(_) | Control::Json => {
                    @let text = value.filter(|value| !value.is_null()).map(|value| serde_json::to_string_pretty(value).unwrap_or_default()).unwrap_or_default();
                    span.hint { "JSON" }
                    textarea.mono name=(name) rows=(rows(&text, 3)) spellcheck="false" { "\n" (text) }
                }
            }
        }
    }

    fn group(
        &self,
        class: &'t Class,
        value: Option<&Value>,
        problem: &dyn Fn(&str) -> Option<String>,
        depth: usize,
        refused: Option<String>,
    ) -> Markup {
        html! {
            fieldset.value-group {
                legend { (self.name) " " span.hint.mono { (self.ty.to_string()) } }
                @if let Some(description) = self.description.or(class.description.as_deref()) { p.hint { (description) } }
                @if let Some(refused) = refused { p.refusal role="alert" { (refused) } }
                @for inner in self.members(class) {
                    (inner.show_at(value.and_then(|value| value.get(inner.name)), problem, depth + 1))
                }
            }
        }
    }

    fn members(&self, class: &'t Class) -> Vec<ValueField<'t>> {
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
    pub(in crate::page) fn read(&self, form: &Form) -> Option<Value> {
        self.read_at(form, 0)
    }

    fn read_at(&self, form: &Form, depth: usize) -> Option<Value> {
        let (control, is_optional) = control(self.ty, self.defs, depth);
        if let Control::Group(class) = control {
            let members = self.members(class);
            let read = members
                .iter()
                .filter_map(|field| Some((field.name.to_owned(), field.read_at(form, depth + 1)?)));
            let members: Map<String, Value> = read.collect();
            return match members.is_empty() {
                true if self.has_default => None,
                true if is_optional => Some(Value::Null),
                _ => Some(Value::Object(members)),
            };
        }
        // Browsers send line ends as CR LF.
        let text = form.text(&self.pointer).replace("\r\n", "\n");
        if text.is_empty() && self.has_default {
            return None;
        }
        if text.is_empty() && is_optional {
            return Some(Value::Null);
        }
        match control {
            Control::Text => Some(Value::String(text)),
            _ if text.trim().is_empty() && !matches!(control, Control::Lines(_)) => None,
            other => Some(read_text(&other, &text)),
        }
    }
}

fn read_text(control: &Control<'_>, text: &str) -> Value {
    let number = |text: &str| serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number);
    match control {
        Control::Text | Control::Group(_) => Value::from(text),
        Control::Number { .. } => number(text).unwrap_or_else(|| Value::from(text)),
        Control::Bool => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        Control::Choice(values) => values
            .iter()
            .find(|value| text_of(value) == text)
            .cloned()
            .unwrap_or_else(|| Value::from(text)),
        Control::Lines(inner) => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| read_text(inner, line))
            .collect(),
        Control::Json => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

fn choice(name: &str, values: &[Value], chosen: Option<&Value>, may_be_empty: bool) -> Markup {
    let is_chosen = |value: &Value| chosen == Some(value);
    html! {
        select name=(name) {
            @if may_be_empty || !values.iter().any(is_chosen) { option value="" { (if may_be_empty { "none" } else { "choose" }) } }
            @for value in values { option value=(text_of(value)) selected[is_chosen(value)] { (text_of(value)) } }
        }
    }
}

fn lines(value: Option<&Value>) -> String {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.map(text_of).collect::<Vec<_>>().join("\n")
}

fn rows(text: &str, least: usize) -> usize {
    text.lines().count().clamp(least, 12)
}
