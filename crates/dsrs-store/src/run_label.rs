//! Labels: the names that a caller gives to runs, as columns of a run, and as filters of lists. May not know which
//! labels are valid. `run_label_index` writes the rows by which runs are found.

use std::collections::BTreeSet;

use sqlx::{FromRow, Postgres, QueryBuilder};

use super::Scope;

/// The labels of a run. Documents are JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromRow)]
pub struct RunLabels {
    /// A list of texts.
    pub tags: Option<String>,
    /// The session that the run belongs to.
    pub session_id: Option<String>,
    /// The user of the caller.
    pub user_id: Option<String>,
    /// Texts, numbers and truth values by name.
    pub metadata: Option<String>,
}

/// One label by which runs are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunLabel {
    pub(super) name: String,
    pub(super) value: String,
}

impl RunLabel {
    #[must_use]
    pub fn tag(value: impl Into<String>) -> Self {
        Self { name: "tag".to_owned(), value: value.into() }
    }

    #[must_use]
    pub fn session(value: impl Into<String>) -> Self {
        Self { name: "session_id".to_owned(), value: value.into() }
    }

    #[must_use]
    pub fn user(value: impl Into<String>) -> Self {
        Self { name: "user_id".to_owned(), value: value.into() }
    }

    /// A member of the metadata, whose value is the text of a JSON value without quotes.
    #[must_use]
    pub fn metadata(name: &str, value: impl Into<String>) -> Self {
        Self { name: format!("metadata.{name}"), value: value.into() }
    }

    /// The code of an error of a run or of one of its nodes.
    #[must_use]
    pub fn error_code(value: impl Into<String>) -> Self {
        Self { name: "error_code".to_owned(), value: value.into() }
    }
}

impl RunLabels {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self { tags: None, session_id: None, user_id: None, metadata: None })
    }

    /// The tags, one by one.
    #[must_use]
    pub fn tags(&self) -> Vec<String> {
        Self::list(self.tags.as_deref())
    }

    /// The texts of a list.
    pub(super) fn list(json: Option<&str>) -> Vec<String> {
        json.and_then(|texts| serde_json::from_str(texts).ok()).unwrap_or_default()
    }

    /// The bytes of their texts.
    pub(super) fn size(&self) -> usize {
        let texts = [&self.tags, &self.session_id, &self.user_id, &self.metadata];
        texts.into_iter().flatten().map(String::len).sum()
    }

    /// Adds each of them.
    pub(super) fn add_to(&self, labels: &mut BTreeSet<RunLabel>) {
        labels.extend(self.tags().into_iter().map(RunLabel::tag));
        labels.extend(self.session_id.iter().map(RunLabel::session));
        labels.extend(self.user_id.iter().map(RunLabel::user));
        let metadata = self.metadata.as_deref().map(serde_json::from_str::<serde_json::Value>);
        if let Some(Ok(serde_json::Value::Object(members))) = metadata {
            labels.extend(members.iter().map(|(name, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                RunLabel::metadata(name, text)
            }));
        }
    }
}

/// Reads the runs with a label instead of all runs: an index has them in the order of time, as `label.created_at` and
/// `label.id`.
pub(super) fn push_first_label(
    sql: &mut QueryBuilder<Postgres>,
    scope: &Scope,
    RunLabel { name, value }: &RunLabel,
) {
    sql.push("from (select run_id as id, created_at from run_labels where workspace_id = ");
    sql.push_bind(scope.workspace).push(" and name = ").push_bind(name.clone());
    sql.push(" and value = ").push_bind(value.clone());
    sql.push(") label join runs on runs.id = label.id");
}

/// Narrows an open `where` clause about `runs` to those that have all these labels.
pub(super) fn push_labels(sql: &mut QueryBuilder<Postgres>, scope: &Scope, labels: &[RunLabel]) {
    for RunLabel { name, value } in labels {
        sql.push(" and exists (select from run_labels other where other.run_id = runs.id");
        sql.push(" and other.workspace_id = ").push_bind(scope.workspace);
        sql.push(" and other.name = ").push_bind(name.clone());
        sql.push(" and other.value = ").push_bind(value.clone()).push(")");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(labels: &RunLabels) -> Vec<RunLabel> {
        let mut found = BTreeSet::new();
        labels.add_to(&mut found);
        found.into_iter().collect()
    }

    #[test]
    fn every_label_is_found_by_its_text() {
        let labels = RunLabels {
            tags: Some(r#"["b","a \"quoted\"","b"]"#.to_owned()),
            session_id: Some("s".to_owned()),
            user_id: Some("u".to_owned()),
            metadata: Some(r#"{"text":"1","number":1.5,"flag":true}"#.to_owned()),
        };
        let expected = [
            RunLabel::metadata("flag", "true"),
            RunLabel::metadata("number", "1.5"),
            RunLabel::metadata("text", "1"),
            RunLabel::session("s"),
            RunLabel::tag("a \"quoted\""),
            RunLabel::tag("b"),
            RunLabel::user("u"),
        ];
        assert_eq!(labels_of(&labels), expected);
        assert_eq!(labels_of(&RunLabels::default()), []);
        assert!(RunLabels::default().is_empty() && !labels.is_empty());
    }
}
