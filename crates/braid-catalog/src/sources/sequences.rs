//! `pg_sequence`; the rows of sequences in `pg_class` and `pg_attribute`; what depends on columns and sequences, in `pg_depend`.

use braid_base::{ColumnId, TableId};
use braid_sql::pg_catalog::TypeId;
use braid_sql::{SqlType, Value};
use braid_storage::{Catalog, CatalogSequence, SequenceDef, SequenceType, SequenceUse};

use super::columns::attribute;
use super::dependencies::dependency;
use crate::named_row::{NamedRow, oid};
use crate::object_ids::{default_id, table_object_id};
use crate::sequence_references::references;

/// The columns of a sequence's only row.
pub const SEQUENCE_COLUMNS: [(&str, TypeId); 3] =
    [("last_value", TypeId::INT8), ("log_cnt", TypeId::INT8), ("is_called", TypeId::BOOL)];

/// `pg_class` and `pg_attrdef`, as relations that `pg_depend` names.
const CLASS_ID: u32 = 1259;
const DEFAULT_CLASS_ID: u32 = 2604;

/// The type of a sequence's numbers.
pub fn type_of_numbers(value_type: SequenceType) -> TypeId {
    match value_type {
        SequenceType::SmallInt => TypeId::INT2,
        SequenceType::Integer => TypeId::INT4,
        SequenceType::BigInt => TypeId::INT8,
    }
}

/// The only row of a sequence.
pub fn sequence_row(sequence: &CatalogSequence) -> [Value; 3] {
    let shown = sequence.counter.shown();
    let left = i64::try_from(shown.left).unwrap_or(i64::MAX);
    [Value::Int8(shown.state.last_value), Value::Int8(left), Value::Bool(shown.state.is_called)]
}

/// The rows of `pg_sequence`.
pub(super) fn sequences(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |def: &SequenceDef| {
        vec![
            ("seqrelid", oid(table_object_id(def.id))),
            ("seqtypid", oid(type_of_numbers(def.value_type).oid())),
            ("seqstart", Value::Int8(def.start)),
            ("seqincrement", Value::Int8(def.increment)),
            ("seqmax", Value::Int8(def.max)),
            ("seqmin", Value::Int8(def.min)),
            ("seqcache", Value::Int8(def.cache)),
            ("seqcycle", Value::Bool(def.cycles)),
        ]
    };
    catalog.sequences().map(|known| row(&known.definition)).collect()
}

/// The rows of a sequence's columns in `pg_attribute`.
pub(super) fn attributes(catalog: &Catalog) -> impl Iterator<Item = NamedRow> {
    catalog.sequences().flat_map(|known| {
        let id = table_object_id(known.definition.id);
        SEQUENCE_COLUMNS.into_iter().enumerate().map(move |(at, (name, type_id))| {
            let mut row = attribute(id, at, name, SqlType::of(type_id));
            row.push(("attnotnull", Value::Bool(true)));
            row
        })
    })
}

/// Sequences depend on the columns that own them, defaults on their columns and on the sequences that they name, expressions of generated
/// columns on the columns that they read.
pub(super) fn dependencies(catalog: &Catalog) -> Vec<NamedRow> {
    let owned = catalog.sequences().filter_map(|known| {
        let owner = known.definition.owner?;
        let kind = if owner.usage == SequenceUse::Owned { b'a' } else { b'i' };
        let column = (CLASS_ID, table_object_id(owner.table), i32::from(owner.column.0) + 1);
        let sequence = (CLASS_ID, table_object_id(known.definition.id));
        Some(dependency(sequence, column, kind))
    });
    let mut rows: Vec<NamedRow> = owned.collect();
    for table in catalog.tables() {
        for column in &table.def.columns {
            let Some(default) = column.default_or_expression() else { continue };
            if identity_letter(catalog, table.def.id, column.id).is_some() {
                continue;
            }
            let default_id = (DEFAULT_CLASS_ID, default_id(table.def.id, column.id.0.into()));
            let of = |column: ColumnId| (CLASS_ID, table_object_id(table.def.id), i32::from(column.0) + 1);
            let kind = if column.generated.is_some() { b'i' } else { b'a' };
            let read = column.generated.iter().flat_map(|generated| &generated.columns).map(|read| (of(*read), b'n'));
            let named = references(default).map(|sequence| ((CLASS_ID, sequence, 0), b'n'));
            let all = [(of(column.id), kind)].into_iter().chain(named).chain(read);
            rows.extend(all.map(|(referred, kind)| dependency(default_id, referred, kind)));
        }
    }
    rows
}

/// What `attidentity` says of an identity column: a default is none to clients there.
pub(super) fn identity_letter(catalog: &Catalog, table: TableId, column: ColumnId) -> Option<u8> {
    match catalog.identity_of(table, column)? {
        SequenceUse::Always => Some(b'a'),
        SequenceUse::ByDefault => Some(b'd'),
        SequenceUse::Owned => None,
    }
}
