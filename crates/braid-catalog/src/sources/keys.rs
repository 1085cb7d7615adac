//! `pg_constraint` and `pg_index`: keys and check constraints.

use braid_base::{ColumnId, TableId};
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::ArrayValue;
use braid_sql::{SqlType, Value};
use braid_storage::{Catalog, ColumnDef, KeyForm, KeyKind, KeyMember, KeyNulls, MemberSource, TableDef};

use crate::column_types::sql_type_of;
use crate::named_row::{NamedRow, letter, oid, small, text, vector, yes};
use crate::object_ids::{
    check_constraint_id, key_constraint_id, key_index_id, pattern_class_id, schema_object_id, table_object_id,
};
use crate::stored_types::{StoredType, stored_type};
use crate::type_references::ShownTypes;

/// Bytes of a name (`NAMEDATALEN - 1`).
pub(super) const NAME_BYTES_MAX: usize = 63;

/// The name of a primary key that is only declared, which is also that of its index: `table_pkey`, and with a number if there is a relation of
/// this name in the same schema.
fn key_name(catalog: &Catalog, table: &TableDef) -> String {
    let mut label = "_pkey".to_owned();
    for number in 1.. {
        let name = shortened(&table.name, NAME_BYTES_MAX - label.len()).to_owned() + &label;
        if !catalog.has_relation(table.schema, &name) {
            return name;
        }
        label = format!("_pkey{number}");
    }
    unreachable!("a database has fewer tables than numbers")
}

/// The longest beginning of a name with at most this many bytes.
fn shortened(name: &str, bytes_max: usize) -> &str {
    &name[..name.floor_char_boundary(bytes_max)]
}

/// A key as clients see it: one that is enforced, or a primary key that is only declared.
pub(crate) struct ShownKey<'a> {
    pub def: &'a TableDef,
    /// The number of its object ids: its own, or the table's.
    pub id: TableId,
    pub name: String,
    pub columns: &'a [ColumnId],
    pub kind: KeyKind,
    nulls: KeyNulls,
    patterns: &'a [ColumnId],
    form: Option<&'a KeyForm>,
}

/// A column of an index as clients see it.
pub(crate) struct ShownMember<'a> {
    pub name: &'a str,
    pub sql_type: SqlType,
    /// The number of the column, from 1; 0 for an expression.
    number: usize,
    /// The text of an expression.
    text: Option<&'a str>,
    for_patterns: bool,
    /// Bit 0: DESC; bit 1: NULLS FIRST.
    option: i16,
}

/// The keys of all tables.
pub(crate) fn all_keys(catalog: &Catalog) -> impl Iterator<Item = ShownKey<'_>> {
    catalog.tables().flat_map(|table| keys_of(catalog, &table.def))
}

/// The keys of a table.
pub(crate) fn keys_of<'a>(catalog: &Catalog, def: &'a TableDef) -> impl Iterator<Item = ShownKey<'a>> {
    let is_declared = !def.primary_key.is_empty() && def.enforced_primary_key().is_none();
    let declared = is_declared.then(|| ShownKey {
        def,
        id: def.id,
        name: key_name(catalog, def),
        columns: &def.primary_key,
        kind: KeyKind::Primary,
        nulls: KeyNulls::Distinct,
        patterns: &[],
        form: None,
    });
    let enforced = def.keys.iter().map(move |key| ShownKey {
        def,
        id: key.id,
        name: key.name.clone(),
        columns: &key.columns,
        kind: key.kind,
        nulls: key.nulls,
        patterns: &key.patterns,
        form: key.form.as_deref(),
    });
    declared.into_iter().chain(enforced)
}

impl<'a> ShownKey<'a> {
    /// What it is of, without included columns.
    pub fn members(&self) -> Vec<ShownMember<'a>> {
        let def = self.def;
        let of_column = |id: &ColumnId, for_patterns: bool, option: i16| {
            def.column_by_id(*id).map(|column| ShownMember {
                name: &column.name,
                sql_type: sql_type_of(column.column_type),
                number: usize::from(id.0) + 1,
                text: None,
                for_patterns,
                option,
            })
        };
        let member = |member: &'a KeyMember| {
            let option = i16::from(member.descends) + 2 * i16::from(member.nulls_first);
            match &member.source {
                MemberSource::Column(id) => of_column(id, member.for_patterns, option),
                MemberSource::Expression { text, name, column_type } => Some(ShownMember {
                    name,
                    sql_type: sql_type_of(*column_type),
                    number: 0,
                    text: Some(text),
                    for_patterns: member.for_patterns,
                    option,
                }),
            }
        };
        match self.form {
            Some(form) => form.members.iter().filter_map(member).collect(),
            None => {
                let of_plain = |id: &ColumnId| of_column(id, self.patterns.contains(id), 0);
                self.columns.iter().filter_map(of_plain).collect()
            }
        }
    }

    /// The columns of INCLUDE.
    pub fn included(&self) -> impl Iterator<Item = &'a ColumnDef> {
        let def = self.def;
        let included = self.form.into_iter().flat_map(|form| &form.included);
        included.filter_map(|id| def.column_by_id(*id))
    }

    /// Number of its members and included columns.
    pub fn width(&self) -> usize {
        match self.form {
            Some(form) => form.members.len() + form.included.len(),
            None => self.columns.len(),
        }
    }

    /// The numbers of its columns, from 1.
    fn numbers(&self) -> Vec<Value> {
        self.columns.iter().map(|column| small(usize::from(column.0) + 1)).collect()
    }
}

