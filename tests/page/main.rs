//! The page in headless Chromium, as a person uses it: one binary, one file a noun. Without a browser the stories are
//! skipped, and say so; `DSRS_REQUIRE_BROWSER=1` makes that a failure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod attack;
mod axe;
mod browser;
mod editor;
mod foreign_site;
mod forms;
mod graphs;
mod parse;
mod quality;
mod runs;
mod search;
mod sessions;
mod state;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports)]
mod support;
mod walk;
mod world;
