//! Enforced keys.

use super::*;
use crate::{KeyDef, KeyForm, KeyKind, KeyMember, KeyNulls, MemberSource, is_key_type};

/// Keys of a table, with ids behind those of all tables.
pub(super) fn random_keys(def: &TableDef, random: &mut SeededRandom) -> Vec<KeyDef> {
    let fit = def.columns.iter().filter(|column| is_key_type(column.column_type)).map(|column| column.id);
    let fit: Vec<ColumnId> = fit.take(1 + random.below(3) as usize).collect();
    let is_fit = !def.primary_key.is_empty() && fit.starts_with(&def.primary_key);
    let primary = (is_fit && random.chance(1, 2)).then(|| (KeyKind::Primary, def.primary_key.clone()));
    let unique = (!fit.is_empty() && random.chance(1, 2)).then_some((KeyKind::Unique, fit));
    let index = (!def.columns.is_empty()).then(|| (KeyKind::Index, vec![def.columns[0].id]));
    let patterns: Vec<ColumnId> = def.columns.first().map(|column| column.id).into_iter().collect();
    let key = |(at, (kind, columns)): (usize, (KeyKind, Vec<ColumnId>))| KeyDef {
        id: TableId(NEXT_IDS.table + 3 * def.id.0 + at as u32),
        name: format!("key {at} of {}", def.id),
        columns,
        kind,
        nulls: if random.chance(1, 2) { KeyNulls::Equal } else { KeyNulls::Distinct },
        patterns: if kind == KeyKind::Index && random.chance(1, 2) { patterns.clone() } else { Vec::new() },
        form: None,
    };
    let mut keys: Vec<KeyDef> = primary.into_iter().chain(unique).chain(index).enumerate().map(key).collect();
    for index in keys.iter_mut().filter(|key| key.kind == KeyKind::Index) {
        if random.chance(1, 2) {
            (index.patterns, index.form) = (Vec::new(), Some(Arc::new(random_form(index, random))));
        }
    }
    keys
}

/// A form of an index of one column.
fn random_form(index: &KeyDef, random: &mut SeededRandom) -> KeyForm {
    let expression = || MemberSource::Expression {
        text: "lower(ä)".to_owned(),
        name: "lower".to_owned(),
        column_type: ColumnType::Encoded { type_oid: 1700, modifier: -1 },
    };
    let source = if random.chance(1, 2) { MemberSource::Column(index.columns[0]) } else { expression() };
    let mut flag = || random.chance(1, 2);
    let member = KeyMember { source, descends: flag(), nulls_first: flag(), for_patterns: flag() };
    let included = if flag() { index.columns.clone() } else { Vec::new() };
    KeyForm { members: vec![member], included, condition: flag().then(|| "ä > 0".to_owned()) }
}

#[test]
fn forged_keys_are_refused() {
    let random = &mut SeededRandom::new(1);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.log_number = 1;
    manifest.next_ids.table = 100;
    let def = &mut manifest.tables[0].def;
    def.columns[0].column_type = ColumnType::BigInt;
    def.columns[1].column_type = ColumnType::Interval;
    def.primary_key = vec![ColumnId(0)];
    let key = |id: u32, kind| KeyDef {
        id: TableId(id),
        name: format!("key {id}"),
        columns: vec![ColumnId(0)],
        kind,
        nulls: KeyNulls::Distinct,
        patterns: Vec::new(),
        form: None,
    };
    def.keys = vec![
        key(20, KeyKind::Primary),
        key(21, KeyKind::Unique),
        key(22, KeyKind::UniqueIndex),
        key(23, KeyKind::Index),
    ];
    manifest.tables[0].chunks.clear();
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let refused = |what: &str, forge: &dyn Fn(&mut Vec<KeyDef>)| {
        let mut forged = manifest.clone();
        forge(&mut forged.tables[0].def.keys);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}");
    };
    refused("an id not given out", &|keys| keys[0].id = TableId(100));
    refused("the table's id", &|keys| keys[0].id = TableId(1));
    refused("twice the same id", &|keys| keys[0].id = keys[1].id);
    refused("twice the same name", &|keys| keys[0].name = keys[1].name.clone());
    refused("the table's name", &|keys| keys[0].name = "table 1".to_owned());
    refused("no name", &|keys| keys[0].name.clear());
    refused("no columns", &|keys| keys[1].columns.clear());
    refused("a column twice", &|keys| keys[1].columns = vec![ColumnId(0), ColumnId(0)]);
    refused("a column of no table", &|keys| keys[1].columns = vec![ColumnId(99)]);
    refused("a column of a type without order", &|keys| keys[1].columns = vec![ColumnId(1)]);
    refused("patterns of a unique key", &|keys| keys[1].patterns = vec![ColumnId(0)]);
    refused("patterns of another column", &|keys| keys[3].patterns = vec![ColumnId(1)]);
    let form = |source: MemberSource| KeyForm {
        members: vec![KeyMember { source, descends: true, nulls_first: false, for_patterns: false }],
        included: Vec::new(),
        condition: None,
    };
    let column = |id| form(MemberSource::Column(ColumnId(id)));
    let expression = |text: &str, column_type| {
        form(MemberSource::Expression { text: text.to_owned(), name: "lower".to_owned(), column_type })
    };
    let mut formed = manifest.clone();
    formed.tables[0].def.keys[3].form = Some(Arc::new(column(0)));
    formed.tables[0].def.keys[2].form = Some(Arc::new(expression("lower(a)", ColumnType::Text)));
    assert_eq!(Manifest::decode(&formed.encode()).as_ref(), Ok(&formed));
    for (what, at, form) in [
        ("a form of a constraint", 1, column(0)),
        ("a member that is no column of the index", 3, column(1)),
        ("a member of no table", 3, column(99)),
        ("no members", 3, KeyForm { members: Vec::new(), ..column(0) }),
        ("an included column of no table", 3, KeyForm { included: vec![ColumnId(99)], ..column(0) }),
        ("an empty expression", 2, expression("", ColumnType::Text)),
        ("a key of a type without order", 2, expression("age(a)", ColumnType::Interval)),
    ] {
        refused(what, &|keys| keys[at].form = Some(Arc::new(form.clone())));
    }
    refused("another primary key", &|keys| keys[0].columns = vec![ColumnId(1)]);
}
