//! What `anyelement`, `anycompatible` and their like stand for in one call.
//!
//! There are two families. In that of `anyelement` all arguments must agree exactly. In that of `anycompatible` they are cast to a common
//! type. In each, the type of an array is settled by that of its elements and the other way round. A range settles its elements, but
//! elements do not settle a range. Arguments of unknown type take what the others settle (manual, section "Polymorphic Types").

use super::common_type::{common_type, is_reached_by_all};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::{SqlError, SqlState};

/// Range types by `typname`: the range, its element and its multirange (`pg_range`).
const RANGES: [[&str; 3]; 6] = [
    ["int4range", "int4", "int4multirange"],
    ["numrange", "numeric", "nummultirange"],
    ["tsrange", "timestamp", "tsmultirange"],
    ["tstzrange", "timestamptz", "tstzmultirange"],
    ["daterange", "date", "datemultirange"],
    ["int8range", "int8", "int8multirange"],
];

/// Whether the given types agree where polymorphic types are declared. Other declared types are not looked at.
pub(super) fn are_consistent(given: &[TypeId], declared: &[TypeId]) -> bool {
    Deduction::of(given, declared).is_some()
}

/// The types to which arguments are coerced and the type of the result, polymorphic types replaced. A given type stays as it is where
/// `any` is declared.
pub(super) fn resolve(
    given: &[TypeId],
    declared: &[TypeId],
    result: TypeId,
) -> Result<(Vec<TypeId>, TypeId), SqlError> {
    if !declared.iter().any(|id| id.is_polymorphic()) {
        // The function may declare a polymorphic result: `anyarray_in`.
        let arguments = given.iter().zip(declared);
        let arguments = arguments.map(|(given, declared)| if *declared == TypeId::ANY { *given } else { *declared });
        return Ok((arguments.collect(), result));
    }
    let deduction = Deduction::of(given, declared).ok_or_else(|| {
        // Candidates whose arguments disagree have been dropped before.
        SqlError::new(SqlState::InternalError, "the arguments of a chosen function disagree")
    })?;
    deduction.check_settled(declared)?;
    let pairs = given.iter().zip(declared);
    let arguments: Result<Vec<TypeId>, SqlError> =
        pairs.map(|(given, declared)| deduction.argument(*given, *declared)).collect();
    let result = deduction.replace(result)?;
    Ok((arguments?, result))
}

/// What one family of polymorphic types stands for, as far as the arguments say.
#[derive(Debug, Default)]
struct Family {
    element: Option<TypeId>,
    array: Option<TypeId>,
    range: Option<TypeId>,
    multirange: Option<TypeId>,
}

/// What both families stand for.
#[derive(Debug, Default)]
struct Deduction {
    simple: Family,
    compatible: Family,
}

impl Deduction {
    /// `None` if the arguments disagree.
    fn of(given: &[TypeId], declared: &[TypeId]) -> Option<Self> {
        Some(Self { simple: deduce_simple(given, declared)?, compatible: deduce_compatible(given, declared)? })
    }

    /// Refuses calls whose arguments of the first family are all unknown. Those of the second then are texts, or ranges of nothing.
    fn check_settled(&self, declared: &[TypeId]) -> Result<(), SqlError> {
        if self.simple.element.is_none() && declared.iter().any(|id| id.is_simple_polymorphic()) {
            let message = "could not determine polymorphic type because input has type unknown";
            return Err(SqlError::new(SqlState::DatatypeMismatch, message));
        }
        Ok(())
    }

    fn argument(&self, given: TypeId, declared: TypeId) -> Result<TypeId, SqlError> {
        let is_taken_as_given =
            declared == TypeId::ANY || (declared.is_simple_polymorphic() && given != TypeId::UNKNOWN);
        if is_taken_as_given { Ok(given) } else { self.replace(declared) }
    }

    fn replace(&self, declared: TypeId) -> Result<TypeId, SqlError> {
        let family = if declared.is_compatible_polymorphic() { &self.compatible } else { &self.simple };
        let element = family.element.unwrap_or(TypeId::TEXT);
        match declared {
            TypeId::ANYELEMENT | TypeId::ANYNONARRAY | TypeId::ANYENUM => Ok(element),
            TypeId::ANYCOMPATIBLE | TypeId::ANYCOMPATIBLENONARRAY => Ok(element),
            TypeId::ANYARRAY | TypeId::ANYCOMPATIBLEARRAY => family.array.map_or_else(|| array_of(element), Ok),
            TypeId::ANYRANGE | TypeId::ANYCOMPATIBLERANGE => family.range.ok_or_else(|| undetermined(declared)),
            TypeId::ANYMULTIRANGE | TypeId::ANYCOMPATIBLEMULTIRANGE => {
                family.multirange.ok_or_else(|| undetermined(declared))
            }
            other => Ok(other),
        }
    }
}

