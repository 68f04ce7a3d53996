//! The head of a view: where it is, its title, and its actions.

use maud::{Markup, html};

/// A step of the way to a view: its address and its name.
pub(crate) type Crumb<'a> = (String, &'a str);

/// The head of a view.
pub(crate) fn head(crumbs: &[Crumb<'_>], title: &Markup, actions: &Markup) -> Markup {
    html! {
        div.head {
            div.title {
                @if !crumbs.is_empty() {
                    nav.crumbs aria-label="Path" {
                        @for (href, name) in crumbs { a href=(href) { (name) } span aria-hidden="true" { "/" } }
                    }
                }
                h1 { (title) }
            }
            div.actions { (actions) }
        }
    }
}

/// The views of one thing beside each other: address, name, whether it is shown.
pub(crate) fn tabs(label: &str, tabs: &[(String, &str, bool)]) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            @for (href, name, is_current) in tabs {
                a href=(href) aria-current=[is_current.then_some("page")] { (name) }
            }
        }
    }
}
