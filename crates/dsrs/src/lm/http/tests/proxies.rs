//! Proxies of the environment, given as a matcher.

use super::*;

fn matcher(proxy: &str, none: &str) -> Matcher {
    Matcher::builder().all(proxy.to_owned()).no(none.to_owned()).build()
}

#[tokio::test]
async fn a_plain_request_goes_to_the_proxy_with_its_whole_address() {
    let (proxy, heads) = proxy("").await;
    let proxies = matcher(&format!("http://user:pass@{proxy}"), "");
    let client =
        client(&proxies, "http://model.example:81/v1?a=b", &HttpLimits::default()).unwrap();
    assert_eq!(post(&client).await.unwrap().body, "hello");
    let head = heads.lock().unwrap().concat();
    assert!(head.starts_with("POST http://model.example:81/v1?a=b HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: model.example:81\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic dXNlcjpwYXNz\r\n"), "{head}");
}

#[tokio::test]
async fn a_secure_request_goes_through_a_tunnel_that_the_proxy_cannot_read() {
    let (proxy, heads) = proxy("HTTP/1.1 200 OK\r\n\r\n").await;
    let proxies = matcher(&format!("http://user:pass@{proxy}"), "");
    let client = client(&proxies, "https://model.example/v1", &HttpLimits::default()).unwrap();
    assert_eq!(post(&client).await.unwrap().body, "hello");
    let heads = heads.lock().unwrap().clone();
    assert!(heads[0].starts_with("CONNECT model.example:443 HTTP/1.1\r\n"), "{heads:?}");
    assert!(heads[0].contains("Proxy-Authorization: Basic dXNlcjpwYXNz"), "{heads:?}");
    assert!(heads[1].starts_with("POST /v1 HTTP/1.1\r\n"), "{heads:?}");
    assert!(!heads[1].to_lowercase().contains("proxy-authorization"), "{heads:?}");
}

#[tokio::test]
async fn a_proxy_that_refuses_a_tunnel_is_a_connection_failure() {
    let (proxy, _) = proxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
    let proxies = matcher(&format!("http://{proxy}"), "");
    let client = client(&proxies, "https://model.example/v1", &HttpLimits::default()).unwrap();
    let Err(HttpError::Connect(reason)) = post(&client).await else { panic!("no failure") };
    assert_eq!(reason, "tunnel error: proxy authorization required");
}

#[tokio::test]
async fn hosts_without_a_proxy_are_reached_directly() {
    let (server, heads) = proxy("").await;
    let address = format!("http://{server}/v1");
    // Nothing listens on port 1.
    for none in ["", "127.0.0.0/8", "*"] {
        let client =
            client(&matcher("http://127.0.0.1:1", none), &address, &HttpLimits::default()).unwrap();
        assert_eq!(post(&client).await.unwrap().body, "hello");
    }
    assert!(heads.lock().unwrap().iter().all(|head| head.starts_with("POST /v1 HTTP/1.1\r\n")));
}

#[test]
fn loopback_and_listed_hosts_have_no_proxy() {
    let proxies = matcher("http://proxy.example:3128", "inside.example, 10.0.0.0/8");
    let proxied = |address: &str| {
        let address = address.parse().unwrap();
        super::super::connect::proxy(&proxies, &address).unwrap().is_some()
    };
    for address in [
        "http://127.0.0.1:8000/v1",
        "http://[::1]:8000/v1",
        "http://LOCALHOST/v1",
        "https://a.localhost./v1",
        "http://inside.example/v1",
        "https://api.inside.example/v1",
        "http://10.1.2.3/v1",
    ] {
        assert!(!proxied(address), "{address}");
    }
    for address in ["http://11.0.0.1/v1", "https://outside.example/v1", "http://localhost.example"]
    {
        assert!(proxied(address), "{address}");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_refused() {
    for proxy in ["https://proxy.example", "socks5://proxy.example"] {
        let proxies = matcher(proxy, "inside.example");
        let limits = HttpLimits::default();
        let error = client(&proxies, "https://model.example/v1", &limits).err().unwrap();
        assert!(error.contains("must be an http:// address"), "{error}");
        assert!(client(&proxies, "https://inside.example/v1", &limits).is_ok());
    }
}
