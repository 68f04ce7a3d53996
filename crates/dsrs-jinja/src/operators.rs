//! Operators whose result can be long, written as filters: `a ~ b` becomes `(a)|operator_join(b)`. The engine has no
//! hooks for its operators (minijinja 3.0.5), and filters can be bounded. Evaluates nothing.

use std::ops::Range;

use minijinja::Error;
use minijinja::machinery::ast::{BinOp, BinOpKind, Expr, Spanned, Stmt};
use minijinja::machinery::{parse, parse_expr, tokenize};
use minijinja::syntax::SyntaxConfig;

use crate::operator::{Operator, Sign};
use crate::parts::parts;

/// An expression with its operators as filters. Parses recursively: the caller bounds its depth.
///
/// # Errors
/// If it cannot be parsed.
pub fn expression_with_filters(source: &str) -> Result<String, Error> {
    let mut edits = Edits::of(source, true)?;
    edits.expression(&parse_expr(source)?);
    Ok(edits.apply())
}

/// A template with its operators as filters, as [`expression_with_filters`].
///
/// # Errors
/// As [`expression_with_filters`].
pub fn template_with_filters(source: &str) -> Result<String, Error> {
    let mut edits = Edits::of(source, false)?;
    edits.statement(&parse(source, "template", SyntaxConfig::default())?);
    Ok(edits.apply())
}

/// The changes of a text.
struct Edits<'t> {
    source: &'t str,
    signs: Vec<(Sign, Range<usize>)>,
    /// What replaces a range, and its order among changes of one place.
    changes: Vec<(Range<usize>, u8, String)>,
}

