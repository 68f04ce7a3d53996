//! Calls of models: prompts, requests to clients and endpoints, retries, fallbacks, constraints of
//! answers, and embeddings. The servers are fakes of this process; no endpoint is called.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod answer_ends;
mod asking;
mod calls;
mod code_and_reasoning;
mod connections;
mod constrain;
mod embeddings;
mod endpoints;
mod fake_server;
mod golden_prompts;
#[cfg(feature = "genai")]
mod native;
mod nearest_demos;
mod openai;
mod prompts;
#[path = "../story/mod.rs"]
mod story;
