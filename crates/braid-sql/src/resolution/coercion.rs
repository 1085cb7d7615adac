//! How a value of one type becomes one of another.
//!
//! The catalog's casts come first. Where it has none for a pair of types, arrays are converted element by element, and any type goes
//! to and from the string types through its text: to them where a value is stored, from them only where the cast is written.

use super::polymorphic;
use crate::pg_catalog::{CastContext, CastMethod, FunctionId, TypeCategory, TypeId, TypeKind, pg_catalog};

/// How a value of one type becomes one of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pathway {
    /// The value is the same, its type is another.
    Relabel,
    /// A function computes it. Those of two or three arguments also take the target's modifier, and whether the cast is written.
    Function(FunctionId),
    /// Each element of an array goes this way, from the first type to the second.
    ArrayElements(Box<Pathway>, TypeId, TypeId),
    /// The output function of one type, then the input function of the other.
    InputOutput,
}

/// The way from one type to another, if there is one in this context. A literal of unknown type is read by the target's input function.
pub fn coercion_pathway(source: TypeId, target: TypeId, context: CastContext) -> Option<Pathway> {
    if source == target {
        return Some(Pathway::Relabel);
    }
    let catalog = pg_catalog();
    if source == TypeId::UNKNOWN {
        return (catalog.type_entry(target).kind != TypeKind::Pseudo).then_some(Pathway::InputOutput);
    }
    // A cast of the catalog settles the pair, also where it does not apply in this context.
    match catalog.cast(source, target) {
        Some(cast) => (context >= cast.context).then_some(match cast.method {
            CastMethod::Function(function) => Pathway::Function(function),
            CastMethod::Binary => Pathway::Relabel,
            CastMethod::InputOutput => Pathway::InputOutput,
        }),
        None => elementwise(source, target, context).or_else(|| through_text(source, target, context)),
    }
}

fn elementwise(source: TypeId, target: TypeId, context: CastContext) -> Option<Pathway> {
    let catalog = pg_catalog();
    // PostgreSQL casts vectors element by element, but nothing to vectors.
    let (from, to) = (catalog.element_of_array(source)?, catalog.element_of_dimension(target)?);
    Some(Pathway::ArrayElements(Box::new(coercion_pathway(from, to, context)?), from, to))
}

fn through_text(source: TypeId, target: TypeId, context: CastContext) -> Option<Pathway> {
    let is_string = |id: TypeId| pg_catalog().type_entry(id).category == TypeCategory::STRING;
    let stored_as_text = context >= CastContext::Assignment && is_string(target);
    let read_from_text = context >= CastContext::Explicit && is_string(source);
    (stored_as_text || read_from_text).then_some(Pathway::InputOutput)
}

/// Whether all of these types can become those beside them: `unknown` becomes everything, and polymorphic targets must find types
/// that agree. The slices have the same length.
pub fn can_coerce(sources: &[TypeId], targets: &[TypeId], context: CastContext) -> bool {
    debug_assert_eq!(sources.len(), targets.len(), "a target for each source");
    let each = sources.iter().zip(targets).all(|(source, target)| {
        source == target
            || *target == TypeId::ANY
            || target.is_polymorphic()
            || *source == TypeId::UNKNOWN
            || coercion_pathway(*source, *target, context).is_some()
    });
    each && (!targets.iter().any(|target| target.is_polymorphic()) || polymorphic::are_consistent(sources, targets))
}

/// Whether an implicit cast leads from one type to the other.
pub(super) fn can_coerce_implicitly(source: TypeId, target: TypeId) -> bool {
    can_coerce(&[source], &[target], CastContext::Implicit)
}

/// The function that applies a modifier to values of a type, such as `numeric(numeric, int4)`: the cast of the type to itself.
/// For an array it is that of its elements.
pub fn length_coercion(target: TypeId) -> Option<FunctionId> {
    let catalog = pg_catalog();
    let applied_to = catalog.element_of_array(target).unwrap_or(target);
    match catalog.cast(applied_to, applied_to)?.method {
        CastMethod::Function(function) => Some(function),
        CastMethod::Binary | CastMethod::InputOutput => None,
    }
}
