//! Expressions that give the same for the same columns, for ever: what a generated column may be computed by.
//!
//! As in PostgreSQL the volatility of each function decides, those of casts and comparisons included. A function that is written in SQL
//! is looked into: `a || 1` is as immutable as the output of `a`'s type.

use crate::expression::{ElementCast, Expression, FunctionCall, Node};
use crate::functions::Function;
use crate::pg_catalog::{FunctionEntry, TypeId, Volatility, pg_catalog};

/// Functions in SQL that are stable for what they do to a value of any type: they take its text.
const OF_TEXT: &[&str] = &["textanycat", "anytextcat", "quote_literal", "quote_nullable"];

impl Expression {
    /// Whether it gives the same for the same columns, whatever the session and the time.
    pub fn is_immutable(&self) -> bool {
        is_immutable_itself(&self.node) && !self.any_operand(&mut |operand| !operand.is_immutable())
    }
}

fn is_immutable_itself(node: &Node) -> bool {
    match node {
        Node::Call(call) => is_immutable_call(call),
        Node::ThroughText(cast) => is_immutable(cast.output) && is_immutable(cast.input),
        Node::EachElement { cast, .. } => match cast {
            ElementCast::Relabel => true,
            ElementCast::Function { function, .. } => is_immutable(*function),
            ElementCast::ThroughText(output, input) => is_immutable(*output) && is_immutable(*input),
        },
        Node::Extreme { is_beyond: function, .. } | Node::Distinct(_, _, function) => is_immutable(*function),
        Node::Quantified(quantified) => is_immutable(quantified.compare),
        // ALTER DOMAIN changes what it allows.
        Node::Domain(_) => false,
        Node::Subquery(_) | Node::Parameter(_) => false,
        Node::Constant(_)
        | Node::Column(..)
        | Node::Relabel(_)
        | Node::Case { .. }
        | Node::Let { .. }
        | Node::Chain { .. }
        | Node::Operand
        | Node::Coalesce(_)
        | Node::And(_)
        | Node::Or(_)
        | Node::Not(_)
        | Node::IsNull(_)
        | Node::Is(..)
        | Node::Array(..)
        | Node::Subscript(..)
        | Node::OnRecord(..) => true,
    }
}

fn is_immutable_call(call: &FunctionCall) -> bool {
    let entry = pg_catalog().function(call.function.id);
    match takes_text(entry) {
        true => {
            call.argument_types.iter().all(|argument| argument.id == TypeId::TEXT || has_immutable_text(argument.id))
        }
        false => call.volatility == Volatility::Immutable,
    }
}

fn takes_text(entry: &FunctionEntry) -> bool {
    entry.symbol.is_none() && OF_TEXT.contains(&entry.name)
}

fn has_immutable_text(id: TypeId) -> bool {
    let output = pg_catalog().find_type(id).map(|known| pg_catalog().function(known.output));
    output.is_some_and(|output| output.volatility == Volatility::Immutable)
}

fn is_immutable(function: Function) -> bool {
    pg_catalog().function(function.id).volatility == Volatility::Immutable
}
