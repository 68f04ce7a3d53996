//! Search over what the workspace has. May not know what the page shows besides.

use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::search::{self, IdKind, IdMatch, IdRange, NamedMatch};

/// What a text may name, best matches of each kind first.
#[derive(Clone, Debug, Default)]
pub struct SearchMatches {
    pub graphs: Vec<NamedMatch>,
    /// State versions, by a part of the graph's name and the number.
    pub states: Vec<NamedMatch>,
    pub datasets: Vec<NamedMatch>,
    pub runs: Vec<IdMatch>,
    pub evaluations: Vec<IdMatch>,
    pub optimizations: Vec<IdMatch>,
}

impl App {
    /// What a text may name. A name and a number (`help-desk 3`, `help-desk@3`) name a state version.
    pub async fn search(&self, scope: &Scope, text: &str) -> Result<SearchMatches, AppError> {
        let db = &self.db;
        let mut found = SearchMatches {
            graphs: search::graphs(scope, db, text).await?,
            datasets: search::datasets(scope, db, text).await?,
            ..SearchMatches::default()
        };
        if let Some((name, version)) = name_and_number(text) {
            found.states = search::state_versions(scope, db, name, version).await?;
        }
        if let Some(range) = IdRange::of_prefix(text) {
            found.runs = search::by_id(scope, db, IdKind::Run, range).await?;
            found.evaluations = search::by_id(scope, db, IdKind::Evaluation, range).await?;
            found.optimizations = search::by_id(scope, db, IdKind::Optimization, range).await?;
        }
        Ok(found)
    }
}

/// A name and the number behind it.
fn name_and_number(text: &str) -> Option<(&str, i32)> {
    let (name, number) = text.rsplit_once([' ', '@', '#'])?;
    let number = number.trim_start_matches('v').parse().ok().filter(|number| *number > 0)?;
    let name = name.trim().trim_end_matches(" state").trim();
    (!name.is_empty()).then_some((name, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_number_name_a_version() {
        assert_eq!(name_and_number("help-desk 3"), Some(("help-desk", 3)));
        assert_eq!(name_and_number("help-desk@12"), Some(("help-desk", 12)));
        assert_eq!(name_and_number("help-desk state v3"), Some(("help-desk", 3)));
        for other in ["help-desk", "help-desk 0", " 3", "a b"] {
            assert_eq!(name_and_number(other), None, "{other}");
        }
    }
}
