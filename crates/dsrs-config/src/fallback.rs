//! Checks that the fallbacks of models exist and end. Does not know when a model falls back.

use super::models::ModelTable;
use super::nearest::hint;
use super::reader::SettingReader;

/// Refuses aliases that no model has, and cycles.
pub(super) fn check_fallbacks(read: &mut SettingReader<'_>, models: &ModelTable) {
    for (position, (alias, model)) in models.iter().enumerate() {
        let path = format!("models.{alias}.fallback");
        let Some(given) = read.given(&path) else { continue };
        for unknown in model.fallback.iter().filter(|found| models.own(found).is_none()) {
            // A model with a problem of its own is already reported.
            if !read.layers.aliases().contains(unknown) {
                let hint = hint(unknown, models.iter().map(|(alias, _)| alias));
                read.refuse(&path, given, &format!("no model has the alias \"{unknown}\"{hint}"));
            }
        }
        let embeds = |alias: &&String| models.own(alias).is_some_and(|model| model.embedding);
        for embedding in model.fallback.iter().filter(embeds) {
            let why = format!("\"{embedding}\" is an embedding model and cannot answer");
            read.refuse(&path, given, &why);
        }
        if let Some(cycle) = cycle_of(models, position) {
            let cycle = cycle.join(" -> ");
            read.refuse(
                &path,
                given,
                &format!("the fallbacks form a cycle, {cycle}; remove one of them"),
            );
        }
    }
}

/// The cycle of fallbacks through a model and models that are configured after it: each cycle is
/// reported once, at its first model.
fn cycle_of(models: &ModelTable, position: usize) -> Option<Vec<&str>> {
    let (start, _) = models.iter().nth(position)?;
    let before: Vec<&str> = models.iter().take(position).map(|(alias, _)| alias).collect();
    let mut seen = before;
    let mut paths = vec![vec![start]];
    while let Some(path) = paths.pop() {
        let model = path.last().and_then(|last| models.own(last))?;
        for next in model.fallback.iter().map(String::as_str) {
            let longer = || path.iter().copied().chain([next]).collect();
            if next == start {
                return Some(longer());
            }
            if models.own(next).is_some() && !seen.contains(&next) {
                seen.push(next);
                paths.push(longer());
            }
        }
    }
    None
}
