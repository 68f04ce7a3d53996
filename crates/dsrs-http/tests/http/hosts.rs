//! Without API keys only requests that name a host of this machine are answered: a page whose name
//! an attacker points at this machine (DNS rebinding) reaches nothing.

use crate::Api;
use dsrs_test::raw_request;

const LIST: &str = "GET /v1/graphs HTTP/1.1";

/// The status of a list that is asked for under a host, and the code of a refusal.
async fn listed(api: &Api, host: &str) -> (u16, String) {
    let answer = raw_request(&api.url, LIST, &[("host", host)]).await;
    let code = if answer.status == 200 { String::new() } else { answer.code() };
    (answer.status, code)
}

async fn expect_answered(api: &Api, hosts: &[&str]) {
    for host in hosts {
        assert_eq!(listed(api, host).await, (200, String::new()), "{host}");
    }
}

async fn expect_refused(api: &Api, hosts: &[&str]) {
    for host in hosts {
        assert_eq!(listed(api, host).await, (403, "forbidden_host".to_owned()), "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_only_names_and_addresses_of_this_machine_are_answered() {
    let api = Api::new().await;
    let own = ["localhost", "LOCALHOST:1234", "localhost.:8080", "app.localhost", "127.0.0.1"];
    expect_answered(&api, &own).await;
    let addresses = ["127.9.9.9:80", "[::1]:8080", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"];
    expect_answered(&api, &addresses).await;
    let foreign = ["evil.example", "EVIL.example:8080", "localhost.evil.example", "notlocalhost"];
    expect_refused(&api, &foreign).await;
    let addresses = ["192.168.1.5", "127.0.0.1.evil.example", "[::2]:8080", "0.0.0.0:8080"];
    expect_refused(&api, &addresses).await;
    let malformed =
        ["", "localhost@evil.example", "localhost, evil.example", "localhost/x", "[::1"];
    expect_refused(&api, &malformed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_host_learns_which_setting_admits_it() {
    let api = Api::new().await;
    let answer = raw_request(&api.url, LIST, &[("host", "app.example.com:8443")]).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden_host"));
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    for part in ["`app.example.com:8443`", "http.allowed_hosts", "API key"] {
        assert!(detail.contains(part), "{part} is not in {detail}");
    }
    assert_eq!(answer.json()["request_id"], answer.header("x-request-id"));
    let long = "x".repeat(20_000);
    let answer = raw_request(&api.url, LIST, &[("host", &long)]).await.expect(403);
    assert!(answer.text.len() < 1000, "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_its_host_once() {
    let api = Api::new().await;
    for (first, headers, status, code) in [
        (LIST, vec![], 403, "forbidden_host"),
        ("GET /v1/graphs HTTP/1.0", vec![], 403, "forbidden_host"),
        ("GET /v1/graphs HTTP/1.0", vec!["localhost"], 200, ""),
        (LIST, vec!["localhost", "localhost"], 400, "malformed_request"),
        (LIST, vec!["localhost", "evil.example"], 400, "malformed_request"),
        ("GET http://localhost:1/v1/graphs HTTP/1.1", vec!["localhost"], 200, ""),
        ("GET http://LOCALHOST/v1/graphs HTTP/1.1", vec![], 200, ""),
        ("GET http://evil.example/v1/graphs HTTP/1.1", vec!["localhost"], 403, "forbidden_host"),
        ("GET http://localhost/v1/graphs HTTP/1.1", vec!["evil.example"], 403, "forbidden_host"),
    ] {
        let headers: Vec<_> = headers.into_iter().map(|host| ("host", host)).collect();
        let answer = raw_request(&api.url, first, &headers).await;
        let found = if answer.status == 200 { String::new() } else { answer.code() };
        assert_eq!((answer.status, found.as_str()), (status, code), "{first} {headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_refused_under_a_foreign_host_except_the_probes() {
    let api = Api::new().await;
    let evil = [("host", "evil.example")];
    for first in [
        "GET /metrics HTTP/1.1",
        "GET /docs/ HTTP/1.1",
        "GET /openapi.json HTTP/1.1",
        "GET /nowhere HTTP/1.1",
        "POST /v1/graphs HTTP/1.1",
        "POST /healthz HTTP/1.1",
        "GET /healthz/ HTTP/1.1",
        "OPTIONS /v1/graphs HTTP/1.1",
    ] {
        let answer = raw_request(&api.url, first, &evil).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden_host"), "{first}");
    }
    let pod = [("host", "10.0.0.7:8080")];
    for path in ["/healthz", "/readyz"] {
        raw_request(&api.url, &format!("GET {path} HTTP/1.1"), &pod).await.expect(200);
        raw_request(&api.url, &format!("HEAD {path} HTTP/1.1"), &evil).await.expect(200);
        raw_request(&api.url, &format!("GET {path} HTTP/1.0"), &[]).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_the_setting_are_answered() {
    let listed = "app.example.com, *.internal.example:8443, 10.0.0.0/8, [2001:db8::1]";
    let api = Api::with_settings(&[("DSRS_HTTP_ALLOWED_HOSTS", listed)]).await;
    let allowed = ["app.example.com", "App.Example.com.:99", "a.b.internal.example:8443"];
    expect_answered(&api, &allowed).await;
    expect_answered(&api, &["10.1.2.3:8080", "[2001:db8::1]:1", "localhost"]).await;
    let foreign =
        ["example.com", "x.app.example.com", "a.internal.example", "internal.example:8443"];
    expect_refused(&api, &foreign).await;
    expect_refused(&api, &["11.0.0.1", "[2001:db8::2]"]).await;
    let api = Api::with_settings(&[("DSRS_HTTP_ALLOWED_HOSTS", "*")]).await;
    expect_answered(&api, &["evil.example", "10.1.2.3", "[2001:db8::2]:1"]).await;
    expect_refused(&api, &["", "a b"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_that_the_server_listens_on_is_answered() {
    let bind = |address| [("DSRS_BIND", address), ("DSRS_INSECURE", "true")];
    let api = Api::with_settings(&bind("192.168.7.7:8080")).await;
    expect_answered(&api, &["192.168.7.7:8080", "192.168.7.7:1", "localhost"]).await;
    expect_refused(&api, &["192.168.7.8:8080", "evil.example"]).await;
    // A page cannot have an address as its name unless it comes from there.
    let api = Api::with_settings(&bind("0.0.0.0:8080")).await;
    expect_answered(&api, &["192.168.7.7:8080", "0.0.0.0:8080", "[2001:db8::1]"]).await;
    expect_refused(&api, &["evil.example", "server"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_every_host_is_answered() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let key = ("authorization", "Bearer open-sesame-123456");
    for host in ["evil.example", "localhost"] {
        raw_request(&api.url, LIST, &[("host", host), key]).await.expect(200);
        let refused = raw_request(&api.url, LIST, &[("host", host)]).await;
        assert_eq!((refused.status, refused.code().as_str()), (401, "unauthenticated"));
    }
    raw_request(&api.url, LIST, &[key]).await.expect(200);
}
