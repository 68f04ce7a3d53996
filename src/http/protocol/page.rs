//! Pages of lists: `limit`, opaque cursors, and the answer's frame. Knows nothing of what is listed.

use std::str::FromStr;

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::json::JsonObject;
use crate::http::protocol::answer;
use crate::http::protocol::query::{Query, plain_number};
use crate::store::Cursor;

/// Items on a page when nothing is said.
pub(crate) const DEFAULT_LIMIT: u32 = 50;

/// Most items on a page.
pub(crate) const MAX_LIMIT: u32 = 200;

/// Bytes of the checksum at the end of a cursor.
const SEAL_BYTES: usize = 6;

/// Which page of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageRequest {
    list: String,
    /// Most items to answer.
    pub(crate) limit: u32,
    /// The key of the last item of the page before.
    pub(crate) after: Option<String>,
}

impl PageRequest {
    /// Reads `limit` and `cursor`; `list` names the list, so that a cursor of another is refused.
    pub(crate) fn read(query: &mut Query, list: impl Into<String>) -> Self {
        let list = list.into();
        let in_range =
            |text: &str| plain_number(text).filter(|limit| (1..=MAX_LIMIT).contains(limit));
        let limit = query.read("limit", "a whole number from 1 to 200", in_range);
        let wanted = "the `next_cursor` of a page of this list";
        let after = query.read("cursor", wanted, |cursor| open(&list, cursor));
        Self { list, limit: limit.unwrap_or(DEFAULT_LIMIT), after }
    }

    /// The number before which the page begins, in lists of what is numbered.
    pub(crate) fn before<N: FromStr>(&self) -> Option<N> {
        self.after.as_deref()?.parse().ok()
    }

    /// The page: `items` are JSON texts, `last` the key of the last one when more follow.
    pub(crate) fn answer(
        &self,
        items: impl IntoIterator<Item = String>,
        last: Option<impl ToString>,
    ) -> Response {
        let mut object = JsonObject::new();
        object.list("items", items);
        object.text_or_null("next_cursor", self.next(last).as_deref());
        answer::ok(object.finish())
    }

    /// The cursor behind the item of this key, when more follow.
    pub(crate) fn next(&self, last: Option<impl ToString>) -> Option<String> {
        last.map(|key| seal(&self.list, &key.to_string()))
    }
}

/// Cuts a page out of a list that is at hand as a whole, and gives the key of its last item when
/// more follow. An unknown key, of an item that is gone, begins anew.
pub(crate) fn slice<'l, T>(
    all: &'l [T],
    page: &PageRequest,
    key: impl Fn(&'l T) -> &'l str,
) -> (&'l [T], Option<&'l str>) {
    let after = page.after.as_deref();
    let before = after.and_then(|after| all.iter().position(|item| key(item) == after));
    let rest = all.get(before.map_or(0, |before| before + 1)..).unwrap_or_default();
    let items = rest.get(..page.limit as usize).unwrap_or(rest);
    (items, items.last().filter(|_| items.len() < rest.len()).map(key))
}

/// The key of a row in lists that are ordered by time.
#[must_use]
pub(crate) fn key_of(cursor: Cursor) -> String {
    format!("{}.{}", cursor.created_at.timestamp_micros(), cursor.id.simple())
}

/// The row behind a key that [`key_of`] made.
#[must_use]
pub(crate) fn cursor_of(key: &str) -> Option<Cursor> {
    let (micros, id) = key.split_once('.')?;
    let created_at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
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
    let found = bytes.split_off(split);
    (found == checksum(list, &bytes)).then(|| String::from_utf8(bytes).ok()).flatten()
}

/// Guards against accidents and guesses, not against forgers: a forged key only moves the page.
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
    fn a_cursor_opens_only_for_its_own_list_and_untouched() {
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
