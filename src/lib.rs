//! The program: its commands (`cli`), what they send to a server (`client`), and the server, assembled from the crates
//! below (`serve`).

pub mod cli;
mod client;
pub mod serve;
