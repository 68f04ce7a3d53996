//! Whether the aliases that models fall back to are there, and whether falling back ends. Knows
//! nothing of when a model falls back.

use super::models::Models;
use super::nearest::hint;
use super::reader::Reader;

/// Refuses aliases that no model has, and ways that lead back to where they began.
pub(super) fn check_fallbacks(read: &mut Reader<'_>, models: &Models) {
    for (position, (alias, model)) in models.iter().enumerate() {
        let path = format!("models.{alias}.fallback");
        let Some(given) = read.given(&path) else { continue };
        for unknown in model.fallback.iter().filter(|found| models.own(found).is_none()) {
            // A model that is itself wrong has been told already.
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
        if let Some(way) = way_back(models, position) {
            let way = way.join(" -> ");
            read.refuse(
                &path,
                given,
                &format!("this leads back to itself, {way}; leave out one of them"),
            );
        }
    }
}

/// The way from a model back to itself, over models that are configured after it: each circle is
/// told once, at the first of its models.
fn way_back(models: &Models, position: usize) -> Option<Vec<&str>> {
    let (start, _) = models.iter().nth(position)?;
    let before: Vec<&str> = models.iter().take(position).map(|(alias, _)| alias).collect();
    let mut seen = before;
    let mut ways = vec![vec![start]];
    while let Some(way) = ways.pop() {
        let model = way.last().and_then(|last| models.own(last))?;
        for next in model.fallback.iter().map(String::as_str) {
            let longer = || way.iter().copied().chain([next]).collect();
            if next == start {
                return Some(longer());
            }
            if models.own(next).is_some() && !seen.contains(&next) {
                seen.push(next);
                ways.push(longer());
            }
        }
    }
    None
}