/// The keys and check constraints of all tables.
pub(super) fn constraints(shown: &ShownTypes<'_>) -> Vec<NamedRow> {
    keys(shown.catalog).into_iter().chain(checks(shown)).collect()
}

/// The check constraints of all tables: SQL in place of PostgreSQL's expression trees.
fn checks(shown: &ShownTypes<'_>) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for def in shown.catalog.tables().map(|table| &*table.def) {
        for (at, check) in def.checks.iter().enumerate() {
            let numbers = check.columns.iter().map(|column| small(usize::from(column.0) + 1)).collect();
            rows.push(vec![
                ("oid", oid(check_constraint_id(def.id, at))),
                ("conname", text(&check.name)),
                ("connamespace", oid(schema_object_id(def.schema))),
                ("contype", letter(b'c')),
                ("convalidated", Value::Bool(check.validated)),
                ("conrelid", oid(table_object_id(def.id))),
                ("confupdtype", letter(b' ')),
                ("confdeltype", letter(b' ')),
                ("confmatchtype", letter(b' ')),
                ("conislocal", yes()),
                ("conkey", Value::Array(ArrayValue::of(TypeId::INT2, numbers).into())),
                ("conbin", text(&shown.with_type_names(&check.condition))),
            ]);
        }
    }
    rows
}

/// The keys of all tables that are constraints.
fn keys(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |key: ShownKey<'_>| {
        vec![
            ("oid", oid(key_constraint_id(key.id))),
            ("conname", text(&key.name)),
            ("connamespace", oid(schema_object_id(key.def.schema))),
            ("contype", letter(if key.kind == KeyKind::Primary { b'p' } else { b'u' })),
            ("convalidated", yes()),
            ("conrelid", oid(table_object_id(key.def.id))),
            ("conindid", oid(key_index_id(key.id))),
            // Blanks: it is no foreign key.
            ("confupdtype", letter(b' ')),
            ("confdeltype", letter(b' ')),
            ("confmatchtype", letter(b' ')),
            ("conislocal", yes()),
            ("connoinherit", yes()),
            ("conkey", Value::Array(ArrayValue::of(TypeId::INT2, key.numbers()).into())),
        ]
    };
    all_keys(catalog).filter(|key| key.kind.is_constraint()).map(row).collect()
}

/// The indexes of the keys of all tables.
pub(super) fn indexes(shown: &ShownTypes<'_>) -> Vec<NamedRow> {
    all_keys(shown.catalog).map(|key| index_of(&key, shown)).collect()
}

fn index_of(key: &ShownKey<'_>, shown: &ShownTypes<'_>) -> NamedRow {
    let members = key.members();
    let stored: Vec<StoredType> = members.iter().map(|member| stored_type(member.sql_type.id)).collect();
    let collations = stored.iter().map(|stored| oid(stored.collation)).collect();
    let class_of = |(member, stored): (&ShownMember<'_>, &StoredType)| match member.for_patterns {
        true => oid(pattern_class_id(member.sql_type.id)),
        false => oid(stored.operator_class),
    };
    let classes = members.iter().zip(&stored).map(class_of).collect();
    let included = key.included().map(|column| small(usize::from(column.id.0) + 1));
    let numbers = members.iter().map(|member| small(member.number)).chain(included).collect();
    let mut row = vec![
        ("indexrelid", oid(key_index_id(key.id))),
        ("indrelid", oid(table_object_id(key.def.id))),
        ("indnatts", small(key.width())),
        ("indnkeyatts", small(members.len())),
        ("indisunique", Value::Bool(key.kind.is_unique())),
        ("indnullsnotdistinct", Value::Bool(key.nulls == KeyNulls::Equal)),
        ("indisprimary", Value::Bool(key.kind == KeyKind::Primary)),
        ("indimmediate", yes()),
        ("indisvalid", yes()),
        ("indisready", yes()),
        ("indislive", yes()),
        ("indkey", vector(TypeId::INT2, numbers)),
        ("indcollation", vector(TypeId::OID, collations)),
        ("indclass", vector(TypeId::OID, classes)),
        ("indoption", vector(TypeId::INT2, members.iter().map(|member| Value::Int2(member.option)).collect())),
    ];
    // SQL in place of PostgreSQL's expression trees, with a character between them that no expression has.
    let expressions: Vec<&str> = members.iter().filter_map(|member| member.text).collect();
    if !expressions.is_empty() {
        row.push(("indexprs", text(&shown.with_type_names(&expressions.join("\u{1}")))));
    }
    if let Some(condition) = key.form.and_then(|form| form.condition.as_deref()) {
        row.push(("indpred", text(&shown.with_type_names(condition))));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_a_character() {
        assert_eq!(shortened("abc", 58), "abc");
        assert_eq!(shortened("ä", 1), "");
        assert_eq!(shortened("aä", 3), "aä");
    }
}
