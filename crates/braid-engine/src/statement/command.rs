//! The syntax tree of a statement: what sqlparser reads, and what is read here.

use braid_sql::syntax::walk::{Rewrite, Tree};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::absent_statement::DropAbsent;
use super::comment_statement::{CommentStatement, consume_words};
use super::constraint_statement::ConstraintStatement;
use super::copy_statement::{CopyStatement, CopySubject};
use super::default_privileges_statement::DefaultPrivilegesStatement;
use super::do_statement::DoStatement;
use super::domain_statement::DomainStatement;
use super::grant_statement::GrantStatement;
use super::index_statement::parse_rename;
use super::kind::has_changes_in_with;
use super::locking_queries::{in_with, locks_rows};
use super::maintenance_statement::MaintenanceStatement;
use super::merge_statement::parse_merge;
use super::object_statement::ObjectStatement;
use super::prepare_statement::{PrepareStatement, parse_execute};
use super::refused_statement::{Refused, parse_refused};
use super::relation_names::RelationNames;
use super::role_statement::RoleStatement;
use super::sequence_statement::SequenceStatement;
use super::storage_statement::StorageStatement;
use super::table_of_rows::{CreateTableOfExecution, select_into};
use super::transaction_statement::TransactionStatement;
use super::view_statement::{CreateView, ViewStatement};
use crate::names::fold;
use crate::statement_limits::StatementSize;

/// Settings that RESET names by other words.
const RESETS: &[(&str, &str)] =
    &[("reset session authorization", "session_authorization"), ("reset time zone", "timezone")];

/// The syntax tree behind a [`Statement`](super::Statement).
#[derive(Debug)]
pub(crate) enum Command {
    /// What sqlparser read.
    Sql(ast::Statement),
    /// CREATE TABLE AS … WITH NO DATA, whose last words sqlparser does not support.
    CreateTableWithoutData(ast::CreateTable),
    /// CREATE TABLE AS EXECUTE, which sqlparser does not read.
    CreateTableOfExecution(Box<CreateTableOfExecution>),
    /// COPY, as read here.
    Copy(CopyStatement),
    /// PREPARE, as read here.
    Prepare(PrepareStatement),
    /// CREATE SEQUENCE and ALTER SEQUENCE, as read here.
    Sequence(SequenceStatement),
    /// VACUUM and the like, as read here.
    Maintenance(MaintenanceStatement),
    /// A statement about when constraints are compared, as read here.
    Constraint(ConstraintStatement),
    /// ALTER … OWNER TO and SET SCHEMA, as read here.
    Object(ObjectStatement),
    /// COMMENT ON, as read here.
    Comment(CommentStatement),
    /// A statement about views, as read here.
    View(ViewStatement),
    /// BEGIN or SET TRANSACTION with DEFERRABLE, as read here.
    Transaction(TransactionStatement),
    /// How PostgreSQL is to store a relation, as read here.
    Storage(StorageStatement),
    /// DO, as read here.
    Do(DoStatement),
    /// A statement about roles, as read here.
    Role(RoleStatement),
    /// A statement about domains, as read here.
    Domain(DomainStatement),
    /// GRANT or REVOKE, as read here.
    Grant(GrantStatement),
    /// ALTER DEFAULT PRIVILEGES, as read here.
    DefaultPrivileges(DefaultPrivilegesStatement),
    /// ALTER INDEX … RENAME TO, as read here.
    RenameIndex(ast::AlterTable),
    /// DROP of objects that users cannot create, as read here.
    DropAbsent(DropAbsent),
    /// What is refused by its name.
    Refused(Refused),
}

