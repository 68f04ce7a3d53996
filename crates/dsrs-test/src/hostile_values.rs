//! The parts of hostile requests.

use std::sync::LazyLock;

use serde_json::{Value, json};

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn nested_value(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

/// Bodies that are no example of anything.
pub(super) static TEXTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let members: Vec<String> = (0..5_000).map(|n| format!("\"k{n}\":0")).collect();
    let texts = [
        String::new(),
        "null".into(),
        "[]".into(),
        "{}".into(),
        "\"".into(),
        "NaN".into(),
        "\u{feff}{}".into(),
        "{\"a\":1,}".into(),
        "{\"a\":\"\\ud800\"}".into(),
        "{\"a\":\"\\u0000\"}".into(),
        nested("[", "", "", 1_000_000),
        nested("[", "1", "]", 100_000),
        nested("{\"a\":", "1", "}", 100_000),
        format!("{{\"inputs\":{}}}", "9".repeat(100_000)),
        format!("{{\"inputs\":1e{}}}", "9".repeat(1_000)),
        format!("{{\"{}\":0}}", "k".repeat(1_000_000)),
        format!("{{\"a\":\"{}\"}}", "\\u0041".repeat(100_000)),
        format!("[{}]", "0,".repeat(200_000)),
        format!("{{{}}}", members.join(",")),
        format!("{{{}}}", "\"a\":1,".repeat(50_000).trim_end_matches(',')),
        format!("{{\"{}\":{{{}}}}}", "k".repeat(30_000), "\"a\":1,".repeat(5_000)),
        "{}\n".repeat(20_000),
        "a,b\n1,2\n".repeat(20_000),
        " ".repeat(5_000_000),
    ];
    texts.into_iter().map(String::into_bytes).chain([b"\xff\xfe{\x00}\x00".to_vec()]).collect()
});

/// Values of members.
pub(super) static VALUES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let chain = |unit: &str, count: usize| format!("{}this", unit.repeat(count));
    let constraint =
        |text: String| json!({"class": {"x": {"type": "int", "constraints": [{"assert": text}]}}});
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e308),
        json!(-0.5),
        json!(""),
        json!("\u{0}"),
        json!("\u{202e}\u{fffd}\u{10ffff}"),
        json!("a".repeat(100_000)),
        json!("../../etc/passwd"),
        json!("{{ 'x' * 100000000 }}"),
        json!(chain("not ", 400)),
        json!(chain("-", 400)),
        json!("list[".repeat(1_000)),
        json!("a -> b: ".repeat(1_000)),
        json!([]),
        json!({}),
        json!([[], {}, null, "", 0]),
        json!({"": {"": ""}}),
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
        json!({"a": constraint(chain("not ", 100)), "b": constraint("this ~".repeat(300))}),
        json!({"pattern": "^(a|a(?=a))*(?!.)c", "type": "string"}),
        json!(vec![0; 20_000]),
        json!(vec!["a"; 5_000]),
        nested_value(60),
        nested_value(118),
    ]
});

/// Names of members.
pub(super) static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = ["", "\u{0}", "__proto__", "types", "$ref", "name", "timeout_ms", "ä/~0"];
    names.map(str::to_owned).into_iter().chain(["k".repeat(30_000)]).collect()
});

/// Parts of paths and queries, percent-encoded or wrongly so.
pub(super) static SEGMENTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let segments = [
        "%00",
        "a%00b",
        "%ff",
        "%zz",
        "%2e%2e%2f",
        "a%2Fb",
        "%F0%9F%92%A9",
        "-1",
        "0",
        "1",
        "+1",
        "1.5",
        "99999999999999999999",
        "null",
        "true",
        "'%20or%20''='",
        "%25s",
        "limit=1",
        "*",
        "%22%22",
        "name",
        "9999-12-31T23:59:60Z",
        "-0001-01-01T00:00:00Z",
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "AAAAAAAAAAAA",
        "%E2%80%AE",
        "own",
        "provenance,,provenance",
        "queued",
    ];
    let long = ["a".repeat(3_000), "%41".repeat(1_500)];
    segments.map(str::to_owned).into_iter().chain(long).collect()
});

/// Declared types of bodies.
pub(super) const MEDIA_TYPES: [&str; 10] = [
    "",
    "*/*",
    "text/plain",
    "text/csv; charset=utf-16",
    "application/xml",
    "application/json; charset=utf-16",
    "application/jsonl",
    "application/problem+json",
    "multipart/form-data; boundary=a",
    "application/x-www-form-urlencoded",
];

/// Headers of requests.
pub(super) static HEADERS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let headers = [
        ("accept", "text/event-stream;q=0, application/json"),
        ("accept", "image/png"),
        ("accept", ";;;,,,q=9"),
        ("accept-encoding", "gzip;q=nine, br, *"),
        ("content-encoding", "gzip"),
        ("if-match", "\"a"),
        ("if-match", "W/\"\", *"),
        ("if-none-match", "\"a\t\""),
        ("if-none-match", "\"\", , ,\"a\""),
        ("idempotency-key", " "),
        ("idempotency-key", "same"),
        ("last-event-id", "-1"),
        ("last-event-id", "18446744073709551616"),
        ("authorization", "Bearer"),
        ("authorization", "Basic Og=="),
        ("range", "bytes=9-1"),
        ("x-request-id", "a b\tc"),
        ("x-forwarded-for", "::1, 256.0.0.1"),
        ("expect", "100-continue"),
    ];
    let long = [("idempotency-key", "k".repeat(4_000)), ("if-match", "\"a\",".repeat(2_000))];
    headers.map(|(name, value)| (name, value.to_owned())).into_iter().chain(long).collect()
});
