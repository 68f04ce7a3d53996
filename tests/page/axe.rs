//! axe-core: what people who cannot see the screen, or not well, would stumble over. `scripts/axe.sh` fetches it.

use std::process::Command;

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::browser::Browser;

static SCRIPT: OnceCell<Option<String>> = OnceCell::const_new();

const RUN: &str = "
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then((found) => done(found.violations.map((violation) => ({
  id: violation.id, impact: violation.impact, help: violation.help,
  places: violation.nodes.slice(0, 5).map((node) => node.target.join(' ') + ': ' + node.failureSummary)
}))), (error) => done(String(error)));";

/// Fails if the view has serious or critical faults.
pub async fn assert_accessible(browser: &Browser) {
    let Some(script) = SCRIPT.get_or_init(script).await else { return };
    browser.run(script).await;
    let found = browser.run_async(RUN).await;
    let violations = found.as_array().unwrap_or_else(|| panic!("axe-core failed: {found}"));
    let is_serious =
        |violation: &&Value| matches!(violation["impact"].as_str(), Some("serious" | "critical"));
    let serious: Vec<String> = violations.iter().filter(is_serious).map(describe).collect();
    assert!(serious.is_empty(), "{}:\n{}", browser.address().await, serious.join("\n"));
}

fn describe(violation: &Value) -> String {
    let places: Vec<&str> =
        violation["places"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    format!(
        "{} ({}): {}\n  {}",
        violation["id"],
        violation["impact"],
        violation["help"],
        places.join("\n  ")
    )
}

/// The text of axe-core; nothing where it cannot be fetched.
async fn script() -> Option<String> {
    let fetched =
        Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/axe.sh")).output().unwrap();
    if !fetched.status.success() {
        let required = std::env::var("DSRS_REQUIRE_BROWSER").is_ok_and(|value| value == "1");
        let reason = String::from_utf8_lossy(&fetched.stderr);
        assert!(!required, "axe-core cannot be fetched: {reason}");
        println!("SKIPPED: axe-core cannot be fetched; accessibility was NOT checked: {reason}");
        return None;
    }
    let path = String::from_utf8(fetched.stdout).unwrap();
    Some(std::fs::read_to_string(path.trim()).unwrap())
}
