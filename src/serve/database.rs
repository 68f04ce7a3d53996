//! The database of the server: the configured one, or a private Postgres that stops with the server.

use secrecy::ExposeSecret;
use url::Url;

use super::ServeError;
use dsrs_config::Config;
use dsrs_pg::{PgOptions, PrivatePostgres, running_url};
use dsrs_store::{Db, PoolSettings, ReplicaSettings, StoreError};

/// An open, migrated database, and its Postgres if that is private.
pub(super) struct Database {
    pub(super) db: Db,
    /// A description for people, without the password.
    pub(super) place: String,
    private: Option<PrivatePostgres>,
}

impl Database {
    /// Starts a private Postgres if needed, connects, checks that notifications arrive, and applies missing
    /// migrations.
    pub(super) async fn open(config: &Config) -> Result<Self, ServeError> {
        let private = match &config.database.url {
            Some(_) => None,
            None => Some(start_private(config).await?),
        };
        let (url, place) = match (&config.database.url, &private) {
            (Some(url), _) => (url.expose_secret().to_owned(), place_of(url.expose_secret())),
            (None, Some(postgres)) => (postgres.url(), describe(postgres)),
            (None, None) => return Err(ServeError::NoDatabase),
        };
        match connect(&url, config).await {
            Ok(db) => Ok(Self { db, place, private }),
            Err(error) => {
                stop_private(private).await?;
                Err(ServeError::Database { place, reason: error.cause() })
            }
        }
    }

    /// The same for a command beside a running server: the private Postgres of that server is used as it is.
    pub(super) async fn share(config: &Config) -> Result<Self, ServeError> {
        if config.database.url.is_none() {
            let options = options(config);
            let running = tokio::task::spawn_blocking(move || running_url(&options)).await;
            if let Some(url) = running.map_err(|_| ServeError::NoDatabase)?? {
                let place = "the private Postgres of the running server".to_owned();
                return match connect(&url, config).await {
                    Ok(db) => Ok(Self { db, place, private: None }),
                    Err(error) => Err(ServeError::Database { place, reason: error.cause() }),
                };
            }
        }
        Self::open(config).await
    }

    /// Closes the connections and stops a private Postgres.
    pub(super) async fn close(self) -> Result<(), ServeError> {
        self.db.close().await;
        stop_private(self.private).await
    }
}

async fn connect(url: &str, config: &Config) -> Result<Db, StoreError> {
    let db = Db::connect(url, &pool_settings(config)).await?;
    // Together, because each opens a connection.
    let (arrives, is_prepared, is_isolated) =
        tokio::join!(db.check_notifications(), db.is_prepared(), db.is_isolated());
    // Before the migrations: where notifications do not arrive, their lock does not hold, either.
    arrives?;
    let is_isolated = match is_prepared? {
        true => is_isolated,
        false => {
            db.migrate().await?;
            db.is_isolated().await
        }
    };
    if !is_isolated? {
        tracing::warn!(
            "row-level security does not hold: the database role ignores it and may not change to dsrs_app; \
             connect as a role without SUPERUSER and BYPASSRLS (docs/security.md)"
        );
    }
    Ok(db)
}

fn pool_settings(config: &Config) -> PoolSettings {
    let max_connections = config.database.max_connections;
    let max_staleness = config.database.max_staleness;
    let max_lag = config.database.replica_max_lag;
    let replica = config.database.replica_url.clone().map(|url| ReplicaSettings { url, max_lag });
    PoolSettings { max_connections, max_staleness, replica, ..PoolSettings::default() }
}

fn options(config: &Config) -> PgOptions {
    PgOptions {
        data_dir: config.data_dir.clone(),
        pg_bin: config.database.pg_bin.clone(),
        host: config.host.clone(),
        connections: pool_settings(config).connections(),
        throwaway: false,
    }
}

async fn start_private(config: &Config) -> Result<PrivatePostgres, ServeError> {
    let options = options(config);
    let start = tokio::task::spawn_blocking(move || PrivatePostgres::start(&options));
    let postgres = start.await.map_err(|_| ServeError::NoDatabase)??;
    if postgres.is_adopted() {
        tracing::info!(
            pid = postgres.pid(),
            "adopted the Postgres that an earlier server left running"
        );
    }
    Ok(postgres)
}

async fn stop_private(postgres: Option<PrivatePostgres>) -> Result<(), ServeError> {
    let Some(postgres) = postgres else { return Ok(()) };
    let stop = tokio::task::spawn_blocking(move || postgres.stop());
    Ok(stop.await.map_err(|_| ServeError::NoDatabase)??)
}

fn describe(postgres: &PrivatePostgres) -> String {
    let directory = postgres.directory().display();
    let why = match postgres.is_elsewhere() {
        true => " (its user has no access to the data directory)",
        false => "",
    };
    format!("private Postgres {} in {directory}{why}", postgres.version())
}

/// Host, port and name from a URL.
fn place_of(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return "the configured URL".to_owned() };
    let socket =
        url.query_pairs().find(|(name, _)| name == "host").map(|(_, host)| host.into_owned());
    let host = socket.or_else(|| url.host_str().map(str::to_owned)).unwrap_or_default();
    format!("{host}:{}{}", url.port().unwrap_or(5432), url.path())
}

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn a_description_has_host_port_and_name_but_no_password() {
        assert_eq!(
            place_of("postgres://u:secret@db.example/x?password=secret"),
            "db.example:5432/x"
        );
        assert_eq!(place_of("postgres://u@localhost:6000/x?host=%2Frun%2Fpg"), "/run/pg:6000/x");
    }
}
