//! The order and the equality of a type: what ORDER BY, DISTINCT, `min`, arrays and window frames compare values with.
//!
//! A type's order is that of its default operator class for B-trees, or of the class that `USING` names an operator of. Types without
//! a class of their own have that of a type they are kept like (`varchar` has that of `text`), arrays have that of their elements.

use std::cmp::Ordering;

use super::arrays::comparisons::compare_arrays;
use super::datetime::intervals;
use super::datetime::times::compare_timetz;
use super::enums;
use super::numbers::comparisons::order_of_floats;
use super::strings::text_types::without_blanks;
use super::{Call, Implementation, SessionFacts, UnlimitedMemory, implementation_of};
use crate::pg_catalog::{CastContext, CastMethod, FunctionId, OrderEntry, TypeId, TypeKind, pg_catalog};
use crate::types::type_names::type_name;
use crate::{SqlError, SqlState, SqlType, Value};

/// Compares two values that are not null.
type Kernel = fn(&Value, &Value) -> Ordering;

/// The order of a type. Two values that it does not tell apart are equal for SQL.
#[derive(Clone, Debug)]
pub struct TypeOrder(Comparison);

#[derive(Clone, Debug)]
enum Comparison {
    Kernel(Kernel),
    Arrays(Box<TypeOrder>),
    /// The catalog's function, for values of this type.
    Function(Implementation, SqlType),
}

impl TypeOrder {
    /// The default order of a type; an error if it has none.
    pub fn of(id: TypeId) -> Result<Self, SqlError> {
        Self::find(id)?.ok_or_else(|| {
            missing("an ordering operator", id).with_hint("Use an explicit ordering operator or modify the query.")
        })
    }

    /// The default order of a type; `None` if it has none. An error says that Braid cannot compare the type's values.
    pub fn find(id: TypeId) -> Result<Option<Self>, SqlError> {
        if let Some(element) = pg_catalog().element_of_array(id) {
            let element = Self::find(element)?;
            return Ok(element.map(|element| Self(Comparison::Arrays(Box::new(element)))));
        }
        let Some(order) = default_entry(id).and_then(|entry| entry.order) else { return Ok(None) };
        Self::by(order.compare, id).map(Some)
    }

    fn by(compare: FunctionId, id: TypeId) -> Result<Self, SqlError> {
        let function = pg_catalog().function(compare);
        if let Some(kernel) = function.symbol.and_then(kernel) {
            return Ok(Self(Comparison::Kernel(kernel)));
        }
        match implementation_of(function) {
            Some(implementation) => Ok(Self(Comparison::Function(implementation, SqlType::of(id)))),
            None => Err(SqlError::unsupported(format!("the order of type {} is not supported", type_name(id)))),
        }
    }

    /// Which of two values comes first. Neither is null.
    pub fn compare(&self, left: &Value, right: &Value, session: &dyn SessionFacts) -> Result<Ordering, SqlError> {
        match &self.0 {
            Comparison::Kernel(kernel) => Ok(kernel(left, right)),
            Comparison::Arrays(element) => compare_arrays(left.as_array(), right.as_array(), element, session),
            Comparison::Function(implementation, sql_type) => {
                let types = [*sql_type; 2];
                let call = Call {
                    session,
                    argument_types: &types,
                    result_type: SqlType::of(TypeId::INT4),
                    memory: &UnlimitedMemory,
                };
                Ok(implementation(&[left.clone(), right.clone()], &call)?.as_int4().cmp(&0))
            }
        }
    }

    /// The same with nulls, which come last and are equal to each other.
    pub fn compare_nulls_last(
        &self,
        left: &Value,
        right: &Value,
        session: &dyn SessionFacts,
    ) -> Result<Ordering, SqlError> {
        match (left.is_null(), right.is_null()) {
            (false, false) => self.compare(left, right, session),
            (left_is_null, right_is_null) => Ok(left_is_null.cmp(&right_is_null)),
        }
    }
}

