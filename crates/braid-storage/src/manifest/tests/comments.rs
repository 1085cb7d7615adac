//! Comments in manifests and in records.

use braid_base::{ColumnId, Random, SchemaId, SeededRandom, TableId};

use super::super::*;
use super::{manifest_of, random_table, reseal};
use crate::comments::{CommentChange, CommentSubject};

/// Comments on anything, whether it is there or not.
pub(super) fn random_comments(random: &mut SeededRandom) -> Comments {
    let mut comments = Comments::new();
    for i in 0..random.below(9) {
        let id = TableId(random.below(20) as u32);
        let subject = match random.below(8) {
            0 => CommentSubject::Relation(id),
            1 => CommentSubject::Column(id, ColumnId(random.below(5) as u16)),
            2 => CommentSubject::Index(id),
            3 => CommentSubject::Key(id),
            4 => CommentSubject::Schema(SchemaId(id.0)),
            5 => CommentSubject::Type(random.next_u64() as u32),
            6 => CommentSubject::Database,
            _ => CommentSubject::Role(format!("role {i} ä")),
        };
        let is_removed = subject.has_initial_comment() && random.chance(1, 2);
        let text = if is_removed { String::new() } else { format!("comment {i} ä") };
        comments.insert(subject, text.into());
    }
    comments
}

fn comments_of(subjects: impl IntoIterator<Item = CommentSubject>) -> Comments {
    subjects.into_iter().map(|subject| (subject, "a comment".into())).collect()
}

/// The manifest without its padding, to be forged.
fn unpadded(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = manifest.encode();
    bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
    bytes
}

#[test]
fn forged_comments_are_refused() {
    let mut manifest = manifest_of(random_table(1, 0, &mut SeededRandom::new(1)));
    manifest.tables.clear();
    manifest.comments = comments_of([CommentSubject::Relation(TableId(1)), CommentSubject::Index(TableId(1))]);
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let first = HEADER_BYTES + 8 + 8 + 3 * 4 + 4;
    let refused = |what: &str, forge: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = unpadded(&manifest);
        forge(&mut bytes);
        reseal(&mut bytes);
        let decoded = Manifest::decode(&bytes);
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    let entry = 1 + 4 + 4 + "a comment".len();
    refused("an unknown kind", &|bytes| bytes[first] = 9);
    refused("no kind", &|bytes| bytes[first] = 0);
    refused("comments out of order", &|bytes| bytes[first] = 4);
    refused("two comments on one thing", &|bytes| bytes.copy_within(first..first + entry, first + entry));
    refused("more comments than there are", &|bytes| bytes[first - 4] = 3);
    let mut empty = manifest.clone();
    empty.comments.insert(CommentSubject::Database, "".into());
    assert!(matches!(Manifest::decode(&empty.encode()), Err(ManifestError::Malformed { .. })), "an empty comment");
    manifest.comments.insert(CommentSubject::Schema(SchemaId::PUBLIC), "".into());
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
}

fn record(manifest: &Manifest, comments: Vec<CommentChange>) -> CommitRecord {
    CommitRecord {
        sequence: manifest.sequence + 1,
        next_ids: manifest.next_ids,
        types: None,
        schemas: None,
        sequences: None,
        views: None,
        dropped: Vec::new(),
        changed: Vec::new(),
        comments,
        access: Vec::new(),
        domains: Vec::new(),
    }
}

#[test]
fn a_record_has_the_comments_that_change() {
    let (table, database) = (CommentSubject::Relation(TableId(1)), CommentSubject::Database);
    let mut manifest = manifest_of(random_table(1, 9, &mut SeededRandom::new(1)));
    manifest.comments = comments_of([table.clone(), CommentSubject::Role("r".to_owned())]);
    let changes = vec![(table.clone(), None), (database.clone(), Some("new".into()))];
    let bytes = record(&manifest, changes).encode();
    manifest.apply(&bytes).unwrap();
    let texts: Vec<&str> = manifest.comments.values().map(|text| &**text).collect();
    assert_eq!(texts, ["new", "a comment"]);
    assert!(!manifest.comments.contains_key(&table) && manifest.comments.contains_key(&database));
}

#[test]
fn records_of_version_6_are_read_and_change_no_comment() {
    let mut manifest = manifest_of(random_table(1, 9, &mut SeededRandom::new(1)));
    manifest.comments = comments_of([CommentSubject::Database]);
    let mut bytes = record(&manifest, Vec::new()).encode();
    // Neither comments nor access control, domains and schemas of types.
    bytes.truncate(bytes.len() - 16);
    let before = manifest.comments.clone();
    manifest.apply(&bytes).unwrap();
    assert_eq!(manifest.comments, before);
}

#[test]
fn forged_comments_of_records_are_refused() {
    let manifest = manifest_of(random_table(1, 9, &mut SeededRandom::new(1)));
    let bytes = record(&manifest, vec![(CommentSubject::Database, Some("text".into()))]).encode();
    // Behind it are the text and the numbers of the entries of access control, of the domains and of the schemas of types.
    let flag = bytes.len() - 4 - 4 - 4 - 4 - 4 - 1;
    let refused = |what: &str, forge: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        forge(&mut bytes);
        let applied = manifest.clone().apply(&bytes);
        assert!(matches!(applied, Err(ManifestError::Malformed { .. })), "{what}: {applied:?}");
    };
    refused("a flag", &|bytes| bytes[flag] = 2);
    refused("a kind", &|bytes| bytes[flag - 1] = 9);
    refused("an empty text", &|bytes| {
        bytes.truncate(flag + 1);
        bytes.extend_from_slice(&[0; 4]);
    });
    refused("a text that is cut", &|bytes| bytes.truncate(bytes.len() - 4 - 4 - 1));
    refused("bytes after the last entry", &|bytes| bytes.push(0));
}
