//! The texts of a run as they are written, for people. Nodes that run at the same time are printed one
//! after the other: the text of one is live, the others wait.

use std::io::{self, Write};

use indexmap::IndexMap;
use serde_json::Value;

use super::failure::CommandFailure;
use super::session::Session;
use super::table::{cell, printable, shown};
use crate::client::ServerEvent;

/// A piece of the text of a field.
struct TextPiece {
    span: i64,
    field: String,
    text: String,
}

/// A node whose text is not printed yet.
#[derive(Default)]
struct WaitingNode {
    pieces: Vec<TextPiece>,
    has_ended: bool,
}

/// Prints the texts of a run.
pub(super) struct RunText<'s> {
    session: &'s Session,
    live: Option<String>,
    waiting: IndexMap<String, WaitingNode>,
    /// The span and the field of the last piece, if its line is open.
    open: Option<(i64, String)>,
}

impl<'s> RunText<'s> {
    pub(super) fn new(session: &'s Session) -> Self {
        Self { session, live: None, waiting: IndexMap::new(), open: None }
    }

    /// Prints what an event adds.
    pub(super) fn event(&mut self, event: &ServerEvent) -> Result<(), CommandFailure> {
        let data = &event.data;
        let node = cell(&data["node"]);
        match event.name.as_str() {
            "node.delta" => {
                let span = data["span"].as_i64().unwrap_or(0);
                let (field, text) = (cell(&data["field"]), cell(&data["text"]));
                self.piece(&node, TextPiece { span, field, text })
            }
            "node.retry" => self.retry(&node, data),
            "node.failed" => {
                let failed = format!("{node} failed: {}", cell(&data["error"]["detail"]));
                self.end(&node)?;
                self.line(&failed)
            }
            "node.completed" => self.end(&node),
            _ => Ok(()),
        }
    }

    /// Prints the outputs of a run that has succeeded.
    pub(super) fn outputs(&mut self, run: &Value) -> Result<(), CommandFailure> {
        self.close()?;
        for (name, value) in run["outputs"].as_object().into_iter().flatten() {
            let name = self.session.bold(name);
            writeln!(io::stdout().lock(), "{name}: {}", shown(value))?;
        }
        Ok(())
    }

    fn piece(&mut self, node: &str, piece: TextPiece) -> Result<(), CommandFailure> {
        match self.live.as_deref().unwrap_or(node) == node {
            true => {
                self.live = Some(node.to_owned());
                self.write(node, &piece)
            }
            false => {
                self.waiting.entry(node.to_owned()).or_default().pieces.push(piece);
                Ok(())
            }
        }
    }

    /// What the span has written so far is void.
    fn retry(&mut self, node: &str, data: &Value) -> Result<(), CommandFailure> {
        if let Some(waiting) = self.waiting.get_mut(node) {
            waiting.pieces.retain(|piece| data["span"] != piece.span);
        }
        match self.live.as_deref() == Some(node) {
            true => self.line(&format!("{node} is asked again: {}", cell(&data["reason"]))),
            false => Ok(()),
        }
    }

    fn end(&mut self, node: &str) -> Result<(), CommandFailure> {
        if self.live.as_deref() != Some(node) {
            if let Some(waiting) = self.waiting.get_mut(node) {
                waiting.has_ended = true;
            }
            return Ok(());
        }
        self.live = None;
        self.close()?;
        while let Some((node, waiting)) = self.waiting.shift_remove_index(0) {
            waiting.pieces.iter().try_for_each(|piece| self.write(&node, piece))?;
            if !waiting.has_ended {
                self.live = Some(node);
                return Ok(());
            }
            self.close()?;
        }
        Ok(())
    }

    fn write(&mut self, node: &str, piece: &TextPiece) -> Result<(), CommandFailure> {
        let place = (piece.span, piece.field.clone());
        if self.open.as_ref() != Some(&place) {
            self.close()?;
            let name = self.session.bold(&format!("{node}.{}", piece.field));
            write!(io::stdout().lock(), "{name}: ")?;
            self.open = Some(place);
        }
        let mut stdout = io::stdout().lock();
        write!(stdout, "{}", printable(&piece.text))?;
        Ok(stdout.flush()?)
    }

    fn line(&mut self, line: &str) -> Result<(), CommandFailure> {
        self.close()?;
        Ok(writeln!(io::stdout().lock(), "({})", printable(line))?)
    }

    fn close(&mut self) -> Result<(), CommandFailure> {
        match self.open.take() {
            Some(_) => Ok(writeln!(io::stdout().lock())?),
            None => Ok(()),
        }
    }
}