impl Command {
    /// Parses one statement, which begins with `first`.
    pub(super) fn parse(parser: &mut Parser<'_>, first: &TokenWithSpan) -> Result<Self, ParserError> {
        let keyword = match &first.token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match keyword {
            _ if let Some(refused) = parse_refused(parser, keyword) => Ok(Self::Refused(refused)),
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
            Keyword::MERGE => parse_merge(parser).map(Self::Sql),
            Keyword::DO => DoStatement::parse(parser).map(Self::Do),
            Keyword::BEGIN | Keyword::START | Keyword::SET
                if let Some(transaction) = TransactionStatement::parse(parser)? =>
            {
                Ok(Self::Transaction(transaction))
            }
            Keyword::ABORT => {
                parser.next_token();
                let chain = parser.parse_commit_rollback_chain()?;
                Ok(Self::Sql(ast::Statement::Rollback { chain, savepoint: None }))
            }
            Keyword::RESET
                if let Some((_, setting)) = RESETS.iter().find(|(words, _)| consume_words(parser, words)) =>
            {
                let name = ast::ObjectName::from(vec![ast::Ident::new(*setting)]);
                let reset = ast::Reset::ConfigurationParameter(name);
                Ok(Self::Sql(ast::Statement::Reset(ast::ResetStatement { reset })))
            }
            Keyword::GRANT | Keyword::REVOKE => GrantStatement::parse(parser).map(Self::Grant),
            // REASSIGN is no word of the parser.
            Keyword::CREATE | Keyword::ALTER | Keyword::DROP | Keyword::NoKeyword if RoleStatement::begins(parser) => {
                RoleStatement::parse(parser).map(Self::Role)
            }
            Keyword::ALTER if let Some(statement) = DefaultPrivilegesStatement::parse(parser)? => {
                Ok(Self::DefaultPrivileges(statement))
            }
            Keyword::ALTER if let Some(rename) = parse_rename(parser)? => Ok(Self::RenameIndex(rename)),
            Keyword::DROP if let Some(dropped) = DropAbsent::parse(parser)? => Ok(Self::DropAbsent(dropped)),
            Keyword::ALTER if let Some(storage) = StorageStatement::parse(parser)? => Ok(Self::Storage(storage)),
            Keyword::ALTER if let Some(object) = ObjectStatement::parse(parser)? => Ok(Self::Object(object)),
            Keyword::CREATE | Keyword::ALTER | Keyword::DROP if let Some(domain) = DomainStatement::parse(parser)? => {
                Ok(Self::Domain(domain))
            }
            _ if SequenceStatement::begins(parser, keyword) => SequenceStatement::parse(parser).map(Self::Sequence),
            Keyword::CREATE | Keyword::ALTER | Keyword::REFRESH
                if let Some(statement) = ViewStatement::parse(parser, keyword)? =>
            {
                Ok(Self::View(statement))
            }
            Keyword::SET | Keyword::ALTER if let Some(statement) = ConstraintStatement::parse(parser, keyword)? => {
                Ok(Self::Constraint(statement))
            }
            _ if let Some(statement) = MaintenanceStatement::parse(parser)? => Ok(Self::Maintenance(statement)),
            Keyword::COMMENT if let Some(comment) = CommentStatement::parse(parser)? => Ok(Self::Comment(comment)),
            _ => {
                if keyword == Keyword::CREATE
                    && let Some(create) = parser.maybe_parse(CreateTableOfExecution::parse)?
                {
                    return Ok(Self::CreateTableOfExecution(Box::new(create)));
                }
                let statement = parser.parse_statement()?;
                match statement {
                    ast::Statement::Query(query) => Ok(Self::Sql(select_into(query))),
                    ast::Statement::CreateTable(create) if create.query.is_some() => parse_data_wish(parser, create),
                    statement => Ok(Self::Sql(statement)),
                }
            }
        }
    }

    /// The same with its locking subqueries in WITH.
    pub(super) fn with_locking_queries(self) -> Self {
        match self {
            Self::Sql(statement) => Self::Sql(in_with(statement)),
            other => other,
        }
    }

    /// The query, if it runs in parts: its WITH changes rows, or is read by RETURNING, or it locks rows.
    pub fn query_in_parts(&self) -> Option<&ast::Query> {
        match self {
            Self::Sql(ast::Statement::Query(query)) if has_changes_in_with(query) || locks_rows(query) => Some(query),
            Self::Sql(ast::Statement::Query(query)) => {
                let items = self.returning().unwrap_or_default();
                query.with.as_ref().filter(|with| reads_common_table(items, with)).map(|_| &**query)
            }
            _ => None,
        }
    }

    /// The list of RETURNING.
    pub(super) fn returning(&self) -> Option<&[ast::SelectItem]> {
        use ast::{SetExpr, Statement as S};
        let changes = match self {
            Self::Sql(S::Query(query)) => match &*query.body {
                SetExpr::Insert(changes) | SetExpr::Update(changes) | SetExpr::Delete(changes) => changes,
                _ => return None,
            },
            Self::Sql(changes) => changes,
            _ => return None,
        };
        match changes {
            S::Insert(insert) => insert.returning.as_deref(),
            S::Update(update) => update.returning.as_deref(),
            S::Delete(delete) => delete.returning.as_deref(),
            _ => None,
        }
    }

