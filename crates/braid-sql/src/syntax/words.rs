//! Words of PostgreSQL's grammar (`pg_get_keywords()`).

use std::sync::LazyLock;

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Word};

/// A list of words.
type Words = LazyLock<Vec<&'static str>>;

/// Reserved words.
static RESERVED: Words = Words::new(|| {
    words_of(
        "all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create \
    current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end \
    except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp \
    not null offset on only or order placing primary references returning select session_user some symmetric table then to trailing \
    true union unique user using variadic when where window with",
    )
});

/// Words that name functions and types, and neither columns nor tables.
static FUNCTION_NAMES: Words = Words::new(|| {
    words_of(
        "authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join \
    left like natural notnull outer overlaps right similar tablesample verbose",
    )
});

/// Words that only name columns. Some are types with a grammar of their own.
static COLUMN_NAMES: Words = Words::new(|| {
    words_of(
        "between bigint bit boolean char character coalesce dec decimal exists \
    extract float greatest grouping inout int integer interval least national nchar none normalize nullif numeric out overlay position \
    precision real row setof smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists \
    xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable",
    )
});

/// Reserved words that are operands, or end them.
static RESERVED_OPERANDS: Words = Words::new(|| {
    words_of(
        "current_catalog current_date current_role current_time current_timestamp current_user end false \
    localtime localtimestamp null session_user true user",
    )
});

/// Words that are a column's name only after AS, beside those that sqlparser does not take.
const NAMES_AFTER_AS: &[Keyword] = &[
    Keyword::ARRAY,
    Keyword::CHAR,
    Keyword::CHARACTER,
    Keyword::CREATE,
    Keyword::DAY,
    Keyword::FILTER,
    Keyword::FOR,
    Keyword::GRANT,
    Keyword::HOUR,
    Keyword::MINUTE,
    Keyword::MONTH,
    Keyword::NOTNULL,
    Keyword::OVER,
    Keyword::OVERLAPS,
    Keyword::PRECISION,
    Keyword::RETURNING,
    Keyword::SECOND,
    Keyword::TO,
    Keyword::VARYING,
    Keyword::WITHIN,
    Keyword::WITHOUT,
    Keyword::YEAR,
];

/// Whether a token is a word of the grammar.
pub(super) fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

/// Whether a word can begin `type 'literal'`, for a type that PostgreSQL's grammar does not know.
pub(super) fn can_name_type(word: &Word) -> bool {
    word.quote_style.is_some() || !(is_one_of(&word.value, &RESERVED) || is_one_of(&word.value, &COLUMN_NAMES))
}

/// Whether a word can be the last one of an operand.
pub(super) fn can_end_operand(word: &Word) -> bool {
    word.quote_style.is_some() || !is_one_of(&word.value, &RESERVED) || is_one_of(&word.value, &RESERVED_OPERANDS)
}

/// Whether a word is no name of a table, unless it is quoted.
pub fn is_no_table_name(name: &Ident) -> bool {
    name.quote_style.is_none() && (is_one_of(&name.value, &RESERVED) || is_one_of(&name.value, &FUNCTION_NAMES))
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn words_of(text: &'static str) -> Vec<&'static str> {
    text.split_whitespace().collect()
}

/// Words that begin clauses of other dialects, and are ordinary names of tables in PostgreSQL.
const CLAUSES_OF_OTHERS: &[Keyword] = &[
    Keyword::ANTI,
    Keyword::ASOF,
    Keyword::CLUSTER,
    Keyword::CONNECT,
    Keyword::DISTRIBUTE,
    Keyword::EXPLAIN,
    Keyword::FORMAT,
    Keyword::GLOBAL,
    Keyword::MATCH_CONDITION,
    Keyword::MATCH_RECOGNIZE,
    Keyword::OPEN,
    Keyword::OUTPUT,
    Keyword::PARTITION,
    Keyword::PIVOT,
    Keyword::PREWHERE,
    Keyword::QUALIFY,
    Keyword::SAMPLE,
    Keyword::SEMI,
    Keyword::SETTINGS,
    Keyword::SORT,
    Keyword::START,
    Keyword::TOP,
    Keyword::UNPIVOT,
    Keyword::VIEW,
];

/// Whether a word that sqlparser reserves may be the alias of a table without AS.
pub(super) fn may_name_tables(word: Keyword) -> bool {
    CLAUSES_OF_OTHERS.contains(&word)
}

/// Whether a word names a column only after AS.
pub(super) fn needs_as(word: Keyword) -> bool {
    NAMES_AFTER_AS.contains(&word)
}
