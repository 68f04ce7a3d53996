//! Only features of dependencies: see `Cargo.toml`.
