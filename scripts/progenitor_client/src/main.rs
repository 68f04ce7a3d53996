//! A graph posted and executed, with a label in a header, by the client that progenitor generates.

use std::env;

use client::types::{ExecuteBody, GraphBody};
use reqwest::header::AUTHORIZATION;
use serde_json::json;

#[allow(warnings)]
mod client {
    include!(concat!(env!("OUT_DIR"), "/client.rs"));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let key = format!("Bearer {}", env::var("DSRS_API_KEY").unwrap());
    let headers = [(AUTHORIZATION, key.parse().unwrap())].into_iter().collect();
    let http = reqwest::Client::builder().default_headers(headers).build().unwrap();
    let client = client::Client::new_with_client(&env::var("DSRS_URL").unwrap(), http);

    let node = json!({"strategy": "predict", "signature": "question -> answer"});
    let graph = json!({"name": "ask-rust", "nodes": {"ask": node}});
    let body: GraphBody = serde_json::from_value(graph).unwrap();
    client.graph_create().body(body).send().await.unwrap();

    let metadata = json!({"channel": "mail", "ticket": 7});
    let inputs = json!({"inputs": {"question": "Where is it?"}});
    let body: ExecuteBody = serde_json::from_value(inputs).unwrap();
    let call = client.run_execute().graph("ask-rust").x_dsrs_metadata(metadata.to_string());
    let run = call.body(body).send().await.unwrap().into_inner();
    assert_eq!(json!(run.metadata), metadata);
    println!("ok: progenitor, from OpenAPI 3.0: {:?}", run.outputs);
}
