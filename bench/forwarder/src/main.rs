//! A hyper server that sends the requests to the model that an execution of a graph of `bench/graphs` makes, in the
//! same order, and answers the text of the last answer: the least that any server between a client and a model has to
//! do. It parses its request and the answers of the model, and asks for what the answer before says. It checks no value,
//! counts nothing and records nothing.
//!
//!     forwarder http://127.0.0.1:4010/v1     prints its address

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Request, Response, server::conn::http1};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A request as one predictor sends it: a system message, a user message, and the settings of the model.
const CHAT: &str = include_str!("chat.json");

/// The question in [`CHAT`].
const QUESTION: &str = "Which tea is best in the morning?";

/// What is above the answer in the text of the model.
const HEADER: &str = "[[ ## answer ## ]]\n";

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A request to execute a graph.
#[derive(Deserialize)]
struct Execute<'a> {
    #[serde(borrow)]
    inputs: Inputs<'a>,
}

#[derive(Deserialize)]
struct Inputs<'a> {
    #[serde(borrow)]
    question: Cow<'a, str>,
}

/// An answer of the model.
#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Usage,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Text<'a>,
    finish_reason: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Text<'a> {
    content: Cow<'a, str>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

#[derive(Serialize)]
struct Executed<'a> {
    answer: &'a str,
    usage: Usage,
}

struct Model {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
}

impl Model {
    /// The text and the usage of the answer to a question.
    async fn ask(&self, question: &str) -> Result<(String, Usage), Failure> {
        let (before, after) = CHAT.split_once(QUESTION).ok_or("the prompt has no question")?;
        let mut body = Vec::with_capacity(CHAT.len() + question.len());
        body.extend_from_slice(before.as_bytes());
        let escaped = serde_json::to_string(question)?;
        body.extend_from_slice(&escaped.as_bytes()[1..escaped.len() - 1]);
        body.extend_from_slice(after.as_bytes());
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, "Bearer none")
            .body(Full::new(Bytes::from(body)))?;
        let answer = self.client.request(request).await?.into_body().collect().await?.to_bytes();
        let completion: Completion = serde_json::from_slice(&answer)?;
        let choice = completion.choices.first().ok_or("the answer has no choice")?;
        if choice.finish_reason != "stop" {
            return Err("the answer is not complete".into());
        }
        let text = choice.message.content.split(HEADER).nth(1).ok_or("the answer has no section")?;
        let text = text.split("\n\n[[ ## ").next().unwrap_or(text);
        Ok((text.to_owned(), completion.usage))
    }

    /// The requests of one execution.
    async fn execute(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let request: Execute = serde_json::from_slice(body)?;
        let mut question = request.inputs.question.into_owned();
        let mut usage = Usage::default();
        let mut add = |(text, used): (String, Usage)| {
            usage.prompt_tokens += used.prompt_tokens;
            usage.completion_tokens += used.completion_tokens;
            text
        };
        if path.contains("chain") {
            question = add(self.ask(&question).await?);
            question = add(self.ask(&question).await?);
        } else if path.contains("diamond") {
            question = add(self.ask(&question).await?);
            let both = try_join_all([self.ask(&question), self.ask(&question)]).await?;
            question = both.into_iter().map(&mut add).collect::<Vec<_>>().join("\n\n");
        }
        let answer = add(self.ask(&question).await?);
        Ok(serde_json::to_vec(&Executed { answer: &answer, usage })?)
    }
}

async fn answer(
    model: Arc<Model>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let executed = async {
        let body = body.collect().await?.to_bytes();
        model.execute(head.uri.path(), &body).await
    };
    Ok(match executed.await {
        Ok(text) => {
            let mut response = Response::new(Full::new(text.into()));
            let json = hyper::header::HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            response
        }
        Err(error) => {
            let mut response = Response::new(Full::new(error.to_string().into()));
            *response.status_mut() = hyper::StatusCode::BAD_GATEWAY;
            response
        }
    })
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let base = std::env::args().nth(1).ok_or("the base URL of the model is missing")?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let model = Arc::new(Model { client, url: format!("{base}/chat/completions") });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let model = model.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(model.clone(), request));
            // A client that leaves ends its connection.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
