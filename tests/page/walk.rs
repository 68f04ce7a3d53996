//! Every view with data, as people see it: on a laptop and a telephone, light and dark. Stores the pictures that
//! docs/page.md shows.

use crate::axe::assert_accessible;
use crate::browser::{Browser, SCHEMES, SCREENS};
use crate::world::{World, server};

/// Name and address of every view of a server with data.
fn views(world: &World) -> Vec<(&'static str, String)> {
    let World {
        run, failed_run, waiting_run, evaluations, optimization, schedule, webhook, ..
    } = world;
    let [before, after] = evaluations;
    [
        ("graphs", "/".to_owned()),
        ("graph", "/graphs/support-reply".to_owned()),
        ("graph-node", "/graphs/support-reply?node=triage".to_owned()),
        ("graph-editor", "/graphs/support-reply/edit".to_owned()),
        ("graph-new", "/new".to_owned()),
        ("run-form", "/graphs/support-reply/run".to_owned()),
        ("runs", "/runs".to_owned()),
        ("run", format!("/runs/{run}")),
        ("run-failed", format!("/runs/{failed_run}")),
        ("run-waiting", format!("/runs/{waiting_run}")),
        ("runs-compare", format!("/runs/compare?a={run}&b={failed_run}")),
        ("state", "/graphs/support-reply/state".to_owned()),
        ("state-diff", "/graphs/support-reply/state/diff?from=1&to=2".to_owned()),
        ("predictor", "/graphs/support-reply/predictors/triage".to_owned()),
        ("datasets", "/datasets".to_owned()),
        ("dataset", "/datasets/questions".to_owned()),
        ("evaluations", "/evaluations".to_owned()),
        ("evaluation", format!("/evaluations/{after}")),
        ("evaluations-compare", format!("/evaluations/compare?a={before}&b={after}")),
        ("optimizations", "/optimizations".to_owned()),
        ("optimization", format!("/optimizations/{optimization}")),
        ("usage", "/usage".to_owned()),
        ("usage-graph", "/usage?graph=support-reply&days=1".to_owned()),
        ("schedules", "/schedules".to_owned()),
        ("schedule", format!("/schedules/{schedule}")),
        ("schedule-new", format!("/schedules/new?{WRITTEN}")),
        ("schedule-edit", format!("/schedules/{schedule}/edit")),
        ("webhooks", "/webhooks".to_owned()),
        ("webhook-new", "/webhooks/new".to_owned()),
        ("webhook-edit", format!("/webhooks/{webhook}/edit")),
        ("online-evaluation", "/graphs/ask/online-evaluation".to_owned()),
        ("webhook", format!("/webhooks/{webhook}")),
        ("parse", "/parse".to_owned()),
        ("search", "/search?q=support".to_owned()),
        ("strategy", "/strategies/chain_of_thought".to_owned()),
        ("optimizer", "/optimizers/mipro_v2".to_owned()),
        ("sign-in", "/sign-in".to_owned()),
    ]
    .into()
}

/// A schedule that is not stored yet.
const WRITTEN: &str = "name=weekdays&cron=30+2+*+*+1-5&time_zone=Europe/Berlin&graph=support-reply\
    &%2Frequest%2Finputs%2Fticket=Where+is+my+parcel%3F";

async fn walk_views(browser: &mut Browser, url: &str, views: &[(&str, String)]) {
    for (name, path) in views {
        browser.open(&format!("{url}{path}")).await;
        browser.until_shown("main").await;
        for screen in SCREENS {
            browser.set_screen(screen).await;
            for scheme in SCHEMES {
                browser.set_scheme(scheme).await;
                browser.picture(name).await;
                assert_accessible(browser).await;
            }
        }
        browser.check_console().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_fits_every_screen_and_has_no_serious_fault() {
    let Some(mut browser) = Browser::start().await else { return };
    let world = World::new().await;
    walk_views(&mut browser, &world.api.url, &views(&world)).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_server_and_what_does_not_exist_are_explained() {
    let Some(mut browser) = Browser::start().await else { return };
    let api = server().await;
    // A view that says what is missing is answered with 404.
    browser.expect_message("404 (Not Found)");
    let views = [
        "/",
        "/runs",
        "/datasets",
        "/evaluations",
        "/optimizations",
        "/usage",
        "/schedules",
        "/webhooks",
        "/search",
        "/graphs/none",
        "/nowhere",
    ];
    let views: Vec<_> = views.into_iter().map(|path| ("", path.to_owned())).collect();
    let named: Vec<(String, String)> = views
        .iter()
        .map(|(_, path)| (format!("empty{}", path.replace('/', "-")), path.clone()))
        .collect();
    let named: Vec<(&str, String)> =
        named.iter().map(|(name, path)| (name.as_str(), path.clone())).collect();
    walk_views(&mut browser, &api.url, &named).await;
    browser.close().await;
}
