//! Grouping sets within grouping sets.
//!
//! The parser reads `ROLLUP (…)` and `CUBE (…)` there as calls of functions.

use std::borrow::Cow;

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};

/// The grouping sets that stand for one set of GROUPING SETS; `None` if it is a set of keys.
pub(super) fn nested_sets(members: &[Expr]) -> Option<Cow<'_, Expr>> {
    match members {
        [nested @ (Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_))] => Some(Cow::Borrowed(nested)),
        [Expr::Function(call)] => of_call(call).map(Cow::Owned),
        _ => None,
    }
}

/// ROLLUP or CUBE that was read as a call. A name in quotes is that of a function.
fn of_call(call: &Function) -> Option<Expr> {
    let [ObjectNamePart::Identifier(name)] = &call.name.0[..] else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let is_plain = list.duplicate_treatment.is_none() && list.clauses.is_empty() && !list.args.is_empty();
    let is_call = call.filter.is_some() || call.over.is_some() || !call.within_group.is_empty();
    if name.quote_style.is_some() || !is_plain || is_call {
        return None;
    }
    let element = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(members))) => Some(members.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(member)) => Some(vec![member.clone()]),
        _ => None,
    };
    let elements = list.args.iter().map(element).collect::<Option<Vec<_>>>()?;
    match &*name.value.to_ascii_lowercase() {
        "rollup" => Some(Expr::Rollup(elements)),
        "cube" => Some(Expr::Cube(elements)),
        _ => None,
    }
}
