//! Pages of lists: `limit`, opaque cursors, and the frame of the answer. Knows nothing of what is
//! listed.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{Query, plain_number};
use dsrs_store::{Cursor, ListQuery};

/// Items on a page if the request names no limit.
pub(crate) const DEFAULT_LIMIT: u32 = 50;

/// Most items on a page.
pub(crate) const MAX_LIMIT: u32 = 200;

/// The years that a cursor may name. Postgres holds all of them.
const YEARS: RangeInclusive<i32> = 1..=9999;

/// Bytes of the checksum at the end of a cursor.
const SEAL_BYTES: usize = 6;

/// The parameters of every list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Items per page, 1 to 200. Default: 50.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A page of a list.
#[derive(Serialize)]
pub struct PageView<V> {
    /// The items, in the order of the list.
    pub items: Vec<V>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl<V: ToSchema> PartialSchema for PageView<V> {
    fn schema() -> RefOr<Schema> {
        let items = ArrayBuilder::new()
            .items(Ref::from_schema_name(V::name()))
            .description(Some("The items, in the order of the list."));
        let cursor = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .description(Some("The cursor of the next page; null on the last page."));
        let frame = |item| json!({"items": [item], "next_cursor": null});
        ObjectBuilder::new()
            .property("items", items)
            .required("items")
            .property("next_cursor", cursor)
            .description(Some("A page of a list."))
            .examples(examples_of(V::schema()).into_iter().map(frame))
            .into()
    }
}

/// The schema of a page is named after its items: `BatchPage` of `Batch`, `RunPage` of
/// `RunItem`.
impl<V: ToSchema> ToSchema for PageView<V> {
    fn name() -> Cow<'static, str> {
        let item = V::name();
        format!("{}Page", item.strip_suffix("Item").unwrap_or(&item)).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((V::name().into_owned(), V::schema()));
        V::schemas(schemas);
    }
}

fn examples_of(schema: RefOr<Schema>) -> Vec<Value> {
    match schema {
        RefOr::T(Schema::Object(object)) => object.examples,
        RefOr::T(Schema::AllOf(parts)) => parts.examples,
        _ => Vec::new(),
    }
}

/// The page of a list that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    list: String,
    /// Most items to answer.
    pub limit: u32,
    /// The key of the last item of the previous page.
    pub after: Option<String>,
}

impl PageRequest {
    /// Reads `limit` and `cursor`. `list` names the list: a cursor of another list is refused.
    pub(crate) fn read(query: &mut Query, list: impl Into<String>) -> Self {
        let list = list.into();
        let in_range =
            |text: &str| plain_number(text).filter(|limit| (1..=MAX_LIMIT).contains(limit));
        let limit = query.read("limit", "a whole number from 1 to 200", in_range);
        let expected = "the `next_cursor` of a page of this list";
        let after = query.read("cursor", expected, |cursor| open(&list, cursor));
        Self { list, limit: limit.unwrap_or(DEFAULT_LIMIT), after }
    }

    /// The page of a list without other parameters.
    pub fn of(list: impl Into<String>, mut query: Query) -> Result<Self, ApiProblem> {
        let page = Self::read(&mut query, list);
        query.close()?;
        Ok(page)
    }

    /// The page of a list that is ordered by time.
    pub fn newest(&self) -> Result<ListQuery, ApiProblem> {
        self.list(cursor_of)
    }

    /// The page of a list that is ordered by number.
    pub fn numbered<N: FromStr>(&self) -> Result<ListQuery<N>, ApiProblem> {
        self.list(plain_number)
    }

    /// The page of a list; `read` reads the key of its last row, and accepts only keys that the
    /// database can hold.
    pub fn list<K>(
        &self,
        read: impl FnOnce(&str) -> Option<K>,
    ) -> Result<ListQuery<K>, ApiProblem> {
        let Some(key) = &self.after else { return Ok(ListQuery::new(None, self.limit)) };
        let after = read(key).ok_or_else(|| {
            ApiProblem::parameter("`cursor` must be the `next_cursor` of a page of this list")
        })?;
        Ok(ListQuery::new(Some(after), self.limit))
    }

    /// Answers a page of rows, each as its view.
    pub(crate) fn respond<'r, R, C: PageKey, V: Serialize>(
        &self,
        found: &'r dsrs_store::Page<R, C>,
        view: impl FnMut(&'r R) -> V,
    ) -> Response {
        let last = found.next.as_ref().map(PageKey::page_key);
        answer::ok(&self.view(found.items.iter().map(view), last))
    }

    /// A page of views. `last` is the key of the last one if more follow.
    pub(crate) fn view<V>(
        &self,
        items: impl IntoIterator<Item = V>,
        last: Option<impl ToString>,
    ) -> PageView<V> {
        PageView { items: items.into_iter().collect(), next_cursor: self.next(last) }
    }

