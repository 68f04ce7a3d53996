//! An answer about a thing of another workspace takes the same work as one about a thing that does not exist:
//! the same statements, which return as many rows. So its time says nothing, either.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::operation::operations;
use super::stranger::absent;
use super::things::make_things;
use super::{Member, OWNER, ROOT, STRANGER};
use crate::Api;
use dsrs_test::{QueryWire, Remote, test_database};
use dsrs_test_api::friendly_lm;

/// What a request makes the database do.
#[derive(Debug, PartialEq)]
struct DatabaseWork {
    statements: Vec<String>,
    rows: usize,
}

struct Watch<'a> {
    wire: &'a QueryWire,
    workspace: String,
    remote: &'a Remote,
}

impl Watch<'_> {
    async fn work(
        &self,
        method: &reqwest::Method,
        path: &str,
        body: Option<String>,
    ) -> DatabaseWork {
        self.wire.record(&self.workspace);
        self.remote.send(method.clone(), path, &[], body).await;
        let (mut statements, rows) = self.wire.recorded();
        // The next user of a connection sends that of a transaction that was dropped.
        statements.retain(|statement| statement != "ROLLBACK");
        // A cancellation looks again and again for a while.
        if path.ends_with("/cancel") {
            statements = BTreeSet::from_iter(statements).into_iter().collect();
        }
        DatabaseWork { statements, rows }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thing_of_another_workspace_is_refused_with_the_work_of_one_that_does_not_exist() {
    let wire = QueryWire::to(&test_database().await).await;
    let api = Api::start(&wire.url, Some(Arc::new(friendly_lm())), &ROOT).await;
    let (owner, stranger) = (Member::join(&api, OWNER).await, Member::join(&api, STRANGER).await);
    let things = make_things(&owner.remote(&api)).await;
    let remote = stranger.remote(&api);
    let watch = Watch { wire: &wire, workspace: stranger.workspace.to_string(), remote: &remote };
    let (mut compared, mut findings) = (0, Vec::new());
    for operation in operations() {
        let Some(kind) = operation.thing() else { continue };
        let thing = &things.ids[kind][0];
        let body = operation.body().map(|body| body.to_string());
        let mut work = Vec::new();
        // The first request of all may fill a cache.
        for name in [absent(thing), thing.clone(), absent(thing)] {
            work.push(watch.work(&operation.method, &operation.path(&name), body.clone()).await);
        }
        let [_, existing, missing] = &work[..] else { unreachable!() };
        compared += usize::from(!missing.statements.is_empty());
        if existing != missing {
            let (method, template) = (&operation.method, &operation.template);
            findings.push(format!("{method} {template}: {existing:?} instead of {missing:?}"));
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert!(compared > 30, "only {compared} operations ask the database");
}
