//! The buttons of what can be paused, resumed and deleted. Knows no view.

use maud::{Markup, html};

/// What can be paused, resumed and deleted at addresses below its own.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct LifeButtons<'a> {
    pub(in crate::page) path: &'a str,
    pub(in crate::page) is_enabled: bool,
    /// The label of the button that deletes it.
    pub(in crate::page) delete: &'a str,
    /// What a person confirms before.
    pub(in crate::page) question: &'a str,
}

impl LifeButtons<'_> {
    /// The buttons.
    pub(in crate::page) fn show(&self) -> Markup {
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
