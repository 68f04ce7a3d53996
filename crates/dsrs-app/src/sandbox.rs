//! The sandbox of all runs, as the settings configure it, and the walls that stand around it. Knows no
//! metrics.

use std::sync::Arc;

use dsrs::sandbox::{SandboxError, SandboxLimits};
use dsrs_sandbox::{ChildSandbox, Wall, Walls};
use tokio::task::JoinHandle;

use crate::spawn_named;
use dsrs_config::{Config, SANDBOX_COMMAND};

/// `None` if the sandbox is disabled, or if this server was built without the feature `sandbox`.
pub(crate) fn open(config: &Config) -> Option<Arc<ChildSandbox>> {
    let settings = &config.sandbox;
    let limits =
        SandboxLimits { time: settings.time, memory: settings.memory, output: settings.output };
    let child = || ChildSandbox::new(&settings.program, &[SANDBOX_COMMAND], limits);
    let bounded = || child().require(required(config)).sessions_at_once(settings.sessions);
    let is_open = settings.enabled && cfg!(feature = "sandbox");
    is_open.then(|| Arc::new(bounded()))
}

/// The walls of the setting. With a private Postgres, the child must not be able to read the files of
/// the database: it has a user of its own, which only root can give it, or it cannot open files.
fn required(config: &Config) -> Vec<Wall> {
    let mut walls = config.sandbox.require.clone();
    let separate = [Wall::User, Wall::Seccomp];
    if config.database.url.is_none() && !separate.iter().any(|wall| walls.contains(wall)) {
        walls.extend(Wall::of_platform().find(|wall| separate.contains(wall)));
    }
    walls
}

/// What a child of the sandbox found at start.
pub(crate) struct FoundWalls {
    /// Every wall, and whether it stands.
    pub(crate) walls: Vec<(Wall, bool)>,
    /// Whether programs run.
    pub(crate) usable: bool,
}

/// A search for the walls, which needs nothing else of the server and a child that takes long to start.
pub struct WallSearch(Option<(Arc<ChildSandbox>, JoinHandle<FoundState>)>);

/// What the child answered; `None` if its task ended otherwise.
type FoundState = Option<Result<Walls, SandboxError>>;

impl WallSearch {
    /// Starts the search. There is none if the sandbox is disabled.
    #[must_use]
    pub fn start(config: &Config) -> Self {
        let search = |sandbox: Arc<ChildSandbox>| {
            let asked = sandbox.clone();
            let walls = async move { asked.walls().await };
            (sandbox, spawn_named("the walls of the sandbox", walls))
        };
        Self(open(config).map(search))
    }

    /// Its result, which is logged now: a server that does not start for another reason says that reason alone.
    pub(crate) async fn found(self) -> Option<FoundWalls> {
        let (sandbox, search) = self.0?;
        Some(found_walls(&sandbox, search.await.ok()??))
    }
}

/// Logs which walls stand.
fn found_walls(sandbox: &ChildSandbox, found: Result<Walls, SandboxError>) -> FoundWalls {
    let state = match found {
        Ok(state) => state,
        Err(error) => {
            tracing::error!(%error, "the sandbox does not start: no program runs");
            let walls = Wall::ALL.map(|wall| (wall, false)).to_vec();
            return FoundWalls { walls, usable: false };
        }
    };
    let stands = |reason: Option<&str>| reason.is_none();
    let standing: Vec<&str> =
        state.iter().filter(|(_, reason)| stands(*reason)).map(|(wall, _)| wall.as_str()).collect();
    tracing::info!(walls = standing.join(", "), "walls of the sandbox");
    let missing = state.missing(sandbox.required());
    for (wall, reason) in state.iter().filter_map(|(wall, reason)| Some((wall, reason?))) {
        match missing.is_some_and(|(first, _)| first == wall) || sandbox.required().contains(&wall)
        {
            true => tracing::error!(
                %wall, reason, "no program runs: a required wall does not stand (sandbox.require)"
            ),
            false => tracing::info!(%wall, reason, "the sandbox is without a wall"),
        }
    }
    FoundWalls {
        walls: state.iter().map(|(wall, reason)| (wall, stands(reason))).collect(),
        usable: missing.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsrs_config::{Environment, Flags};

    fn required_by(settings: &[(&str, &str)]) -> Vec<Wall> {
        let env: Environment = settings.iter().copied().collect();
        required(&Config::load(&Flags::default(), &env).unwrap())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn beside_a_private_postgres_the_child_is_separated_from_its_files_whatever_is_set() {
        let only_limits = ("DSRS_SANDBOX_REQUIRE", "rlimits");
        let private = required_by(&[only_limits]);
        assert!(private.contains(&Wall::User) || private.contains(&Wall::Seccomp), "{private:?}");
        let elsewhere = ("DATABASE_URL", "postgres://db.example/x");
        assert_eq!(required_by(&[only_limits, elsewhere]), [Wall::Rlimits]);
        let all: Vec<Wall> = Wall::of_platform().collect();
        assert_eq!((required_by(&[]), required_by(&[elsewhere])), (all.clone(), all));
    }
}
