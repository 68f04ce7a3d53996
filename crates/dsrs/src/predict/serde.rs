//! States in any format of `serde`, in the shape that they have as JSON documents. Reading one reports
//! every problem of its shape; whether it fits a module is known when it is loaded.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::{ModuleState, PredictState, read_state, state_to_payload};
use crate::problem::{At, Problems};
use crate::value::Payload;

impl Serialize for PredictState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        state_to_payload(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PredictState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, read_state)
    }
}

impl Serialize for ModuleState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_payload().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ModuleState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer, Self::read)
    }
}

fn read<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(&Payload, &At<'_>, &mut Problems) -> Option<T>,
) -> Result<T, D::Error> {
    let payload = Payload::deserialize(deserializer)?;
    let mut problems = Problems::new();
    match read(&payload, &At::Root, &mut problems) {
        Some(found) if problems.is_empty() => Ok(found),
        _ => Err(D::Error::custom(problems)),
    }
}
