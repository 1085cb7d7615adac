//! The enumerated types of the databases that this process has open.
//!
//! A label has a *key*, an integer that never changes. Keys are ordered as the labels are, so that columns, vectors, zone maps and
//! comparisons hold keys and look nothing up. The labels of CREATE TYPE are [`KEY_GAP`] apart. A label that ALTER TYPE puts between two
//! others gets the key half-way, as PostgreSQL does with its sort orders, which are the keys divided by the gap.
//!
//! The front end names a type by an [`EnumTypeId`], which belongs to one type of one open database until the process ends. What the type
//! is called and its labels are looked up when they are needed, so that a change is seen by statements that run already, as in PostgreSQL.
//! Statements must only ever read keys as labels that the type has: labels are added and renamed, and never removed.
//!
//! A type takes some hundred bytes until the process ends, also after DROP TYPE: a plan that still runs may show its values.

use std::sync::Arc;

use crate::ids::SchemaId;
use crate::type_registry::TypeRegistry;

/// The first oid of user-defined types, their array types, labels and constraints. Those of tables are below.
pub const FIRST_TYPE_OID: u32 = 0x4000_0000;

/// The end of these oids.
pub const TYPE_OID_END: u32 = 0x8000_0000;

/// The difference of the keys of two labels that nothing was put between: 40 labels can be put between them at least.
pub const KEY_GAP: i64 = 1 << 40;

/// Bytes of a label (`NAMEDATALEN - 1`).
pub const LABEL_BYTES_MAX: usize = 63;

/// A label of an enumerated type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumLabel {
    /// `pg_enum.oid`
    pub oid: u32,
    /// Its place among the labels, and its value.
    pub key: i64,
    /// The label.
    pub text: Arc<str>,
}

/// An enumerated type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_type.oid` of its array type.
    pub array_oid: u32,
    /// Its schema.
    pub schema: SchemaId,
    /// Its name.
    pub name: String,
    /// The name of its array type.
    pub array_name: String,
    /// Its labels, by ascending key.
    pub labels: Vec<EnumLabel>,
}

/// Where ALTER TYPE … ADD VALUE puts a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelPlace<'a> {
    /// Behind all others.
    Last,
    /// Before this one.
    Before(&'a str),
    /// After this one.
    After(&'a str),
}

/// Why a label has no key at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// The label that names the place does not exist.
    UnknownLabel(String),
    /// No integer is left between two labels, or beyond the last one.
    NoRoom,
}

impl EnumType {
    /// `pg_enum.enumsortorder` of each label: 1, 2, …, and fractions for what was put between; where these would not differ any more, all are
    /// counted anew.
    pub fn sort_orders(&self) -> Vec<f32> {
        let orders: Vec<f32> = self.labels.iter().map(|label| (label.key as f64 / KEY_GAP as f64) as f32).collect();
        if orders.is_sorted_by(|one, next| one < next) {
            return orders;
        }
        (1..=orders.len()).map(|place| place as f32).collect()
    }

    /// The label with this text.
    pub fn label(&self, text: &str) -> Option<&EnumLabel> {
        self.labels.iter().find(|label| &*label.text == text)
    }

    /// The label of a value.
    pub fn label_of_key(&self, key: i64) -> Option<&EnumLabel> {
        self.labels.binary_search_by_key(&key, |label| label.key).ok().map(|at| &self.labels[at])
    }

    /// The key of a label that is put at a place.
    ///
    /// # Errors
    /// When the place is beside no label, or there is no integer left.
    pub fn key_at(&self, place: LabelPlace<'_>) -> Result<i64, NoKey> {
        let position = |text: &str| {
            let at = self.labels.iter().position(|label| &*label.text == text);
            at.ok_or_else(|| NoKey::UnknownLabel(text.to_owned()))
        };
        let before = match place {
            LabelPlace::Last => self.labels.len(),
            LabelPlace::Before(text) => position(text)?,
            LabelPlace::After(text) => position(text)? + 1,
        };
        let key = |at: usize| self.labels.get(at).map(|label| label.key);
        let found = match (before.checked_sub(1).and_then(key), key(before)) {
            (None, None) => Some(KEY_GAP),
            (Some(last), None) => last.checked_add(KEY_GAP),
            (None, Some(first)) => first.checked_sub(KEY_GAP),
            (Some(lower), Some(upper)) => Some(lower.midpoint(upper)).filter(|key| *key > lower && *key < upper),
        };
        found.ok_or(NoKey::NoRoom)
    }

    /// Puts a label in, at the place of its key.
    pub fn insert(&mut self, label: EnumLabel) {
        let at = self.labels.partition_point(|other| other.key < label.key);
        self.labels.insert(at, label);
    }
}

/// The enumerated types of all databases, by their ids.
static TYPES: TypeRegistry<EnumType> = TypeRegistry::new();

/// A type of a database that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumTypeId(u32);

impl EnumTypeId {
    /// Makes a type known.
    pub fn register(definition: Arc<EnumType>) -> Self {
        Self(TYPES.add(definition))
    }

    /// The type with this number; `None` if there is none.
    pub fn of_number(number: u32) -> Option<Self> {
        TYPES.get(number).map(|_| Self(number))
    }

