//! Graphs and states: versions, locks, names, pages.

use dsrs_store::graph::{self, GraphRef, NewGraph, VersionSelection};
use dsrs_store::graph_edit::{ExpectedVersion, lock};
use dsrs_store::scope::DEFAULT_WORKSPACE;
use dsrs_store::state::NewState;
use dsrs_store::{
    ListQuery, Scope, StoreError, graph_version, state as states, state_activation, workspace,
};
use uuid::Uuid;

use super::{ann, database, make, name, state, tick, version};

/// Keys out of order, odd spacing, U+0000 as its escape, numbers that a float would spoil.
const ODD: &str = "{ \"zeta\":1.0, \"alpha\" : \"a\\u0000b \\ud83d\", \"zeta\":2,\n \
                   \"n\": 123456789012345678901234567890.10e400, \"é\": [ ] }";

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_returned_byte_for_byte() {
    let db = database().await;
    let mut new_version = version(ODD);
    new_version.description = Some("ends in nul \0");
    let (id, at) = (Uuid::now_v7(), tick());
    let new = NewGraph { id, name: "odd", version: new_version, state: state(ODD), at };
    let made = graph::create(&ann(), &db, new).await.unwrap();
    let read = graph::get(&ann(), &db, &GraphRef::Id(id), VersionSelection::NEWEST).await.unwrap();
    assert_eq!(read, made);
    assert_eq!(read.definition, ODD);
    assert_eq!(read.state.predictors, ODD);
    assert_eq!(read.description.as_deref(), Some("ends in nul \0"));
    let listed = graph::list(&ann(), &db, ListQuery::new(None, 10)).await.unwrap();
    assert_eq!(listed.items[0].description.as_deref(), Some("ends in nul \0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_reserved_until_its_graph_is_deleted() {
    let db = database().await;
    let first = make(&db, "reply").await.unwrap();
    let refused = make(&db, "reply").await.unwrap_err();
    assert_eq!(refused.to_string(), "graph \"reply\" already exists");
    let locked = lock(&ann(), &db, &name("reply"), ExpectedVersion::Newest).await.unwrap();
    locked.delete(tick()).await.unwrap();
    let gone = graph::get(&ann(), &db, &GraphRef::Id(first.id), VersionSelection::NEWEST)
        .await
        .unwrap_err();
    assert_eq!(gone.to_string(), format!("no graph \"{}\"", first.id));
    let second = make(&db, "reply").await.unwrap();
    assert_ne!(second.id, first.id);
    assert_eq!(graph::id_of(&ann(), &db, &name("reply")).await.unwrap(), second.id);
    // an ETag of the deleted graph names version 1 as well, but of another graph
    let expect = ExpectedVersion::Graph { id: first.id, version: 1 };
    let stale = lock(&ann(), &db, &name("reply"), expect).await.err().unwrap();
    assert!(matches!(stale, StoreError::Stale { current: 1 }), "{stale}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_are_serialised_and_never_merged() {
    let db = database().await;
    make(&db, "counter").await.unwrap();
    let add_one = || {
        let db = db.clone();
        tokio::spawn(async move {
            let locked =
                lock(&ann(), &db, &name("counter"), ExpectedVersion::Newest).await.unwrap();
            // each writes what it read and one letter: a lost update would lose a letter
            let next = locked.head().definition.replace('}', "1}");
            let next = if next == "{1}" { "{\"n\":1}".to_owned() } else { next };
            locked.put_version(version(&next), state("{}"), None, tick()).await.unwrap().version
        })
    };
    let writers: Vec<_> = (0..12).map(|_| add_one()).collect();
    let mut versions = Vec::new();
    for writer in writers {
        versions.push(writer.await.unwrap());
    }
    versions.sort_unstable();
    assert_eq!(versions, (2..=13).collect::<Vec<_>>());
    let head = graph::get(&ann(), &db, &name("counter"), VersionSelection::NEWEST).await.unwrap();
    assert_eq!(head.definition, format!("{{\"n\":{}}}", "1".repeat(12)));
    assert_eq!((head.version, head.state.version), (13, 13));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_writers_with_the_same_expected_version_is_stale() {
    let db = database().await;
    let made = make(&db, "reply").await.unwrap();
    let expect = ExpectedVersion::Graph { id: made.id, version: 1 };
    let locked = lock(&ann(), &db, &name("reply"), expect).await.unwrap();
    let other = {
        let db = db.clone();
        tokio::spawn(async move { lock(&ann(), &db, &name("reply"), expect).await.err() })
    };
    locked.put_version(version("{\"v\":2}"), state("{}"), None, tick()).await.unwrap();
    let refused = other.await.unwrap().unwrap();
    assert_eq!(refused.to_string(), "the version has changed: the current one is 2");
    let dropped = lock(&ann(), &db, &name("reply"), ExpectedVersion::Newest).await.unwrap();
    drop(dropped);
    let head = graph::get(&ann(), &db, &name("reply"), VersionSelection::NEWEST).await.unwrap();
    assert_eq!(head.version, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn states_are_activated_per_graph_version() {
    let (db, ann) = (database().await, ann());
    let id = make(&db, "reply").await.unwrap().id;
    let by_id = GraphRef::Id(id);
    let edit = || lock(&ann, &db, &by_id, ExpectedVersion::Newest);
    let second = edit().await.unwrap().put_state(state("{\"s\":2}"), tick()).await.unwrap();
    assert_eq!((second.version, second.graph_version), (2, 1));
    let third = edit().await.unwrap().add_state(1, state("{\"s\":3}"), tick()).await.unwrap();
    let active = || graph::pin(&ann, &db, &by_id, VersionSelection::NEWEST);
    assert_eq!(active().await.unwrap().state_version, 2, "a candidate is not active");
    let activate = async |version| {
        let mut locked = edit().await.unwrap();
        let (row, before) = locked.state(version).await.unwrap();
        locked.activate_state(&row, None, tick()).await.unwrap();
        before
    };
    assert_eq!(activate(third.version).await, 2);
    assert_eq!(active().await.unwrap().state_hash, "{\"s\":3}");
    assert_eq!(activate(1).await, 3);
    assert_eq!(active().await.unwrap().state_version, 1);
    assert_eq!(states::in_force(&ann, &db, &by_id).await.unwrap(), (id, 1));
    assert_eq!(states::in_force(&ann, &db, &name("reply")).await.unwrap(), (id, 1));

    let stale = ExpectedVersion::State { id, version: 2 };
    let refused = lock(&ann, &db, &GraphRef::Id(id), stale).await.err().unwrap();
    assert!(matches!(refused, StoreError::Stale { current: 1 }), "{refused}");

    edit()
        .await
        .unwrap()
        .put_version(version("[]"), state("{\"s\":4}"), None, tick())
        .await
        .unwrap();
    assert_eq!(active().await.unwrap().state_version, 4);
    let older = VersionSelection { version: Some(1), state_version: None };
    let older = graph::get(&ann, &db, &GraphRef::Id(id), older).await.unwrap();
    assert_eq!((older.version, older.newest_version, older.state.version), (1, 2, 1));
    assert_eq!(activate(3).await, 1, "an older graph version has its own active state");
    assert_eq!(active().await.unwrap().state_version, 4);
    let older = VersionSelection { version: Some(1), state_version: None };
    assert_eq!(graph::pin(&ann, &db, &by_id, older).await.unwrap().state_version, 3);
    let moves = state_activation::list(&ann, &db, id, ListQuery::new(None, 9)).await.unwrap().items;
    let activations: Vec<_> =
        moves.iter().map(|m| (m.graph_version, m.before, m.state_version)).collect();
    assert_eq!(
        activations,
        [
            (1, Some(1), 3),
            (2, None, 4),
            (1, Some(3), 1),
            (1, Some(2), 3),
            (1, Some(1), 2),
            (1, None, 1)
        ]
    );
    activate(1).await;

    let page = states::list(&ann, &db, id, ListQuery::new(None, 3)).await.unwrap();
    let states: Vec<_> = page.items.iter().map(|s| (s.version, s.in_force)).collect();
    assert_eq!(states, [(4, true), (3, false), (2, false)]);
    let page = states::list(&ann, &db, id, ListQuery::new(page.next, 3)).await.unwrap();
    assert_eq!((page.items[0].version, page.items[0].in_force, page.next), (1, true, None));
    assert_eq!(states::get(&ann, &db, id, 2).await.unwrap(), second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_written_once_per_graph_version_with_its_author() {
    let (db, ann) = (database().await, ann());
    let id = make(&db, "reply").await.unwrap().id;
    let by_id = GraphRef::Id(id);
    let edit = || lock(&ann, &db, &by_id, ExpectedVersion::Newest);
    edit()
        .await
        .unwrap()
        .put_version(version("[]"), state("{\"s\":2}"), None, tick())
        .await
        .unwrap();
    let (optimization, other) = (Uuid::now_v7(), Uuid::now_v7());
    let by = |optimization| NewState {
        parent: Some(1),
        optimization: Some(optimization),
        score: Some(0.75),
        dataset_hash: Some("abc"),
        ..state("{\"s\":3}")
    };
    let add = async |graph_version, new| {
        edit().await.unwrap().add_state(graph_version, new, tick()).await.unwrap()
    };
    let found = add(1, by(optimization)).await;
    assert_eq!((found.version, found.graph_version, found.parent), (3, 1, Some(1)));
    assert_eq!((found.optimization, found.score), (Some(optimization), Some(0.75)));
    assert_eq!(found.dataset_hash.as_deref(), Some("abc"));
    assert_eq!(states::get(&ann, &db, id, 3).await.unwrap(), found);
    assert_eq!(add(1, by(optimization)).await, found, "a repeated write changes nothing");
    assert_eq!(add(2, by(optimization)).await.version, 4, "another graph version is another state");
    assert_eq!(add(1, by(other)).await.version, 5);
    let listed = states::list(&ann, &db, id, ListQuery::new(None, 9)).await.unwrap().items;
    let states: Vec<_> = listed.iter().map(|s| (s.version, s.optimization, s.in_force)).collect();
    assert_eq!(states[0], (5, Some(other), false));
    assert_eq!(states[4], (1, None, true));
    let head = graph::get(&ann, &db, &by_id, VersionSelection::NEWEST).await.unwrap();
    assert_eq!((head.version, head.state.version), (2, 2), "the active versions are the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_entities_are_named() {
    let (db, ann) = (database().await, ann());
    let id = make(&db, "reply").await.unwrap().id;
    let ask = |version, state_version| {
        let pick = VersionSelection { version, state_version };
        let (db, ann) = (&db, &ann);
        async move {
            let full = graph::get(ann, db, &GraphRef::Id(id), pick).await.unwrap_err();
            let light = graph::pin(ann, db, &GraphRef::Id(id), pick).await.unwrap_err();
            assert_eq!(full.to_string(), light.to_string());
            full.to_string()
        }
    };
    assert_eq!(ask(Some(7), None).await, "no graph version \"7\"");
    assert_eq!(ask(None, Some(8)).await, "no state version \"8\"");
    assert_eq!(ask(Some(1), Some(9)).await, "no state version \"9\"");
    lock(&ann, &db, &name("reply"), ExpectedVersion::Newest)
        .await
        .unwrap()
        .put_version(version("[]"), state("{}"), None, tick())
        .await
        .unwrap();
    assert_eq!(ask(Some(2), Some(1)).await, "state version 1 fits graph version 1, not 2");
    let versions = graph_version::list(&ann, &db, id, ListQuery::new(None, 1)).await.unwrap();
    assert_eq!((versions.items[0].version, versions.next), (2, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_workspace_sees_nothing() {
    let (db, ann) = (database().await, ann());
    let id = make(&db, "reply").await.unwrap().id;
    let stranger = Scope { workspace: Uuid::now_v7(), actor: "eve".into() };
    let by_id = GraphRef::Id(id);
    assert!(graph::get(&stranger, &db, &by_id, VersionSelection::NEWEST).await.is_err());
    assert!(lock(&stranger, &db, &name("reply"), ExpectedVersion::Newest).await.is_err());
    assert!(states::get(&stranger, &db, id, 1).await.is_err());
    assert!(graph::list(&stranger, &db, ListQuery::new(None, 10)).await.unwrap().items.is_empty());
    assert!(workspace::get(&stranger, &db).await.is_err());
    assert_eq!(workspace::get(&ann, &db).await.unwrap().id, DEFAULT_WORKSPACE);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_do_not_shift_when_graphs_arrive_meanwhile() {
    let (db, ann) = (database().await, ann());
    for number in 0..7 {
        make(&db, &format!("graph-{number}")).await.unwrap();
    }
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = graph::list(&ann, &db, ListQuery::new(cursor, 3)).await.unwrap();
        seen.extend(page.items.into_iter().map(|graph| graph.name));
        make(&db, &format!("late-{}", seen.len())).await.unwrap();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expected: Vec<_> = (0..7).rev().map(|number| format!("graph-{number}")).collect();
    assert_eq!(seen, expected);
}
