//! An answer of a server, and what every problem has.

use reqwest::header;
use serde_json::Value;

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: header::HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A header's text, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The problem's code, with a look at what every problem has.
    pub fn code(&self) -> String {
        let problem = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{problem}");
        assert_eq!(problem["status"], self.status, "{problem}");
        for member in ["type", "title", "detail", "request_id"] {
            assert!(problem[member].is_string(), "no {member} in {problem}");
        }
        assert!(problem["errors"].is_array(), "{problem}");
        problem["code"].as_str().unwrap().to_owned()
    }

    /// The problem's `errors` as `POINTER CODE`.
    pub fn errors(&self) -> Vec<String> {
        let problem = self.json();
        let describe = |error: &Value| {
            let text = |name: &str| error[name].as_str().unwrap().to_owned();
            format!("{} {}", text("pointer"), text("code"))
        };
        problem["errors"].as_array().unwrap().iter().map(describe).collect()
    }

    /// The same answer, if it has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}
