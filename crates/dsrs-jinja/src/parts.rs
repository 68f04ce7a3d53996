//! The direct parts of an expression. Knows no meaning.

use minijinja::machinery::ast::{CallArg, Expr};

/// The expressions that an expression is made of, in order of appearance.
pub(crate) fn parts<'t, 's>(expression: &'t Expr<'s>) -> Vec<&'t Expr<'s>> {
    match expression {
        Expr::Const(_) | Expr::Var(_) => Vec::new(),
        Expr::GetAttr(selection) => vec![&selection.expr],
        Expr::GetItem(selection) => vec![&selection.expr, &selection.subscript_expr],
        Expr::Slice(slice) => {
            let bounds = [&slice.start, &slice.stop, &slice.step].into_iter().flatten();
            [&slice.expr].into_iter().chain(bounds).collect()
        }
        Expr::UnaryOp(operation) => vec![&operation.expr],
        Expr::BinOp(operation) => vec![&operation.left, &operation.right],
        Expr::Compare(comparison) => {
            let others = comparison.ops.iter().map(|other| &other.expr);
            [&comparison.expr].into_iter().chain(others).collect()
        }
        Expr::IfExpr(choice) => {
            let always = [&choice.true_expr, &choice.test_expr];
            always.into_iter().chain(choice.false_expr.as_ref()).collect()
        }
        Expr::Filter(filter) => filter.expr.iter().chain(arguments(&filter.args)).collect(),
        Expr::Test(test) => [&test.expr].into_iter().chain(arguments(&test.args)).collect(),
        Expr::Call(call) => [&call.expr].into_iter().chain(arguments(&call.args)).collect(),
        Expr::List(list) => list.items.iter().collect(),
        Expr::Tuple(tuple) => tuple.items.iter().collect(),
        Expr::Map(map) => map.keys.iter().chain(&map.values).collect(),
    }
}

fn arguments<'t, 's>(arguments: &'t [CallArg<'s>]) -> impl Iterator<Item = &'t Expr<'s>> {
    arguments.iter().map(|argument| match argument {
        CallArg::Pos(value)
        | CallArg::Kwarg(_, value)
        | CallArg::PosSplat(value)
        | CallArg::KwargSplat(value) => value,
    })
}
