//! A page of another site, on another port of this host.

use axum::Router;
use axum::response::Html;
use axum::routing::get;

/// Serves one page; its address.
pub async fn serve(html: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/", get(move || async move { Html(html) }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://localhost:{}/", address.port())
}