    /// The relation whose rows it changes, if it changes those of one only.
    pub fn changed_relation(&self) -> Option<&ast::ObjectName> {
        use ast::{FromTable, Statement as S, TableObject};
        match self {
            Self::Copy(CopyStatement { subject: CopySubject::Table { name, .. }, .. }) => Some(name),
            Self::Sql(S::Insert(insert)) => match (&insert.table, &insert.source) {
                (_, Some(source)) if has_changes_in_with(source) => None,
                (TableObject::TableName(name), _) => Some(name),
                _ => None,
            },
            Self::Sql(S::Update(update)) => name_of(&update.table.relation),
            Self::Sql(S::Delete(delete)) => {
                let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
                tables.first().and_then(|table| name_of(&table.relation))
            }
            Self::Sql(S::Merge(merge)) => name_of(&merge.table),
            _ => None,
        }
    }

    /// Walks over its tree and changes it.
    pub(super) fn rewrite(&mut self, rewrite: &mut dyn Rewrite) {
        match self {
            Self::Sql(statement) => statement.rewrite(rewrite),
            Self::CreateTableWithoutData(create) => create.rewrite(rewrite),
            Self::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => query.rewrite(rewrite),
            Self::Copy(CopyStatement { condition: Some(condition), .. }) => condition.rewrite(rewrite),
            Self::CreateTableOfExecution(create) => create.execution.rewrite(rewrite),
            Self::View(ViewStatement::Create(CreateView { query, .. })) => query.rewrite(rewrite),
            Self::Copy(_) | Self::Prepare(_) | Self::Sequence(_) | Self::View(_) => {}
            Self::Maintenance(_) | Self::Constraint(_) | Self::Comment(_) | Self::Object(_) | Self::Do(_) => {}
            Self::Transaction(_) | Self::Storage(_) | Self::RenameIndex(_) | Self::DropAbsent(_) | Self::Refused(_) => {
            }
            Self::Role(_) | Self::Grant(_) | Self::DefaultPrivileges(_) | Self::Domain(_) => {}
        }
    }

    /// The size of its tree.
    pub(super) fn size(&self) -> StatementSize {
        match self {
            Self::Sql(statement) => StatementSize::of(statement),
            Self::CreateTableWithoutData(create) => StatementSize::of(create),
            Self::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => StatementSize::of(&**query),
            Self::Copy(CopyStatement { condition: Some(condition), .. }) => StatementSize::of(condition),
            Self::CreateTableOfExecution(create) => StatementSize::of(&create.execution),
            Self::View(ViewStatement::Create(CreateView { query, .. })) => StatementSize::of(&**query),
            Self::Copy(_) | Self::Sequence(_) | Self::View(_) | Self::Do(_) => StatementSize::default(),
            Self::Transaction(_) | Self::Storage(_) => StatementSize::default(),
            Self::Role(_) | Self::Grant(_) | Self::DefaultPrivileges(_) => StatementSize::default(),
            Self::Domain(_) | Self::RenameIndex(_) | Self::DropAbsent(_) | Self::Refused(_) => StatementSize::default(),
            Self::Maintenance(_) | Self::Constraint(_) | Self::Comment(_) | Self::Object(_) => StatementSize::default(),
            Self::Prepare(prepare) => {
                prepare.prepared.as_deref().map_or_else(StatementSize::default, |tree| StatementSize::of(tree))
            }
        }
    }
}

/// The name of a relation, if it is written as one. `ONLY t` is read as a table `only` with an alias.
fn name_of(factor: &ast::TableFactor) -> Option<&ast::ObjectName> {
    match factor {
        ast::TableFactor::Table { name, alias: Some(_), .. } if name.to_string().eq_ignore_ascii_case("only") => None,
        ast::TableFactor::Table { name, .. } => Some(name),
        _ => None,
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

/// Whether a subquery of a select list may read a query of WITH.
fn reads_common_table(items: &[ast::SelectItem], with: &ast::With) -> bool {
    let mut read = RelationNames::default();
    for item in items {
        if let ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } = item {
            expr.walk(&mut read);
        }
    }
    with.cte_tables.iter().any(|cte| read.has(&fold(&cte.alias.name)))
}
