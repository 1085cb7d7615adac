//! The syntax tree of a statement: what sqlparser reads, and what is read here.

use braid_sql::syntax::walk::{Rewrite, Tree};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::copy_statement::{CopyStatement, CopySubject};
use super::prepare_statement::{PrepareStatement, parse_execute};
use super::view_statement::{CreateView, ViewStatement};
use crate::statement_limits::StatementSize;

/// The syntax tree behind a [`Statement`](super::Statement).
#[derive(Debug)]
pub(crate) enum Command {
    /// What sqlparser read.
    Sql(ast::Statement),
    /// CREATE TABLE AS … WITH NO DATA, whose last words sqlparser does not support.
    CreateTableWithoutData(ast::CreateTable),
    /// COPY, as read here.
    Copy(CopyStatement),
    /// PREPARE, as read here.
    Prepare(PrepareStatement),
    /// A statement about views, as read here.
    View(ViewStatement),
}

impl Command {
    /// Parses one statement, which begins with `first`.
    pub(super) fn parse(parser: &mut Parser<'_>, first: &TokenWithSpan) -> Result<Self, ParserError> {
        let keyword = match &first.token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match keyword {
            Keyword::COPY => {
                parser.next_token();
                CopyStatement::parse(parser).map(Self::Copy)
            }
            Keyword::PREPARE => {
                parser.next_token();
                PrepareStatement::parse(parser).map(Self::Prepare)
            }
            Keyword::EXECUTE => {
                parser.next_token();
                parse_execute(parser).map(Self::Sql)
            }
            Keyword::ABORT => {
                parser.next_token();
                let chain = parser.parse_commit_rollback_chain()?;
                Ok(Self::Sql(ast::Statement::Rollback { chain, savepoint: None }))
            }
            Keyword::CREATE | Keyword::ALTER | Keyword::REFRESH
                if let Some(statement) = ViewStatement::parse(parser, keyword)? =>
            {
                Ok(Self::View(statement))
            }
            _ => {
                let statement = parser.parse_statement()?;
                match statement {
                    ast::Statement::CreateTable(create) if create.query.is_some() => parse_data_wish(parser, create),
                    statement => Ok(Self::Sql(statement)),
                }
            }
        }
    }

    /// Walks over its tree and changes it.
    pub(super) fn rewrite(&mut self, rewrite: &mut dyn Rewrite) {
        match self {
            Self::Sql(statement) => statement.rewrite(rewrite),
            Self::CreateTableWithoutData(create) => create.rewrite(rewrite),
            Self::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => query.rewrite(rewrite),
            Self::View(ViewStatement::Create(CreateView { query, .. })) => query.rewrite(rewrite),
            Self::Copy(_) | Self::Prepare(_) | Self::View(_) => {}
        }
    }

    /// The size of its tree.
    pub(super) fn size(&self) -> StatementSize {
        match self {
            Self::Sql(statement) => StatementSize::of(statement),
            Self::CreateTableWithoutData(create) => StatementSize::of(create),
            Self::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => StatementSize::of(&**query),
            Self::View(ViewStatement::Create(CreateView { query, .. })) => StatementSize::of(&**query),
            Self::Copy(_) | Self::View(_) => StatementSize::default(),
            Self::Prepare(prepare) => {
                prepare.prepared.as_deref().map_or_else(StatementSize::default, |tree| StatementSize::of(tree))
            }
        }
    }
}

/// `WITH [NO] DATA` after CREATE TABLE AS.
fn parse_data_wish(parser: &mut Parser<'_>, create: ast::CreateTable) -> Result<Command, ParserError> {
    if parser.parse_keywords(&[Keyword::WITH, Keyword::NO, Keyword::DATA]) {
        return Ok(Command::CreateTableWithoutData(create));
    }
    let _ = parser.parse_keywords(&[Keyword::WITH, Keyword::DATA]);
    Ok(Command::Sql(ast::Statement::CreateTable(create)))
}
