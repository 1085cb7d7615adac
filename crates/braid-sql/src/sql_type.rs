//! A type with its modifier: `numeric(10,2)`, `varchar(5)`, `timestamp(3)`.

use crate::pg_catalog::TypeId;

/// What PostgreSQL adds to lengths in modifiers: the header of a value of variable length.
const HEADER_BYTES: i32 = 4;

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SqlType {
    /// The type.
    pub id: TypeId,
    /// `atttypmod`: what its parameters are encoded as; -1 for none. The element's, for arrays.
    pub modifier: i32,
}

impl SqlType {
    /// A type without parameters.
    pub const fn of(id: TypeId) -> Self {
        Self { id, modifier: -1 }
    }

    /// The type whose values it has: of a domain, that which it is of in the end.
    #[must_use]
    pub fn base(self) -> Self {
        self.id.domain_parent().map_or(self, |(id, modifier)| Self { id, modifier }.base())
    }

    /// `numeric(precision, scale)`. Scales from -1000 to 1000 are in eleven bits (`make_numeric_typmod`).
    pub const fn numeric(precision: i32, scale: i32) -> Self {
        Self { id: TypeId::NUMERIC, modifier: ((precision << 16) | (scale & 0x7ff)) + HEADER_BYTES }
    }

    /// Precision and scale of a numeric that has them.
    pub fn numeric_digits(self) -> Option<(i32, i32)> {
        (self.id == TypeId::NUMERIC && self.modifier >= HEADER_BYTES).then(|| numeric_digits(self.modifier))
    }

    /// A record whose type has this number in its statement. The modifier is twice the number, and one more if a field is a record of which
    /// nothing is known.
    pub(crate) const fn of_record(number: i32, are_fields_known: bool) -> Self {
        Self { id: TypeId::RECORD, modifier: 2 * number + !are_fields_known as i32 }
    }

    /// The number of a record's type, if something is known of its fields.
    pub(crate) fn record_number(self) -> Option<i32> {
        (self.id == TypeId::RECORD && self.modifier >= 0).then_some(self.modifier / 2)
    }

    /// Whether all its values have fields of the same types, if it is a record or an array of records; true for other types.
    pub fn has_known_fields(self) -> bool {
        let is_record = self.id == TypeId::RECORD || self.id == TypeId::RECORD_ARRAY;
        !is_record || self.modifier >= 0 && self.modifier % 2 == 0
    }

    /// `varchar(n)` or `char(n)`.
    pub const fn with_length(id: TypeId, length: i32) -> Self {
        Self { id, modifier: length + HEADER_BYTES }
    }

    /// The n of `varchar(n)` and `char(n)`.
    pub fn length(self) -> Option<i32> {
        let has_length = [TypeId::VARCHAR, TypeId::BPCHAR].contains(&self.id);
        (has_length && self.modifier >= HEADER_BYTES).then_some(self.modifier - HEADER_BYTES)
    }
}

/// Precision and scale in the modifier of a numeric.
pub fn numeric_digits(modifier: i32) -> (i32, i32) {
    let bits = modifier - HEADER_BYTES;
    (bits >> 16 & 0xffff, ((bits & 0x7ff) ^ 1024) - 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_postgresqls() {
        // SELECT atttypmod FROM pg_attribute, of numeric(10,2), numeric(3,-2), varchar(5).
        assert_eq!(SqlType::numeric(10, 2).modifier, 655_366);
        assert_eq!(SqlType::numeric(3, -2).modifier, 198_658);
        assert_eq!(SqlType::with_length(TypeId::VARCHAR, 5).modifier, 9);
        for (precision, scale) in [(1, 0), (1000, 1000), (5, -1000), (38, 38)] {
            assert_eq!(SqlType::numeric(precision, scale).numeric_digits(), Some((precision, scale)));
        }
        assert_eq!(
            (SqlType::of(TypeId::NUMERIC).numeric_digits(), SqlType::of(TypeId::VARCHAR).length()),
            (None, None)
        );
        assert_eq!(SqlType::with_length(TypeId::BPCHAR, 7).length(), Some(7));
    }
}
