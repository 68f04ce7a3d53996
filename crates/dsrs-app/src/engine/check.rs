//! Whether a server and its engine fit each other: reached, of a version that was tried, workers registered at the
//! URL of the settings, requests signed as expected, nothing paused. Repairs the registration. May not know how it
//! is printed.

use url::Url;

use super::http;
use dsrs_config::RestateConfig;
use dsrs_restate::{
    AdminClient, Deployment, EngineClient, EngineError, EngineReport, ServiceNames,
};

/// The oldest version of Restate whose protocol this release speaks.
const OLDEST: (u32, u32) = (1, 6);

/// The version that the tests run with.
const TRIED: &str = "1.7";

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFinding {
    /// What was looked at.
    pub what: String,
    /// Whether it is as it should be.
    pub fits: bool,
    /// What was found, and the way out if it does not fit.
    pub remark: String,
}

fn finding(what: impl Into<String>, fits: bool, remark: impl Into<String>) -> EngineFinding {
    EngineFinding { what: what.into(), fits, remark: remark.into() }
}

/// Looks at the engine of the settings; `apply` registers the workers and continues what is paused.
pub async fn check_engine(
    restate: &RestateConfig,
    apply: bool,
) -> std::io::Result<Vec<EngineFinding>> {
    let (http, names) = (http()?, ServiceNames::new(&restate.prefix));
    let mut findings = check_ingress(&http, &names, restate).await;
    let Some(admin) = &restate.admin else {
        let remark = "restate.admin is not set: versions and registration cannot be checked";
        findings.push(finding("admin", false, remark));
        return Ok(findings);
    };
    let admin = AdminClient::new(http, names.clone(), admin.clone());
    let workers = restate.url.clone().or_else(|| own_url(restate));
    if apply && let Some(url) = &workers {
        findings.push(apply_registration(&admin, url).await);
    }
    match admin.report().await {
        Ok(report) => findings.extend(check_report(&names, &report, workers.as_ref())),
        Err(error) => {
            findings.push(finding("admin", false, error.to_string()));
            return Ok(findings);
        }
    }
    if let Some(url) = &workers {
        findings.push(check_workers(&admin, url, restate.identity_key.is_some()).await);
    }
    findings.extend(check_paused(&admin, apply).await);
    findings.push(finding(
        "limits of the engine",
        true,
        "not readable over its API; worker.invoker.concurrent-invocations-limit of each node should be all slots of \
         the workers (worker.concurrency) divided by the nodes less one (docs/operations/engine.md)",
    ));
    Ok(findings)
}

/// The address that this process listens on, if the engine is on the same machine.
fn own_url(restate: &RestateConfig) -> Option<Url> {
    Url::parse(&format!("http://{}", restate.bind)).ok()
}

async fn check_ingress(
    http: &reqwest::Client,
    names: &ServiceNames,
    restate: &RestateConfig,
) -> Vec<EngineFinding> {
    let mut findings = Vec::new();
    for url in &restate.ingress {
        let client = EngineClient::new(http.clone(), names.clone(), vec![url.clone()]);
        let what = format!("ingress {url}");
        findings.push(match client.ping().await {
            Ok(()) => finding(what, true, "answers"),
            Err(error) => finding(what, false, error.to_string()),
        });
    }
    findings
}

async fn apply_registration(admin: &AdminClient, url: &Url) -> EngineFinding {
    match admin.others_at(url).await {
        Ok(others) if !others.is_empty() => {
            let remark = format!(
                "{url} is registered with the services of another installation: {}; another restate.url or \
                 restate.prefix is needed, or remove that deployment by hand",
                others.join(", ")
            );
            return finding("registration", false, remark);
        }
        Ok(_) => {}
        Err(error) => return finding("registration", false, error.to_string()),
    }
    match admin.register(url, false).await {
        Ok(()) => finding("registration", true, format!("workers at {url} are registered")),
        Err(error) => finding("registration", false, error.to_string()),
    }
}

fn check_report(
    names: &ServiceNames,
    report: &EngineReport,
    workers: Option<&Url>,
) -> Vec<EngineFinding> {
    let mut findings = vec![check_version(&report.version)];
    for (service, deployment) in &report.services {
        findings.push(check_service(&names.name(*service), deployment.as_ref(), workers));
    }
    findings
}

fn check_version(version: &str) -> EngineFinding {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let found = numbers.next().flatten().zip(numbers.next().flatten());
    match found {
        Some(found) if found < OLDEST => {
            let (major, minor) = OLDEST;
            let remark = format!("{version} is too old: {major}.{minor} or newer is needed");
            finding("version", false, remark)
        }
        _ => finding("version", true, format!("{version} (tested with {TRIED})")),
    }
}

fn check_service(
    name: &str,
    deployment: Option<&Deployment>,
    workers: Option<&Url>,
) -> EngineFinding {
    let what = format!("service {name}");
    let Some(deployment) = deployment else {
        return finding(what, false, "is not registered: repeat with --apply");
    };
    let uri = deployment.uri.as_deref().unwrap_or("an unknown address");
    let at = |url: &str| url.trim_end_matches('/').to_owned();
    match workers {
        Some(url) if at(uri) != at(url.as_str()) => finding(
            what,
            false,
            format!("is registered at {uri}, and restate.url is {url}: repeat with --apply"),
        ),
        _ => finding(what, true, format!("is registered at {uri}")),
    }
}

/// Asks the engine to reach the workers, with its signature, and to change nothing.
async fn check_workers(admin: &AdminClient, url: &Url, is_signed: bool) -> EngineFinding {
    let how = if is_signed { "signed" } else { "unsigned" };
    match admin.register(url, true).await {
        Ok(()) => finding("workers", true, format!("the engine reaches {url}, {how}")),
        Err(error @ EngineError::Refused { .. }) => finding(
            "workers",
            false,
            format!(
                "the engine does not reach {url}, or restate.identity_key is not its key: {error}"
            ),
        ),
        Err(error) => finding("workers", false, error.to_string()),
    }
}

async fn check_paused(admin: &AdminClient, apply: bool) -> Vec<EngineFinding> {
    let paused = match admin.report().await {
        Ok(report) => report.paused,
        Err(error) => return vec![finding("paused work", false, error.to_string())],
    };
    if paused.is_empty() {
        return vec![finding("paused work", true, "none")];
    }
    if !apply {
        let remark = format!("{}: repeat with --apply to continue it", paused.len());
        return vec![finding("paused work", false, remark)];
    }
    let mut failures = Vec::new();
    for id in &paused {
        if let Err(error) = admin.resume(id).await {
            failures.push(finding("paused work", false, format!("{id}: {error}")));
        }
    }
    let continued = paused.len() - failures.len();
    failures.push(finding("paused work", true, format!("{continued} continued")));
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_too_old_is_named() {
        assert!(check_version("1.7.12").fits);
        assert!(check_version("2.0.0").fits);
        let old = check_version("1.5.9");
        assert_eq!((old.fits, &*old.remark), (false, "1.5.9 is too old: 1.6 or newer is needed"));
    }
}
