//! A caller of a server, wherever that runs.

use std::time::Duration;

use reqwest::{Method, redirect};

use super::Answer;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Remote {
    url: String,
    client: reqwest::Client,
}

impl Remote {
    pub fn new(url: &str) -> Self {
        // names the cryptography that clients are built with
        let _ = super::http_client();
        let client = reqwest::Client::builder().timeout(PATIENCE);
        let client = client.redirect(redirect::Policy::none()).build().unwrap();
        Self { url: url.to_owned(), client }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], None).await
    }

    pub async fn post(&self, path: &str, body: impl ToString) -> Answer {
        self.send(Method::POST, path, &[], Some(body.to_string())).await
    }

    pub async fn put(&self, path: &str, body: impl ToString) -> Answer {
        self.send(Method::PUT, path, &[], Some(body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: impl ToString) -> Answer {
        self.send(Method::PATCH, path, &[], Some(body.to_string())).await
    }

    /// A request with headers; a body is declared as JSON unless a header says otherwise.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Answer {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.body(body);
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                request = request.header("content-type", "application/json");
            }
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Answer { status, headers, text: answer.text().await.unwrap() }
    }
}
