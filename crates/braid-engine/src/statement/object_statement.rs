//! ALTER … OWNER TO and ALTER … SET SCHEMA as written.

use sqlparser::ast::{DataType, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::StatementKind;
use super::comment_statement::{CommentObject, CommentedRelation, consume_words};

/// `ALTER object [IF EXISTS] name OWNER TO role` or `… SET SCHEMA schema`
#[derive(Debug)]
pub(crate) struct ObjectStatement {
    /// What is changed.
    pub object: CommentObject,
    /// Whether a relation need not exist.
    pub if_exists: bool,
    /// What it gets.
    pub change: ObjectChange,
}

/// What ALTER gives any kind of object.
#[derive(Debug)]
pub(crate) enum ObjectChange {
    /// An owner: the role.
    Owner(Ident),
    /// Another schema.
    Schema(Ident),
}

const RELATIONS: [(&str, CommentedRelation); 5] = [
    ("table", CommentedRelation::Table),
    ("view", CommentedRelation::View),
    ("materialized view", CommentedRelation::MaterializedView),
    ("index", CommentedRelation::Index),
    ("sequence", CommentedRelation::Sequence),
];

impl ObjectStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        parser.maybe_parse(parse_alter)
    }

    /// What it does.
    pub(super) fn kind(&self) -> StatementKind {
        match &self.object {
            CommentObject::Relation(CommentedRelation::View | CommentedRelation::MaterializedView, _) => {
                StatementKind::AlterView
            }
            CommentObject::Relation(CommentedRelation::Index, _) => StatementKind::AlterIndex,
            CommentObject::Relation(CommentedRelation::Sequence, _) => StatementKind::AlterSequence,
            CommentObject::Type(_) => StatementKind::AlterType,
            CommentObject::Domain(_) => StatementKind::AlterDomain,
            CommentObject::Schema(_) | CommentObject::Database(_) => StatementKind::AlterSchema,
            _ => StatementKind::AlterTable,
        }
    }

    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match &self.object {
            CommentObject::Relation(CommentedRelation::View, _) => "ALTER VIEW",
            CommentObject::Relation(CommentedRelation::MaterializedView, _) => "ALTER MATERIALIZED VIEW",
            CommentObject::Relation(CommentedRelation::Index, _) => "ALTER INDEX",
            CommentObject::Relation(CommentedRelation::Sequence, _) => "ALTER SEQUENCE",
            CommentObject::Type(_) => "ALTER TYPE",
            CommentObject::Domain(_) => "ALTER DOMAIN",
            CommentObject::Schema(_) => "ALTER SCHEMA",
            CommentObject::Database(_) => "ALTER DATABASE",
            _ => "ALTER TABLE",
        }
    }
}

fn parse_alter(parser: &mut Parser<'_>) -> Result<ObjectStatement, ParserError> {
    parser.expect_keyword_is(Keyword::ALTER)?;
    let mut if_exists = false;
    let object = if let Some((_, kind)) = RELATIONS.iter().find(|(words, _)| consume_words(parser, words)) {
        if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        if *kind == CommentedRelation::Table {
            let _ = parser.parse_keyword(Keyword::ONLY);
        }
        CommentObject::Relation(*kind, parser.parse_object_name(false)?)
    } else if consume_words(parser, "schema") {
        CommentObject::Schema(parser.parse_identifier()?)
    } else if consume_words(parser, "database") {
        CommentObject::Database(parser.parse_identifier()?)
    } else if consume_words(parser, "type") {
        let name: ObjectName = parser.parse_object_name(false)?;
        CommentObject::Type(DataType::Custom(name, Vec::new()))
    } else if consume_words(parser, "domain") {
        CommentObject::Domain(DataType::Custom(parser.parse_object_name(false)?, Vec::new()))
    } else {
        return parser.expected("a kind of object", parser.peek_token());
    };
    let has_schema = !matches!(
        object,
        CommentObject::Schema(_) | CommentObject::Database(_) | CommentObject::Relation(CommentedRelation::Index, _)
    );
    let change = if consume_words(parser, "owner to") {
        ObjectChange::Owner(parser.parse_identifier()?)
    } else if has_schema && consume_words(parser, "set schema") {
        ObjectChange::Schema(parser.parse_identifier()?)
    } else {
        return parser.expected("OWNER TO", parser.peek_token());
    };
    match parser.peek_token().token {
        Token::EOF | Token::SemiColon => Ok(ObjectStatement { object, if_exists, change }),
        _ => parser.expected("end of statement", parser.peek_token()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};

    #[test]
    fn owners_of_all_kinds_are_read() {
        for (sql, tag) in [
            ("alter table t owner to a", "ALTER TABLE"),
            ("alter table if exists only s.t owner to \"A b\"", "ALTER TABLE"),
            ("ALTER MATERIALIZED VIEW v OWNER TO CURRENT_USER", "ALTER MATERIALIZED VIEW"),
            ("alter view if exists s.v owner to a", "ALTER VIEW"),
            ("alter sequence s owner to session_user", "ALTER SEQUENCE"),
            ("alter index i owner to a", "ALTER INDEX"),
            ("alter type s.t owner to a", "ALTER TYPE"),
            ("alter domain d owner to a", "ALTER DOMAIN"),
            ("alter schema s owner to a", "ALTER SCHEMA"),
            ("alter database d owner to a", "ALTER DATABASE"),
            ("alter table if exists t set schema s", "ALTER TABLE"),
            ("alter materialized view v set schema \"S\"", "ALTER MATERIALIZED VIEW"),
            ("alter sequence q set schema s", "ALTER SEQUENCE"),
        ] {
            let statement = Statement::parse(sql).unwrap().remove(0);
            let Command::Object(object) = statement.command() else { panic!("{statement:?}") };
            assert_eq!(object.tag(), tag, "{sql}");
            assert!(statement.kind().writes());
        }
        for sql in [
            "alter table t owner a",
            "alter schema s set schema t",
            "alter table owner to",
            "alter type if exists t owner to a",
        ] {
            assert!(Statement::parse(sql).is_err(), "{sql}");
        }
    }
}
