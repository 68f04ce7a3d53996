//! The walk over the tree of a text: its free names, and what the language does not have.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{
    BinOp, Call, CallArg, CallType, Expr, Filter, ForLoop, Slice, Spanned, Stmt, Test,
};
use minijinja::value::ValueKind;

use crate::language::{LOOP_METHODS, known};
use crate::{NameUsage, Refusal, RefusalKind};

/// The filters and tests that accept what is absent.
const ACCEPT_ABSENT: [&str; 4] = ["d", "default", "defined", "undefined"];

const LOOP: &str = "loop";

#[derive(Default)]
pub(crate) struct Walk<'s> {
    pub(crate) uses: Vec<NameUsage>,
    pub(crate) refusals: Vec<Refusal>,
    /// The names that the open loops define.
    local: Vec<&'s str>,
}

/// One selection from a value.
enum Link<'t, 's> {
    Attribute(&'s str),
    /// A constant name in brackets.
    Key(String),
    Computed(&'t Expr<'s>),
}

impl<'t, 's> Link<'t, 's> {
    fn of(subscript: &'t Expr<'s>) -> Self {
        match subscript {
            Expr::Const(key) => match key.value.as_str() {
                Some(key) => Self::Key(key.to_owned()),
                None => Self::Computed(subscript),
            },
            _ => Self::Computed(subscript),
        }
    }
}

impl<'s> Walk<'s> {
    pub(crate) fn statement(&mut self, statement: &Stmt<'s>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(emitted) => self.expression(&emitted.expr),
            Stmt::IfCond(choice) => {
                self.expression(&choice.expr);
                self.statements(&choice.true_body);
                self.statements(&choice.false_body);
            }
            Stmt::ForLoop(each) => self.each(each),
            _ => self.refuse(RefusalKind::Tag, "", 0),
        }
    }