    /// The cursor behind a page of rows, if more follow.
    pub fn next_of<R, C: PageKey>(&self, found: &dsrs_store::Page<R, C>) -> Option<String> {
        self.next(found.next.as_ref().map(PageKey::page_key))
    }

    /// The cursor behind the item with this key, if more follow.
    pub fn next(&self, last: Option<impl ToString>) -> Option<String> {
        last.map(|key| seal(&self.list, &key.to_string()))
    }
}

/// The key of a row within a list; a cursor carries that of the last row of a page.
pub trait PageKey {
    /// The key as text.
    fn page_key(&self) -> String;
}

impl PageKey for Cursor {
    fn page_key(&self) -> String {
        key_of(*self)
    }
}

impl PageKey for i32 {
    fn page_key(&self) -> String {
        self.to_string()
    }
}

impl PageKey for i64 {
    fn page_key(&self) -> String {
        self.to_string()
    }
}

/// Cuts a page out of a complete list and returns the key of its last item if more follow. An
/// unknown key, such as that of a removed item, starts from the beginning.
pub(crate) fn slice<'l, T>(
    all: &'l [T],
    page: &PageRequest,
    key: impl Fn(&'l T) -> &'l str,
) -> (&'l [T], Option<&'l str>) {
    let after = page.after.as_deref();
    let last = after.and_then(|after| all.iter().position(|item| key(item) == after));
    let rest = all.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
    let items = rest.get(..page.limit as usize).unwrap_or(rest);
    (items, items.last().filter(|_| items.len() < rest.len()).map(key))
}

/// The key of a row in a list ordered by time.
#[must_use]
pub(crate) fn key_of(cursor: Cursor) -> String {
    format!("{}.{}", cursor.created_at.timestamp_micros(), cursor.id.simple())
}

/// Reads a key that [`key_of`] made. A time outside of [`YEARS`] is refused.
#[must_use]
pub(crate) fn cursor_of(key: &str) -> Option<Cursor> {
    let (micros, id) = key.split_once('.')?;
    let created_at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
    let created_at = Some(created_at).filter(|time| YEARS.contains(&time.year()))?;
    Some(Cursor { created_at, id: Uuid::try_parse(id).ok()? })
}

fn seal(list: &str, key: &str) -> String {
    let mut bytes = key.as_bytes().to_vec();
    bytes.extend_from_slice(&checksum(list, key.as_bytes()));
    URL_SAFE_NO_PAD.encode(bytes)
}

fn open(list: &str, cursor: &str) -> Option<String> {
    let mut bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let split = bytes.len().checked_sub(SEAL_BYTES)?;
    let seal = bytes.split_off(split);
    (seal == checksum(list, &bytes)).then(|| String::from_utf8(bytes).ok()).flatten()
}

/// Detects mistakes, not forgery. A forged key only moves the page: it names no workspace, and every key
/// is checked before the database sees it. So the servers share no secret, and each accepts the cursors
/// of the others and of earlier starts.
fn checksum(list: &str, key: &[u8]) -> [u8; SEAL_BYTES] {
    let digest = Sha256::new().chain_update(list).chain_update([0]).chain_update(key).finalize();
    let mut seal = [0; SEAL_BYTES];
    seal.copy_from_slice(&digest[..SEAL_BYTES]);
    seal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_the_database_cannot_hold_is_refused() {
        let id = Uuid::from_u128(7);
        let page = |key: String| PageRequest { list: "runs".into(), limit: 1, after: Some(key) };
        let fine = Cursor { created_at: DateTime::UNIX_EPOCH, id };
        assert_eq!(page(key_of(fine)).newest().unwrap().after, Some(fine));
        for micros in [i64::MIN, -200_000_000_000_000_000, 400_000_000_000_000_000, i64::MAX] {
            let refused = page(format!("{micros}.{}", id.simple())).newest().unwrap_err();
            assert!(refused.detail().contains("`cursor`"), "{micros}");
        }
        assert_eq!(page("7".to_owned()).numbered::<i32>().unwrap().after, Some(7));
        for wrong in ["-7", "+7", "2147483648", "x", ""] {
            assert!(page(wrong.to_owned()).numbered::<i32>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cursor_opens_only_unchanged_and_for_its_own_list() {
        let cursor = seal("runs", "0198c5");
        assert_eq!(open("runs", &cursor).as_deref(), Some("0198c5"));
        assert_eq!(open("graphs", &cursor), None);
        let tampered = cursor.replacen('M', "N", 1);
        assert_ne!(tampered, cursor);
        for wrong in [tampered.as_str(), "", "x", "====", &cursor[1..]] {
            assert_eq!(open("runs", wrong), None, "{wrong}");
        }
    }
}