fn array_of(element: TypeId) -> Result<TypeId, SqlError> {
    pg_catalog().type_entry(element).array.ok_or_else(|| {
        let message = format!("could not find array type for data type {}", type_name(element));
        SqlError::new(SqlState::UndefinedObject, message)
    })
}

fn undetermined(declared: TypeId) -> SqlError {
    let message =
        format!("could not determine polymorphic type {} because input has type unknown", type_name(declared));
    SqlError::new(SqlState::DatatypeMismatch, message)
}

/// Settles a type; `None` if it is settled otherwise.
fn settle(slot: &mut Option<TypeId>, id: TypeId) -> Option<()> {
    (*slot.get_or_insert(id) == id).then_some(())
}

/// The arguments whose type is known, with what is declared for them.
fn known<'a>(given: &'a [TypeId], declared: &'a [TypeId]) -> impl Iterator<Item = (TypeId, TypeId)> + 'a {
    given.iter().copied().zip(declared.iter().copied()).filter(|(given, _)| *given != TypeId::UNKNOWN)
}

fn deduce_simple(given: &[TypeId], declared: &[TypeId]) -> Option<Family> {
    let mut family = Family::default();
    for (given, declared) in known(given, declared) {
        match declared {
            TypeId::ANYELEMENT | TypeId::ANYNONARRAY | TypeId::ANYENUM => settle(&mut family.element, given)?,
            TypeId::ANYARRAY => settle(&mut family.array, given)?,
            TypeId::ANYRANGE => settle(&mut family.range, given)?,
            TypeId::ANYMULTIRANGE => settle(&mut family.multirange, given)?,
            _ => {}
        }
    }
    if let Some(array) = family.array {
        settle(&mut family.element, pg_catalog().element_of_array(array)?)?;
    }
    if let Some(multirange) = family.multirange {
        settle(&mut family.range, range_of(multirange)?)?;
    }
    if let Some(range) = family.range {
        settle(&mut family.element, element_of_range(range)?)?;
        family.multirange = multirange_of(range);
    }
    let wants_no_array = declared.contains(&TypeId::ANYNONARRAY);
    let wants_enum = declared.contains(&TypeId::ANYENUM);
    let is_refused = (wants_no_array && family.element.is_some_and(is_array))
        || (wants_enum && family.element.is_none_or(|element| element.enum_type().is_none()));
    (!is_refused).then_some(family)
}

fn deduce_compatible(given: &[TypeId], declared: &[TypeId]) -> Option<Family> {
    let mut family = Family::default();
    let mut elements = Vec::new();
    for (given, declared) in known(given, declared) {
        match declared {
            TypeId::ANYCOMPATIBLE | TypeId::ANYCOMPATIBLENONARRAY => elements.push(given),
            TypeId::ANYCOMPATIBLEARRAY => elements.push(pg_catalog().element_of_array(given)?),
            TypeId::ANYCOMPATIBLERANGE => settle(&mut family.range, given)?,
            TypeId::ANYCOMPATIBLEMULTIRANGE => settle(&mut family.multirange, given)?,
            _ => {}
        }
    }
    if let Some(multirange) = family.multirange {
        settle(&mut family.range, range_of(multirange)?)?;
    }
    let of_range = match family.range {
        Some(range) => Some(element_of_range(range)?),
        None => None,
    };
    family.multirange = family.range.and_then(multirange_of);
    elements.extend(of_range);
    if elements.is_empty() {
        return Some(family);
    }
    let common = common_type(&elements).ok().filter(|common| is_reached_by_all(*common, &elements))?;
    family.element = Some(common);
    // Values of ranges cannot be cast, so the common type must be theirs.
    let is_refused = (declared.contains(&TypeId::ANYCOMPATIBLENONARRAY) && is_array(common))
        || of_range.is_some_and(|element| element != common);
    (!is_refused).then_some(family)
}

fn is_array(id: TypeId) -> bool {
    pg_catalog().element_of_array(id).is_some()
}

fn element_of_range(range: TypeId) -> Option<TypeId> {
    range_row(0, range).and_then(|row| pg_catalog().type_named(row[1]))
}

fn multirange_of(range: TypeId) -> Option<TypeId> {
    range_row(0, range).and_then(|row| pg_catalog().type_named(row[2]))
}

fn range_of(multirange: TypeId) -> Option<TypeId> {
    range_row(2, multirange).and_then(|row| pg_catalog().type_named(row[0]))
}

fn range_row(column: usize, id: TypeId) -> Option<&'static [&'static str; 3]> {
    let name = pg_catalog().type_entry(id).name;
    RANGES.iter().find(|row| row[column] == name)
}
