//! What a list shows when it has nothing: what would be here, and how to get it.

use maud::{Markup, html};

/// An empty list, with its title and what to do.
pub(crate) fn empty(title: &str, more: &Markup) -> Markup {
    html! { section.empty { h2 { (title) } (more) } }
}
