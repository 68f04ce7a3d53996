//! What all routes share: the layer before them, bodies and queries, conditions, pages, problems.
//! May not know any route or resource.

pub(crate) mod accept;
pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod caller;
pub(crate) mod compression;
pub(crate) mod cors;
pub(crate) mod etag;
pub(crate) mod fallback;
pub(crate) mod front;
pub(crate) mod idempotency;
pub(crate) mod json_items;
pub(crate) mod json_outline;
pub(crate) mod keyed_post;
pub(crate) mod malformed;
pub(crate) mod metered;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod parameter;
pub(crate) mod path;
pub(crate) mod problem;
pub(crate) mod problem_view;
pub(crate) mod query;
pub(crate) mod raw_json;
pub(crate) mod refusal;
pub(crate) mod resource;
pub(crate) mod route;
pub(crate) mod same_site;
pub(crate) mod sse;
pub(crate) mod status;
pub(crate) mod table_items;
pub(crate) mod trace;
pub(crate) mod upload;
