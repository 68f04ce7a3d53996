//! Metrics from the outside: read from JSON, checked against a program, judging with an LM that
//! answers from a script.

mod comparisons;
mod composition;
mod expressions;
mod guide;
mod intervals;
mod judges;
mod reading;
mod support;
