//! CREATE DOMAIN, ALTER DOMAIN and DROP DOMAIN as written: sqlparser reads few of their clauses. ALTER DOMAIN … OWNER TO is read with
//! those of other objects.

use sqlparser::ast::{CheckConstraint, ColumnOption, DataType, Expr, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::StatementKind;
use super::behavior::Behavior;
use super::comment_statement::consume_words;

/// A statement about domains.
#[derive(Debug)]
pub(crate) enum DomainStatement {
    Create(CreateDomain),
    Alter { name: ObjectName, change: Box<DomainChange> },
    Drop { names: Vec<ObjectName>, if_exists: bool, behavior: Behavior },
}

/// `CREATE DOMAIN name [AS] type …`
#[derive(Debug)]
pub(crate) struct CreateDomain {
    pub name: ObjectName,
    pub data_type: DataType,
    /// Whether it has COLLATE.
    pub has_collation: bool,
    /// The other clauses in order, each with the name that stands before it.
    pub options: Vec<(Option<Ident>, ColumnOption)>,
}

/// `ALTER DOMAIN name …`
#[derive(Debug)]
pub(crate) enum DomainChange {
    /// `SET DEFAULT …`, `DROP DEFAULT`
    Default(Option<Expr>),
    /// `SET NOT NULL`, `DROP NOT NULL`
    NotNull(bool),
    /// `ADD [CONSTRAINT name] …`, which is no CHECK if it has no condition; whether it says NOT VALID
    Add { name: Option<Ident>, option: Box<ColumnOption>, is_not_valid: bool },
    /// `DROP CONSTRAINT [IF EXISTS] name`
    Drop { name: Ident, if_exists: bool },
    /// `RENAME CONSTRAINT … TO …`
    RenameConstraint { from: Ident, to: Ident },
    /// `VALIDATE CONSTRAINT name`
    Validate(Ident),
    /// `RENAME TO name`
    Rename(Ident),
}

impl DomainStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        if consume_words(parser, "create domain") {
            return parse_create(parser).map(Self::Create).map(Some);
        }
        if consume_words(parser, "alter domain") {
            let name = parser.parse_object_name(false)?;
            return Ok(Some(Self::Alter { name, change: Box::new(parse_change(parser)?) }));
        }
        if consume_words(parser, "drop domain") {
            let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
            let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
            return Ok(Some(Self::Drop { names, if_exists, behavior: parse_behavior(parser) }));
        }
        Ok(None)
    }

    /// What it does.
    pub(super) fn kind(&self) -> StatementKind {
        match self {
            Self::Create(_) => StatementKind::CreateDomain,
            Self::Alter { .. } => StatementKind::AlterDomain,
            Self::Drop { .. } => StatementKind::DropDomain,
        }
    }
}

fn parse_behavior(parser: &mut Parser<'_>) -> Behavior {
    let is_cascade = parser.parse_keyword(Keyword::CASCADE);
    if !is_cascade {
        let _ = parser.parse_keyword(Keyword::RESTRICT);
    }
    Behavior::of(is_cascade)
}

fn parse_create(parser: &mut Parser<'_>) -> Result<CreateDomain, ParserError> {
    let name = parser.parse_object_name(false)?;
    let _ = parser.parse_keyword(Keyword::AS);
    let data_type = parser.parse_data_type()?;
    let (mut has_collation, mut options) = (false, Vec::new());
    loop {
        if parser.parse_keyword(Keyword::COLLATE) {
            has_collation = true;
            parser.parse_object_name(false)?;
            continue;
        }
        match parse_option(parser)? {
            Some(option) => options.push(option),
            None => return Ok(CreateDomain { name, data_type, has_collation, options }),
        }
    }
}

/// A constraint or a default, with its name.
fn parse_option(parser: &mut Parser<'_>) -> Result<Option<(Option<Ident>, ColumnOption)>, ParserError> {
    let name = match parser.parse_keyword(Keyword::CONSTRAINT) {
        true => Some(parser.parse_identifier()?),
        false => None,
    };
    match (name, parser.parse_optional_column_option()?) {
        (name, Some(option)) => Ok(Some((name, option))),
        (None, None) => Ok(None),
        (Some(_), None) => parser.expected("a constraint", parser.peek_token()),
    }
}

