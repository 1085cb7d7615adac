//! CREATE VIEW, CREATE MATERIALIZED VIEW, ALTER VIEW and REFRESH MATERIALIZED VIEW as written.
//!
//! They are read here because the text of the query is kept, and sqlparser does not say where it begins.

use sqlparser::ast::{Ident, ObjectName, Query, SqlOption};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token};

use super::Statement;
use super::places::Places;

/// A statement about views.
#[derive(Debug)]
pub(crate) enum ViewStatement {
    /// CREATE VIEW and CREATE MATERIALIZED VIEW.
    Create(CreateView),
    /// ALTER VIEW.
    Alter(AlterView),
    /// REFRESH MATERIALIZED VIEW.
    Refresh(RefreshView),
}

/// `CREATE [OR REPLACE] [TEMPORARY] [RECURSIVE] VIEW name (columns) [WITH (…)] AS query`
#[derive(Debug)]
pub(crate) struct CreateView {
    /// The name.
    pub name: ObjectName,
    /// The names of the first columns.
    pub columns: Vec<Ident>,
    /// What it is to be.
    pub form: CreateForm,
    /// Whether it goes with its session.
    pub is_temporary: bool,
    /// `WITH (…)`
    pub options: Vec<SqlOption>,
    /// Whether its rows are stored at once, if it is materialized.
    pub with_data: bool,
    /// What is written and not supported.
    pub unsupported: Option<&'static str>,
    /// The query.
    pub query: Box<Query>,
    /// Where it begins and ends.
    range: (Location, Location),
}

/// What CREATE VIEW makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CreateForm {
    /// A view that there is not yet.
    New,
    /// OR REPLACE.
    OrReplace,
    /// A materialized view.
    Materialized {
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
}

/// `ALTER [MATERIALIZED] VIEW [IF EXISTS] name …`
#[derive(Debug)]
pub(crate) struct AlterView {
    /// The name.
    pub name: ObjectName,
    /// MATERIALIZED.
    pub is_materialized: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What is changed.
    pub change: ViewChange,
}

/// What ALTER VIEW changes.
#[derive(Debug)]
pub(crate) enum ViewChange {
    /// The name of the view.
    Rename(Ident),
    /// The name of a column.
    RenameColumn(Ident, Ident),
    /// Options.
    Set(Vec<SqlOption>),
    /// Options, which get their defaults.
    Reset(Vec<Ident>),
    /// Something else.
    Unsupported,
}

/// `REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]`
#[derive(Debug)]
pub(crate) struct RefreshView {
    /// The name.
    pub name: ObjectName,
    /// CONCURRENTLY.
    pub is_concurrent: bool,
    /// Whether it has rows then.
    pub with_data: bool,
}

/// The words before the name in CREATE VIEW.
struct Head {
    form: CreateForm,
    is_temporary: bool,
    unsupported: Option<&'static str>,
}

impl ViewStatement {
    /// Reads a statement; `None` if it is none about views, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>, first: Keyword) -> Result<Option<Self>, ParserError> {
        match first {
            Keyword::CREATE => match parser.maybe_parse(Head::parse)? {
                Some(head) => CreateView::parse(parser, head).map(|create| Some(Self::Create(create))),
                None => Ok(None),
            },
            Keyword::ALTER if parser.parse_keywords(&[Keyword::ALTER, Keyword::VIEW]) => {
                AlterView::parse(parser, false).map(|alter| Some(Self::Alter(alter)))
            }
            Keyword::ALTER if parser.parse_keywords(&[Keyword::ALTER, Keyword::MATERIALIZED, Keyword::VIEW]) => {
                AlterView::parse(parser, true).map(|alter| Some(Self::Alter(alter)))
            }
            Keyword::REFRESH if parser.parse_keywords(&[Keyword::REFRESH, Keyword::MATERIALIZED, Keyword::VIEW]) => {
                RefreshView::parse(parser).map(|refresh| Some(Self::Refresh(refresh)))
            }
            _ => Ok(None),
        }
    }
}

impl Head {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        parser.expect_keyword_is(Keyword::CREATE)?;
        if parser.parse_keywords(&[Keyword::MATERIALIZED, Keyword::VIEW]) {
            let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
            let form = CreateForm::Materialized { if_not_exists };
            return Ok(Self { form, is_temporary: false, unsupported: None });
        }
        let is_replaced = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
        let _ = parser.parse_one_of_keywords(&[Keyword::LOCAL, Keyword::GLOBAL]);
        let is_temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
        let recursive = parser.parse_keyword(Keyword::RECURSIVE);
        parser.expect_keyword_is(Keyword::VIEW)?;
        let unsupported = recursive.then_some("CREATE RECURSIVE VIEW");
        let form = if is_replaced { CreateForm::OrReplace } else { CreateForm::New };
        Ok(Self { form, is_temporary, unsupported })
    }
}

