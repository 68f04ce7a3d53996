//! Query parameters, read like bodies: all unknown, repeated and malformed ones are refused at once,
//! by name. Knows no route.

use std::convert::Infallible;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawQuery};
use axum::http::request::Parts;

use crate::protocol::problem::ApiProblem;

/// The parameters of a request that are not read yet.
#[derive(Debug, Default)]
pub struct Query {
    raw: String,
    given: Vec<(String, String)>,
    wrong: Vec<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let RawQuery(raw) = RawQuery::from_request_parts(parts, state).await?;
        Ok(Self::parse(raw.as_deref().unwrap_or_default()))
    }
}

impl Query {
    /// Reads the parameters of a text.
    pub fn parse(raw: &str) -> Self {
        let mut query = Self { raw: raw.to_owned(), ..Self::default() };
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (decode(name), decode(value)) {
                (Some(name), Some(value)) if is_text(&name) && is_text(&value) => {
                    query.given.push((name, value));
                }
                (Some(_), Some(_)) => {
                    query.wrong.push(format!("`{pair}` has U+0000, which no parameter may have"));
                }
                _ => query.wrong.push(format!("`{pair}` is not percent-encoded UTF-8")),
            }
        }
        query
    }

    /// All parameters as the client wrote them, with `?`; empty if there are none.
    pub(crate) fn written(&self) -> String {
        if self.raw.is_empty() { String::new() } else { format!("?{}", self.raw) }
    }

    /// Reads an optional parameter.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let position = self.given.iter().position(|(given, _)| given == name)?;
        let (_, value) = self.given.remove(position);
        if self.given.iter().any(|(given, _)| given == name) {
            self.given.retain(|(given, _)| given != name);
            self.wrong.push(format!("`{name}` is given twice"));
        }
        Some(value)
    }

    /// Reads a parameter that may be given several times.
    pub fn all(&mut self, name: &str) -> Vec<String> {
        let (own, others) =
            std::mem::take(&mut self.given).into_iter().partition(|(given, _)| given == name);
        self.given = others;
        let own: Vec<(String, String)> = own;
        own.into_iter().map(|(_, value)| value).collect()
    }

    /// Reads the parameters whose names begin so, each with the rest of its name.
    pub(crate) fn with_prefix(&mut self, prefix: &str) -> Vec<(String, String)> {
        let mut own = Vec::new();
        self.given.retain(|(name, value)| {
            let rest = name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
            own.extend(rest.map(|rest| (rest.to_owned(), value.clone())));
            rest.is_none()
        });
        own
    }

    /// Reads an optional parameter; `wanted` describes valid values.
    pub(crate) fn read<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.text(name)?;
        let found = read(&value);
        if found.is_none() {
            self.wrong.push(format!("`{name}` must be {wanted}, found `{value}`"));
        }
        found
    }

    /// Reads a required parameter.
    pub fn required<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        if !self.given.iter().any(|(given, _)| given == name) {
            self.wrong.push(format!("`{name}` is missing: {wanted}"));
        }
        self.read(name, wanted, read)
    }

    /// Reads the optional name or id of a resource.
    pub(crate) fn name(&mut self, name: &str) -> Option<String> {
        self.read(name, "a name or an id", |text| (!text.is_empty()).then(|| text.to_owned()))
    }

    /// Reads an optional number of 1 or more.
    pub fn number(&mut self, name: &str) -> Option<i32> {
        let positive = |text: &str| plain_number(text).filter(|number| *number > 0);
        self.read(name, "a whole number of 1 or more", positive)
    }

    /// Refuses the parameters for what they are together.
    pub(crate) fn refuse(&mut self, why: &str) {
        self.wrong.push(why.to_owned());
    }

    /// All parameters, in their order.
    ///
    /// # Errors
    /// `invalid_parameter`, naming each that cannot be read.
    pub fn into_fields(self) -> Result<Vec<(String, String)>, ApiProblem> {
        match self.wrong.is_empty() {
            true => Ok(self.given),
            false => Err(ApiProblem::parameter(self.wrong.join("; "))),
        }
    }

    /// Checks that every parameter was read and valid.
    ///
    /// # Errors
    /// `invalid_parameter`, naming each that was not.
    pub fn close(mut self) -> Result<(), ApiProblem> {
        for (name, _) in &self.given {
            self.wrong.push(format!("there is no parameter `{name}` here"));
        }
        match self.wrong.is_empty() {
            true => Ok(()),
            false => Err(ApiProblem::parameter(self.wrong.join("; "))),
        }
    }
}

/// An empty query.
#[derive(Debug)]
pub(crate) struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        match parts.uri.query() {
            None | Some("") => Ok(Self),
            Some(raw) => Query::parse(raw).close().map(|()| Self),
        }
    }
}

/// A number in plain digits, without a sign.
pub(crate) fn plain_number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Whether the database can hold a text.
fn is_text(text: &str) -> bool {
    !text.contains('\0')
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (high, low) = (rest.next()?, rest.next()?);
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_all_refusals_are_named_at_once() {
        let mut query = Query::parse("name=a%20b+c&limit=x&v=1&v=2&odd=1&bad=%zz");
        assert_eq!(query.text("name").as_deref(), Some("a b c"));
        assert_eq!(query.number("limit"), None);
        assert_eq!(query.number("v"), Some(1));
        let problem = query.close().unwrap_err();
        assert_eq!(
            problem.detail(),
            "`bad=%zz` is not percent-encoded UTF-8; \
             `limit` must be a whole number of 1 or more, found `x`; \
             `v` is given twice; there is no parameter `odd` here"
        );
    }

    #[test]
    fn text_that_the_database_cannot_hold_is_refused() {
        let mut query = Query::parse("name=a%00b&%00=c&fine=d");
        assert_eq!((query.text("name"), query.text("fine").as_deref()), (None, Some("d")));
        assert_eq!(query.written(), "?name=a%00b&%00=c&fine=d");
        let problem = query.close().unwrap_err();
        assert!(problem.detail().starts_with("`name=a%00b` has U+0000"), "{}", problem.detail());
    }

    #[test]
    fn numbers_have_no_sign_and_are_not_zero() {
        for wrong in ["+1", "-1", "0", "", "99999999999"] {
            let mut query = Query::parse(&format!("n={}", wrong.replace('+', "%2B")));
            assert_eq!(query.number("n"), None, "{wrong:?}");
            assert!(query.close().is_err(), "{wrong:?}");
        }
    }
}
