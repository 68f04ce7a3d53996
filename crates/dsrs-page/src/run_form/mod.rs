//! `/graphs/{graph}/run`: a form made from the types of the inputs. Without a script it runs the graph and shows the
//! answer; the script streams the answer into the nodes of the picture as it is written.

mod answer;
pub(super) mod form;
mod prefill;
pub(super) mod request;

pub(super) use form::{execute, request_json};
