//! The loads of models that servers announce to each other, as texts of notifications. May not know what servers
//! make of them.

use std::fmt::Write;

use uuid::Uuid;

/// The channel of the announcements.
pub(super) const CHANNEL: &str = "dsrs_model_demand";

/// The bytes of one notification; Postgres accepts 8,000.
const PAYLOAD: usize = 7_000;

/// The loads of models on one server, each with its alias, demand and cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedLoads {
    pub server: Uuid,
    /// Whether it asks all others for theirs.
    pub asks: bool,
    /// Alias, demand and cap. The alias has no line breaks.
    pub models: Vec<(String, u32, u32)>,
}

impl AnnouncedLoads {
    /// The texts: a line with the server, then a line for each model. The alias is last, since it may be any text.
    pub(super) fn payloads(&self) -> Vec<String> {
        let begin = || format!("{} {}", self.server, u8::from(self.asks));
        let mut payloads = vec![begin()];
        for (alias, demand, cap) in &self.models {
            let mut line = String::new();
            // Writing to a text cannot fail.
            let _ = write!(line, "\n{demand} {cap} {alias}");
            if payloads.last().is_some_and(|last| last.len() + line.len() > PAYLOAD) {
                payloads.push(begin());
            }
            if let Some(last) = payloads.last_mut() {
                last.push_str(&line);
            }
        }
        payloads
    }

    /// The loads of such a text. `None` if it is another text.
    pub(super) fn parse(payload: &str) -> Option<Self> {
        let mut lines = payload.lines();
        let (server, asks) = lines.next()?.split_once(' ')?;
        let models = lines.map(|line| {
            let (demand, rest) = line.split_once(' ')?;
            let (cap, alias) = rest.split_once(' ')?;
            Some((alias.to_owned(), demand.parse().ok()?, cap.parse().ok()?))
        });
        Some(Self {
            server: server.parse().ok()?,
            asks: asks == "1",
            models: models.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_read_back_from_their_texts() {
        let models = (0..500).map(|number| (format!("model {number}"), number, number * 2));
        let loads = AnnouncedLoads { server: Uuid::now_v7(), asks: true, models: models.collect() };
        let payloads = loads.payloads();
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 8_000));
        let parsed: Vec<_> =
            payloads.iter().map(|payload| AnnouncedLoads::parse(payload).unwrap()).collect();
        assert!(parsed.iter().all(|part| part.server == loads.server && part.asks));
        let models: Vec<_> = parsed.into_iter().flat_map(|part| part.models).collect();
        assert_eq!(models, loads.models);
    }

    #[test]
    fn a_server_without_models_only_asks() {
        let hello = AnnouncedLoads { server: Uuid::now_v7(), asks: true, models: Vec::new() };
        assert_eq!(AnnouncedLoads::parse(&hello.payloads()[0]), Some(hello));
        for other in ["", "x 1", "01930000-0000-7000-8000-000000000000", "\n1 2 a"] {
            assert_eq!(AnnouncedLoads::parse(other), None, "{other:?}");
        }
    }
}
