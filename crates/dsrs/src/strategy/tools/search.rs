//! The built-in tool `search`: finds passages in an index. Does not know where the index is.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::{BoxFuture, FutureExt};

use super::BuiltinTool;
use super::http::tool_name;
use crate::document::config_schema;
use crate::lm::ToolSpec;
use crate::predict::{Ctx, MOST_PASSAGES, Passage, PassageSearch, SearchRanking, Tool, ToolError};
use crate::problem::{At, Problems};
use crate::value::{Fields, Payload};

/// The name of the tool in configs.
pub(super) const NAME: &str = "search";

const DESCRIPTION: &str = "Searches for passages, and returns the best with their ids and scores.";

inventory::submit! {
    BuiltinTool {
        name: NAME,
        make: |_| Err("`search` needs an index: {\"builtin\": \"search\", \"index\": \"…\"}".to_owned()),
    }
}

/// The entry of the tool in a config.
#[derive(Facet)]
pub(super) struct SearchEntry {
    /// The name of a built-in tool.
    builtin: String,
    /// With `search`: the name of the index.
    pub(super) index: String,
    /// With `search`: the number of passages, where the call does not say it.
    #[facet(default = 5, dsrs::minimum(1), dsrs::maximum(100))]
    k: usize,
    /// With `search`: how passages are ranked. Default: `hybrid` if the index has vectors, else `text`.
    pub(super) ranking: Option<SearchRanking>,
    /// The name of the tool for the LM. Default: the name of the graph, or `search`.
    name: Option<String>,
    /// What the tool does and when to use it, for the LM.
    description: Option<String>,
}

/// The arguments of a call.
#[derive(Facet)]
struct SearchArguments {
    /// what to search for
    query: String,
    /// how many passages
    #[facet(dsrs::minimum(1), dsrs::maximum(100))]
    k: Option<usize>,
}

struct SearchTool {
    spec: ToolSpec,
    index: Arc<str>,
    k: usize,
    ranking: Option<SearchRanking>,
}

impl SearchEntry {
    /// The tool. What is wrong with its name is reported.
    pub(super) fn tool(self, at: &At<'_>, problems: &mut Problems) -> Option<Arc<dyn Tool>> {
        let name = match &self.name {
            Some(name) => tool_name(name, &at.key("name"), problems)?,
            None => NAME.into(),
        };
        let parameters = serde_json::value::to_raw_value(&config_schema::<SearchArguments>());
        let spec = ToolSpec {
            name,
            description: self.description.map_or_else(|| DESCRIPTION.into(), Into::into),
            parameters: parameters.ok()?.into(),
        };
        Some(Arc::new(SearchTool {
            spec,
            index: self.index.into(),
            k: self.k,
            ranking: self.ranking,
        }))
    }
}

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn result_schema(&self) -> Option<Payload> {
        Payload::from_json(
            r#"{"type": "array", "items": {"type": "object", "properties": {
                "id": {"type": "string"}, "text": {"type": "string"}, "score": {"type": "number"}},
                "required": ["id", "text", "score"]}}"#,
        )
        .ok()
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        async move {
            let Some(Payload::Str(query)) = args.get("query") else {
                return Err(ToolError::reported("`query` is missing"));
            };
            let k = match args.get("k") {
                Some(Payload::Int(k)) => usize::try_from(*k).unwrap_or(MOST_PASSAGES),
                _ => self.k,
            };
            let k = k.clamp(1, MOST_PASSAGES);
            let search = PassageSearch { query: query.clone(), k, ranking: self.ranking };
            let indexes = ctx.run.indexes.as_ref().ok_or_else(|| {
                ToolError::reported(format!(
                    "there is no index `{}`: this run has none",
                    self.index
                ))
            })?;
            let found = indexes.search(ctx, &self.index, search).await?;
            Ok(Payload::list(found.into_iter().map(payload).collect()))
        }
        .boxed()
    }
}

fn payload(passage: Passage) -> Payload {
    Payload::map(Fields::from_iter([
        ("id".into(), Payload::Str(passage.id)),
        ("text".into(), Payload::Str(passage.text)),
        ("score".into(), Payload::Float(passage.score)),
    ]))
}
