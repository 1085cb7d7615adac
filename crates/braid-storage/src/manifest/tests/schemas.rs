//! Schemas in manifests.

use braid_base::{Random, SchemaId, SeededRandom, TableId};

use super::super::*;
use super::{manifest_of, random_table, sequences::random_sequence};

/// Up to two schemas, with ids that no table and no sequence of random manifests has.
pub(super) fn random_schemas(random: &mut SeededRandom) -> Vec<SchemaDef> {
    let schema = |i: u32| SchemaDef { id: SchemaId(8 + i), name: format!("schema {i} ä"), is_temporary: i == 1 };
    (0..random.below(3) as u32).map(schema).collect()
}

#[test]
fn forged_schemas_are_refused() {
    let random = &mut SeededRandom::new(1);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.sequences = vec![random_sequence(2, random)];
    let schema = |id: u32| SchemaDef { id: SchemaId(id), name: format!("s{id}"), is_temporary: false };
    manifest.schemas = vec![schema(7), schema(9)];
    manifest.tables[0].def.schema = SchemaId(7);
    manifest.sequences[0].def.schema = SchemaId(9);
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let refused = |what: &str, forge: &dyn Fn(&mut Manifest)| {
        let mut forged = manifest.clone();
        forge(&mut forged);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    refused("an id not given out", &|m| m.schemas[1].id = SchemaId(10));
    refused("the id of public", &|m| m.schemas[0].id = SchemaId::PUBLIC);
    refused("schemas out of order", &|m| m.schemas.reverse());
    refused("twice the same name", &|m| m.schemas[1].name = "s7".to_owned());
    refused("the name of public", &|m| m.schemas[1].name = "public".to_owned());
    refused("no name", &|m| m.schemas[1].name.clear());
    refused("the id of a table", &|m| m.tables[0].def.id = TableId(7));
    refused("the id of a sequence", &|m| m.sequences[0].def.id = TableId(7));
    refused("a table of an unknown schema", &|m| m.tables[0].def.schema = SchemaId(5));
    refused("a sequence of an unknown schema", &|m| m.sequences[0].def.schema = SchemaId(5));
}

#[test]
fn public_may_be_dropped_and_another_schema_have_its_name() {
    let random = &mut SeededRandom::new(5);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.tables[0].def.schema = SchemaId(7);
    let schema = |name: &str| SchemaDef { id: SchemaId(7), name: name.to_owned(), is_temporary: false };
    for name in ["public", "s"] {
        manifest.schemas = vec![SchemaDef::dropped_public(), schema(name)];
        assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    }
    let refused = |what: &str, forge: &dyn Fn(&mut Manifest)| {
        let mut forged = manifest.clone();
        forge(&mut forged);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    refused("a table in it", &|m| m.tables[0].def.schema = SchemaId::PUBLIC);
    refused("a name", &|m| m.schemas[0].name = "s".to_owned());
    refused("a temporary one", &|m| m.schemas[0].is_temporary = true);
    refused("twice", &|m| m.schemas.insert(0, SchemaDef::dropped_public()));
    refused("behind others", &|m| m.schemas.swap(0, 1));
}

#[test]
fn names_are_unique_in_their_schemas() {
    let random = &mut SeededRandom::new(2);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.schemas = vec![SchemaDef { id: SchemaId(7), name: "s".to_owned(), is_temporary: false }];
    let mut other = random_table(3, 0, random);
    other.def.name = manifest.tables[0].def.name.clone();
    other.def.schema = SchemaId(7);
    other.chunks.clear();
    manifest.tables.push(other);
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    manifest.tables[1].def.schema = SchemaId::PUBLIC;
    let decoded = Manifest::decode(&manifest.encode());
    assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{decoded:?}");
}

#[test]
fn temporary_schemas_are_left_out_with_what_is_in_them() {
    let random = &mut SeededRandom::new(3);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.sequences = vec![random_sequence(2, random), random_sequence(4, random)];
    manifest.sequences.iter_mut().for_each(|known| known.def.owner = None);
    manifest.schemas = vec![
        SchemaDef { id: SchemaId(7), name: "s".to_owned(), is_temporary: false },
        SchemaDef { id: SchemaId(9), name: "pg_temp_1".to_owned(), is_temporary: true },
    ];
    manifest.tables[0].def.schema = SchemaId(9);
    (manifest.sequences[0].def.schema, manifest.sequences[1].def.schema) = (SchemaId(7), SchemaId(9));
    assert!(manifest.drop_temporary());
    assert_eq!((manifest.tables.len(), manifest.sequences.len(), manifest.schemas.len()), (0, 1, 1));
    assert!(!manifest.drop_temporary());
    assert_eq!(manifest.validate(), Ok(()));
}

/// A log goes on after temporary tables were left out, if the checkpoint then failed, and tells of them no more.
#[test]
fn schemas_in_a_record_take_what_is_in_no_schema_along() {
    let random = &mut SeededRandom::new(4);
    let mut manifest = manifest_of(random_table(1, 0, random));
    manifest.sequences = vec![random_sequence(2, random)];
    manifest.schemas = vec![SchemaDef { id: SchemaId(9), name: "pg_temp_1".to_owned(), is_temporary: true }];
    (manifest.tables[0].def.schema, manifest.sequences[0].def.schema) = (SchemaId(9), SchemaId(9));
    let record = CommitRecord {
        sequence: manifest.sequence + 1,
        next_ids: manifest.next_ids,
        types: None,
        schemas: Some(Vec::new()),
        sequences: None,
        views: None,
        dropped: Vec::new(),
        changed: Vec::new(),
        comments: Vec::new(),
        access: Vec::new(),
        domains: Vec::new(),
    };
    manifest.apply(&record.encode()).unwrap();
    assert_eq!((manifest.schemas.len(), manifest.tables.len(), manifest.sequences.len()), (0, 0, 0));
    assert_eq!(manifest.validate(), Ok(()));
}
