//! Drives the server from outside: one binary, one file a subject.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod cli;
mod compression;
mod config;
mod cross_origin;
mod engine;
mod features;
mod floors;
mod generated_pages;
mod hosts;
mod limits_page;
mod logs;
mod malformed;
mod metrics;
mod openapi;
mod openapi30;
mod page;
mod pg;
mod sandbox;
mod scale;
mod serve;
mod shows;
mod store;
mod support;
mod telemetry;
mod tools;
mod v1;
mod words;
