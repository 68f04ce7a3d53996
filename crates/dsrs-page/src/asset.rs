//! The stylesheets and scripts, embedded in the program and served under the hash of them all, so that a browser
//! stores them until they change. Knows no view.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use sha2::{Digest, Sha256};

use dsrs_http::{ApiProblem, ProblemCode};

/// The files. A debug build reads them from the directory, so that a change needs no build.
#[derive(RustEmbed)]
#[folder = "src/assets/"]
struct Assets;

/// Addresses under the current hash never change their content.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// A file under the hash of another release, which a server beside this one may name.
const ONCE: HeaderValue = HeaderValue::from_static("no-cache");

static HASH: LazyLock<String> = LazyLock::new(hash_of_all);

/// The address of a file.
pub(super) fn url(name: &str) -> String {
    format!("/assets/{}/{name}", hash())
}

fn hash() -> String {
    if cfg!(debug_assertions) { hash_of_all() } else { HASH.clone() }
}

fn hash_of_all() -> String {
    let mut names: Vec<_> = Assets::iter().collect();
    names.sort();
    let mut digest = Sha256::new();
    for (name, file) in names.iter().filter_map(|name| Some((name, Assets::get(name)?))) {
        digest = digest.chain_update(name.as_bytes()).chain_update(file.metadata.sha256_hash());
    }
    let digest: [u8; 32] = digest.finalize().into();
    digest[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `GET /assets/{hash}/{name}`.
pub(super) async fn asset(
    Path((hash_given, name)): Path<(String, String)>,
) -> Result<Response, ApiProblem> {
    let file = Assets::get(&name);
    let file =
        file.ok_or_else(|| ApiProblem::new(ProblemCode::NotFound, "there is no such file"))?;
    let caching = if hash_given == hash() { FOREVER } else { ONCE };
    let EmbeddedFile { data, .. } = file;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type(&name))),
        (header::CACHE_CONTROL, caching),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, data).into_response())
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// Every script, for tests of what is embedded.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_asset_has_a_media_type_and_names_no_other_origin() {
        for name in Assets::iter() {
            assert_ne!(media_type(&name), "application/octet-stream", "{name}");
            let text = Assets::get(&name).unwrap().data;
            let text = String::from_utf8_lossy(&text).replace("http://www.w3.org/", "");
            assert!(
                !text.contains("http://") && !text.contains("https://"),
                "{name} names an origin"
            );
        }
    }
}
