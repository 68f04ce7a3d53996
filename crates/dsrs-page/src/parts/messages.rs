//! A message of a prompt, as it is sent. Its text comes from strangers and is shown as text.

use dsrs::lm::{Message, Role};
use maud::{Markup, html};

/// A message with its role.
pub(crate) fn message_of(message: &Message) -> Markup {
    let (class, role) = match message.role {
        Role::System => ("message system", "system"),
        Role::User => ("message user", "user"),
        Role::Assistant => ("message assistant", "assistant"),
        Role::Tool => ("message tool", "tool"),
    };
    html! {
        article class=(class) { h5 { (role) } pre.text tabindex="0" { (message.content) } }
    }
}
