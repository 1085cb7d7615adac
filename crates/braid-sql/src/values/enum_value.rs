//! A value of an enumerated type.

use braid_base::EnumTypeId;

/// A label of a type, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumValue {
    /// The type.
    pub enum_type: EnumTypeId,
    /// The key, which is ordered as the labels are.
    pub key: i64,
}
