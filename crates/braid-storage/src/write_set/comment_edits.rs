//! A transaction's changes of the comments.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::WriteSet;
use super::table_writes::{Base, TableWrites};
use crate::StoreError;
use crate::catalog::Catalog;
use crate::comments::{CommentSubject, Comments};

/// Comments as they were before the transaction, and as they are to be; `None` where there is none.
#[derive(Clone, Default)]
pub(super) struct CommentEdits {
    edits: BTreeMap<CommentSubject, Edit>,
}

#[derive(Clone)]
struct Edit {
    before: Option<Arc<str>>,
    after: Option<Arc<str>>,
}

impl CommentEdits {
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The comments with these changes, whatever others have changed.
    pub(super) fn shown_on(&self, committed: &Comments) -> Comments {
        let mut comments = committed.clone();
        for (subject, edit) in &self.edits {
            match &edit.after {
                Some(text) => drop(comments.insert(subject.clone(), Arc::clone(text))),
                None => drop(comments.remove(subject)),
            }
        }
        comments
    }

    /// The comments with these changes. Those on what others have dropped are still among them.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same comments.
    pub(super) fn committed_on(&self, newest: &Comments) -> Result<Comments, StoreError> {
        match self.edits.iter().any(|(subject, edit)| newest.get(subject) != edit.before.as_ref()) {
            true => Err(StoreError::Conflict { what: "a comment".to_owned() }),
            false => Ok(self.shown_on(newest)),
        }
    }
}

impl WriteSet {
    /// Sets the comment on something that `view` has, in the place of another one; `None` or an empty text removes it.
    pub fn set_comment(&mut self, view: &Catalog, subject: CommentSubject, text: Option<&str>) {
        let text = text.filter(|text| !text.is_empty()).or(subject.has_initial_comment().then_some(""));
        let shown = || Edit { before: view.comment_on(&subject).cloned(), after: None };
        self.comments.edits.entry(subject.clone()).or_insert_with(shown).after = text.map(Arc::from);
    }

    /// Whether something may be dropped that has a comment, or comments are changed.
    pub(super) fn may_change_comments(&self) -> bool {
        let is_of_tables = |writes: &TableWrites| writes.base == Base::Dropped || writes.altered.is_some();
        let is_of_others = self.types.is_some() || self.views.is_some() || self.sequences.has_changes();
        let is_of_schemas = !self.schemas.is_empty();
        !self.comments.is_empty() || is_of_others || is_of_schemas || self.tables.values().any(is_of_tables)
    }
}
