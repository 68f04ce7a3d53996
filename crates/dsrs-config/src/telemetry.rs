//! Where spans are sent to, in the standard variables of OpenTelemetry. Off until an endpoint is named. Knows no spans.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::Url;

use super::environment::Environment;

/// The path of traces below the address of a collector (OTLP over HTTP).
const TRACES_PATH: &str = "v1/traces";

/// How spans are made and sent.
#[derive(Clone)]
pub struct TelemetryConfig {
    /// The address of the collector; over HTTP with its path.
    pub endpoint: Url,
    pub protocol: OtlpProtocol,
    /// Whether requests are compressed with gzip.
    pub compressed: bool,
    /// Headers of every request, such as keys. Never printed.
    pub headers: Vec<(String, String)>,
    /// How long a request may take.
    pub timeout: Duration,
    /// The name of this service, and what else describes it.
    pub resource: BTreeMap<String, String>,
    /// Which traces are collected.
    pub sampler: Sampler,
    /// Whether spans have inputs, outputs and messages.
    pub contents: bool,
    /// The most spans that wait.
    pub queue: usize,
    /// The most spans of a request.
    pub batch: usize,
    /// How long the first span waits for others.
    pub delay: Duration,
}

/// A variant of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// `grpc`.
    Grpc,
    /// `http/protobuf`.
    Http,
}

/// Which traces are collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Of the traces that begin here.
    pub root: SamplerRoot,
    /// Whether traces that began elsewhere are collected as they are there.
    pub follows_parent: bool,
}

/// Which of the traces that begin here are collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SamplerRoot {
    /// All.
    Always,
    /// None.
    Never,
    /// This part of them.
    Ratio(f64),
}

/// Prints no headers and no address, which may contain keys.
impl fmt::Debug for TelemetryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TelemetryConfig");
        shown.field("protocol", &self.protocol).field("sampler", &self.sampler);
        shown.field("contents", &self.contents).finish_non_exhaustive()
    }
}

/// Reads the variables. Each problem is added in words; `None` without an endpoint, and with `OTEL_SDK_DISABLED`.
pub(super) fn read_telemetry(
    env: &Environment,
    problems: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Option<TelemetryConfig> {
    let mut read = VariableReader { env, problems };
    let disabled = read.flag("OTEL_SDK_DISABLED");
    let exporter = env.get("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
    let (name, text) = first(env, "ENDPOINT")?;
    if disabled || exporter == "none" {
        return None;
    }
    if exporter != "otlp" {
        read.refuse("OTEL_TRACES_EXPORTER", exporter, "`otlp` or `none`");
    }
    let protocol = read.protocol();
    let endpoint = read.endpoint(&name, text, protocol);
    warnings.extend(unsupported(env));
    let timeout = read.millis(&["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"]);
    Some(TelemetryConfig {
        protocol,
        compressed: read.compressed(),
        headers: read.headers(),
        timeout: timeout.unwrap_or(Duration::from_secs(10)),
        resource: read.resource(),
        sampler: read.sampler(),
        contents: read.contents(),
        queue: read.count("OTEL_BSP_MAX_QUEUE_SIZE", 16_384),
        batch: read.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
        delay: read.millis(&["OTEL_BSP_SCHEDULE_DELAY"]).unwrap_or(Duration::from_secs(5)),
        endpoint: endpoint?,
    })
}

/// What variables ask for that is not done.
fn unsupported(env: &Environment) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((name, _)) = first(env, "CERTIFICATE") {
        warnings.push(format!(
            "{name} is not read: set SSL_CERT_FILE to a file with the certificate of the collector's authority"
        ));
    }
    if let Some((name, _)) = first(env, "CLIENT_CERTIFICATE").or_else(|| first(env, "CLIENT_KEY")) {
        warnings.push(format!("{name} is not read: spans are sent without a client certificate"));
    }
    warnings
}

/// The variable for traces, else the one for all signals.
fn first<'e>(env: &'e Environment, what: &str) -> Option<(String, &'e str)> {
    let names = ["TRACES_", ""].map(|signal| format!("OTEL_EXPORTER_OTLP_{signal}{what}"));
    names
        .into_iter()
        .find_map(|name| Some((env.get(&name)?, name)))
        .map(|(text, name)| (name, text))
}

/// Reads variables, and notes those that cannot be read.
struct VariableReader<'a> {
    env: &'a Environment,
    problems: &'a mut Vec<String>,
}

