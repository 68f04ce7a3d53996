//! Generates the client of the document that DSRS_DOCUMENT names.

use std::{env, fs, path::Path};

use progenitor::{GenerationSettings, Generator, InterfaceStyle};

fn main() {
    println!("cargo::rerun-if-env-changed=DSRS_DOCUMENT");
    let file = env::var("DSRS_DOCUMENT").unwrap();
    println!("cargo::rerun-if-changed={file}");
    let document = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut settings = GenerationSettings::default();
    settings.with_interface(InterfaceStyle::Builder);
    let client = Generator::new(&settings).generate_tokens(&document).unwrap();
    let text = prettyplease::unparse(&syn::parse2(client).unwrap());
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("client.rs"), text).unwrap();
}
