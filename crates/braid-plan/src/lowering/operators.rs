//! Which functions of the catalog are comparisons and arithmetic that kernels compute.

use std::sync::LazyLock;

use braid_exec::expression::{Arithmetic, Comparison, NumberRange};
use braid_sql::pg_catalog::{CatalogMap, FunctionId, TypeId, pg_catalog};

use crate::values::Form;
use crate::values::comparison_key::has_key;

/// The comparisons of the catalog by function: which, and the types of the operands.
static COMPARISONS: LazyLock<CatalogMap<FunctionId, (Comparison, TypeId, TypeId)>> = LazyLock::new(|| {
    const NAMES: [(&str, Comparison); 6] = [
        ("=", Comparison::Equal),
        ("<>", Comparison::NotEqual),
        ("<", Comparison::Less),
        ("<=", Comparison::LessOrEqual),
        (">", Comparison::Greater),
        (">=", Comparison::GreaterOrEqual),
    ];
    let mut comparisons = CatalogMap::default();
    for (name, comparison) in NAMES {
        for operator in pg_catalog().operators(name) {
            if let Some(left) = operator.left() {
                comparisons.insert(operator.function, (comparison, left, operator.right()));
            }
        }
    }
    comparisons
});

/// The comparison that a function is, and the types of its operands.
pub(super) fn comparison_of(function: FunctionId) -> Option<(Comparison, TypeId, TypeId)> {
    COMPARISONS.get(&function).copied()
}

/// The comparison that a function is, if the vectors of its operands are compared as they are.
pub(super) fn direct_comparison(function: FunctionId) -> Option<Comparison> {
    let (comparison, left, right) = *COMPARISONS.get(&function)?;
    is_same_kind(left, right).then_some(comparison)
}

/// The comparison of numerics that a function is.
pub(super) fn numeric_comparison(function: FunctionId) -> Option<Comparison> {
    let (comparison, left, right) = *COMPARISONS.get(&function)?;
    (left == TypeId::NUMERIC && right == TypeId::NUMERIC).then_some(comparison)
}

/// Whether a function is `=` of operands whose [comparison keys](crate::values::comparison_key) can be compared instead.
pub(super) fn is_equality(function: FunctionId) -> bool {
    let Some((Comparison::Equal, left, right)) = COMPARISONS.get(&function) else { return false };
    // Records of two origins may have fields of different types, which is an error.
    let is_keyed = left == right && ![TypeId::RECORD, TypeId::RECORD_ARRAY].contains(left) && has_key(*left);
    is_same_kind(*left, *right) || is_keyed
}

/// Whether the vectors of two types hold numbers or bytes of one meaning.
fn is_same_kind(left: TypeId, right: TypeId) -> bool {
    let is_integer = |id| [TypeId::INT2, TypeId::INT4, TypeId::INT8].contains(&id);
    let is_float = |id| [TypeId::FLOAT4, TypeId::FLOAT8].contains(&id);
    let is_text = |id| [TypeId::TEXT, TypeId::VARCHAR, TypeId::NAME].contains(&id);
    Form::is_compared_directly(left)
        && ((is_integer(left) && is_integer(right))
            || (is_float(left) && is_float(right))
            || (is_text(left) && is_text(right))
            || left == right)
}

/// The arithmetic of integers and floats that a function is.
pub(super) fn direct_arithmetic(symbol: &str) -> Option<(Arithmetic, NumberRange)> {
    let (operation, range) = match symbol {
        "int2pl" => (Arithmetic::Add, NumberRange::Int16),
        "int4pl" | "int24pl" | "int42pl" => (Arithmetic::Add, NumberRange::Int32),
        "int8pl" | "int28pl" | "int82pl" | "int48pl" | "int84pl" => (Arithmetic::Add, NumberRange::Int64),
        "int2mi" => (Arithmetic::Subtract, NumberRange::Int16),
        "int4mi" | "int24mi" | "int42mi" => (Arithmetic::Subtract, NumberRange::Int32),
        "int8mi" | "int28mi" | "int82mi" | "int48mi" | "int84mi" => (Arithmetic::Subtract, NumberRange::Int64),
        "int2mul" => (Arithmetic::Multiply, NumberRange::Int16),
        "int4mul" | "int24mul" | "int42mul" => (Arithmetic::Multiply, NumberRange::Int32),
        "int8mul" | "int28mul" | "int82mul" | "int48mul" | "int84mul" => (Arithmetic::Multiply, NumberRange::Int64),
        _ => return None,
    };
    Some((operation, range))
}

/// Whether a function widens an integer, which vectors hold in 64 bits anyway.
pub(super) fn is_widening(symbol: &str) -> bool {
    matches!(symbol, "i2toi4" | "int28" | "int48")
}
