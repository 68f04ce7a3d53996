//! The admin API of the engine: which version it has, which workers are registered, and what waits for an
//! administrator. May not know what the work is.

use std::time::Duration;

use serde::Deserialize;
use url::Url;
use uuid::Uuid;

use super::client::chain;
use super::{EngineError, ObjectState, Service, ServiceNames};

/// The time limit of a request.
const LIMIT: Duration = Duration::from_secs(15);

/// The same for the progress of a run, which a client waits for.
const READ_LIMIT: Duration = Duration::from_secs(2);

/// A client of the admin API.
#[derive(Clone, Debug)]
pub struct AdminClient {
    http: reqwest::Client,
    names: ServiceNames,
    url: Url,
}

/// Workers that are registered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Deployment {
    /// The id in the engine.
    pub id: String,
    /// The URL under which the engine finds them.
    #[serde(default)]
    pub uri: Option<String>,
    pub services: Vec<RegisteredService>,
}

/// A service of registered workers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RegisteredService {
    pub name: String,
    /// The number of registrations of this name.
    pub revision: u32,
}

/// What the engine says about itself and its workers.
#[derive(Clone, Debug)]
pub struct EngineReport {
    pub version: String,
    /// The newest deployment of each service; `None` if it is not registered.
    pub services: Vec<(Service, Option<Deployment>)>,
    /// Attempts that the engine has given up or an administrator has paused.
    pub paused: Vec<String>,
    /// The number of attempts, running and waiting.
    pub invocations: u64,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct Deployments {
    deployments: Vec<Deployment>,
}

#[derive(Deserialize)]
struct Rows<T> {
    rows: Vec<T>,
}

#[derive(Deserialize)]
struct PausedRow {
    id: String,
}

#[derive(Deserialize)]
struct StateRow {
    key: String,
    value_utf8: Option<String>,
}

#[derive(Deserialize)]
struct CountRow {
    count: u64,
}

impl AdminClient {
    /// A client of the admin API at this address.
    #[must_use]
    pub fn new(http: reqwest::Client, names: ServiceNames, url: Url) -> Self {
        Self { http, names, url }
    }

    /// Reads what the engine says about itself.
    pub async fn report(&self) -> Result<EngineReport, EngineError> {
        let version: Version = self.get("version").await?;
        let Deployments { deployments } = self.get("deployments").await?;
        let newest = |service: Service| {
            let of_service = deployments.iter().filter_map(|deployment| {
                let registered = deployment
                    .services
                    .iter()
                    .find(|registered| registered.name == self.names.name(service))?;
                Some((registered.revision, deployment))
            });
            let newest = of_service.max_by_key(|(revision, _)| *revision);
            (service, newest.map(|(_, deployment)| deployment.clone()))
        };
        let services = Service::ALL.map(newest).to_vec();
        // The prefix has no character that would need escaping.
        let names = Service::ALL.map(|service| format!("'{}'", self.names.name(service)));
        let ours = format!("target_service_name in ({})", names.join(", "));
        let paused: Rows<PausedRow> = self
            .query(
                &format!(
                    "select id from sys_invocation where {ours} and status = 'paused' limit 1000"
                ),
                LIMIT,
            )
            .await?;
        let count: Rows<CountRow> = self
            .query(&format!(
                "select count(*) as count from sys_invocation where {ours} and status <> 'completed'"
            ), LIMIT)
            .await?;
        Ok(EngineReport {
            version: version.version,
            services,
            paused: paused.rows.into_iter().map(|row| row.id).collect(),
            invocations: count.rows.first().map_or(0, |row| row.count),
        })
    }

    /// Services of other installations that are registered at a URL, which a registration would remove.
    pub async fn others_at(&self, workers: &Url) -> Result<Vec<String>, EngineError> {
        let Deployments { deployments } = self.get("deployments").await?;
        let at = |uri: &str| uri.trim_end_matches('/') == workers.as_str().trim_end_matches('/');
        let here = deployments.iter().filter(|found| found.uri.as_deref().is_some_and(at));
        let names = here.flat_map(|found| &found.services).map(|service| service.name.clone());
        let ours = Service::ALL.map(|service| self.names.name(service));
        Ok(names.filter(|name| !ours.contains(name)).collect())
    }

    /// What attempts at a run have stored. The engine answers, with or without a worker.
    pub async fn state(&self, run: Uuid) -> Result<ObjectState, EngineError> {
        let service = self.names.name(Service::Run);
        let rows: Rows<StateRow> = self
            .query(&format!(
                "select key, value_utf8 from state where service_name = '{service}' and service_key = '{run}'"
            ), READ_LIMIT)
            .await?;
        let rows = rows.rows.into_iter();
        Ok(rows.map(|row| (row.key, row.value_utf8.unwrap_or_default().into())).collect())
    }

    /// Registers the workers at this URL, or reads their manifest again. With `dry_run`, the engine reaches them
    /// and changes nothing.
    pub async fn register(&self, workers: &Url, dry_run: bool) -> Result<(), EngineError> {
        let uri = workers.as_str().trim_end_matches('/');
        let body = serde_json::json!({ "uri": uri, "force": true, "dry_run": dry_run }).to_string();
        let request = self.http.post(self.at("deployments"));
        self.read(request.header("content-type", "application/json").body(body), LIMIT)
            .await
            .map(drop)
    }

    /// Continues an attempt that is paused.
    pub async fn resume(&self, invocation: &str) -> Result<(), EngineError> {
        let request = self.http.patch(self.at(&format!("invocations/{invocation}/resume")));
        self.read(request, LIMIT).await.map(drop)
    }

    async fn get<T: for<'d> Deserialize<'d>>(&self, path: &str) -> Result<T, EngineError> {
        parsed(&self.read(self.http.get(self.at(path)), LIMIT).await?)
    }

    async fn query<T: for<'d> Deserialize<'d>>(
        &self,
        sql: &str,
        limit: Duration,
    ) -> Result<T, EngineError> {
        let body = serde_json::json!({ "query": sql }).to_string();
        let request = self.http.post(self.at("query")).header("accept", "application/json");
        let request = request.header("content-type", "application/json").body(body);
        parsed(&self.read(request, limit).await?)
    }

    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.url.as_str().trim_end_matches('/'))
    }

    async fn read(
        &self,
        request: reqwest::RequestBuilder,
        limit: Duration,
    ) -> Result<Vec<u8>, EngineError> {
        let unreachable =
            |error: reqwest::Error| EngineError::Unreachable(chain(&error.without_url()));
        let answer = request.timeout(limit).send().await.map_err(unreachable)?;
        let status = answer.status().as_u16();
        let text = answer.bytes().await.map_err(unreachable)?;
        match status {
            200..=299 => Ok(text.to_vec()),
            _ => {
                let text = String::from_utf8_lossy(&text[..text.len().min(600)]).into_owned();
                Err(EngineError::Refused { status, text })
            }
        }
    }
}

fn parsed<T: for<'d> Deserialize<'d>>(text: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(text).map_err(|error| {
        EngineError::Unreachable(format!("the answer of the admin API cannot be read: {error}"))
    })
}
