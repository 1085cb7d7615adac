//! Orders of types: the operator classes of B-trees, and equality of types that have no order (`pg_opclass`).

use super::entries::FunctionId;
use super::tables::Names;
use super::tsv::{flag, number, optional, rows};
use super::type_id::TypeId;

/// An order of a type, or its equality alone.
#[derive(Debug)]
pub struct OrderEntry {
    /// The type, which may be polymorphic.
    pub id: TypeId,
    /// Whether it is what ORDER BY and DISTINCT mean without an operator.
    pub is_default: bool,
    /// The function behind `=`.
    pub equal: FunctionId,
    /// The order, if there is one.
    pub order: Option<OrderFunctions>,
}

/// What computes an order.
#[derive(Clone, Copy, Debug)]
pub struct OrderFunctions {
    /// Negative, 0 or positive.
    pub compare: FunctionId,
    /// The function behind `<`.
    pub less: FunctionId,
    /// The function behind `>`.
    pub greater: FunctionId,
}

/// The rows of the file.
pub(super) fn read(named: &Names<'_>) -> Vec<OrderEntry> {
    let columns = ["type", "is_default", "compare", "less", "equal", "greater"];
    let function = |field| optional(field).map(|field| FunctionId(number(field)));
    let entries = rows(include_str!("../../postgres/orders.tsv"), columns).map(|row| {
        let [id, is_default, compare, less, equal, greater] = row;
        let order = match (function(compare), function(less), function(greater)) {
            (Some(compare), Some(less), Some(greater)) => Some(OrderFunctions { compare, less, greater }),
            (None, None, None) => None,
            _ => panic!("half an order of {id}"),
        };
        OrderEntry { id: named.id(id), is_default: flag(is_default), equal: FunctionId(number(equal)), order }
    });
    entries.collect()
}
