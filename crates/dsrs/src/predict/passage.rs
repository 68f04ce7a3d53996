//! Passages that a run searches for: the trait of the indexes, and what a search finds. Knows neither how an index is built
//! nor where it is stored.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::{Ctx, PredictError, ToolError, embed};

/// The most passages of one search.
pub const MOST_PASSAGES: usize = 100;

/// A passage that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Its id in the index: that of the example of the dataset.
    pub id: Arc<str>,
    /// Its whole text.
    pub text: Arc<str>,
    /// How well it fits the query; more is better. Scores of one search are comparable, those of several are not.
    pub score: f64,
}

/// How passages are compared with a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Facet)]
#[facet(rename_all = "lowercase")]
#[repr(u8)]
pub enum SearchRanking {
    /// By their words: BM25.
    Text,
    /// By the cosine of their vectors and that of the query.
    Vector,
    /// Both: reciprocal rank fusion of the two orders.
    Hybrid,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageSearch {
    /// What to search for.
    pub query: Arc<str>,
    /// The most passages that it returns: 1 to [`MOST_PASSAGES`].
    pub k: usize,
    /// How passages are ranked; `None`: `hybrid` if the index has vectors, else `text`.
    pub ranking: Option<SearchRanking>,
}

/// The indexes that a run may search, by name.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::BoxFuture;
/// use dsrs::predict::{Ctx, Passage, PassageIndexes, PassageSearch, ToolError};
///
/// /// One index, which finds the passages in which the query occurs.
/// struct Substrings(Vec<Arc<str>>);
///
/// impl PassageIndexes for Substrings {
///     fn search<'a>(
///         &'a self,
///         _ctx: &'a Ctx,
///         _index: &'a str,
///         search: PassageSearch,
///     ) -> BoxFuture<'a, Result<Vec<Passage>, ToolError>> {
///         let passages = self.0.iter().zip(1..).filter(|(text, _)| text.contains(&*search.query));
///         let found = passages.map(|(text, number)| Passage {
///             id: format!("p{number}").into(),
///             text: text.clone(),
///             score: 1.0,
///         });
///         let found = found.take(search.k).collect();
///         Box::pin(async { Ok(found) })
///     }
/// }
/// ```
pub trait PassageIndexes: Send + Sync {
    /// The best passages of an index, the best first. Dropping the future cancels the search.
    ///
    /// # Errors
    /// Why there are none: the index does not exist, is not built, or cannot answer now.
    fn search<'a>(
        &'a self,
        ctx: &'a Ctx,
        index: &'a str,
        search: PassageSearch,
    ) -> BoxFuture<'a, Result<Vec<Passage>, ToolError>>;
}

/// The vector of a query, by an embedding model of the run: counted, paid and traced as every request of the run.
///
/// # Errors
/// The alias has no embedding model, or the model failed.
pub async fn embed_query(
    ctx: &Ctx,
    alias: &str,
    query: Arc<str>,
) -> Result<Arc<[f32]>, PredictError> {
    let (embedded, _) = embed(ctx, alias, &[query], |_| ()).await?;
    Ok(embedded.vectors.into_iter().next().unwrap_or_else(|| Arc::from([])))
}
