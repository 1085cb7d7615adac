//! A transaction's changes of the comments.

use std::sync::Arc;

use super::WriteSet;
use super::table_writes::{Base, TableWrites};
use crate::StoreError;
use crate::catalog::Catalog;
use crate::comments::{CommentSubject, Comments};

impl WriteSet {
    /// Sets the comment on something that `view` has, in the place of another one; `None` or an empty text removes it.
    pub fn set_comment(&mut self, view: &Catalog, subject: CommentSubject, text: Option<&str>) {
        let text = text.filter(|text| !text.is_empty()).or(subject.has_initial_comment().then_some(""));
        self.comments.set(view.comments_by_subject(), subject, text.map(Arc::from));
    }

    /// The comments with the transaction's changes. Those on what others have dropped are still among them.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same comments.
    pub(super) fn committed_comments(&self, newest: &Catalog) -> Result<Comments, StoreError> {
        let comments = self.comments.committed_on(newest.comments_by_subject());
        comments.ok_or_else(|| StoreError::Conflict { what: "a comment".to_owned() })
    }

    /// Whether something may be dropped that has a comment, an owner or privileges.
    pub(super) fn may_drop(&self) -> bool {
        let is_of_tables = |writes: &TableWrites| writes.base == Base::Dropped || writes.altered.is_some();
        let is_of_others = self.has_type_edits() || self.views.is_some() || self.sequences.has_changes();
        is_of_others || !self.schemas.is_empty() || self.tables.values().any(is_of_tables)
    }
}
