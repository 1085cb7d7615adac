//! The words of the grammar as rows.

use super::{Rows, SetImplementations};
use crate::Value;
use crate::pg_catalog::key_words::{KeyWord, key_words};

/// `pg_get_keywords`
pub const FUNCTIONS: SetImplementations =
    &[("pg_get_keywords", |_, _| Ok(Box::new(key_words().iter().map(|word| Ok(row(word)))) as Rows))];

fn row(word: &KeyWord) -> Vec<Value> {
    vec![
        Value::text(word.word),
        Value::Char(word.category),
        Value::Bool(word.is_label),
        Value::text(word.category_words),
        Value::text(word.label_words),
    ]
}
