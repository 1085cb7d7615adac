//! The type that several expressions share: the branches of UNION and CASE, the elements of ARRAY, COALESCE, GREATEST, IN, VALUES.

use super::coercion::can_coerce_implicitly;
use crate::pg_catalog::{TypeId, pg_catalog};

/// The common type of at least one type; `text` if all are unknown. The error names the two types that cannot be matched.
///
/// The choice can be wrong: PostgreSQL then refuses the expression that has no implicit cast to it. So the caller must check each.
pub fn common_type(types: &[TypeId]) -> Result<TypeId, (TypeId, TypeId)> {
    let mut known = types.iter().copied().filter(|id| *id != TypeId::UNKNOWN);
    let mut chosen = known.next().unwrap_or(TypeId::TEXT);
    for next in known {
        if next != chosen && gives_way(chosen, next)? {
            chosen = next;
        }
    }
    Ok(chosen)
}

/// Whether the type chosen so far is replaced by the next one: it is not preferred, and only the way towards the next is implicit.
fn gives_way(chosen: TypeId, next: TypeId) -> Result<bool, (TypeId, TypeId)> {
    let (chosen_entry, next_entry) = (pg_catalog().type_entry(chosen), pg_catalog().type_entry(next));
    if chosen_entry.category != next_entry.category {
        return Err((chosen, next));
    }
    Ok(!chosen_entry.is_preferred && can_coerce_implicitly(chosen, next) && !can_coerce_implicitly(next, chosen))
}

/// Whether each of these types has an implicit cast to the common type.
pub fn is_reached_by_all(common: TypeId, types: &[TypeId]) -> bool {
    types.iter().all(|id| can_coerce_implicitly(*id, common))
}