/// The default class of a type, or of the type that its values are like.
fn default_entry(id: TypeId) -> Option<&'static OrderEntry> {
    let catalog = pg_catalog();
    let entry = catalog.type_entry(id);
    let class = match entry.kind {
        TypeKind::Range if entry.name.ends_with("multirange") => TypeId::ANYMULTIRANGE,
        TypeKind::Range => TypeId::ANYRANGE,
        TypeKind::Enum => TypeId::ANYENUM,
        TypeKind::Domain => id.base(),
        TypeKind::Base | TypeKind::Pseudo => id,
    };
    let mut defaults = catalog.orders().iter().filter(|order| order.is_default);
    defaults.clone().find(|order| order.id == class).or_else(|| {
        let is_alike = |order: &&OrderEntry| {
            catalog
                .cast(id, order.id)
                .is_some_and(|cast| cast.method == CastMethod::Binary && cast.context == CastContext::Implicit)
        };
        let is_preferred = |order: &&OrderEntry| catalog.type_entry(order.id).is_preferred;
        defaults.clone().filter(is_alike).find(is_preferred).or_else(|| defaults.find(is_alike))
    })
}

fn missing(what: &str, id: TypeId) -> SqlError {
    SqlError::new(SqlState::UndefinedFunction, format!("could not identify {what} for type {}", type_name(id)))
}

/// The comparisons of types that have a variant of [`Value`], by the name of the C function.
fn kernel(symbol: &str) -> Option<Kernel> {
    let kernel: Kernel = match symbol {
        "btboolcmp" => |a, b| a.as_bool().cmp(&b.as_bool()),
        "btint2cmp" => |a, b| a.as_int2().cmp(&b.as_int2()),
        "btint4cmp" => |a, b| a.as_int4().cmp(&b.as_int4()),
        "btint8cmp" => |a, b| a.as_int8().cmp(&b.as_int8()),
        "btoidcmp" => |a, b| a.as_oid().cmp(&b.as_oid()),
        "btfloat4cmp" => |a, b| order_of_floats(a.as_float4().into(), b.as_float4().into()),
        "btfloat8cmp" => |a, b| order_of_floats(a.as_float8(), b.as_float8()),
        "numeric_cmp" => |a, b| a.as_numeric().compare(b.as_numeric()),
        "btcharcmp" => |a, b| a.as_char().cmp(&b.as_char()),
        "bttextcmp" | "btnamecmp" | "bttext_pattern_cmp" => |a, b| a.as_text().cmp(b.as_text()),
        "bpcharcmp" | "btbpchar_pattern_cmp" => |a, b| without_blanks(a.as_text()).cmp(without_blanks(b.as_text())),
        "byteacmp" => |a, b| a.as_bytea().cmp(b.as_bytea()),
        "uuid_cmp" => |a, b| a.as_uuid().cmp(b.as_uuid()),
        "date_cmp" => |a, b| a.as_date().cmp(&b.as_date()),
        "time_cmp" => |a, b| a.as_time().cmp(&b.as_time()),
        // The symbol of timestamptz, too.
        "timestamp_cmp" => |a, b| match (a, b) {
            (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            _ => a.as_timestamptz().cmp(&b.as_timestamptz()),
        },
        "timetz_cmp" => compare_timetz,
        "interval_cmp" => intervals::compare,
        "enum_cmp" => enums::compare_values,
        _ => return None,
    };
    Some(kernel)
}

/// The equality of a type.
#[derive(Clone, Debug)]
pub struct TypeEquality(Equality);

#[derive(Clone, Debug)]
enum Equality {
    ByOrder(TypeOrder),
    /// Types that have no order: the function behind `=`.
    Function(Implementation, SqlType),
}

impl TypeEquality {
    /// The equality of a type; an error if it has none.
    pub fn of(id: TypeId) -> Result<Self, SqlError> {
        Self::find(id)?.ok_or_else(|| missing("an equality operator", id))
    }

    fn find(id: TypeId) -> Result<Option<Self>, SqlError> {
        if let Some(order) = TypeOrder::find(id)? {
            return Ok(Some(Self(Equality::ByOrder(order))));
        }
        let class = match pg_catalog().element_of_array(id) {
            Some(element) if Self::find(element)?.is_none() => return Ok(None),
            Some(_) => TypeId::ANYARRAY,
            None => id,
        };
        let Some(entry) = default_entry(class) else { return Ok(None) };
        match implementation_of(pg_catalog().function(entry.equal)) {
            Some(implementation) => Ok(Some(Self(Equality::Function(implementation, SqlType::of(id))))),
            None => Err(SqlError::unsupported(format!("comparing values of type {} is not supported", type_name(id)))),
        }
    }

    /// Whether two values are equal. Null is equal to nothing.
    pub fn are_equal(&self, left: &Value, right: &Value, session: &dyn SessionFacts) -> Result<bool, SqlError> {
        if left.is_null() || right.is_null() {
            return Ok(false);
        }
        match &self.0 {
            Equality::ByOrder(order) => Ok(order.compare(left, right, session)?.is_eq()),
            Equality::Function(implementation, sql_type) => {
                let types = [*sql_type; 2];
                let call = Call {
                    session,
                    argument_types: &types,
                    result_type: SqlType::of(TypeId::BOOL),
                    memory: &UnlimitedMemory,
                };
                Ok(implementation(&[left.clone(), right.clone()], &call)? == Value::Bool(true))
            }
        }
    }

    /// Whether two values are equal or both null.
    pub fn are_same(&self, left: &Value, right: &Value, session: &dyn SessionFacts) -> Result<bool, SqlError> {
        Ok((left.is_null() && right.is_null()) || self.are_equal(left, right, session)?)
    }
}

/// Where nulls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// Before all values.
    First,
    /// Behind all values.
    Last,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The least value.
    Ascending,
    /// The greatest value.
    Descending,
}

