//! Cargo considers build dependencies only of crates with a build script.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