impl<'t> Edits<'t> {
    fn of(source: &'t str, is_expression: bool) -> Result<Self, Error> {
        let mut signs = Vec::new();
        for token in tokenize(source, is_expression, SyntaxConfig::default()) {
            let (token, span) = token?;
            let range = span.start_offset as usize..span.end_offset as usize;
            signs.extend(Sign::of(&token).map(|sign| (sign, range)));
        }
        Ok(Self { source, signs, changes: Vec::new() })
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emitted) => self.expression(&emitted.expr),
            Stmt::IfCond(choice) => {
                self.expression(&choice.expr);
                self.statements(&choice.true_body);
                self.statements(&choice.false_body);
            }
            Stmt::ForLoop(each) => {
                self.expression(&each.iter);
                each.filter_expr.iter().for_each(|condition| self.expression(condition));
                self.statements(&each.body);
                self.statements(&each.else_body);
            }
            _ => {}
        }
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::BinOp(operation) if let Some(operator) = Operator::of(operation.op) => {
                self.chain(operation, operator);
            }
            _ => parts(expression).into_iter().for_each(|part| self.expression(part)),
        }
    }

    /// Operations of one kind in a row are one filter, so that the text nests no deeper: `(a)|operator_join(b, c)`.
    fn chain(&mut self, last: &Spanned<BinOp<'_>>, operator: Operator) {
        let (mut operands, mut places) = (Vec::new(), Vec::new());
        let mut operation = last;
        loop {
            places.extend(self.place(operation, operator));
            operands.push(&operation.right);
            match &operation.left {
                Expr::BinOp(left) if continues(left, operation, operator) => operation = left,
                first => {
                    operands.push(first);
                    break;
                }
            }
        }
        let adds_numbers = operator == Operator::Add && operands.iter().any(|part| is_number(part));
        if !adds_numbers {
            self.rewrite(last, operator, &operands, &places);
        }
        operands.into_iter().for_each(|operand| self.expression(operand));
    }

    /// Where the operator is: the last one outside of brackets, as operations are grouped from the left.
    fn place(&self, operation: &Spanned<BinOp<'_>>, operator: Operator) -> Option<Range<usize>> {
        let within = bounds(operation);
        let mut depth = 0_usize;
        let mut found = None;
        for (sign, place) in &self.signs {
            if place.start < within.start || place.end > within.end {
                continue;
            }
            match sign {
                Sign::Open => depth += 1,
                Sign::Close => depth = depth.saturating_sub(1),
                Sign::Operator(other) if *other == operator && depth == 0 => {
                    found = Some(place.clone());
                }
                Sign::Operator(_) => {}
            }
        }
        found
    }

    /// Adds no brackets that the text has already: each counts for the depth of the result. The operands and the places
    /// begin with the last ones.
    fn rewrite(
        &mut self,
        operation: &Spanned<BinOp<'_>>,
        operator: Operator,
        operands: &[&Expr<'_>],
        places: &[Range<usize>],
    ) {
        let Some((first, further)) = places.split_last() else { return };
        let Range { start, end } = bounds(operation);
        let filter = operator.filter();
        let closed = match operands.last() {
            Some(left) if self.is_closed(left, start..first.start) => "",
            _ => {
                self.changes.push((start..start, 2, "(".to_owned()));
                ")"
            }
        };
        if let [right, _] = operands
            && !matches!(right, Expr::Tuple(_))
            && self.is_bracketed(first.end..end)
        {
            self.changes.push((first.clone(), 1, format!("{closed}|{filter}")));
            return;
        }
        self.changes.push((first.clone(), 1, format!("{closed}|{filter}(")));
        self.changes.extend(further.iter().map(|place| (place.clone(), 1, ",".to_owned())));
        self.changes.push((end..end, 0, ")".to_owned()));
    }

    /// Whether a filter behind an operand applies to all of it.
    fn is_closed(&self, operand: &Expr<'_>, at: Range<usize>) -> bool {
        let is_postfix = matches!(
            operand,
            Expr::Var(_)
                | Expr::GetAttr(_)
                | Expr::GetItem(_)
                | Expr::Slice(_)
                | Expr::Call(_)
                | Expr::Filter(_)
                | Expr::List(_)
                | Expr::Map(_)
        );
        is_postfix || self.is_bracketed(at)
    }

    /// Whether a part of the text is all within one pair of round brackets.
    fn is_bracketed(&self, at: Range<usize>) -> bool {
        let text = self.source.get(at.clone()).unwrap_or_default();
        let start = at.start + (text.len() - text.trim_start().len());
        let end = at.start + text.trim_end().len();
        if !text.trim_start().starts_with('(') {
            return false;
        }
        let mut depth = 0_usize;
        for (sign, place) in &self.signs {
            match sign {
                Sign::Open if (start..end).contains(&place.start) => depth += 1,
                Sign::Close if (start..end).contains(&place.start) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return place.end == end;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn apply(mut self) -> String {
        let source = self.source;
        self.changes.sort_by_key(|(place, order, _)| (place.start, *order));
        let (mut written, mut text) = (0, String::with_capacity(source.len() * 2));
        for (place, _, change) in self.changes {
            text.push_str(source.get(written..place.start).unwrap_or_default());
            text.push_str(&change);
            written = place.end;
        }
        text.push_str(source.get(written..).unwrap_or_default());
        text
    }
}

fn bounds(operation: &Spanned<BinOp<'_>>) -> Range<usize> {
    let span = operation.span();
    span.start_offset as usize..span.end_offset as usize
}

/// Whether an operation is the left part of one of its kind, without brackets around it.
fn continues(left: &Spanned<BinOp<'_>>, of: &Spanned<BinOp<'_>>, operator: Operator) -> bool {
    Operator::of(left.op) == Some(operator) && bounds(left).start == bounds(of).start
}

/// Whether an operand is a number for sure, so that `+` joins no texts: a constant or a difference.
fn is_number(operand: &Expr<'_>) -> bool {
    match operand {
        Expr::Const(constant) => constant.value.is_number(),
        Expr::BinOp(operation) => matches!(
            operation.op,
            BinOpKind::Sub | BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem
        ),
        _ => false,
    }
}
