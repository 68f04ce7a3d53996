//! What stands beside a form: what it would do, its buttons, and the request that it stands for. `start_form.js` renews
//! it while fields change. Knows no view.

use maud::{Markup, html};

/// The panel beside a form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormAside<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// What the form would do.
    pub(crate) result: &'a Markup,
    /// What the button does.
    pub(crate) action: &'a str,
    /// What the button does that shows the form again, without scripts.
    pub(crate) update: &'a str,
    /// Where the form is shown again with what was entered.
    pub(crate) preview: &'a str,
    /// The request of the API.
    pub(crate) same: &'a Markup,
}

impl FormAside<'_> {
    /// The panel.
    pub(crate) fn show(&self) -> Markup {
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
