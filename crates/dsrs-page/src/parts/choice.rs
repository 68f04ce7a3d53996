//! A field with a choice of names: a list, or a text with suggestions if there are too many to list.

use maud::{Markup, html};

use crate::parts::schema_form::FieldMark;

/// The names that a field offers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    /// Whether these are not all.
    pub(crate) has_more: bool,
}

/// A choice of one of these names. `none` is the label of no choice.
pub(crate) fn choice(field: &str, chosen: &str, names: &Names, none: &str) -> Markup {
    marked_choice(field, chosen, names, none, FieldMark::default())
}

/// The same for a field that may have a problem.
pub(crate) fn marked_choice(
    field: &str,
    chosen: &str,
    names: &Names,
    none: &str,
    mark: FieldMark,
) -> Markup {
    let FieldMark { invalid, is_first } = mark;
    let suggestions = format!("{}-names", field.trim_matches('/').replace('/', "-"));
    let is_known = chosen.is_empty() || names.names.iter().any(|name| name == chosen);
    html! {
        @if names.has_more {
            input name=(field) value=(chosen) list=(suggestions) placeholder=(none) autocomplete="off" aria-invalid=[invalid] autofocus[is_first];
            datalist id=(suggestions) { @for name in &names.names { option value=(name) {} } }
        } @else {
            select name=(field) aria-invalid=[invalid] autofocus[is_first] {
                option value="" selected[chosen.is_empty()] { (none) }
                @if !is_known { option value=(chosen) selected { (chosen) } }
                @for name in &names.names { option value=(name) selected[name == chosen] { (name) } }
            }
        }
    }
}
