//! The OpenAPI document and its interactive page, Swagger UI, whose files are read from the archive of its release.
//! Knows no route of the API.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use serde_json::Value;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

use super::protocol::problem::ApiProblem;

/// Where the files are in the archive, below the directory that names the release.
const FILES: &str = "/dist/";

/// The files of the archive that the page names.
const NAMES: [&str; 3] = ["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"];

/// The page. Its names are relative, so that it works behind a prefix.
const PAGE: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>API of dsrs-server</title>
<link rel="stylesheet" href="swagger-ui.css">
<link rel="icon" type="image/png" href="favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="swagger-initializer.js"></script>
</body>
</html>
"#;

const INITIALIZER: &str = r##"window.ui = SwaggerUIBundle({
  url: "../openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
});
"##;

/// `/openapi.json`, the same in the form of OpenAPI 3.0, and `/docs/`.
pub(super) fn routes() -> Router {
    Router::new()
        .route("/openapi.json", get(|| async { document(&OPENAPI) }))
        .route("/openapi-3.0.json", get(|| async { document(&OPENAPI_30) }))
        .route("/docs", get(|| async { Redirect::to("/docs/") }))
        .route("/docs/", get(|| async { typed("text/html; charset=utf-8", PAGE) }))
        .route("/docs/{name}", get(file))
}

/// The documents, once they were asked for: a server that only executes needs neither.
static OPENAPI: LazyLock<Bytes> = LazyLock::new(|| text(&super::make_openapi()));
static OPENAPI_30: LazyLock<Bytes> = LazyLock::new(|| text(&super::openapi30()));

/// A document is always JSON.
fn text(document: &Value) -> Bytes {
    Bytes::from(serde_json::to_vec(document).unwrap_or_default())
}

fn document(text: &Bytes) -> Response {
    typed("application/json", text.clone())
}

async fn file(Path(name): Path<String>) -> Result<Response, ApiProblem> {
    if name == "swagger-initializer.js" {
        return Ok(typed("text/javascript; charset=utf-8", INITIALIZER));
    }
    let content = UNPACKED.get(name.as_str()).cloned();
    let content = content.ok_or_else(|| ApiProblem::not_found("there is no such file"))?;
    Ok(typed(media_type(&name), content))
}

/// The files that the page names. They are unpacked once, so that requests without a key cost no more than their answer.
static UNPACKED: LazyLock<HashMap<&str, Bytes>> =
    LazyLock::new(|| NAMES.into_iter().filter_map(|name| Some((name, unpack(name)?))).collect());

/// A file of the archive.
fn unpack(name: &str) -> Option<Bytes> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).ok()?;
    let is_wanted = |path: &str| {
        path.split_once(FILES).is_some_and(|(root, rest)| !root.contains('/') && rest == name)
    };
    let path = archive.file_names().flatten().find(|path| is_wanted(path))?.into_owned();
    let mut content = Vec::new();
    archive.by_name(&path).ok()?.read_to_end(&mut content).ok()?;
    Some(content.into())
}

fn typed(media_type: &'static str, content: impl IntoResponse) -> Response {
    let media_type = HeaderValue::from_static(media_type);
    ([(header::CONTENT_TYPE, media_type)], content).into_response()
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_names_is_in_the_archive() {
        for name in NAMES {
            assert!(PAGE.contains(name), "{name}");
            assert!(UNPACKED.get(name).is_some_and(|file| !file.is_empty()), "{name}");
            assert_ne!(media_type(name), "application/octet-stream", "{name}");
        }
    }
}
