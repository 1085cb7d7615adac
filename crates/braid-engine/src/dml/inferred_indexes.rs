//! The unique indexes that a target of ON CONFLICT means, if it has expressions or a condition.
//!
//! An index is meant if its members are those of the target, and each condition of its own stands in the target's WHERE. PostgreSQL also finds that one
//! condition implies another one; here such a target means nothing (42P10).

use std::collections::HashSet;

use braid_base::ColumnId;
use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_storage::{KeyDef, MemberSource, TableDef};
use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::column_names::without_table;
use crate::front_end::{comparable_expressions, index_syntax};
use crate::names::fold;
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// The keys of a table that a target means, by its text. There may be none.
///
/// # Errors
/// For what is no target, columns that there are not, and those of expressions.
pub(super) fn inferred_keys(
    context: &StatementContext,
    (def, alias): (&TableDef, Option<&Ident>),
    text: &str,
) -> Result<Vec<KeyDef>, EngineError> {
    let dialect = SqlDialect::for_text(text);
    let parsed = Parser::new(&dialect).try_with_sql(text).and_then(|mut parser| parse(&mut parser));
    let wrong = |error: ParserError| {
        let message = format!("a target of ON CONFLICT is of columns and expressions in parentheses: {error}");
        EngineError::new(SqlState::SyntaxError, message)
    };
    let (mut members, mut condition) = parsed.map_err(wrong)?;
    check_members(&members)?;
    let name = alias.map_or_else(|| def.name.clone(), fold);
    // Behind an alias there is no schema, and no other name of the table.
    let schema = if alias.is_none() { context.schema_name(def.schema) } else { String::new() };
    members.iter_mut().chain(&mut condition).for_each(|member| without_table(member, &schema, &name));
    let (mut columns, mut expressions) = (HashSet::new(), Vec::new());
    for member in members {
        match unnested(member) {
            Expr::Identifier(name) => {
                let name = fold(&name);
                let unknown =
                    || EngineError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist"));
                columns.insert(def.column(&name).ok_or_else(unknown)?.0);
            }
            other => expressions.push(other),
        }
    }
    let target = Target { schema, name, columns, expressions, condition };
    let mut found = Vec::new();
    for key in def.unique_keys() {
        if target.means(context, def, (text, key))? {
            found.push(key.clone());
        }
    }
    Ok(found)
}

/// The members of a target, and its condition.
fn parse(parser: &mut Parser<'_>) -> Result<(Vec<Expr>, Option<Expr>), ParserError> {
    parser.expect_token(&Token::LParen)?;
    let members = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    let condition = if parser.parse_keyword(Keyword::WHERE) { Some(parser.parse_expr()?) } else { None };
    match parser.peek_token().token {
        Token::EOF => Ok((members, condition)),
        _ => parser.expected("the end of the target", parser.peek_token()),
    }
}

/// Refuses members that PostgreSQL's grammar wants in parentheses.
fn check_members(members: &[Expr]) -> Result<(), EngineError> {
    let is_bare = |member: &&Expr| {
        matches!(member, Expr::CompoundIdentifier(_) | Expr::BinaryOp { .. } | Expr::UnaryOp { .. } | Expr::Value(_))
    };
    match members.iter().find(is_bare) {
        Some(member) => {
            let message = format!("{member} in a target of ON CONFLICT is to stand in parentheses of its own");
            Err(EngineError::new(SqlState::SyntaxError, message))
        }
        None => Ok(()),
    }
}

fn unnested(syntax: Expr) -> Expr {
    match syntax {
        Expr::Nested(inner) => unnested(*inner),
        other => other,
    }
}

struct Target {
    /// What the statement calls the table, and the schema that may stand before that.
    schema: String,
    name: String,
    columns: HashSet<ColumnId>,
    expressions: Vec<Expr>,
    condition: Option<Expr>,
}

impl Target {
    /// Whether the target means a key.
    fn means(
        &self,
        context: &StatementContext,
        def: &TableDef,
        (text, key): (&str, &KeyDef),
    ) -> Result<bool, EngineError> {
        let Some(form) = key.computed() else {
            // Its condition is that of no index, but must be one.
            self.bound(context, def, text, &[])?;
            let columns: HashSet<ColumnId> = key.columns.iter().copied().collect();
            return Ok(self.expressions.is_empty() && columns == self.columns);
        };
        let column = |source: &MemberSource| match source {
            MemberSource::Column(id) => Some(*id),
            MemberSource::Expression { .. } => None,
        };
        let columns: HashSet<ColumnId> = form.members.iter().filter_map(|member| column(&member.source)).collect();
        if columns != self.columns {
            return Ok(false);
        }
        let own = form.members.iter().filter_map(|member| match &member.source {
            MemberSource::Expression { text, .. } => Some(text.as_str()),
            MemberSource::Column(_) => None,
        });
        let own = own.chain(form.condition.as_deref());
        let own = own.map(|text| index_syntax(text).map(unnested)).collect::<Result<Vec<_>, EngineError>>()?;
        let (target, own) = self.bound(context, def, text, &own)?;
        let (wanted, where_) = target.split_at(self.expressions.len());
        let (members, condition) = own.split_at(own.len() - usize::from(form.condition.is_some()));
        let is_in = |one: &Expression, others: &[Expression]| others.iter().any(|other| other.is_same(one));
        let has_same = wanted.iter().all(|one| is_in(one, members)) && members.iter().all(|one| is_in(one, wanted));
        let given: Vec<Expression> = where_.iter().flat_map(conjuncts).cloned().collect();
        Ok(has_same && condition.iter().flat_map(conjuncts).all(|one| is_in(one, &given)))
    }

    /// The target's expressions and its condition, and others, bound.
    fn bound(
        &self,
        context: &StatementContext,
        def: &TableDef,
        text: &str,
        others: &[Expr],
    ) -> Result<(Vec<Expression>, Vec<Expression>), EngineError> {
        let target = self.expressions.iter().chain(&self.condition).cloned();
        let mut syntax: Vec<Expr> = target.collect();
        let count = syntax.len();
        syntax.extend_from_slice(others);
        let bound = comparable_expressions(context, (def, &self.schema, &self.name), text, &syntax);
        let mut bound = bound.map_err(EngineError::without_position)?;
        let others = bound.split_off(count);
        Ok((bound, others))
    }
}

/// The conditions that all hold if a condition does.
fn conjuncts(condition: &Expression) -> Vec<&Expression> {
    match &condition.node {
        Node::And(all) => all.iter().flat_map(conjuncts).collect(),
        _ => vec![condition],
    }
}
