//! Foreign keys.

use super::*;
use crate::{Deferral, ForeignKeyDef, KeyDef, KeyKind, KeyNulls, MatchType, ReferentialAction};

const ACTIONS: [ReferentialAction; 5] = [
    ReferentialAction::NoAction,
    ReferentialAction::Restrict,
    ReferentialAction::Cascade,
    ReferentialAction::SetNull,
    ReferentialAction::SetDefault,
];

fn foreign_key(id: u32, referenced: TableId, (columns, key): (&[ColumnId], &[ColumnId])) -> ForeignKeyDef {
    ForeignKeyDef {
        id: TableId(id),
        name: format!("foreign key {id}"),
        columns: columns.to_vec(),
        referenced,
        key: key.to_vec(),
        on_delete: ReferentialAction::NoAction,
        on_update: ReferentialAction::NoAction,
        set_columns: Vec::new(),
        matching: MatchType::Simple,
        deferral: Deferral::NotDeferrable,
        validated: true,
    }
}

/// Lets tables refer to unique keys of others and of their own, with ids behind those of all keys.
pub(super) fn add_random_foreign_keys(tables: &mut [ManifestTable], random: &mut SeededRandom) {
    let unique: Vec<(TableId, Vec<(ColumnId, ColumnType)>)> = tables
        .iter()
        .flat_map(|table| table.def.unique_keys().map(|key| (&table.def, key)))
        .map(|(def, key)| {
            let column = |id: &ColumnId| (*id, def.column_by_id(*id).unwrap().column_type);
            (def.id, key.columns.iter().map(column).collect())
        })
        .collect();
    for table in tables {
        for (number, (referenced, key)) in unique.iter().enumerate() {
            let same = |(_, column_type): &(ColumnId, ColumnType)| {
                let of_type = |column: &&ColumnDef| column.column_type == *column_type;
                table.def.columns.iter().find(of_type).map(|column| column.id)
            };
            let Some(columns) = key.iter().map(same).collect::<Option<Vec<ColumnId>>>() else { continue };
            if random.chance(1, 2) {
                continue;
            }
            let id = NEXT_IDS.table + 1000 + 100 * table.def.id.0 + number as u32;
            let key: Vec<ColumnId> = key.iter().map(|(id, _)| *id).collect();
            let action = |random: &mut SeededRandom| ACTIONS[random.below(5) as usize];
            let set_columns = if random.chance(1, 2) { vec![columns[0]] } else { Vec::new() };
            table.def.foreign_keys.push(Arc::new(ForeignKeyDef {
                on_delete: action(random),
                on_update: action(random),
                set_columns,
                matching: if random.chance(1, 2) { MatchType::Full } else { MatchType::Simple },
                deferral: match random.below(3) {
                    0 => Deferral::NotDeferrable,
                    1 => Deferral::InitiallyImmediate,
                    _ => Deferral::InitiallyDeferred,
                },
                validated: random.chance(1, 2),
                ..foreign_key(id, *referenced, (&columns, &key))
            }));
        }
    }
}

#[test]
fn forged_foreign_keys_are_refused() {
    let random = &mut SeededRandom::new(1);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.log_number = 1;
    manifest.next_ids.table = 100;
    manifest.tables[0].chunks.clear();
    let def = &mut manifest.tables[0].def;
    (def.columns[0].column_type, def.columns[1].column_type) = (ColumnType::BigInt, ColumnType::Integer);
    (def.columns[0].missing, def.columns[1].missing) = (None, None);
    def.columns[2].column_type = ColumnType::Text;
    def.keys = vec![KeyDef {
        id: TableId(20),
        name: "key".to_owned(),
        columns: vec![ColumnId(0)],
        kind: KeyKind::Unique,
        nulls: KeyNulls::Distinct,
        patterns: Vec::new(),
        form: None,
    }];
    let (own, other) = (ColumnId(1), ColumnId(0));
    def.foreign_keys = vec![Arc::new(foreign_key(21, TableId(1), (&[own], &[other])))];
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let refused = |what: &str, forge: &dyn Fn(&mut ForeignKeyDef)| {
        let mut forged = manifest.clone();
        forge(Arc::make_mut(&mut forged.tables[0].def.foreign_keys[0]));
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}");
    };
    refused("an id not given out", &|key| key.id = TableId(100));
    refused("the id of a key", &|key| key.id = TableId(20));
    refused("no name", &|key| key.name.clear());
    refused("no columns", &|key| {
        key.columns.clear();
        key.key.clear();
    });
    refused("a column of no table", &|key| key.columns = vec![ColumnId(99)]);
    refused("a column of another type", &|key| key.columns = vec![ColumnId(2)]);
    refused("a table that there is not", &|key| key.referenced = TableId(2));
    refused("a column without a key", &|key| key.key = vec![ColumnId(1)]);
    refused("a column set that is not of it", &|key| key.set_columns = vec![ColumnId(0)]);
    let mut twice = manifest.clone();
    let again = ForeignKeyDef { id: TableId(22), ..ForeignKeyDef::clone(&twice.tables[0].def.foreign_keys[0]) };
    twice.tables[0].def.foreign_keys.push(Arc::new(again));
    assert!(matches!(Manifest::decode(&twice.encode()), Err(ManifestError::Malformed { .. })), "twice the same name");
}