impl VariableReader<'_> {
    fn refuse(&mut self, name: &str, text: &str, expected: &str) {
        let text = text.escape_debug();
        self.problems.push(format!("{name} = \"{text}\" (environment): expected {expected}"));
    }

    fn flag(&mut self, name: &str) -> bool {
        let text = self.env.get(name).unwrap_or("false");
        let (on, off) = (text.eq_ignore_ascii_case("true"), text.eq_ignore_ascii_case("false"));
        if !on && !off {
            self.refuse(name, text, "`true` or `false`");
        }
        on
    }

    fn protocol(&mut self) -> OtlpProtocol {
        match first(self.env, "PROTOCOL") {
            None => OtlpProtocol::Http,
            Some((_, "http/protobuf")) => OtlpProtocol::Http,
            Some((_, "grpc")) => OtlpProtocol::Grpc,
            Some((name, text)) => {
                self.refuse(&name, text, "`http/protobuf` or `grpc`");
                OtlpProtocol::Http
            }
        }
    }

    fn compressed(&mut self) -> bool {
        match first(self.env, "COMPRESSION") {
            None | Some((_, "none")) => false,
            Some((_, "gzip")) => true,
            Some((name, text)) => {
                self.refuse(&name, text, "`gzip` or `none`");
                false
            }
        }
    }

    /// The text may contain a key, so that no problem repeats it.
    fn endpoint(&mut self, name: &str, text: &str, protocol: OtlpProtocol) -> Option<Url> {
        let url = Url::parse(text).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty()
        });
        let Some(mut url) = url else {
            let expected = "an address such as http://localhost:4318, without a user";
            self.problems.push(format!("{name} (environment): expected {expected}"));
            return None;
        };
        // Of the address of all signals, traces have a path of their own.
        if protocol == OtlpProtocol::Http && !name.contains("TRACES") {
            let path = format!("{}/{TRACES_PATH}", url.path().trim_end_matches('/'));
            url.set_path(&path);
        }
        Some(url)
    }

    fn headers(&mut self) -> Vec<(String, String)> {
        let Some((name, text)) = first(self.env, "HEADERS") else { return Vec::new() };
        let pairs = self.pairs(&name, text);
        let is_header = |name: &str, value: &str| {
            hyper::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
                && hyper::header::HeaderValue::from_str(value).is_ok()
        };
        if pairs.iter().any(|(header, value)| !is_header(header, value)) {
            self.problems
                .push(format!("{name} (environment): a header has an invalid name or value"));
        }
        pairs
    }

    /// Pairs as in W3C baggage: `name=value,name=value`, with percent encoding. Values may be secret.
    fn pairs(&mut self, name: &str, text: &str) -> Vec<(String, String)> {
        let decode = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        let pairs: Option<Vec<_>> = parts
            .map(|part| part.split_once('='))
            .map(|pair| pair.map(|(name, value)| (decode(name), decode(value))))
            .collect();
        pairs.filter(|pairs| pairs.iter().all(|(name, _)| !name.is_empty())).unwrap_or_else(|| {
            self.problems.push(format!("{name} (environment): expected `name=value,name=value`"));
            Vec::new()
        })
    }

    fn resource(&mut self) -> BTreeMap<String, String> {
        let name = "OTEL_RESOURCE_ATTRIBUTES";
        let given = self.env.get(name).unwrap_or_default();
        let mut resource = BTreeMap::from([
            ("service.name".to_owned(), "dsrs-server".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id".to_owned(), uuid::Uuid::now_v7().to_string()),
        ]);
        resource.extend(self.pairs(name, given));
        if let Some(service) = self.env.get("OTEL_SERVICE_NAME") {
            resource.insert("service.name".to_owned(), service.to_owned());
        }
        resource
    }

    fn sampler(&mut self) -> Sampler {
        let name = "OTEL_TRACES_SAMPLER";
        let text = self.env.get(name).unwrap_or("parentbased_always_on");
        let (root, follows_parent) = match text.strip_prefix("parentbased_") {
            Some(root) => (root, true),
            None => (text, false),
        };
        let root = match root {
            "always_on" => SamplerRoot::Always,
            "always_off" => SamplerRoot::Never,
            "traceidratio" => SamplerRoot::Ratio(self.ratio()),
            _ => {
                let expected = "`always_on`, `always_off`, `traceidratio`, or one of these after `parentbased_`";
                self.refuse(name, text, expected);
                SamplerRoot::Always
            }
        };
        Sampler { root, follows_parent }
    }

    fn ratio(&mut self) -> f64 {
        let name = "OTEL_TRACES_SAMPLER_ARG";
        let text = self.env.get(name).unwrap_or("1");
        match text.trim().parse() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => ratio,
            _ => {
                self.refuse(name, text, "a number from 0 to 1");
                1.0
            }
        }
    }

    fn contents(&mut self) -> bool {
        let name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
        let text = self.env.get(name).unwrap_or("false");
        match text.to_ascii_lowercase().as_str() {
            "true" | "span_only" | "span_and_event" => true,
            "false" | "no_content" => false,
            _ => {
                self.refuse(
                    name,
                    text,
                    "`true`, `false`, `SPAN_ONLY`, `SPAN_AND_EVENT` or `NO_CONTENT`",
                );
                false
            }
        }
    }

    fn count(&mut self, name: &str, default: usize) -> usize {
        let Some(text) = self.env.get(name) else { return default };
        match text.trim().parse() {
            Ok(count) if count > 0 => count,
            _ => {
                self.refuse(name, text, "a whole number above 0");
                default
            }
        }
    }

    fn millis(&mut self, names: &[&str]) -> Option<Duration> {
        let (name, text) = names.iter().find_map(|name| Some((name, self.env.get(name)?)))?;
        let millis = text.trim().parse().ok().filter(|millis| *millis > 0);
        if millis.is_none() {
            self.refuse(name, text, "a whole number of milliseconds above 0");
        }
        millis.map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (Option<TelemetryConfig>, Vec<String>) {
        let env: Environment = pairs.iter().copied().collect();
        let (mut problems, mut warnings) = (Vec::new(), Vec::new());
        (read_telemetry(&env, &mut problems, &mut warnings), problems)
    }

    #[test]
    fn nothing_is_sent_without_an_endpoint_or_when_it_is_switched_off() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        for pairs in [
            vec![],
            vec![("OTEL_SERVICE_NAME", "x")],
            vec![endpoint, ("OTEL_SDK_DISABLED", "true")],
            vec![endpoint, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            let (config, problems) = read(&pairs);
            assert!(config.is_none() && problems.is_empty(), "{pairs:?}");
        }
    }

    #[test]
    fn the_variables_for_traces_win_over_those_for_all_signals() {
        let (config, problems) = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/otlp/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20k, x-tenant=a"),
            ("OTEL_SERVICE_NAME", "support"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=test"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ]);
        assert_eq!(problems, Vec::<String>::new());
        let config = config.unwrap();
        assert_eq!(config.endpoint.as_str(), "http://collector:4318/otlp/v1/traces");
        assert_eq!(config.headers[0], ("authorization".to_owned(), "Bearer k".to_owned()));
        assert_eq!((config.protocol, config.contents), (OtlpProtocol::Http, true));
        assert_eq!(config.timeout, Duration::from_millis(2500));
        assert_eq!(config.resource["service.name"], "support");
        assert_eq!(config.resource["deployment.environment.name"], "test");
        assert_eq!(config.sampler.root, SamplerRoot::Ratio(0.25));
        assert!(config.sampler.follows_parent && !format!("{config:?}").contains("Bearer"));

        let (config, _) = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "none"),
        ]);
        let config = config.unwrap();
        assert!(!config.compressed);
        assert_eq!(config.endpoint.as_str(), "http://traces:4317/");
        assert_eq!(config.protocol, OtlpProtocol::Grpc);
    }

    #[test]
    fn a_variable_that_is_not_read_is_a_warning() {
        let env = [
            ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/ca.pem"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem"),
        ];
        let warnings = unsupported(&env.into_iter().collect());
        assert_eq!(warnings.len(), 2, "{warnings:#?}");
        for (warning, (name, _)) in warnings.iter().zip(env) {
            assert!(warning.starts_with(name), "{warning}");
        }
    }

    #[test]
    fn every_variable_that_cannot_be_read_is_a_problem_with_a_way_out() {
        let (_, problems) = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318?key=secret"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "perhaps"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
            ("OTEL_SDK_DISABLED", "perhaps"),
        ]);
        assert_eq!(problems.len(), 8, "{problems:#?}");
        assert!(problems.iter().all(|problem| problem.contains("expected")), "{problems:#?}");
        assert!(!problems.concat().contains("secret"), "{problems:#?}");
    }
}
