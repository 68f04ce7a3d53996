//! What others send to the address for the engine, and what is in the engine that this release cannot read.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::NO_WORKER;
use super::{id, invocations, line, lm, prefix, question, service};
use crate::Api;
use dsrs_test::{found, http_client, restate_node, restate_settings, test_database};

/// Sends a request as the engine does: HTTP/2 without TLS.
async fn request(
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, String) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    let mut request = hyper::Request::post(format!("http://{address}{path}"));
    for (name, text) in headers {
        request = request.header(*name, *text);
    }
    let body = Full::new(Bytes::copy_from_slice(body));
    let answer = sender.send_request(request.body(body).unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&text).into_owned())
}

fn address(database: &str) -> String {
    let settings = restate_settings(database);
    settings.into_iter().find(|(name, _)| name == "DSRS_RESTATE_BIND").unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_engine_did_not_sign_is_refused() {
    let database = test_database().await;
    let key = "publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9";
    let _service = service(&database, lm(), &[("DSRS_RESTATE_IDENTITY_KEY", key)]).await;
    let (address, name) = (address(&database), prefix(&database));
    for path in ["/discover".to_owned(), format!("/invoke/{name}.run/work")] {
        let (status, text) = request(&address, &path, &[], b"").await;
        assert_eq!((status, &*text), (401, "the request is not signed\n"), "{path}");
    }
    let forged = [("x-restate-signature-scheme", "v1"), ("x-restate-jwt-v1", "e30.e30.AAAA")];
    assert_eq!(request(&address, "/discover", &forged, b"").await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_are_refused_and_disturb_nothing() {
    let database = test_database().await;
    let api = service(&database, lm(), &[]).await;
    let (address, work) = (address(&database), format!("/invoke/{}.run/work", prefix(&database)));
    let protocol = [("content-type", "application/vnd.restate.invocation.v6")];
    assert_eq!(request(&address, "/invoke/other.run/work", &protocol, b"").await.0, 404);
    assert_eq!(request(&address, &work, &[], b"").await.0, 415);
    let bodies: [&[u8]; 4] = [b"", b"\xff\xff\xff\xff\xff\xff\xff\xff", &[0; 7], &[0xAA; 100_000]];
    for body in bodies {
        let (status, _) = request(&address, &work, &protocol, body).await;
        assert!(matches!(status, 200 | 400..=599), "{status}");
    }
    api.post("/v1/graphs", line()).await.expect(201);
    let run = api.post("/v1/graphs/line/runs", question("?")).await.expect(202).json();
    assert_eq!(api.ended(&id(&run)).await["status"], "succeeded");
}

/// Why the engine has not finished the work of a database yet.
async fn last_failure(database: &str) -> String {
    let failure = async || {
        let found = invocations(database).await;
        let failure = found.first()?["last_failure"].as_str()?.to_owned();
        (!failure.is_empty()).then_some(failure)
    };
    found("a failure that the engine reports", failure).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_another_installation_leaves_runs_and_jobs_to_their_own() {
    let (database, other) = (test_database().await, test_database().await);
    // Databases of tests are copies of one.
    let mut session = PgConnection::connect(&other).await.unwrap();
    let renewed = sqlx::query("update installation set id = gen_random_uuid()");
    assert_eq!(renewed.execute(&mut session).await.unwrap().rows_affected(), 1);
    let api = service(&database, lm(), &[NO_WORKER]).await;
    api.post("/v1/graphs", line()).await.expect(201);
    // Registered for the services of the first one by mistake.
    let settings = restate_settings(&database);
    let settings = settings.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let settings: Vec<(&str, &str)> = settings.collect();
    let stranger = Api::start(&other, Some(lm()), &settings).await;
    let run = api.post("/v1/graphs/line/runs", question("?")).await.expect(202).json();
    let failure = last_failure(&database).await;
    assert!(failure.contains("another installation"), "{failure}");
    let batch = json!({"items": [{"question": "?"}]});
    let batch = api.post("/v1/graphs/line/batches", batch).await.expect(202).json();
    let batch = format!("/v1/batches/{}", id(&batch));
    stranger.stop().await;
    assert_eq!(api.get(&batch).await.expect(200).json()["counts"]["succeeded"], 0);
    let _own = service(&database, lm(), &[]).await;
    assert_eq!(api.ended(&id(&run)).await["status"], "succeeded");
    api.until(&batch, |found| found.json()["status"] == "succeeded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_newer_release_is_left_alone() {
    let database = test_database().await;
    let _api = service(&database, lm(), &[]).await;
    let key = uuid::Uuid::now_v7();
    let url = format!("{}/{}.run/{key}/work/send", restate_node().ingress, prefix(&database));
    let newer = json!({"format": 99, "what": "no release of today knows"}).to_string();
    let sent = http_client().post(url).header("content-type", "application/json").body(newer);
    assert!(sent.send().await.unwrap().status().is_success());
    let failure = last_failure(&database).await;
    assert_eq!(invocations(&database).await.len(), 1, "it is not lost");
    assert!(failure.contains("a newer release made the run"), "{failure}");
}
