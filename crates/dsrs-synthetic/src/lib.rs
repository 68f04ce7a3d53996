//! A synthetic language model and embedding model with three tasks, for tests, examples and
//! measurements of optimizers. The LM answers better with better prompts and writes instructions on
//! request. Its answers are a function of its seed and the request. Knows the messages of the engine;
//! it reads the layout of prompts with [`dsrs::lm::sections`].

mod embedder;
mod lm;
mod notation;
mod propose;
mod random;
mod request;
mod skill;
mod tasks;
mod template;

pub use embedder::SyntheticEmbedder;
pub use lm::SyntheticLm;
pub use tasks::{SyntheticRow, SyntheticTask};
