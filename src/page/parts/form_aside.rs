//! What stands beside a form: what it would do, its buttons, and the request that it stands for. `start_form.js` renews
//! it while fields change. Knows no view.

use maud::{Markup, html};

/// The panel beside a form.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct FormAside<'a> {
    pub(in crate::page) id: &'a str,
    pub(in crate::page) title: &'a str,
    /// What the form would do.
    pub(in crate::page) result: &'a Markup,
    /// What the button does.
    pub(in crate::page) action: &'a str,
    /// What the button does that shows the form again, without scripts.
    pub(in crate::page) update: &'a str,
    /// Where the form is shown again with what was entered.
    pub(in crate::page) preview: &'a str,
    /// The request of the API.
    pub(in crate::page) same: &'a Markup,
}

impl FormAside<'_> {
    /// The panel.
    pub(in crate::page) fn show(&self) -> Markup {
        html! {
            aside.panel data-part="result" id=(self.id) aria-live="polite" {
                header { h2 { (self.title) } }
                div.body {
                    (self.result)
                    div.actions {
                        button.primary type="submit" { (self.action) }
                        button type="submit" formaction=(self.preview) formnovalidate data-preview-button { (self.update) }
                    }
                    (self.same)
                }
            }
        }
    }
}
