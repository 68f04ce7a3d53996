//! The addresses of other servers.

use dsrs::document::TextFormat;
use dsrs::problem::Code;
use url::Url;

const LONGEST_BYTES: usize = 2048;

/// An `http` or `https` URL.
pub static WEB_ADDRESS: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "an http or https URL of at most 2048 bytes",
    format: None,
    pattern: Some("^https?://.+"),
    length: Some((0, LONGEST_BYTES)),
    accepts: is_web_address,
};

fn is_web_address(text: &str) -> bool {
    let url = Url::parse(text).ok().filter(|_| text.len() <= LONGEST_BYTES);
    url.is_some_and(|url| matches!(url.scheme(), "http" | "https"))
}
