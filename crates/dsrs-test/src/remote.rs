//! A client of a server at any address.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, redirect};
use serde_json::Value;

use super::{Answer, PATIENCE, documented, found};

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Remote {
    url: String,
    client: reqwest::Client,
}

impl Remote {
    pub fn new(url: &str) -> Self {
        Self::with_headers(url, HeaderMap::new())
    }

    /// A client that sends this key with every request.
    pub fn with_key(url: &str, key: &str) -> Self {
        let bearer = HeaderValue::try_from(format!("Bearer {key}")).unwrap();
        Self::with_headers(url, HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
    }

    fn with_headers(url: &str, headers: HeaderMap) -> Self {
        // names the cryptography that clients are built with
        let _ = super::http_client();
        let client =
            reqwest::Client::builder().no_gzip().timeout(PATIENCE).default_headers(headers);
        let client = client.redirect(redirect::Policy::none()).build().unwrap();
        Self { url: url.to_owned(), client }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    /// Repeats the request until the condition holds.
    pub async fn until(&self, path: &str, done: impl Fn(&Answer) -> bool) -> Answer {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let answer = self.get(path).await;
            if done(&answer) {
                return answer;
            }
            let late = tokio::time::Instant::now() > deadline;
            assert!(!late, "waited too long for {path}: {}", answer.text);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every item of a list, page by page; `items` is their member in a page.
    pub async fn pages(&self, path: &str, items: &str, limit: usize) -> Vec<Value> {
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let and = if path.contains('?') { "&" } else { "?" };
            let page = self.get(&format!("{path}{and}limit={limit}{next}")).await;
            let page = page.expect(200).json();
            let shown = page[items].as_array().unwrap();
            assert!(shown.len() <= limit);
            found.extend(shown.iter().cloned());
            match page["next_cursor"].as_str() {
                Some(cursor) => next = format!("&cursor={cursor}"),
                None => return found,
            }
        }
    }

    /// A run, once it has ended.
    pub async fn ended(&self, id: &str) -> Value {
        let ended = |answer: &Answer| {
            let run = answer.json();
            matches!(run["status"].as_str(), Some("succeeded" | "failed" | "cancelled"))
        };
        self.until(&format!("/v1/runs/{id}"), ended).await.expect(200).json()
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], None).await
    }

    pub async fn post(&self, path: &str, body: impl ToString) -> Answer {
        self.send(Method::POST, path, &[], Some(body.to_string())).await
    }

    /// Sends again what the server answers with `503`: on a machine with much to do, it may wait too long for a
    /// connection to its database.
    pub async fn post_when_available(&self, path: &str, body: impl ToString) -> Answer {
        let body = body.to_string();
        let sent =
            async || Some(self.post(path, &body).await).filter(|answer| answer.status != 503);
        found("an available server", sent).await
    }

    pub async fn put(&self, path: &str, body: impl ToString) -> Answer {
        self.send(Method::PUT, path, &[], Some(body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: impl ToString) -> Answer {
        self.send(Method::PATCH, path, &[], Some(body.to_string())).await
    }

    /// A request with headers; a body is declared as JSON unless a header says otherwise. The answer
    /// must match the OpenAPI document.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Answer {
        let is_json = !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let sent = body.clone().filter(|_| is_json).unwrap_or_default();
        let answer = self.request(method.clone(), path, headers, body).send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let answer = Answer { status, headers, text: answer.text().await.unwrap() };
        documented::check(&method, path, &answer);
        documented::check_request(&method, path, &sent, &answer);
        answer
    }

    /// A request whose answer is read as server-sent events.
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> EventReader {
        let headers = [headers, &[("accept", "text/event-stream")]].concat();
        let answer = self.request(method, path, &headers, body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        EventReader { answer, text: String::new() }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> reqwest::RequestBuilder {
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
        request
    }
}

/// A response of events, read as they arrive. Dropping it disconnects.
pub struct EventReader {
    answer: reqwest::Response,
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: u64,
    pub kind: String,
    pub data: Value,
}

impl EventReader {
    /// A header's text, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The next event; comments are passed over.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if !block.starts_with(':') {
                    return Some(event(&block));
                }
                continue;
            }
            let chunk = self.answer.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Reads until this text has arrived, without parsing events.
    pub async fn pass(&mut self, mark: &str) {
        while !self.text.contains(mark) {
            let seen = self.text.len().saturating_sub(mark.len());
            self.text.drain(..self.text.floor_char_boundary(seen));
            let chunk = self.answer.chunk().await.unwrap().expect("the events to go on");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// All events to the end.
    pub async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Reads on to the first event of a kind.
    pub async fn until(&mut self, kind: &str) -> Event {
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("there was no {kind}"));
            if event.kind == kind {
                return event;
            }
        }
    }
}

fn event(block: &str) -> Event {
    let line = |name: &str| {
        let found = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("no {name} in {block}")).to_owned()
    };
    let data = serde_json::from_str(&line("data")).unwrap();
    Event { id: line("id").parse().unwrap(), kind: line("event"), data }
}
