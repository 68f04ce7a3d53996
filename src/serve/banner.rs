//! The block that start-up prints: address, database, models, work.

use std::net::SocketAddr;

use dsrs_config::{Config, ModelTable, WorkerConfig};

/// The block, followed by an empty line.
pub(super) fn start_up_block(
    config: &Config,
    (address, monitor): (SocketAddr, Option<SocketAddr>),
    database: &str,
    has_keys: bool,
) -> String {
    let keys = match has_keys {
        true => "required: Authorization: Bearer <key>",
        false if config.bind.ip().to_canonical().is_loopback() => {
            "none: only this machine can connect"
        }
        false => "none: anyone who can connect may do anything",
    };
    block(&[
        ("address", format!("http://{address}")),
        ("page", format!("http://{address}/")),
        ("docs", format!("http://{address}/docs/")),
        ("database", database.to_owned()),
        ("models", models(&config.models)),
        ("worker", worker(config.worker)),
        ("API keys", keys.to_owned()),
        ("monitor", metrics(monitor)),
    ])
}

/// The block of a process that only works on jobs.
pub(super) fn worker_block(config: &Config, database: &str, monitor: Option<SocketAddr>) -> String {
    block(&[
        ("database", database.to_owned()),
        ("models", models(&config.models)),
        ("worker", worker(config.worker)),
        ("monitor", metrics(monitor)),
    ])
}

fn block(lines: &[(&str, String)]) -> String {
    let mut block = format!("dsrs-server {}\n", env!("CARGO_PKG_VERSION"));
    for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        block.push_str(&format!("  {name:<9} {text}\n"));
    }
    block.push('\n');
    block
}

/// Where the metrics are without a key; nothing if nowhere.
fn metrics(monitor: Option<SocketAddr>) -> String {
    monitor.map_or_else(String::new, |address| format!("http://{address}/metrics"))
}

fn worker(worker: WorkerConfig) -> String {
    match worker.enabled {
        true => format!("up to {} concurrent jobs", worker.concurrency),
        false => "none: other processes work on background jobs".to_owned(),
    }
}

fn models(models: &ModelTable) -> String {
    if models.is_empty() {
        return "none: set OPENAI_API_KEY or OPENAI_BASE_URL, or configure [models.NAME]"
            .to_owned();
    }
    let lines: Vec<String> = models
        .iter()
        .map(|(alias, model)| {
            let default = match models.default_alias() == Some(alias) && alias != "default" {
                true => ", the default",
                false => "",
            };
            format!("{alias}: {} at {}{default}", model.model, model.base_url)
        })
        .collect();
    lines.join("\n            ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsrs_config::{Environment, Flags};

    #[test]
    fn the_block_shows_address_docs_database_and_models_and_no_key() {
        let env: Environment = [
            ("DSRS_MODELS__FAST__MODEL", "small"),
            ("DSRS_MODELS__FAST__API_KEY", "sk-secret"),
            ("DSRS_MODELS__GOOD__MODEL", "large"),
            ("DSRS_DEFAULT_MODEL", "good"),
        ]
        .into_iter()
        .collect();
        let config = Config::load(&Flags::default(), &env).unwrap();
        let addresses = ("127.0.0.1:4711".parse().unwrap(), None);
        let block = start_up_block(&config, addresses, "private Postgres", false);
        let expected = format!(
            "dsrs-server {}\n  \
               address   http://127.0.0.1:4711\n  \
               page      http://127.0.0.1:4711/\n  \
               docs      http://127.0.0.1:4711/docs/\n  \
               database  private Postgres\n  \
               models    fast: small at https://api.openai.com/v1\n            \
                         good: large at https://api.openai.com/v1, the default\n  \
               worker    up to 64 concurrent jobs\n  \
               API keys  none: only this machine can connect\n\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(block, expected);
    }

    #[test]
    fn without_models_the_block_explains_how_to_configure_one() {
        let config = Config::load(&Flags::default(), &Environment::default()).unwrap();
        let block = start_up_block(&config, (config.bind, None), "x", false);
        assert!(block.contains("  models    none: set OPENAI_API_KEY"), "{block}");
        let block = worker_block(&config, "x", Some("127.0.0.1:9100".parse().unwrap()));
        assert!(block.contains("  monitor   http://127.0.0.1:9100/metrics\n"), "{block}");
    }
}
