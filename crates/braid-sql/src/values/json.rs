//! The values of `jsonb`: trees, in which containers are shared.
//!
//! The keys of an object are unique and in PostgreSQL's order: by their number of bytes, then by the bytes. A number keeps its scale, so
//! `1.0` and `1.00` are written differently, and are equal. A value of type `json` is the text itself, and no tree.

use std::cmp::Ordering;
use std::sync::Arc;

use super::json_datetime::JsonDatetime;
use super::numeric::Numeric;
use crate::{SqlError, SqlState};

/// The most containers within each other. PostgreSQL's limit is its stack; functions of trees recurse as deeply here.
pub const DEPTH_MAX: usize = 1000;

/// A value of `jsonb`.
///
/// `PartialEq` is equality of representations, for tests; [`Jsonb::compare`] is SQL's order.
#[derive(Clone, Debug, PartialEq)]
pub enum Jsonb {
    /// `null`, which is not SQL's null.
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number. It is finite.
    Number(Numeric),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<[Jsonb]>),
    /// An object: keys with their values, in the order of keys.
    Object(Arc<[(Arc<str>, Jsonb)]>),
    /// A date or a time, within a jsonpath only.
    Datetime(JsonDatetime),
}

impl Jsonb {
    /// A string.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// An array.
    pub fn array(elements: impl Into<Arc<[Self]>>) -> Self {
        Self::Array(elements.into())
    }

    /// An object of these fields, in any order. Of several with one key, the last counts.
    pub fn object(mut fields: Vec<(Arc<str>, Self)>) -> Self {
        fields.sort_by(|(one, _), (other, _)| key_order(one, other));
        fields.reverse();
        fields.dedup_by(|(one, _), (other, _)| one == other);
        fields.reverse();
        Self::Object(fields.into())
    }

    /// Whether it is neither an array nor an object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// Its elements as those functions see them that take a scalar for an array of one element; `None` for an object.
    pub fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            Self::Object(_) => None,
            scalar => Some(std::slice::from_ref(scalar)),
        }
    }

    /// The value of a key; `None` if it is no object, or has no such key.
    pub fn field(&self, key: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        let at = fields.binary_search_by(|(own, _)| key_order(own, key)).ok()?;
        Some(&fields[at].1)
    }

    /// The order of jsonb's operators: null, strings, numbers, booleans, arrays, objects. Of containers, the one with more members is
    /// greater. An empty array that stands alone is less than a scalar that does, as it is in PostgreSQL.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.difference(other, |one, other| one.cmp(other) as i32).cmp(&0)
    }

    /// The order as a number below, at or above 0. The first strings that differ say which, if they decide.
    pub fn difference(&self, other: &Self, of_strings: fn(&str, &str) -> i32) -> i32 {
        match (self, other) {
            (Self::Array(elements), scalar) if elements.is_empty() && scalar.is_scalar() => -1,
            (scalar, Self::Array(elements)) if elements.is_empty() && scalar.is_scalar() => 1,
            _ => self.difference_within(other, of_strings),
        }
    }

    fn difference_within(&self, other: &Self, of_strings: fn(&str, &str) -> i32) -> i32 {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other) as i32,
            (Self::Number(one), Self::Number(other)) => one.compare(other) as i32,
            (Self::String(one), Self::String(other)) => of_strings(one, other),
            (Self::Array(one), Self::Array(other)) if one.len() == other.len() => {
                first_difference(one.iter().zip(other.iter()).map(|(a, b)| a.difference_within(b, of_strings)))
            }
            (Self::Array(one), Self::Array(other)) => one.len().cmp(&other.len()) as i32,
            (Self::Object(one), Self::Object(other)) if one.len() == other.len() => {
                first_difference(one.iter().zip(other.iter()).map(
                    |((key, value), (other_key, other))| match of_strings(key, other_key) {
                        0 => value.difference_within(other, of_strings),
                        difference => difference,
                    },
                ))
            }
            (Self::Object(one), Self::Object(other)) => one.len().cmp(&other.len()) as i32,
            _ => self.rank().cmp(&other.rank()) as i32,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::String(_) => 1,
            Self::Number(_) => 2,
            Self::Bool(_) => 3,
            Self::Array(_) => 4,
            Self::Object(_) => 5,
            Self::Datetime(_) => 6,
        }
    }

    /// Refuses a tree that is too deep for the functions of trees. What makes trees of trees calls this.
    pub fn checked(self) -> Result<Self, SqlError> {
        self.check_depth(DEPTH_MAX)?;
        Ok(self)
    }

    fn check_depth(&self, levels: usize) -> Result<(), SqlError> {
        if self.is_scalar() {
            return Ok(());
        }
        let levels = levels.checked_sub(1).ok_or_else(too_deep)?;
        match self {
            Self::Array(elements) => elements.iter().try_for_each(|element| element.check_depth(levels)),
            Self::Object(fields) => fields.iter().try_for_each(|(_, value)| value.check_depth(levels)),
            _ => Ok(()),
        }
    }
}

fn first_difference(mut differences: impl Iterator<Item = i32>) -> i32 {
    differences.find(|difference| *difference != 0).unwrap_or(0)
}

/// The order of an object's keys.
pub fn key_order(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Containers that are nested too deeply.
pub fn too_deep() -> SqlError {
    SqlError::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
        .with_hint(format!("A value of type json may have {DEPTH_MAX} levels of arrays and objects."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_sorted_unique_keys() {
        let field = |key: &str, value: i32| (Arc::from(key), Jsonb::Number(value.into()));
        let object = Jsonb::object(vec![field("b", 1), field("aa", 2), field("a", 3), field("b", 4)]);
        assert_eq!(object, Jsonb::Object(vec![field("a", 3), field("b", 4), field("aa", 2)].into()));
        assert_eq!(object.field("b"), Some(&Jsonb::Number(4.into())));
        assert_eq!(object.field("c"), None);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| (0..levels).fold(Jsonb::Null, |inner, _| Jsonb::array(vec![inner]));
        assert!(nested(DEPTH_MAX).checked().is_ok());
        assert_eq!(nested(DEPTH_MAX + 1).checked().unwrap_err().sqlstate(), "54001");
    }
}
