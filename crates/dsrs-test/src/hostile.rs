//! Hostile requests, generated from the OpenAPI document with a fixed seed: bodies, headers, paths and
//! queries that a well-behaved client never sends.

use reqwest::Method;
use serde_json::Value;

use super::hostile_values::{HEADERS, MEDIA_TYPES, NAMES, SEGMENTS, TEXTS, VALUES};

/// A request byte for byte, except for what the client adds.
#[derive(Clone, Debug)]
pub struct HostileRequest {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Vec<u8>>,
}

/// One operation of the document.
pub struct Operation<'d> {
    pub method: Method,
    pub template: &'d str,
    declaration: &'d Value,
}

/// Every operation of a document.
pub fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(template, item)| {
        item.as_object().unwrap().iter().map(move |(method, declaration)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            Operation { method, template, declaration }
        })
    });
    operations.collect()
}

/// Random numbers of a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

impl Operation<'_> {
    /// The next request for this operation.
    pub fn request(&self, random: &mut Random) -> HostileRequest {
        let mut headers = Vec::new();
        let body = self.body(random, &mut headers);
        if body.is_none() || random.below(4) == 0 {
            headers.push(random.pick(&HEADERS).clone());
        }
        HostileRequest { method: self.method.clone(), path: self.path(random), headers, body }
    }

    fn body(
        &self,
        random: &mut Random,
        headers: &mut Vec<(&'static str, String)>,
    ) -> Option<Vec<u8>> {
        let content = self.declaration["requestBody"]["content"].as_object()?;
        let example = &content["application/json"]["example"];
        let media_type = match random.below(8) {
            0 => random.pick(&MEDIA_TYPES),
            1 => content.keys().nth(random.below(content.len())).unwrap().as_str(),
            _ => "application/json",
        };
        headers.push(("content-type", media_type.to_owned()));
        Some(match random.below(3) {
            0 => random.pick(&TEXTS).clone(),
            1 => broken(example.to_string().into_bytes(), random),
            _ => mutated(example.clone(), random).to_string().into_bytes(),
        })
    }

    fn path(&self, random: &mut Random) -> String {
        // What is deleted would be missed by later requests.
        let fits = self.method != Method::DELETE && random.below(3) > 0;
        let segments = self.template.split('/').map(|segment| match segment {
            parameter if !parameter.starts_with('{') => parameter.to_owned(),
            "{graph}" if fits => "support-reply".to_owned(),
            "{dataset}" if fits => "tickets".to_owned(),
            "{path}" if fits => "triage".to_owned(),
            "{name}" if fits => "predict".to_owned(),
            "{version}" if fits => "1".to_owned(),
            "{id}" if fits => "01890a5d-ac96-774b-bcce-b302099a8057".to_owned(),
            _ => random.pick(&SEGMENTS).clone(),
        });
        let path = segments.collect::<Vec<_>>().join("/");
        match random.below(3) {
            0 => format!("{path}?{}", self.query(random)),
            _ => path,
        }
    }

    fn query(&self, random: &mut Random) -> String {
        let parameters = self.declaration["parameters"].as_array().into_iter().flatten();
        let known: Vec<&str> = parameters
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let pairs = (0..=random.below(3)).map(|_| match known.is_empty() || random.below(5) == 0 {
            true => random.pick(&SEGMENTS).clone(),
            false => format!("{}={}", random.pick(&known), random.pick(&SEGMENTS)),
        });
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// A document with some values replaced, removed or added.
fn mutated(mut document: Value, random: &mut Random) -> Value {
    for _ in 0..=random.below(3) {
        let mut places = Vec::new();
        collect_places(&document, String::new(), &mut places);
        let pointer = random.pick(&places).as_str();
        let place = document.pointer_mut(pointer).unwrap();
        match place {
            Value::Object(members) if random.below(3) == 0 => {
                let name = random.pick(&NAMES).clone();
                members.insert(name, random.pick(&VALUES).clone());
            }
            other => *other = random.pick(&VALUES).clone(),
        }
    }
    document
}

/// The pointers to all values of a document.
fn collect_places(value: &Value, pointer: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            collect_places(member, format!("{pointer}/{name}"), places);
        }),
        Value::Array(elements) => elements.iter().take(3).enumerate().for_each(|(n, element)| {
            collect_places(element, format!("{pointer}/{n}"), places);
        }),
        _ => {}
    }
    places.push(pointer);
}

/// A text with an error in it.
fn broken(mut text: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let place = random.below(text.len());
    match random.below(5) {
        0 => text.truncate(place),
        1 => text.insert(place, 0xff),
        2 => text.insert(place, 0),
        3 => text.extend_from_slice(b" {}"),
        // Every member twice.
        _ => {
            let inner = text[1..text.len() - 1].to_vec();
            text = [b"{", &inner[..], b",", &inner[..], b"}"].concat();
        }
    }
    text
}
