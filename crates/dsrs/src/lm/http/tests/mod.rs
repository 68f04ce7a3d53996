//! The HTTP client behind proxies, over TLS, and towards hosts with several addresses.

mod proxies;
mod secure;

use std::sync::{Arc, Mutex};

use hyper::Uri;
use hyper::header::HeaderMap;
use hyper_util::client::proxy::matcher::Matcher;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{HttpAnswer, HttpClient, HttpError, HttpLimits, HttpPost};

/// A certificate of `localhost` and `model.example` until the year 2126, and its key.
const CERTIFICATE: &[u8] = include_bytes!("cert.pem");
const KEY: &[u8] = include_bytes!("key.pem");

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Trusts only the certificate above.
fn client_tls() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERTIFICATE).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Accepts TLS with one protocol.
fn acceptor(protocol: &[u8]) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

fn client(proxies: &Matcher, address: &str, limits: &HttpLimits) -> Result<HttpClient, String> {
    let address = address.parse::<Uri>().unwrap();
    HttpClient::with(proxies, client_tls, address, HeaderMap::new(), limits)
}

async fn post(client: &HttpClient) -> Result<HttpAnswer, HttpError> {
    client.post(HttpPost::new(b"question".to_vec(), "text/plain")).await
}

/// The heads that a server received.
type Heads = Arc<Mutex<Vec<String>>>;

/// Reads a request with the body `question` and returns its head.
async fn request(stream: &mut (impl AsyncRead + Unpin), body: &str) -> Option<String> {
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await.ok()? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, rest)) = text.split_once("\r\n\r\n")
            && rest == body
        {
            return Some(head.to_owned());
        }
    }
    None
}

/// A proxy that reads requests, or that answers `CONNECT` so and then is itself the server over TLS.
async fn proxy(connect: &'static str) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads = Heads::default();
    let record = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if connect.is_empty() {
                let head = request(&mut stream, "question").await.unwrap();
                record.lock().unwrap().push(head);
                stream.write_all(ANSWER.as_bytes()).await.unwrap();
                continue;
            }
            let head = request(&mut stream, "").await.unwrap();
            record.lock().unwrap().push(head);
            stream.write_all(connect.as_bytes()).await.unwrap();
            let Ok(mut stream) = acceptor(b"http/1.1").accept(stream).await else { continue };
            let head = request(&mut stream, "question").await.unwrap();
            record.lock().unwrap().push(head);
            stream.write_all(ANSWER.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    (address, heads)
}
