//! The words of PostgreSQL's grammar: `pg_get_keywords()`.

use std::sync::LazyLock;

use super::tsv::{flag, rows};

/// A key word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyWord {
    /// In lower case.
    pub word: &'static str,
    /// Which names it may be: `U` any, `C` of columns, `T` of functions and types, `R` none.
    pub category: u8,
    /// Whether it may be the name of an output column without AS.
    pub is_label: bool,
    /// The category in words.
    pub category_words: &'static str,
    /// [`Self::is_label`] in words.
    pub label_words: &'static str,
}

static KEY_WORDS: LazyLock<Vec<KeyWord>> = LazyLock::new(|| {
    let columns = ["word", "category", "is_label", "category_words", "label_words"];
    let words = rows(include_str!("../../postgres/key_words.tsv"), columns);
    let words = words.map(|[word, category, is_label, category_words, label_words]| KeyWord {
        word,
        category: category.as_bytes()[0],
        is_label: flag(is_label),
        category_words,
        label_words,
    });
    let words: Vec<KeyWord> = words.collect();
    assert!(words.is_sorted_by(|one, other| one.word < other.word), "key words are looked up by binary search");
    words
});

/// All key words in their order.
pub fn key_words() -> &'static [KeyWord] {
    &KEY_WORDS
}

/// The key word that a text in lower case is; `None` for others.
pub fn key_word(word: &str) -> Option<KeyWord> {
    KEY_WORDS.binary_search_by_key(&word, |known| known.word).ok().map(|at| KEY_WORDS[at])
}

/// A name as SQL has it: in quotes, unless it is of small letters, digits and underscores and no key word.
pub fn quote_identifier(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if is_plain && key_word(name).is_none_or(|found| found.category == b'U') {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_categories() {
        let category = |word: &str| key_word(word).map(|found| char::from(found.category));
        let categories = ["abort", "between", "left", "select", "foo"].map(category);
        assert_eq!(categories, [Some('U'), Some('C'), Some('T'), Some('R'), None]);
    }
}
