//! How a worker describes itself to the engine when it is registered. May not know what the handlers do.

use serde_json::{Value, json};

use super::{Service, ServiceNames};

/// The media type of the manifest.
pub(super) const MANIFEST_TYPE: &str = "application/vnd.restate.endpointmanifest.v4+json";

/// An attempt that waits for a model is not suspended within this many milliseconds, a year.
const INACTIVITY: u64 = 31_536_000_000;

/// The services, their handlers and their retries. Work is never given up by the engine: `worker.attempts` limits
/// the attempts.
pub(super) fn manifest(names: &ServiceNames) -> String {
    json!({
        "protocolMode": "BIDI_STREAM",
        "minProtocolVersion": 5,
        "maxProtocolVersion": 7,
        "services": Service::ALL.map(|service| description(names, service)),
    })
    .to_string()
}

fn description(names: &ServiceNames, service: Service) -> Value {
    let work = json!({ "name": "work", "ty": "EXCLUSIVE" });
    let (what, handlers) = match service {
        Service::Job => ("jobs whose progress is in the database", vec![work]),
        Service::Run => {
            let progress = json!({ "name": "progress", "ty": "SHARED" });
            ("background runs whose progress is in their state", vec![work, progress])
        }
    };
    json!({
        "name": names.name(service),
        "ty": "VIRTUAL_OBJECT",
        "documentation": format!("dsrs-server: {what}"),
        "journalRetention": 0,
        "idempotencyRetention": 0,
        "inactivityTimeout": INACTIVITY,
        "retryPolicyInitialInterval": 50,
        "retryPolicyExponentiationFactor": 3.0,
        "retryPolicyMaxInterval": 5000,
        "retryPolicyMaxAttempts": 2_147_483_647,
        "retryPolicyOnMaxAttempts": "PAUSE",
        "handlers": handlers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_with_version_6_of_the_protocol_accept_the_manifest() {
        let names = ServiceNames::new("test");
        let manifest: Value = serde_json::from_str(&manifest(&names)).unwrap();
        let [least, most] = ["minProtocolVersion", "maxProtocolVersion"]
            .map(|member| manifest[member].as_u64().unwrap());
        assert!(least <= 6, "an engine without version {least} refuses the workers");
        assert!(most >= least, "{manifest}");
    }
}