fn parse_change(parser: &mut Parser<'_>) -> Result<DomainChange, ParserError> {
    if consume_words(parser, "set default") {
        return Ok(DomainChange::Default(Some(parser.parse_expr()?)));
    }
    for (words, change) in [
        ("drop default", DomainChange::Default(None)),
        ("set not null", DomainChange::NotNull(true)),
        ("drop not null", DomainChange::NotNull(false)),
    ] {
        if consume_words(parser, words) {
            return Ok(change);
        }
    }
    if consume_words(parser, "drop constraint") {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_identifier()?;
        parse_behavior(parser);
        return Ok(DomainChange::Drop { name, if_exists });
    }
    if consume_words(parser, "rename constraint") {
        let from = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::TO)?;
        return Ok(DomainChange::RenameConstraint { from, to: parser.parse_identifier()? });
    }
    if consume_words(parser, "validate constraint") {
        return Ok(DomainChange::Validate(parser.parse_identifier()?));
    }
    if consume_words(parser, "rename to") {
        return Ok(DomainChange::Rename(parser.parse_identifier()?));
    }
    if parser.parse_keyword(Keyword::ADD) {
        // NOT NULL is added by SET.
        let is_null = parser.peek_keyword(Keyword::NOT) || parser.peek_keyword(Keyword::NULL);
        let next = parser.peek_token();
        return match parse_option(parser)? {
            Some((name, option @ (ColumnOption::Check(_) | ColumnOption::Unique(_) | ColumnOption::PrimaryKey(_))))
                if !is_null =>
            {
                let is_not_valid = consume_words(parser, "not valid");
                Ok(DomainChange::Add { name, option: Box::new(option), is_not_valid })
            }
            _ => parser.expected("a constraint", next),
        };
    }
    parser.expected("a change of a domain", parser.peek_token())
}

/// The condition of a CHECK.
pub(crate) fn check_of(option: &ColumnOption) -> Option<&CheckConstraint> {
    match option {
        ColumnOption::Check(check) => Some(check),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};
    use super::*;

    fn parsed(sql: &str) -> Statement {
        Statement::parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).remove(0)
    }

    #[test]
    fn clauses_come_in_any_order() {
        for (sql, options) in [
            ("create domain d as int", 0),
            ("create domain s.d numeric(5,2) default 1 + 1 not null check (value > 0)", 3),
            ("create domain d text constraint a check (value <> '') null constraint b not null", 3),
            ("create domain d varchar(5) collate \"C\" check (length(value) > 1) collate pg_catalog.\"C\"", 1),
        ] {
            let statement = parsed(sql);
            let Command::Domain(DomainStatement::Create(create)) = statement.command() else { panic!("{statement:?}") };
            assert_eq!(create.options.len(), options, "{sql}");
            assert_eq!(create.has_collation, sql.contains("collate"), "{sql}");
            assert_eq!(statement.kind(), StatementKind::CreateDomain);
        }
    }

    #[test]
    fn changes_are_read() {
        for sql in [
            "alter domain d set default 3",
            "alter domain d drop default",
            "alter domain s.d set not null",
            "alter domain d drop not null",
            "alter domain d add check (value > 0)",
            "alter domain d add constraint c check (value > 0) not valid",
            "alter domain d drop constraint if exists c cascade",
            "alter domain d rename constraint a to b",
            "alter domain d validate constraint c",
            "alter domain d rename to e",
        ] {
            assert!(matches!(parsed(sql).command(), Command::Domain(DomainStatement::Alter { .. })), "{sql}");
        }
        for sql in ["drop domain d", "drop domain if exists a, s.b cascade"] {
            assert!(matches!(parsed(sql).command(), Command::Domain(DomainStatement::Drop { .. })), "{sql}");
        }
        for sql in
            ["create domain d", "alter domain d", "alter domain d add not null", "create domain d int constraint c"]
        {
            assert!(Statement::parse(sql).is_err(), "{sql}");
        }
    }
}
