//! HTTP: the router, ground rules and wire types. The top room of the server: it turns requests
//! into calls of `app` and answers into JSON. Knows no SQL and no LM.

mod accept;
mod body;
mod caller;
mod etag;
mod fallback;
mod front;
mod json;
mod page;
mod problem;
mod query;
mod status;

pub use caller::Caller;
pub use front::Front;
pub use problem::ApiProblem;
pub use status::ProblemCode;
