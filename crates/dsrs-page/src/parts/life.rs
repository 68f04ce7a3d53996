//! The buttons of what can be paused, resumed and deleted. Knows no view.

use maud::{Markup, html};

/// What can be paused, resumed and deleted at addresses below its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LifeButtons<'a> {
    pub(crate) path: &'a str,
    pub(crate) is_enabled: bool,
    /// The label of the button that deletes it.
    pub(crate) delete: &'a str,
    /// What a person confirms before.
    pub(crate) question: &'a str,
}

impl LifeButtons<'_> {
    pub(crate) fn show(&self) -> Markup {
        let (action, label) =
            if self.is_enabled { ("pause", "Pause") } else { ("resume", "Resume") };
        html! {
            form action={ (self.path) "/" (action) } method="post" { button type="submit" { (label) } }
            form action={ (self.path) "/delete" } method="post" data-confirm=(self.question) {
                button.danger type="submit" { (self.delete) }
            }
        }
    }
}
