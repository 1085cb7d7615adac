//! The keys of a table: by name, by what makes them, and whether they make sense.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_base::ColumnId;

use crate::ColumnType;
use crate::key_index::{
    KEY_COLUMNS_MAX, KEYS_MAX, KeyDef, KeyForm, KeyId, KeyKind, KeyMember, KeyNulls, KeyShape, MemberSource,
    is_key_type,
};
use crate::store_error::{DuplicateKey, KeyMemberName};
use crate::table::{NAME_BYTES_MAX, TableDef};

/// The shape of a key of this table.
pub(crate) fn shape_of(def: &TableDef, key: &KeyDef) -> KeyShape {
    let shape = shape_of_columns(def, &key.columns, key.nulls);
    match key.computed() {
        Some(form) => {
            let types = form.members.iter().map(|member| member_type(def, member));
            let names = key.columns.iter().filter_map(|id| def.column_by_id(*id)).map(|column| column.name.clone());
            shape.computed_by(Arc::clone(form), types.collect(), names.collect())
        }
        None => shape,
    }
}

fn member_type(def: &TableDef, member: &KeyMember) -> ColumnType {
    match &member.source {
        MemberSource::Column(id) => def.column_by_id(*id).expect("a key has columns of its table").column_type,
        MemberSource::Expression { column_type, .. } => *column_type,
    }
}

/// What the keys of a table are locked as: those of two keys with the same columns are the same, computed ones aside.
pub(crate) fn key_id(def: &TableDef, key: &KeyDef) -> KeyId {
    let of = if key.computed().is_some() { key.id } else { def.id };
    (of, key.columns.clone(), key.nulls)
}

/// The shape of a key of these columns of a table.
pub(crate) fn shape_of_columns(def: &TableDef, columns: &[ColumnId], nulls: KeyNulls) -> KeyShape {
    let columns = || columns.iter().map(|id| def.column_by_id(*id).expect("a key has columns of its table"));
    let types = columns().map(|column| (column.id, column.column_type)).collect();
    KeyShape::new(types, columns().map(|column| column.missing.as_ref()), nulls)
}

/// The rows of a table that have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicate {
    /// One of them is to be added.
    Added,
    /// The table has both, and is to get the key.
    Present,
}

/// That rows have the same key, whose values these are.
pub(crate) fn duplicate_key(def: &TableDef, key: &KeyDef, values: Vec<ArrayRef>, rows: Duplicate) -> Box<DuplicateKey> {
    let column = |id: &ColumnId| {
        let column = def.column_by_id(*id)?;
        Some((KeyMemberName::Column(column.name.clone()), column.column_type))
    };
    let member = |member: &KeyMember| match &member.source {
        MemberSource::Column(id) => column(id),
        MemberSource::Expression { text, column_type, .. } => {
            Some((KeyMemberName::Expression(text.clone()), *column_type))
        }
    };
    let (members, types) = match key.computed() {
        Some(form) => form.members.iter().filter_map(member).unzip(),
        None => key.columns.iter().filter_map(column).unzip(),
    };
    Box::new(DuplicateKey {
        schema: def.schema,
        table: def.name.clone(),
        key: key.name.clone(),
        members,
        types,
        values,
        is_of_table: rows == Duplicate::Present,
    })
}

impl TableDef {
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&KeyDef> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The keys of which no two rows have the same.
    pub fn unique_keys(&self) -> impl Iterator<Item = &KeyDef> {
        self.keys.iter().filter(|key| key.kind.is_unique())
    }

    /// Whether it has a primary key that is only declared.
    pub fn has_declared_primary_key(&self) -> bool {
        !self.primary_key.is_empty() && self.enforced_primary_key().is_none()
    }

    /// The enforced primary key.
    pub fn enforced_primary_key(&self) -> Option<&KeyDef> {
        self.keys.iter().find(|key| key.kind == KeyKind::Primary)
    }

    /// Whether the keys make sense; if not, a sentence that says what does not.
    pub(crate) fn validate_keys(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        let mut ids = HashSet::from([self.id]);
        for key in &self.keys {
            let KeyDef { id, name, columns, kind, patterns, .. } = key;
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !names.insert(name) || !ids.insert(*id) {
                return Err(format!("the name of key \"{name}\" is too long, empty, or not its own, or its id is not"));
            }
            let distinct: HashSet<&ColumnId> = columns.iter().collect();
            let computed = key.computed();
            let least = if computed.is_some() { 0 } else { 1 };
            let most = if computed.is_some() { usize::MAX } else { KEY_COLUMNS_MAX };
            if !(least..=most).contains(&columns.len()) || distinct.len() != columns.len() {
                let count = columns.len();
                return Err(format!(
                    "key \"{name}\" has {count} columns; keys have 1 to {KEY_COLUMNS_MAX} different ones"
                ));
            }
            let has_type = |id: &ColumnId| self.column_by_id(*id).is_some_and(|column| is_key_type(column.column_type));
            let has_column = |id: &ColumnId| self.column_by_id(*id).is_some();
            let fits = match kind.is_unique() && computed.is_none() {
                true => columns.iter().all(has_type),
                false => columns.iter().all(has_column),
            };
            if !fits {
                return Err(format!(
                    "a column of key \"{name}\" is none of the table, or of a type that keys cannot have"
                ));
            }
            let has_patterns = patterns.iter().all(|column| columns.contains(column));
            if !has_patterns || !patterns.is_empty() && *kind != KeyKind::Index {
                return Err(format!(
                    "key \"{name}\" orders columns for patterns that are not its own, or is no plain index"
                ));
            }
            if let Some(form) = &key.form {
                self.validate_form(key, form)?;
            }
            if *kind == KeyKind::Primary && *columns != self.primary_key {
                return Err(format!("key \"{name}\" is the primary key, and has other columns than this"));
            }
        }
        if self.keys.len() > KEYS_MAX {
            return Err(format!("it has {} keys; a table has at most {KEYS_MAX}", self.keys.len()));
        }
        Ok(())
    }

    /// Whether the form of an index makes sense.
    fn validate_form(&self, key: &KeyDef, form: &KeyForm) -> Result<(), String> {
        let name = &key.name;
        if key.kind.is_constraint() || !key.patterns.is_empty() {
            return Err(format!("key \"{name}\" has expressions, orders or a condition, and is a constraint"));
        }
        if !(1..=KEY_COLUMNS_MAX).contains(&form.members.len()) {
            return Err(format!("index \"{name}\" has {} members; at most {KEY_COLUMNS_MAX}", form.members.len()));
        }
        if form.included.iter().any(|id| self.column_by_id(*id).is_none()) {
            return Err(format!("an included column of index \"{name}\" is none of the table"));
        }
        let fits = |column_type: ColumnType| !key.kind.is_unique() || is_key_type(column_type);
        let mut columns = Vec::new();
        for member in &form.members {
            let is_fit = match &member.source {
                MemberSource::Column(id) => {
                    columns.push(*id);
                    key.columns.contains(id) && self.column_by_id(*id).is_some_and(|column| fits(column.column_type))
                }
                MemberSource::Expression { text, name, column_type } => {
                    !text.is_empty() && (1..=NAME_BYTES_MAX).contains(&name.len()) && fits(*column_type)
                }
            };
            if !is_fit {
                return Err(format!(
                    "a member of index \"{name}\" is none of the table, or of a type that keys cannot have"
                ));
            }
        }
        match form.is_computed() || columns == key.columns {
            true => Ok(()),
            false => Err(format!("index \"{name}\" has other members than columns")),
        }
    }
}
