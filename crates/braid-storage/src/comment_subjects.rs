//! The comments of a catalog are on what it has: those on what is dropped go with it.

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::TableId;

use crate::catalog::Catalog;
use crate::comments::{CommentSubject, Comments};

impl Catalog {
    /// The comment on something. It is empty where a comment from the beginning was removed.
    pub fn comment_on(&self, subject: &CommentSubject) -> Option<&Arc<str>> {
        self.comments_by_subject().get(subject)
    }

    /// All comments, by what they are about.
    pub fn comments(&self) -> impl ExactSizeIterator<Item = (&CommentSubject, &Arc<str>)> {
        self.comments_by_subject().iter()
    }

    /// Puts these comments in the place of its own, without those on what is gone.
    pub(crate) fn take_comments(&mut self, comments: Comments) {
        self.set_comments(comments);
        self.drop_orphaned_comments();
    }

    /// Removes the comments on what is gone.
    pub(crate) fn drop_orphaned_comments(&mut self) {
        if self.comments().len() == 0 {
            return;
        }
        let subjects = Subjects::of(self);
        let comments = self.comments_by_subject();
        if comments.keys().all(|subject| subjects.has(subject)) {
            return;
        }
        let kept = comments.iter().filter(|(subject, _)| subjects.has(subject));
        let kept = kept.map(|(subject, text)| (subject.clone(), Arc::clone(text))).collect();
        self.set_comments(kept);
    }
}

/// What comments can be on.
struct Subjects<'a> {
    catalog: &'a Catalog,
    /// The ids of the keys and foreign keys.
    keys: HashSet<TableId>,
}

impl<'a> Subjects<'a> {
    fn of(catalog: &'a Catalog) -> Self {
        let enforced = catalog.tables().flat_map(|table| table.def.keys.iter().map(|key| key.id));
        let declared = catalog.tables().map(|table| &table.def).filter(|def| def.has_declared_primary_key());
        let foreign = catalog.tables().flat_map(|table| table.def.foreign_keys.iter().map(|key| key.id));
        Self { catalog, keys: enforced.chain(foreign).chain(declared.map(|def| def.id)).collect() }
    }

    fn has(&self, subject: &CommentSubject) -> bool {
        let catalog = self.catalog;
        let table = |id: TableId| catalog.by_id(id);
        match subject {
            CommentSubject::Relation(id) => {
                table(*id).is_some() || catalog.view_by_id(*id).is_some() || catalog.sequence_by_id(*id).is_some()
            }
            CommentSubject::Column(id, column) => match (table(*id), catalog.view_by_id(*id)) {
                (Some(version), _) => version.def.column_by_id(*column).is_some(),
                (None, Some(view)) => usize::from(column.0) < view.columns.len(),
                (None, None) => false,
            },
            CommentSubject::Index(id) | CommentSubject::Key(id) => self.keys.contains(id),
            CommentSubject::Schema(id) => catalog.schema_name(*id).is_some(),
            CommentSubject::Type(oid) => catalog.has_type_of_oid(*oid),
            CommentSubject::Database | CommentSubject::Role(_) => true,
        }
    }
}
