//! Templates with slots that are filled at random and read back. A slot is `{kind}`, or `{old_kind}`
//! for a second one of the kind; no two slots of a text have the same value.

use crate::random::Dice;

const NAMES: [&str; 12] = [
    "Ann", "Bo", "Carla", "Dmitri", "Elif", "Femi", "Greta", "Hiro", "Ines", "Jamal", "Kim", "Lena",
];
const THINGS: [&str; 12] = [
    "lamps", "chairs", "kettles", "pillows", "mirrors", "clocks", "shelves", "carpets", "desks",
    "vases", "baskets", "curtains",
];
const CITIES: [&str; 12] = [
    "Oslo", "Bergen", "Lyon", "Porto", "Gdansk", "Turin", "Graz", "Ghent", "Malmo", "Leeds",
    "Split", "Tartu",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The values of the slots of a text, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Filled<'a> {
    /// The value of a slot; empty if there is no such slot.
    pub(crate) fn get(&self, slot: &str) -> &'a str {
        self.0.iter().find(|(name, _)| *name == slot).map_or("", |(_, value)| value)
    }

    /// The number in a slot.
    pub(crate) fn number(&self, slot: &str) -> i64 {
        self.get(slot).parse().unwrap_or_default()
    }
}

/// Fills the slots of a template at random.
pub(crate) fn fill(template: &'static str, dice: &mut Dice) -> String {
    let mut used: Vec<String> = Vec::new();
    fill_by(template, |slot| {
        let mut value = drawn(slot, dice);
        while used.contains(&value) {
            value = drawn(slot, dice);
        }
        used.push(value.clone());
        value
    })
}

/// Fills the slots of a template by name.
pub(crate) fn fill_by(template: &'static str, mut value: impl FnMut(&str) -> String) -> String {
    let mut text = String::new();
    for (fixed, slot) in pieces(template) {
        text.push_str(fixed);
        text.push_str(&slot.map_or_else(String::new, &mut value));
    }
    text
}

/// The values of the slots, if the text fits the template.
pub(crate) fn read<'a>(template: &'static str, text: &'a str) -> Option<Filled<'a>> {
    let mut rest = text.trim();
    let mut found = Filled::default();
    let mut before: Option<&'static str> = None;
    for (fixed, slot) in pieces(template) {
        let at = if before.is_none() || fixed.is_empty() { 0 } else { rest.find(fixed)? };
        let (value, behind) = match fixed.is_empty() && before.is_some() {
            true => (rest, ""),
            false => (rest.get(..at)?, rest.get(at..)?.strip_prefix(fixed)?),
        };
        found.0.extend(before.map(|slot| (slot, value)));
        (rest, before) = (behind, slot);
    }
    rest.is_empty().then_some(found)
}

/// The fixed parts of a template, each with the slot after it; the last has none.
fn pieces(template: &'static str) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    template.split('}').map(|piece| match piece.split_once('{') {
        Some((fixed, slot)) => (fixed, Some(slot)),
        None => (piece, None),
    })
}

fn drawn(slot: &str, dice: &mut Dice) -> String {
    let word = match slot.trim_start_matches("old_") {
        "name" => dice.pick(&NAMES),
        "thing" => dice.pick(&THINGS),
        "city" => dice.pick(&CITIES),
        "day" => dice.pick(&DAYS),
        "order" => return (1000 + dice.next() % 9000).to_string(),
        "many" => return (20 + dice.next() % 70).to_string(),
        _ => return (2 + dice.next() % 17).to_string(),
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_slots_are_read_back() {
        let template = "{name} buys {count} {thing} at {price} euro in {city}";
        let text = fill(template, &mut Dice::of(7));
        let found = read(template, &text).unwrap();
        assert_eq!(fill_by(template, |slot| found.get(slot).to_owned()), text);
        assert!(found.number("count") >= 2, "{text}");
        assert_eq!(read(template, "Ann buys nothing"), None);
        assert_eq!(read("Where?", "Where?"), Some(Filled::default()));
        assert_eq!(read("Where?", "Where? There"), None);
    }
}
