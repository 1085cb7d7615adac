//! The comments of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of comments; then each comment, by ascending kind and id |
//!
//! Comment:
//!
//! | width | meaning |
//! |---|---|
//! | 1 | kind of what it is about: 1 a relation, 2 a column, 3 an index, 4 a key that is a constraint or a foreign key, 5 a schema, 6 a type, 7 the database, 8 a role |
//! | | 1: 4 bytes, the id of the table, view or sequence |
//! | | 2: 4 bytes, the id of the table or view, and 2 bytes, the column's id, or its place in a view, from 0 |
//! | | 3 and 4: 4 bytes, the id of the key or foreign key, or of the table whose primary key is only declared |
//! | | 5: 4 bytes, the id of the schema |
//! | | 6: 4 bytes, the oid of the enumerated type or its array type |
//! | | 8: string, the name of the role |
//! | string | the text; empty for schema `public` only, whose comment from the beginning is removed then |
//!
//! The comments in the record of a commit are those that it changes:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of changed comments; then each: kind and ids as above |
//! | 1 | 0 if there is no comment any more, 1 if the text follows |
//! | string | only if there is one: the text |
//!
//! A comment on what does not exist is left out when the database opens.

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::ManifestError;
use crate::comments::{CommentChange, CommentSubject, Comments};

const RELATION: u8 = 1;
const COLUMN: u8 = 2;
const INDEX: u8 = 3;
const KEY: u8 = 4;
const SCHEMA: u8 = 5;
const TYPE: u8 = 6;
const DATABASE: u8 = 7;
const ROLE: u8 = 8;

/// The smallest change: that the comment on the database is gone.
const CHANGE_BYTES_MIN: usize = 1 + 1;

/// Writes all comments.
pub(crate) fn put_comments(out: &mut Vec<u8>, comments: &Comments) {
    put_count(out, comments.len());
    for (subject, text) in comments {
        put_subject(out, subject);
        put_string(out, text);
    }
}

/// Reads all comments.
pub(super) fn take_comments(reader: &mut ByteReader<'_>) -> Result<Comments, ManifestError> {
    let mut comments = Comments::new();
    for _ in 0..reader.u32()? {
        let subject = take_subject(reader)?;
        if comments.last_key_value().is_some_and(|(last, _)| *last >= subject) {
            return Err(reader.malformed(format!("the comment on {subject:?} is out of order")));
        }
        let text = take_text(reader, &subject)?;
        comments.insert(subject, text);
    }
    Ok(comments)
}

/// Writes changed comments.
pub(super) fn put_comment_changes(out: &mut Vec<u8>, changes: &[CommentChange]) {
    put_count(out, changes.len());
    for (subject, text) in changes {
        put_subject(out, subject);
        out.push(text.is_some().into());
        text.iter().for_each(|text| put_string(out, text));
    }
}

/// Reads changed comments.
pub(super) fn take_comment_changes(reader: &mut ByteReader<'_>) -> Result<Vec<CommentChange>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut changes = Vec::with_capacity(reader.bounded_capacity(count, CHANGE_BYTES_MIN));
    for _ in 0..count {
        let subject = take_subject(reader)?;
        let text = match reader.u8()? {
            0 => None,
            1 => Some(take_text(reader, &subject)?),
            flag => return Err(reader.malformed(format!("the comment on {subject:?} has the flag {flag}"))),
        };
        changes.push((subject, text));
    }
    Ok(changes)
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).expect("there are fewer than 2^32 comments").to_le_bytes());
}

fn put_subject(out: &mut Vec<u8>, subject: &CommentSubject) {
    let mut put = |kind: u8, id: u32| {
        out.push(kind);
        out.extend_from_slice(&id.to_le_bytes());
    };
    match subject {
        CommentSubject::Relation(id) => put(RELATION, id.0),
        CommentSubject::Column(id, column) => {
            put(COLUMN, id.0);
            out.extend_from_slice(&column.0.to_le_bytes());
        }
        CommentSubject::Index(id) => put(INDEX, id.0),
        CommentSubject::Key(id) => put(KEY, id.0),
        CommentSubject::Schema(id) => put(SCHEMA, id.0),
        CommentSubject::Type(oid) => put(TYPE, *oid),
        CommentSubject::Database => out.push(DATABASE),
        CommentSubject::Role(name) => {
            out.push(ROLE);
            put_string(out, name);
        }
    }
}

fn take_subject(reader: &mut ByteReader<'_>) -> Result<CommentSubject, ManifestError> {
    Ok(match reader.u8()? {
        RELATION => CommentSubject::Relation(TableId(reader.u32()?)),
        COLUMN => CommentSubject::Column(TableId(reader.u32()?), ColumnId(reader.u16()?)),
        INDEX => CommentSubject::Index(TableId(reader.u32()?)),
        KEY => CommentSubject::Key(TableId(reader.u32()?)),
        SCHEMA => CommentSubject::Schema(SchemaId(reader.u32()?)),
        TYPE => CommentSubject::Type(reader.u32()?),
        DATABASE => CommentSubject::Database,
        ROLE => CommentSubject::Role(reader.string()?),
        kind => return Err(reader.malformed(format!("a comment is on something of kind {kind}"))),
    })
}

fn take_text(reader: &mut ByteReader<'_>, subject: &CommentSubject) -> Result<Arc<str>, ManifestError> {
    let text = reader.string()?;
    match text.is_empty() && !subject.has_initial_comment() {
        true => Err(reader.malformed(format!("the comment on {subject:?} is empty"))),
        false => Ok(text.into()),
    }
}
