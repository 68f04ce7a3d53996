//! The table of settings in the README equals the settings of the server.

use dsrs_server::config::settings_markdown;

const README: &str = include_str!("../../README.md");
const BEGIN: &str = "<!-- settings: generated from src/config/settings.rs; a test compares -->\n";
const END: &str = "<!-- /settings -->";

#[test]
fn the_table_of_settings_equals_the_settings_of_the_server() {
    let (_, rest) = README.split_once(BEGIN).expect("the README marks where its settings begin");
    let (block, _) = rest.split_once(END).expect("the README marks where its settings end");
    let given = settings_markdown();
    assert!(block == given, "put this between the settings marks of README.md:\n{given}");
}
