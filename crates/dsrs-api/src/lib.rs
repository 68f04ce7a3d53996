//! The documents of the API, each described once by its Rust type, of which `dsrs::document` makes the reader, the schema
//! and the form of the page. Knows no HTTP, no SQL and no operation.

#![warn(missing_docs)]

pub mod dataset;
pub mod feedback;
pub mod index;
pub mod key;
pub mod online_evaluation;
pub mod plain_name;
pub mod problem_catalogue;
pub mod problem_code;
pub mod schedule;
pub mod time;
pub mod web_address;
pub mod webhook;
pub mod workspace;
