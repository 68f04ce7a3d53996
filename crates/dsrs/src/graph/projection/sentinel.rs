//! An LM that makes data flow visible: it answers unique values, so a value that occurs later must
//! come from that answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::{BoxFuture, FutureExt, ready};

use crate::adapter::ChatAdapter;
use crate::lm::{DeltaSink, Lm, LmError, LmErrorKind, LmReply, LmRequest, Usage};
use crate::signature::SignatureSchema;
use crate::types::{Literal, Type, TypeDef, TypeDefs, TypeIR};
use crate::value::{Fields, Payload};

/// The first integer answer. Small, because a typed module may store it in a byte, and unlikely to
/// occur elsewhere.
const FIRST_INT: u32 = 29;

/// What every made-up text begins with.
const TEXT: &str = "sentinel ";

/// How deep a made-up value nests before optional parts are left out.
const DEPTH: usize = 6;

/// Answers any of the known prompts.
pub(super) struct SentinelLm {
    /// Schemas by the system messages that ask for them.
    known: Vec<(String, Arc<SignatureSchema>)>,
    next: AtomicU32,
    next_int: AtomicU32,
    /// The number of started runs: values of small types change from run to run.
    runs: AtomicU32,
}

impl SentinelLm {
    pub(super) fn new(known: Vec<(String, Arc<SignatureSchema>)>) -> Self {
        let (next, next_int) = (AtomicU32::new(1), AtomicU32::new(FIRST_INT));
        Self { known, next, next_int, runs: AtomicU32::new(0) }
    }

    /// Starts the next run.
    pub(super) fn begin_run(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a text was made here.
    pub(super) fn made(text: &str) -> bool {
        text.starts_with(TEXT)
    }

    /// The number of the run, from 1.
    fn run(&self) -> usize {
        self.runs.load(Ordering::Relaxed) as usize
    }

    fn answer(&self, request: &LmRequest) -> Result<LmReply, LmError> {
        let system = request.chat.messages().next().map_or("", |message| &message.content);
        let schema = self.known.iter().find(|(known, _)| known == system);
        let (_, schema) = schema.ok_or_else(|| LmError {
            kind: LmErrorKind::Refused,
            message: "a prompt of none of the module's predictors".to_owned(),
            status: None,
            retry_after: None,
        })?;
        let outputs: Fields = schema
            .outputs
            .iter()
            .map(|field| (field.name.clone(), self.make(&schema.type_of(field), 0)))
            .collect();
        let text = ChatAdapter::format_output(schema, &outputs);
        let usage = Usage { lm_calls: 1, ..Usage::default() };
        Ok(LmReply { usage, ..LmReply::of(text, "sentinel") })
    }

    /// A value of a type, unlike any other where the type has room for it.
    fn make(&self, ty: &Type, depth: usize) -> Payload {
        let below = |ir: &TypeIR| self.make(&Type::new(ir.clone(), ty.defs.clone()), depth + 1);
        match &ty.ir {
            TypeIR::Str | TypeIR::Any => format!("{TEXT}{}", self.number()).into(),
            TypeIR::Int => Payload::Int(self.next_int.fetch_add(1, Ordering::Relaxed).into()),
            TypeIR::Float => Payload::Float(f64::from(self.number()) + 0.5),
            TypeIR::Bytes => Payload::Bytes(self.number().to_be_bytes().to_vec().into()),
            TypeIR::Bool => Payload::Bool(self.run() % 2 == 1),
            TypeIR::Null | TypeIR::Error => Payload::Null,
            TypeIR::Literal(Literal::Str(text)) => Payload::Str(text.clone()),
            TypeIR::Literal(Literal::Int(number)) => Payload::Int(*number),
            TypeIR::Literal(Literal::Bool(flag)) => Payload::Bool(*flag),
            TypeIR::List(_) if depth > DEPTH => Payload::list(Vec::new()),
            TypeIR::List(element) => Payload::list(vec![below(element), below(element)]),
            TypeIR::Dict(_) if depth > DEPTH => Payload::map(Fields::new()),
            TypeIR::Dict(value) => {
                let key: Arc<str> = format!("key {}", self.number()).into();
                Payload::map([(key, below(value))].into_iter().collect())
            }
            TypeIR::Tuple(members) => Payload::list(members.iter().map(below).collect()),
            TypeIR::Union(members) if depth > DEPTH && members.contains(&TypeIR::Null) => {
                Payload::Null
            }
            TypeIR::Union(members) => members.first().map_or(Payload::Null, below),
            TypeIR::Class(class) => {
                let fields = class.fields.iter();
                Payload::map(fields.map(|(name, field)| (name.clone(), below(&field.ty))).collect())
            }
            TypeIR::Named(name) => self.named(name, &ty.defs, depth),
        }
    }

    fn named(&self, name: &str, defs: &Arc<TypeDefs>, depth: usize) -> Payload {
        let below = |ir: &TypeIR| self.make(&Type::new(ir.clone(), defs.clone()), depth + 1);
        match defs.get(name) {
            Some(TypeDef::Class(class)) => {
                let fields = class.fields.iter();
                Payload::map(fields.map(|(name, field)| (name.clone(), below(&field.ty))).collect())
            }
            Some(TypeDef::Enum(found)) => {
                let number = self.run() % found.members.len().max(1);
                let member = found.members.get_index(number);
                member.map_or(Payload::Null, |(name, _)| Payload::Str(name.clone()))
            }
            Some(TypeDef::Alias(ir)) => below(ir),
            None => Payload::Null,
        }
    }

    fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl Lm for SentinelLm {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        ready(self.answer(request)).boxed()
    }
}
