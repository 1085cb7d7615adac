//! Comments on what is in the catalog: COMMENT ON.
//!
//! They are kept by the identities of what they are about, which are given out once, so that they stay when it gets another name. The
//! comment on a check constraint is part of its definition ([`crate::CheckDef::comment`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};

/// What a comment is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommentSubject {
    /// A table, view or sequence.
    Relation(TableId),
    /// A column of a table, or of a view that has no table: by its place, from 0.
    Column(TableId, ColumnId),
    /// The index of a key: by the key's id, or the table's if the key is a primary key that is only declared.
    Index(TableId),
    /// A key that is a constraint, by the same id as its index, or a foreign key.
    Key(TableId),
    /// A schema.
    Schema(SchemaId),
    /// An enumerated type or the array type of one, by its oid.
    Type(u32),
    /// The database.
    Database,
    /// A role, by its name.
    Role(String),
}

impl CommentSubject {
    /// Whether it has a comment from the beginning: an empty one then says that this is removed.
    pub fn has_initial_comment(&self) -> bool {
        *self == Self::Schema(SchemaId::PUBLIC)
    }
}

/// All comments. None is empty, but for those that stand for a removed one.
pub(crate) type Comments = BTreeMap<CommentSubject, Arc<str>>;

/// A comment that is set, or `None` where it is removed.
pub(crate) type CommentChange = (CommentSubject, Option<Arc<str>>);

/// The comments that differ between two states: those after, `None` where there is none.
pub(crate) fn changed_comments(before: &Comments, after: &Comments) -> Vec<CommentChange> {
    let gone = before.keys().filter(|subject| !after.contains_key(subject)).map(|subject| (subject.clone(), None));
    let new = after.iter().filter(|(subject, text)| before.get(subject) != Some(text));
    gone.chain(new.map(|(subject, text)| (subject.clone(), Some(Arc::clone(text))))).collect()
}
