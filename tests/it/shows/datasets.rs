//! Datasets that are too large for memory, and interrupted uploads.

use std::io::{BufWriter, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::batches::peak_memory;
use super::on;
use dsrs_test::{Does, FakeLm, Remote, ServerSetup, test_database};

/// Examples of 20 kB, which make up 100 MB.
const MANY: usize = 5000;

/// A body that is generated while it is sent.
struct Sending(BufWriter<TcpStream>);

impl Sending {
    fn begin(url: &str, path: &str) -> Self {
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        let mut stream = BufWriter::new(stream);
        let head =
            "host: localhost\r\ncontent-type: application/jsonl\r\ntransfer-encoding: chunked\r\n";
        write!(stream, "POST {path} HTTP/1.1\r\n{head}connection: close\r\n\r\n").unwrap();
        Self(stream)
    }

    fn send(&mut self, examples: std::ops::Range<usize>, filler: &str) {
        for number in examples {
            let text = json!({"inputs": {"question": format!("{number} {filler}")},
                "expected": {"answer": "yes"}});
            let line = text.to_string() + "\n";
            write!(self.0, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        }
    }

    /// The answer's status line and its body.
    fn end(mut self) -> (String, Value) {
        self.0.write_all(b"0\r\n\r\n").unwrap();
        self.0.flush().unwrap();
        let mut answer = String::new();
        self.0.get_mut().read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), serde_json::from_str(text).unwrap())
    }
}

async fn server() -> ServerSetup {
    let (database, lm) = (test_database().await, FakeLm::doing([Does::Stall]).await);
    on(&database, &lm)
}

async fn names(api: &Remote) -> Vec<Value> {
    let page = api.get("/v1/datasets").await.expect(200).json();
    page["items"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_need_a_fraction_of_their_size_in_memory() {
    let server = server().await.start();
    let api = Remote::new(&server.url);
    // The first upload fills buffers, caches and threads, whatever its size.
    uploaded(&server.url, "first", MANY / 4).await;
    api.get("/v1/datasets/first/examples?format=jsonl").await.expect(200);
    let before = peak_memory(server.pid());
    let made = uploaded(&server.url, "large", MANY).await;
    let size = made["bytes"].as_u64().unwrap() >> 20;
    assert_eq!((&made["count"], size), (&json!(MANY), 95));
    let download = api.get("/v1/datasets/large/examples?format=jsonl").await.expect(200).text;
    let hash = Sha256::digest(&download);
    let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!((download.lines().count(), &made["content_hash"]), (MANY, &json!(hash)));
    let peak = peak_memory(server.pid());
    // Less than 10 MiB is usual.
    assert!(peak < before + size / 2, "{peak} MiB after {before} MiB, for {size} MiB");
}

/// Uploads so many large examples, and returns the dataset.
async fn uploaded(url: &str, name: &str, count: usize) -> Value {
    let (url, path) = (url.to_owned(), format!("/v1/datasets?name={name}"));
    let upload = tokio::task::spawn_blocking(move || {
        let mut sending = Sending::begin(&url, &path);
        sending.send(0..count, &"x".repeat(20_000));
        sending.end()
    });
    let (status, made) = upload.await.unwrap();
    assert!(status.contains("201"), "{status}: {made}");
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_upload_leaves_nothing_behind() {
    let setup = server().await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    let mut left = Sending::begin(&server.url, "/v1/datasets?name=half");
    left.send(0..500, &"x".repeat(5000));
    drop(left);
    let mut killed = Sending::begin(&server.url, "/v1/datasets?name=half");
    killed.send(0..500, &"x".repeat(5000));
    assert_eq!(names(&api).await, Vec::<Value>::new());
    server.kill();
    let server = setup.start();
    let api = Remote::new(&server.url);
    assert_eq!(names(&api).await, Vec::<Value>::new());
    let mut whole = Sending::begin(&server.url, "/v1/datasets?name=half");
    whole.send(0..500, &"x".repeat(5000));
    let (status, made) = whole.end();
    assert!(status.contains("201"), "{status}: {made}");
    assert_eq!((names(&api).await, &made["count"]), (vec![json!("half")], &json!(500)));
}
