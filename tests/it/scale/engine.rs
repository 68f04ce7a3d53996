//! The engine that stores work in progress and hands it to the servers. With Postgres it is the table `jobs`, and it
//! has no nodes of its own.

use std::net::SocketAddr;

use tokio::runtime::Handle;

use super::postgres::Postgres;
use super::restate::{self, Restate};
use super::servers::{SERVERS, Servers};
use dsrs_test::{After, End, Wire, fixed_port, found_blocking};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    Postgres,
    Restate,
}

/// An engine, with the networks between it and each server.
pub enum Engine {
    /// To the database, by servers.
    Postgres(Vec<Wire>),
    Restate {
        nodes: Restate,
        /// From a server to each node, by servers.
        ingress: Vec<Vec<Wire>>,
        /// From the nodes to the servers.
        workers: Wire,
        /// Where each server listens.
        binds: Vec<SocketAddr>,
    },
}

impl Engine {
    pub async fn start(kind: EngineKind, postgres: &Postgres) -> Self {
        match kind {
            EngineKind::Postgres => {
                let mut wires = Vec::new();
                for _ in 0..SERVERS {
                    wires.push(Wire::to(vec![End::Socket(postgres.socket())]).await);
                }
                Self::Postgres(wires)
            }
            EngineKind::Restate => {
                let (nodes, mut ingress) = (Restate::start().await, Vec::new());
                for _ in 0..SERVERS {
                    let mut wires = Vec::new();
                    for node in 0..restate::NODES {
                        wires.push(Wire::to(vec![End::Address(nodes.ingress(node))]).await);
                    }
                    ingress.push(wires);
                }
                let binds: Vec<SocketAddr> =
                    [(); SERVERS].map(|()| restate::local(fixed_port())).into();
                let ends = binds.iter().copied().map(End::Address).collect();
                Self::Restate { nodes, ingress, workers: Wire::to(ends).await, binds }
            }
        }
    }

    /// The settings of a server, with those of its database.
    pub fn settings(&self, server: usize, postgres: &Postgres) -> Vec<(&'static str, String)> {
        match self {
            Self::Postgres(wires) => {
                vec![("DATABASE_URL", postgres.url_at(wires[server].address, server))]
            }
            Self::Restate { nodes, ingress, workers, binds } => {
                let addresses: Vec<String> =
                    ingress[server].iter().map(|wire| format!("http://{}", wire.address)).collect();
                vec![
                    ("DATABASE_URL", postgres.url(server)),
                    ("DSRS_ENGINE", "restate".to_owned()),
                    ("DSRS_RESTATE_INGRESS", addresses.join(",")),
                    ("DSRS_RESTATE_ADMIN", nodes.admin(0)),
                    ("DSRS_RESTATE_BIND", binds[server].to_string()),
                    ("DSRS_RESTATE_URL", format!("http://{}", workers.address)),
                ]
            }
        }
    }

    /// Registers the servers with it. Blocks.
    pub fn register(&self, servers: &Servers) {
        if let Self::Restate { .. } = self {
            // Nodes that have just started may still elect a leader.
            found_blocking("the nodes to accept a registration", || {
                servers.command(&["engine", "check", "--apply"]).ok()
            });
        }
    }

    /// How many nodes it has that can be killed.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Postgres(_) => 0,
            Self::Restate { .. } => restate::NODES,
        }
    }

    /// Ends nodes as a power cut would. Blocks.
    pub fn kill_nodes(&self, numbers: &[usize]) {
        if let Self::Restate { nodes, .. } = self {
            nodes.kill(numbers);
        }
    }

    /// Waits until the other nodes have taken over what a node did that was killed. Blocks.
    pub fn until_others_answer(&self, killed: usize) {
        if let Self::Restate { nodes, .. } = self {
            // A query reads every partition, so each has a leader.
            Handle::current().block_on(nodes.count_by((killed + 1) % restate::NODES, "state"));
        }
    }

    /// Starts nodes that were killed, and waits until they answer. Blocks.
    pub fn restart_nodes(&self, numbers: &[usize]) {
        if let Self::Restate { nodes, .. } = self {
            Handle::current().block_on(nodes.restart(numbers));
        }
    }

    /// From now on nothing passes between a server and the engine.
    pub fn cut(&self, server: usize) {
        match self {
            Self::Postgres(wires) => wires[server].cut(0),
            Self::Restate { ingress, workers, .. } => {
                ingress[server].iter().for_each(|wire| wire.cut(0));
                workers.cut(server);
            }
        }
    }

    pub fn heal(&self, server: usize, after: After) {
        match self {
            Self::Postgres(wires) => wires[server].heal(0, after),
            Self::Restate { ingress, workers, .. } => {
                ingress[server].iter().for_each(|wire| wire.heal(0, after));
                workers.heal(server, after);
            }
        }
    }

    /// What it stores of work in progress: by table, how many rows. With Postgres they are the database's.
    pub async fn rows_in_progress(&self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Postgres(_) => Vec::new(),
            Self::Restate { nodes, .. } => {
                let running = "sys_invocation where status <> 'completed'";
                vec![("state", nodes.count("state").await), (running, nodes.count(running).await)]
            }
        }
    }
}
