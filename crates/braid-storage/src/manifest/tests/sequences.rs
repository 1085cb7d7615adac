//! Sequences in manifests.

use braid_base::{ColumnId, Random, SchemaId, SeededRandom, TableId};

use super::super::*;
use super::{manifest_of, random_table};
use crate::sequences::{SequenceDef, SequenceOwner, SequenceState, SequenceType, SequenceUse};

/// A sequence with this id.
pub(super) fn random_sequence(id: u32, random: &mut SeededRandom) -> ManifestSequence {
    let usages = [SequenceUse::Owned, SequenceUse::Always, SequenceUse::ByDefault];
    let usage = usages[random.below(3) as usize];
    let owner =
        SequenceOwner { table: TableId(random.below(9) as u32), column: ColumnId(random.below(9) as u16), usage };
    let types = [SequenceType::SmallInt, SequenceType::Integer, SequenceType::BigInt];
    let value_type = types[random.below(3) as usize];
    let (min, max) = value_type.bounds();
    let def = SequenceDef {
        id: TableId(id),
        schema: SchemaId::PUBLIC,
        name: format!("sequence {id} ä"),
        value_type,
        start: 1 + random.below(100) as i64,
        increment: if random.chance(1, 2) { 1 } else { i64::MIN },
        min: if random.chance(1, 2) { 1 } else { min },
        max,
        cache: 1 + random.below(10) as i64,
        cycles: random.chance(1, 2),
        owner: random.chance(1, 2).then_some(owner),
    };
    let state = SequenceState { last_value: random.next_u64() as i64, is_called: random.chance(1, 2) };
    ManifestSequence { def, state }
}

#[test]
fn forged_sequences_are_refused() {
    let random = &mut SeededRandom::new(1);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.sequences = vec![random_sequence(2, random), random_sequence(5, random)];
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let refused = |what: &str, forge: &dyn Fn(&mut Vec<ManifestSequence>)| {
        let mut forged = manifest.clone();
        forge(&mut forged.sequences);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    refused("an id not given out", &|s| s[1].def.id = TableId(10));
    refused("sequences out of order", &|s| s.reverse());
    refused("a table's id", &|s| s[0].def.id = TableId(1));
    refused("twice the same name", &|s| s[1].def.name = s[0].def.name.clone());
    refused("a table's name", &|s| s[1].def.name = "table 1".to_owned());
    refused("no name", &|s| s[1].def.name.clear());
    refused("no increment", &|s| s[1].def.increment = 0);
    refused("no cache", &|s| s[1].def.cache = 0);
    refused("one number", &|s| s[1].def.min = s[1].def.max);
    refused("a first number that is too small", &|s| (s[1].def.min, s[1].def.start) = (2, 1));
    refused("numbers beyond their type", &|s| {
        (s[1].def.value_type, s[1].def.max) = (SequenceType::SmallInt, 1 << 40);
    });
}
