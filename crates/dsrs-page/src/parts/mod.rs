//! The small parts that views share. Each knows its own look and no view.

pub(super) mod badge;
pub(super) mod chart;
pub(super) mod choice;
pub(super) mod empty;
pub(super) mod figure;
pub(super) mod form_aside;
pub(super) mod head;
pub(super) mod json;
pub(super) mod life;
pub(super) mod line_field;
pub(super) mod marked_text;
pub(super) mod messages;
pub(super) mod pager;
pub(super) mod revision;
pub(super) mod same_request;
pub(super) mod schema_entry;
pub(super) mod schema_fill;
pub(super) mod schema_form;
pub(super) mod sparkline;
pub(super) mod state_changes;
pub(super) mod time;
pub(super) mod typed_field;
mod value_control;
pub(super) mod value_fill;
pub(super) mod value_form;
pub(super) mod values;
pub(super) mod word_diff;
