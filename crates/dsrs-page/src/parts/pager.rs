//! The way to the next page of a list.

use maud::{Markup, html};

use crate::form::encoded;

/// A link to the next page, if there is one, and back to the first. `path` is the view with its filters.
pub(crate) fn pager(path: &str, is_first: bool, next: Option<&str>) -> Markup {
    let and = if path.contains('?') { '&' } else { '?' };
    html! {
        @if !is_first || next.is_some() {
            nav.pager aria-label="Pages" {
                @if !is_first { a.button href=(path) { "First page" } }
                @if let Some(cursor) = next {
                    a.button rel="next" href={ (path) (and) "cursor=" (encoded(cursor)) } { "Next page" }
                }
            }
        }
    }
}
