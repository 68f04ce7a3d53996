//! CPU time per request of the LM client, for `cargo bench -p dsrs --bench lm_client`. A child
//! process answers immediately, so only this side is measured; `LM_BENCH_URL` names another
//! endpoint. Reads counters of the kernel, so it has figures on Linux only.

#![allow(clippy::expect_used, reason = "a benchmark may fail loudly")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dsrs::lm::{Chat, DeltaSink, Lm, LmParams, LmRequest, Message, OpenAi, OpenAiConfig, Prefix};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CONCURRENCY: usize = 32;
const WARM_UP: u32 = 2_000;
const REQUESTS: u32 = 50_000;

const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"[[ ## answer ## ]]\nfake answer\n\n[[ ## completed ## ]]"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":12,"total_tokens":312}}"#;

#[tokio::main(worker_threads = 2)]
async fn main() {
    if std::env::args().any(|arg| arg == "--serve") {
        return serve().await;
    }
    let mut child = None;
    let url = std::env::var("LM_BENCH_URL").unwrap_or_else(|_| {
        let exe = std::env::current_exe().expect("the path of this program");
        let mut started =
            Command::new(exe).arg("--serve").stdout(Stdio::piped()).spawn().expect("a child");
        let mut line = String::new();
        let stdout = started.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("its address");
        child = Some(started);
        line.trim().to_owned()
    });
    let lm = Arc::new(OpenAi::new(OpenAiConfig::new(url, "bench")).expect("a client"));
    ask(&lm, WARM_UP).await;
    let (start, before) = (Instant::now(), cpu());
    ask(&lm, REQUESTS).await;
    let (took, used) = (start.elapsed(), cpu().zip(before).map(|(after, before)| after - before));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(REQUESTS);
    println!("{REQUESTS} requests, {CONCURRENCY} at once: {:.1} µs each", each(took));
    if let Some(used) = used {
        println!("cpu of this process: {:.1} µs each", each(used));
    }
    if let Some(mut child) = child {
        child.kill().expect("to stop the child");
        child.wait().expect("the child's end");
    }
}

async fn ask(lm: &Arc<OpenAi>, requests: u32) {
    let left = Arc::new(AtomicU32::new(requests));
    let askers = (0..CONCURRENCY).map(|_| {
        let (lm, left) = (lm.clone(), left.clone());
        tokio::spawn(async move {
            let chat = Chat {
                prefix: Prefix::of([Message::system(
                    "answer in sections, and be brief about it.\n".repeat(30),
                )]),
                turns: vec![Message::user("[[ ## question ## ]]\nwhy is the sky blue?")],
            };
            let request = LmRequest::new(chat, LmParams::default());
            let next = |left: u32| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok() {
                lm.complete(&request, DeltaSink::closed()).await.expect("an answer");
            }
        })
    });
    for asker in askers.collect::<Vec<_>>() {
        asker.await.expect("an asker that ends well");
    }
}

/// User and system time of this process, in ticks of 10 ms.
fn cpu() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis(ticks.sum::<Option<u64>>()? * 10))
}

async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}/v1", listener.local_addr().expect("an address"));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(answer(stream));
    }
}

/// Answers every request the same; one request is what one or more reads bring up to its length.
async fn answer(mut stream: TcpStream) {
    stream.set_nodelay(true).expect("an option");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
    let said = format!("{head}{}\r\n\r\n{ANSWER}", ANSWER.len());
    let (mut buffer, mut filled) = (vec![0; 64 << 10], 0);
    loop {
        match stream.read(&mut buffer[filled..]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => filled += read,
        }
        if whole(&buffer[..filled]) {
            filled = 0;
            if stream.write_all(said.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn whole(request: &[u8]) -> bool {
    let Some(head) = request.windows(4).position(|end| end == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
    let length = text
        .split_once("content-length: ")
        .and_then(|(_, rest)| rest.lines().next()?.trim().parse::<usize>().ok());
    request.len() >= head + 4 + length.unwrap_or(0)
}