impl CreateView {
    fn parse(parser: &mut Parser<'_>, head: Head) -> Result<Self, ParserError> {
        let Head { form, is_temporary, mut unsupported } = head;
        let name = parser.parse_object_name(false)?;
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        let options = match parser.parse_keyword(Keyword::WITH) {
            true => parse_options(parser)?,
            false => Vec::new(),
        };
        parser.expect_keyword_is(Keyword::AS)?;
        let start = parser.peek_token().span.start;
        let query = parser.parse_query()?;
        let range = (start, parser.get_current_token().span.end);
        let mut with_data = true;
        if matches!(form, CreateForm::Materialized { .. }) {
            with_data = parse_data_wish(parser);
        } else if parser.parse_keyword(Keyword::WITH) {
            let _ = parser.parse_one_of_keywords(&[Keyword::LOCAL, Keyword::CASCADED]);
            parser.expect_keywords(&[Keyword::CHECK, Keyword::OPTION])?;
            unsupported.get_or_insert("WITH CHECK OPTION");
        }
        Ok(Self { name, columns, form, is_temporary, options, with_data, unsupported, query, range })
    }
}

impl AlterView {
    fn parse(parser: &mut Parser<'_>, is_materialized: bool) -> Result<Self, ParserError> {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        let change = ViewChange::parse(parser)?;
        Ok(Self { name, is_materialized, if_exists, change })
    }
}

impl ViewChange {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if parser.peek_keyword(Keyword::SET) && parser.peek_nth_token(1).token == Token::LParen {
            parser.next_token();
            return parse_options(parser).map(Self::Set);
        }
        if parser.parse_keyword(Keyword::RESET) {
            parser.expect_token(&Token::LParen)?;
            let names = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
            return Ok(Self::Reset(names));
        }
        if !parser.parse_keyword(Keyword::RENAME) {
            while !matches!(parser.peek_token().token, Token::SemiColon | Token::EOF) {
                parser.next_token();
            }
            return Ok(Self::Unsupported);
        }
        if parser.parse_keyword(Keyword::TO) {
            return parser.parse_identifier().map(Self::Rename);
        }
        let _ = parser.parse_keyword(Keyword::COLUMN);
        let from = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::TO)?;
        Ok(Self::RenameColumn(from, parser.parse_identifier()?))
    }
}

impl RefreshView {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let is_concurrent = parser.parse_keyword(Keyword::CONCURRENTLY);
        let name = parser.parse_object_name(false)?;
        Ok(Self { name, is_concurrent, with_data: parse_data_wish(parser) })
    }
}

/// `(name [= value], …)`
fn parse_options(parser: &mut Parser<'_>) -> Result<Vec<SqlOption>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let options = parser.parse_comma_separated(|parser| {
        let key = parser.parse_identifier()?;
        match parser.consume_token(&Token::Eq) {
            true => Ok(SqlOption::KeyValue { key, value: parser.parse_expr()? }),
            false => Ok(SqlOption::Ident(key)),
        }
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

/// `WITH [NO] DATA`: whether there are to be rows.
fn parse_data_wish(parser: &mut Parser<'_>) -> bool {
    let without = parser.parse_keywords(&[Keyword::WITH, Keyword::NO, Keyword::DATA]);
    let _ = parser.parse_keywords(&[Keyword::WITH, Keyword::DATA]);
    !without
}

impl Statement {
    /// The text of the query of this CREATE VIEW.
    pub(crate) fn query_text(&self, create: &CreateView) -> &str {
        let mut places = Places::new(&self.origin);
        let (start, end) = create.range;
        let start = places.byte_of(start);
        self.origin[start..places.byte_of(end)].trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::*;

    fn read(sql: &str) -> Statement {
        Statement::parse(sql).unwrap().pop().unwrap()
    }

    #[test]
    fn the_text_of_the_query_is_found() {
        for (sql, expected) in [
            ("create view v as select 'ä' ;", "select 'ä'"),
            ("select 1; create or replace view v (a) as\n  (values (1)) ; select 2", "(values (1))"),
            ("create materialized view if not exists v as select 1 with no data", "select 1"),
            ("create view v as select 1 with local check option", "select 1"),
        ] {
            let statements = Statement::parse(sql).unwrap();
            let text = statements.iter().find_map(|statement| match statement.command() {
                Command::View(ViewStatement::Create(create)) => Some(statement.query_text(create).to_owned()),
                _ => None,
            });
            assert_eq!(text.as_deref(), Some(expected), "{sql}");
        }
    }

    #[test]
    fn alterations_are_read() {
        let changed = |sql: &str| match read(sql).command() {
            Command::View(ViewStatement::Alter(alter)) => format!("{:?}", alter.change),
            other => format!("{other:?}"),
        };
        assert!(changed("alter view v rename to w").starts_with("Rename("));
        assert!(changed("alter view if exists v rename column a to b").starts_with("RenameColumn("));
        assert!(changed("alter materialized view v rename a to b").starts_with("RenameColumn("));
        assert!(changed("alter view v set (security_barrier)").starts_with("Set("));
        assert!(changed("alter view v reset (security_barrier, check_option)").starts_with("Reset("));
        assert_eq!(changed("alter view v alter column a set default 1"), "Unsupported");
    }
}