    /// Its number, below the count of all types that the process has opened.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The type as it is now.
    pub fn definition(self) -> Arc<EnumType> {
        TYPES.get(self.0).expect("the number of a type is given out for its entry")
    }

    /// Notes how a transaction changes the type, which others do not see before its commit.
    pub fn propose(self, definition: &Arc<EnumType>) {
        TYPES.propose(self.0, definition);
    }

    /// Whether a transaction that has not committed adds a label of this text.
    pub fn is_proposed(self, text: &str) -> bool {
        let has = |definition: Arc<EnumType>| definition.label(text).is_some();
        self.definition().label(text).is_none() && TYPES.proposed(self.0).into_iter().any(has)
    }

    /// Changes the type. Its keys keep their labels.
    pub fn redefine(self, definition: Arc<EnumType>) {
        TYPES.replace(self.0, definition);
    }
}

/// The type of a column: of an open database, or as the manifest has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EnumTypeRef {
    /// The oid of a type, in a manifest that is read or written as plain data.
    Stored(u32),
    /// The type.
    Open(EnumTypeId),
}

impl EnumTypeRef {
    /// `pg_type.oid`
    pub fn oid(self) -> u32 {
        match self {
            Self::Stored(oid) => oid,
            Self::Open(id) => id.definition().oid,
        }
    }

    /// The type. A store resolves all columns when it opens.
    ///
    /// # Panics
    /// For a column that is only data of a manifest.
    pub fn opened(self) -> EnumTypeId {
        match self {
            Self::Open(id) => id,
            Self::Stored(oid) => panic!("the type with oid {oid} belongs to no open database"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(labels: &[(&str, i64)]) -> EnumType {
        let label = |(oid, (text, key)): (u32, &(&str, i64))| EnumLabel { oid, key: *key, text: (*text).into() };
        EnumType {
            oid: FIRST_TYPE_OID,
            array_oid: FIRST_TYPE_OID + 1,
            schema: SchemaId::PUBLIC,
            name: "letters".to_owned(),
            array_name: "_letters".to_owned(),
            labels: (FIRST_TYPE_OID + 2..).zip(labels).map(label).collect(),
        }
    }

    #[test]
    fn labels_go_to_the_places_that_they_are_given() {
        let mut letters = letters(&[("b", KEY_GAP), ("d", 2 * KEY_GAP)]);
        for (text, place) in [
            ("a", LabelPlace::Before("b")),
            ("c", LabelPlace::After("b")),
            ("e", LabelPlace::Last),
            ("f", LabelPlace::After("e")),
        ] {
            let key = letters.key_at(place).unwrap();
            letters.insert(EnumLabel { oid: 0, key, text: text.into() });
        }
        let texts: String = letters.labels.iter().map(|label| &*label.text).collect();
        assert_eq!(texts, "abcdef");
        // SELECT enumsortorder FROM pg_enum, after the same statements.
        assert_eq!(letters.sort_orders(), [0.0, 1.0, 1.5, 2.0, 3.0, 4.0]);
        assert_eq!(letters.label_of_key(KEY_GAP).map(|label| &*label.text), Some("b"));
        assert_eq!(letters.label_of_key(KEY_GAP + 1), None);
    }

    #[test]
    fn a_place_beside_no_label_and_one_without_room_have_no_key() {
        let pair = letters(&[("a", 7), ("b", 8)]);
        assert_eq!(pair.key_at(LabelPlace::Before("b")), Err(NoKey::NoRoom));
        assert_eq!(pair.key_at(LabelPlace::After("x")), Err(NoKey::UnknownLabel("x".to_owned())));
        assert_eq!(letters(&[("a", i64::MAX)]).key_at(LabelPlace::Last), Err(NoKey::NoRoom));
        assert_eq!(letters(&[]).key_at(LabelPlace::Last), Ok(KEY_GAP));
    }

    #[test]
    fn forty_labels_fit_between_two_wherever_they_are_put() {
        let mut letters = letters(&[("a", KEY_GAP), ("b", 2 * KEY_GAP)]);
        for at in 0..40 {
            let text = format!("i{at}");
            let last = format!("i{}", at - 1);
            let place = match at {
                0 => LabelPlace::Before("b"),
                _ if at % 2 == 0 => LabelPlace::After(&last),
                _ => LabelPlace::Before(&last),
            };
            let key = letters.key_at(place).unwrap_or_else(|error| panic!("label {at}: {error:?}"));
            letters.insert(EnumLabel { oid: 0, key, text: text.into() });
        }
        assert_eq!(letters.labels.len(), 42);
        // 32 bits cannot tell so many fractions apart.
        assert!(letters.sort_orders().iter().zip(1..).all(|(order, place)| *order == place as f32));
    }

    #[test]
    fn a_change_is_seen_through_the_same_id() {
        let id = EnumTypeId::register(Arc::new(letters(&[("a", 1)])));
        let other = EnumTypeId::register(Arc::new(letters(&[])));
        id.redefine(Arc::new(letters(&[("z", 1)])));
        assert_eq!(&*id.definition().labels[0].text, "z");
        assert!(other.definition().labels.is_empty() && id != other);
        assert_eq!(EnumTypeId::of_number(id.number()), Some(id));
        assert_eq!(EnumTypeRef::Open(id).oid(), EnumTypeRef::Stored(FIRST_TYPE_OID).oid());
    }
}