    fn statements(&mut self, statements: &[Stmt<'s>]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    /// The list of a loop and what is written if it is empty know nothing of the loop; its condition knows the
    /// elements, but not `loop`.
    fn each(&mut self, each: &ForLoop<'s>) {
        self.expression(&each.iter);
        let outside = self.local.len();
        self.define(&each.target);
        each.filter_expr.iter().for_each(|condition| self.expression(condition));
        self.local.push(LOOP);
        self.statements(&each.body);
        self.local.truncate(outside);
        self.statements(&each.else_body);
    }

    fn define(&mut self, target: &Expr<'s>) {
        match target {
            Expr::Var(name) => self.local.push(name.id),
            Expr::List(targets) => targets.items.iter().for_each(|target| self.define(target)),
            Expr::Tuple(targets) => targets.items.iter().for_each(|target| self.define(target)),
            _ => {}
        }
    }

    pub(crate) fn expression(&mut self, expression: &Expr<'s>) {
        match expression {
            Expr::Const(_) => {}
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => self.selection(expression, false),
            Expr::Slice(slice) => self.slice(slice),
            Expr::UnaryOp(operation) => self.expression(&operation.expr),
            Expr::BinOp(operation) => self.operation(operation),
            Expr::Compare(comparison) => {
                self.expression(&comparison.expr);
                comparison.ops.iter().for_each(|other| self.expression(&other.expr));
            }
            Expr::IfExpr(choice) => {
                self.expression(&choice.true_expr);
                self.expression(&choice.test_expr);
                choice.false_expr.iter().for_each(|other| self.expression(other));
            }
            Expr::Filter(filter) => self.filter(filter),
            Expr::Test(test) => self.test(test),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.expressions(&list.items),
            Expr::Tuple(tuple) => self.expressions(&tuple.items),
            Expr::Map(map) => {
                for (key, value) in map.keys.iter().zip(&map.values) {
                    self.expression(key);
                    self.expression(value);
                }
            }
        }
    }

    fn expressions(&mut self, expressions: &[Expr<'s>]) {
        expressions.iter().for_each(|expression| self.expression(expression));
    }

    fn operation(&mut self, operation: &BinOp<'s>) {
        self.expression(&operation.left);
        self.expression(&operation.right);
    }

    /// A name, or what is selected from a name or from any other value.
    fn selection(&mut self, expression: &Expr<'s>, may_be_absent: bool) {
        let mut links = Vec::new();
        let mut of = expression;
        loop {
            of = match of {
                Expr::GetAttr(link) => {
                    links.push(Link::Attribute(link.name));
                    &link.expr
                }
                Expr::GetItem(link) => {
                    links.push(Link::of(&link.subscript_expr));
                    &link.expr
                }
                _ => break,
            };
        }
        links.reverse();
        match of {
            Expr::Var(name) => self.name(name.id, &links, may_be_absent),
            other => self.expression(other),
        }
        for link in links {
            if let Link::Computed(subscript) = link {
                self.expression(subscript);
            }
        }
    }

    /// Only the last selection may be absent: what is absent has no members.
    fn name(&mut self, name: &str, links: &[Link<'_, 's>], may_be_absent: bool) {
        if self.local.contains(&name) {
            return;
        }
        let (member, may_be_absent) = match links {
            [] => (None, may_be_absent),
            [Link::Attribute(member), further @ ..] => {
                (Some((*member).to_owned()), may_be_absent && further.is_empty())
            }
            [Link::Key(member), further @ ..] => (Some(member.clone()), further.is_empty()),
            [Link::Computed(_), ..] => (None, false),
        };
        self.uses.push(NameUsage { name: name.to_owned(), member, may_be_absent });
    }

    /// The engine has steps from the end, and fails on empty values with them (minijinja 3.0.5).
    fn slice(&mut self, slice: &Spanned<Slice<'s>>) {
        self.expression(&slice.expr);
        let bounds = [&slice.start, &slice.stop];
        bounds.into_iter().flatten().for_each(|bound| self.expression(bound));
        let is_forward = |step: &Expr<'s>| {
            let step = step.as_const().filter(|step| step.kind() == ValueKind::Number);
            step.and_then(|step| i64::try_from(step).ok()).is_some_and(|step| step > 0)
        };
        if slice.step.as_ref().is_some_and(|step| !is_forward(step)) {
            self.refuse(RefusalKind::Step, "", line(slice.span()));
        }
    }

    fn filter(&mut self, filter: &Spanned<Filter<'s>>) {
        if let Some(value) = &filter.expr {
            self.selection(value, ACCEPT_ABSENT.contains(&filter.name));
        }
        let line = line(filter.span());
        self.check(RefusalKind::Filter, filter.name, line);
        self.arguments(&filter.args);
        // Some filters apply others by name.
        let applied = match filter.name {
            "map" => Some((RefusalKind::Filter, 0)),
            "select" | "reject" => Some((RefusalKind::Test, 0)),
            "selectattr" | "rejectattr" => Some((RefusalKind::Test, 1)),
            _ => None,
        };
        let Some((kind, position)) = applied else { return };
        if let Some(CallArg::Pos(Expr::Const(name))) = filter.args.get(position)
            && let Some(name) = name.value.as_str()
        {
            self.check(kind, name, line);
        }
    }

    fn test(&mut self, test: &Spanned<Test<'s>>) {
        self.selection(&test.expr, ACCEPT_ABSENT.contains(&test.name));
        self.check(RefusalKind::Test, test.name, line(test.span()));
        self.arguments(&test.args);
    }

    fn call(&mut self, call: &Spanned<Call<'s>>) {
        let line = line(call.span());
        match call.identify_call() {
            CallType::Function(LOOP) if self.local.contains(&LOOP) => {}
            CallType::Function(name) => self.check(RefusalKind::Function, name, line),
            CallType::Method(of, name) => {
                if !(self.is_loop(of) && LOOP_METHODS.contains(&name)) {
                    self.check(RefusalKind::Method, name, line);
                }
                self.expression(of);
            }
            CallType::Block(name) => self.refuse(RefusalKind::Block, name, line),
            CallType::Object(of) => {
                self.refuse(RefusalKind::Value, "", line);
                self.expression(of);
            }
        }
        self.arguments(&call.args);
    }

    fn is_loop(&self, value: &Expr<'s>) -> bool {
        matches!(value, Expr::Var(name) if name.id == LOOP) && self.local.contains(&LOOP)
    }

    fn arguments(&mut self, arguments: &[CallArg<'s>]) {
        for argument in arguments {
            match argument {
                CallArg::Pos(value)
                | CallArg::Kwarg(_, value)
                | CallArg::PosSplat(value)
                | CallArg::KwargSplat(value) => self.expression(value),
            }
        }
    }

    fn check(&mut self, kind: RefusalKind, name: &str, line: usize) {
        if !known(kind).contains(&name) {
            self.refuse(kind, name, line);
        }
    }

    fn refuse(&mut self, kind: RefusalKind, name: &str, line: usize) {
        self.refusals.push(Refusal { kind, name: name.to_owned(), line });
    }
}

fn line(span: Span) -> usize {
    span.start_line.into()
}
