//! Generated columns: as they were written, in version 6, and forged.

use braid_base::{ColumnId, Random, SeededRandom};
use braid_testing::cases;

use super::super::*;
use super::old_versions::encode_version_6;
use super::{manifest_of, random_table};
use crate::GenerationDef;

/// Lets some columns be generated from others that are not.
pub(super) fn generate(def: &mut TableDef, random: &mut SeededRandom) {
    let all: Vec<ColumnId> = def.columns.iter().map(|column| column.id).collect();
    let (generated, read): (Vec<ColumnId>, Vec<ColumnId>) = all.into_iter().partition(|_| random.chance(1, 4));
    for column in def.columns.iter_mut().filter(|column| generated.contains(&column.id)) {
        column.default = None;
        let columns = read.iter().copied().filter(|_| random.chance(1, 2)).collect();
        column.generated = Some(GenerationDef { expression: format!("ä + {}", random.below(1000)), columns });
    }
}

/// A table of which the second column is generated from the first.
fn generated() -> Manifest {
    let mut tables = (1..).map(|seed| random_table(1, 9, &mut SeededRandom::new(seed)));
    let mut table = tables.find(|table| table.def.columns.len() >= 3).unwrap();
    table.def.checks.clear();
    let column = &mut table.def.columns[1];
    (column.default, column.generated) =
        (None, Some(GenerationDef { expression: "a * 2".to_owned(), columns: vec![ColumnId(0)] }));
    manifest_of(table)
}

#[test]
fn generated_columns_come_back_as_they_were_written() {
    for case in cases!(0..50) {
        let random = &mut case.random();
        let mut table = random_table(1, 9, random);
        generate(&mut table.def, random);
        let manifest = manifest_of(table);
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }
}

#[test]
fn version_6_is_read_and_has_no_generated_columns() {
    let manifest = generated();
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let decoded = Manifest::decode(&encode_version_6(&manifest));
    assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{decoded:?}");
}

#[test]
fn forged_generated_columns_are_refused() {
    let refused = |what: &str, forge: &dyn Fn(&mut TableDef)| {
        let mut forged = generated();
        forge(&mut forged.tables[0].def);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    let reads = |columns: &[u16]| {
        let columns = columns.iter().map(|id| ColumnId(*id)).collect();
        Some(GenerationDef { expression: "a".to_owned(), columns })
    };
    refused("a column of itself", &|def| def.columns[1].generated = reads(&[1]));
    refused("a column of another generated one", &|def| {
        def.columns[2].default = None;
        def.columns[2].generated = reads(&[0, 1]);
    });
    refused("columns out of order", &|def| def.columns[1].generated = reads(&[2, 0]));
    refused("twice the same column", &|def| def.columns[1].generated = reads(&[0, 0]));
    refused("a column of no table", &|def| def.columns[1].generated = reads(&[99]));
    refused("a default", &|def| def.columns[1].default = Some("1".to_owned()));
    refused("an expression that is too long", &|def| {
        let expression = "a".repeat(crate::table::DEFAULT_BYTES_MAX + 1);
        def.columns[1].generated = Some(GenerationDef { expression, columns: Vec::new() });
    });
}

#[test]
fn what_reads_a_dropped_column_goes_with_it() {
    let def = generated().tables.remove(0).def;
    let without = def.without_column(&def.columns[0].name).unwrap();
    let ids: Vec<ColumnId> = without.columns.iter().map(|column| column.id).collect();
    assert_eq!(ids, def.columns[2..].iter().map(|column| column.id).collect::<Vec<_>>());
    assert_eq!(without.validate(), Ok(()));
    let without = def.without_column(&def.columns[1].name).unwrap();
    assert_eq!(without.columns.len(), def.columns.len() - 1);
}
