//! Requests to the collector, over gRPC or HTTP, repeated as OTLP asks for. Knows addresses and headers, not what
//! requests contain.
//!
//! Protocol: <https://opentelemetry.io/docs/specs/otlp/>.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::answer::{ExportAnswer, ExportFailure};
#[cfg(feature = "otlp-grpc")]
use super::grpc::GrpcCollector;
#[cfg(not(feature = "otlp-grpc"))]
use super::grpc_absent::NoGrpcCollector as GrpcCollector;
use super::http::HttpCollector;
use dsrs_config::{OtlpProtocol, TelemetryConfig};

/// How often a request is sent at most.
const MOST_ATTEMPTS: u32 = 4;

/// The pause before the first repeat; each one is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause that a collector can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A collector of spans.
pub(super) struct Exporter {
    collector: Collector,
    timeout: Duration,
    /// When the collector asks to be asked again, if these spans cannot wait for that.
    not_before: Option<Instant>,
    /// A part of this decides how long pauses are: servers that failed together must not repeat together.
    random: u64,
}

enum Collector {
    Grpc(GrpcCollector),
    Http(HttpCollector),
}

impl Exporter {
    /// The collector of the settings. Connects with the first spans; call it in the runtime that sends them.
    pub(super) fn new(config: &TelemetryConfig) -> Result<Self, String> {
        let collector = match config.protocol {
            OtlpProtocol::Http => Collector::Http(HttpCollector::new(config)?),
            OtlpProtocol::Grpc => Collector::Grpc(GrpcCollector::new(config)?),
        };
        let random = uuid::Uuid::now_v7().as_u64_pair().1;
        Ok(Self { collector, timeout: config.timeout, not_before: None, random })
    }

    /// Sends a request, and again if it failed for a reason that passes: for at most twice the time of one request.
    pub(super) async fn export(&mut self, request: Bytes) -> Result<ExportAnswer, String> {
        if let Some(moment) = self.not_before.take() {
            sleep_until(moment).await;
        }
        let patience = self.timeout * 2;
        let request = match &self.collector {
            Collector::Http(collector) => collector.body(request),
            Collector::Grpc(_) => request,
        };
        match timeout(patience, self.repeat(request)).await {
            Ok(ended) => ended,
            Err(_) => Err("no answer in time".to_owned()),
        }
    }

    async fn repeat(&mut self, request: Bytes) -> Result<ExportAnswer, String> {
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            let failure = match self.send(request.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if !failure.is_passing || attempt == MOST_ATTEMPTS {
                return Err(failure.reason);
            }
            let pause_now = failure.pause.unwrap_or_else(|| self.vary(pause));
            if pause_now > self.timeout {
                self.not_before = Some(Instant::now() + pause_now.min(LONGEST_PAUSE));
                return Err(failure.reason);
            }
            sleep(pause_now).await;
            pause *= 2;
            attempt += 1;
        }
    }

    async fn send(&mut self, request: Bytes) -> Result<ExportAnswer, ExportFailure> {
        let sent = async {
            match &mut self.collector {
                Collector::Grpc(collector) => collector.send(request).await,
                Collector::Http(collector) => collector.send(request).await,
            }
        };
        timeout(self.timeout, sent).await.unwrap_or_else(|_| {
            let reason = "no answer in time".to_owned();
            Err(ExportFailure { reason, is_passing: true, pause: None })
        })
    }

    /// A pause between half of this one and all of it.
    fn vary(&mut self, pause: Duration) -> Duration {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let part = (self.random >> 32) as f64 / f64::from(u32::MAX);
        pause.mul_f64(0.5 + part / 2.0)
    }
}