/// An expression of ORDER BY: the order of its type, a direction and the place of nulls.
#[derive(Clone, Debug)]
pub struct SortKey {
    order: TypeOrder,
    direction: Direction,
    nulls: Nulls,
}

impl SortKey {
    /// `ORDER BY x ASC` or `DESC`. Without `NULLS FIRST` or `LAST`, nulls are greater than all values.
    pub fn of(id: TypeId, direction: Direction, nulls: Option<Nulls>) -> Result<Self, SqlError> {
        Ok(Self::new(TypeOrder::of(id)?, direction, nulls))
    }

    /// `ORDER BY x USING op`: `operator` is the function behind it, `name` its name. It is the `<` or `>` of an order.
    pub fn using(id: TypeId, name: &str, operator: FunctionId, nulls: Option<Nulls>) -> Result<Self, SqlError> {
        let mut directions = pg_catalog().orders().iter().filter_map(|entry| {
            let order = entry.order?;
            let direction = match operator {
                operator if operator == order.less => Direction::Ascending,
                operator if operator == order.greater => Direction::Descending,
                _ => return None,
            };
            Some((order.compare, entry.id, direction))
        });
        let Some((compare, class, direction)) = directions.next() else {
            let message = format!("operator {name} is not a valid ordering operator");
            return Err(SqlError::new(SqlState::WrongObjectType, message)
                .with_hint("Ordering operators must be \"<\" or \">\" members of btree operator families."));
        };
        let order = if class.is_polymorphic() { TypeOrder::of(id)? } else { TypeOrder::by(compare, id)? };
        Ok(Self::new(order, direction, nulls))
    }

    fn new(order: TypeOrder, direction: Direction, nulls: Option<Nulls>) -> Self {
        let nulls = nulls.unwrap_or(match direction {
            Direction::Ascending => Nulls::Last,
            Direction::Descending => Nulls::First,
        });
        Self { order, direction, nulls }
    }

    /// Which end comes first.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Where nulls come.
    pub fn nulls(&self) -> Nulls {
        self.nulls
    }

    /// Which of two values, or nulls, comes first.
    pub fn compare(&self, left: &Value, right: &Value, session: &dyn SessionFacts) -> Result<Ordering, SqlError> {
        let ordering = match (left.is_null(), right.is_null(), self.nulls) {
            (false, false, _) => {
                let ordering = self.order.compare(left, right, session)?;
                if self.direction == Direction::Descending { ordering.reverse() } else { ordering }
            }
            (left_is_null, right_is_null, Nulls::Last) => left_is_null.cmp(&right_is_null),
            (left_is_null, right_is_null, Nulls::First) => right_is_null.cmp(&left_is_null),
        };
        Ok(ordering)
    }
}

/// Which of two rows comes first, by the keys of both in this order.
pub fn compare_rows(
    keys: &[SortKey],
    left: &[Value],
    right: &[Value],
    session: &dyn SessionFacts,
) -> Result<Ordering, SqlError> {
    for ((key, left), right) in keys.iter().zip(left).zip(right) {
        let ordering = key.compare(left, right, session)?;
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(Ordering::Equal)
}

#[cfg(test)]
mod tests;
