//! A hyper server that sends the requests to the model that an execution of a graph of `bench/graphs` makes, in the
//! same order, and forwards the last answer: the least that any server between a client and a model has to do. It
//! reads no JSON, checks nothing and records nothing.
//!
//!     forwarder http://127.0.0.1:4010/v1     prints its address

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{join, try_join_all};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Request, Response, server::conn::http1};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A request as one predictor sends it: a system message, a user message, and the settings of the model.
const CHAT: &str = include_str!("chat.json");

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Model {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
}

impl Model {
    async fn ask(&self) -> Result<Bytes, Failure> {
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, "Bearer none")
            .body(Full::new(Bytes::from_static(CHAT.as_bytes())))?;
        Ok(self.client.request(request).await?.into_body().collect().await?.to_bytes())
    }

    /// The requests of one execution.
    async fn execute(&self, path: &str) -> Result<Bytes, Failure> {
        if path.contains("chain") {
            self.ask().await?;
            self.ask().await?;
        } else if path.contains("diamond") {
            self.ask().await?;
            try_join_all([self.ask(), self.ask()]).await?;
        }
        self.ask().await
    }
}

async fn answer(
    model: Arc<Model>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let (_, answer) = join(body.collect(), model.execute(head.uri.path())).await;
    Ok(match answer {
        Ok(text) => {
            let mut response = Response::new(Full::new(text));
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
