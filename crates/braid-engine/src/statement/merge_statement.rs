//! MERGE as written.
//!
//! The tree of sqlparser has no DO NOTHING and no DEFAULT VALUES here. DO NOTHING is an UPDATE that assigns nothing, or an INSERT of the kind
//! ROW, which no text of PostgreSQL has; DEFAULT VALUES are values without rows.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    ObjectName, Parens, Statement, TableFactor, Values,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `MERGE INTO t USING s ON condition WHEN …`
pub(super) fn parse_merge(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let merge_token = token(parser, Keyword::MERGE)?;
    parser.expect_keyword_is(Keyword::INTO)?;
    let table = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::USING)?;
    let source = parser.parse_table_and_joins()?;
    let source = match source.joins.is_empty() {
        true => source.relation,
        false => TableFactor::NestedJoin { table_with_joins: Box::new(source), alias: None },
    };
    parser.expect_keyword_is(Keyword::ON)?;
    let on = Box::new(parser.parse_expr()?);
    let mut clauses = vec![parse_clause(parser)?];
    while parser.peek_keyword(Keyword::WHEN) {
        clauses.push(parse_clause(parser)?);
    }
    let (optimizer_hints, output) = Default::default();
    Ok(Statement::Merge(Merge { merge_token, optimizer_hints, into: true, table, source, on, clauses, output }))
}

fn token(parser: &mut Parser<'_>, keyword: Keyword) -> Result<AttachedToken, ParserError> {
    parser.expect_keyword(keyword).map(AttachedToken)
}

fn parse_clause(parser: &mut Parser<'_>) -> Result<MergeClause, ParserError> {
    let when_token = token(parser, Keyword::WHEN)?;
    let is_matched = !parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::MATCHED)?;
    let predicate = if parser.parse_keyword(Keyword::AND) { Some(parser.parse_expr()?) } else { None };
    parser.expect_keyword_is(Keyword::THEN)?;
    let (clause_kind, action) = match is_matched {
        true => (MergeClauseKind::Matched, parse_matched_action(parser)?),
        false => (MergeClauseKind::NotMatched, parse_insert(parser)?),
    };
    Ok(MergeClause { when_token, clause_kind, predicate, action })
}

fn parse_matched_action(parser: &mut Parser<'_>) -> Result<MergeAction, ParserError> {
    if parser.peek_keyword(Keyword::DELETE) {
        return Ok(MergeAction::Delete { delete_token: token(parser, Keyword::DELETE)? });
    }
    let mut assignments = Vec::new();
    let update_token = match parser.peek_keyword(Keyword::DO) {
        true => parse_nothing(parser)?,
        false => {
            let update_token = token(parser, Keyword::UPDATE)?;
            parser.expect_keyword_is(Keyword::SET)?;
            assignments = parser.parse_comma_separated(Parser::parse_assignment)?;
            update_token
        }
    };
    let (update_predicate, delete_predicate) = (None, None);
    Ok(MergeAction::Update(MergeUpdateExpr { update_token, assignments, update_predicate, delete_predicate }))
}

fn parse_insert(parser: &mut Parser<'_>) -> Result<MergeAction, ParserError> {
    let insert = |insert_token: AttachedToken, columns, kind| {
        let (kind_token, insert_predicate) = (insert_token.clone(), None);
        MergeAction::Insert(MergeInsertExpr { insert_token, columns, kind_token, kind, insert_predicate })
    };
    if parser.peek_keyword(Keyword::DO) {
        return Ok(insert(parse_nothing(parser)?, Vec::new(), MergeInsertKind::Row));
    }
    let insert_token = token(parser, Keyword::INSERT)?;
    let mut columns: Vec<ObjectName> = Vec::new();
    if parser.consume_token(&Token::LParen) {
        columns = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
        parser.expect_token(&Token::RParen)?;
    }
    let mut rows = Vec::new();
    if !parser.parse_keywords(&[Keyword::DEFAULT, Keyword::VALUES]) {
        parser.expect_keyword_is(Keyword::VALUES)?;
        rows.push(parse_row(parser)?);
    }
    let values = Values { explicit_row: false, value_keyword: false, rows };
    Ok(insert(insert_token, columns, MergeInsertKind::Values(values)))
}

fn parse_row(parser: &mut Parser<'_>) -> Result<Parens<Vec<Expr>>, ParserError> {
    let opening_token = AttachedToken(parser.expect_token(&Token::LParen)?);
    let content = parser.parse_comma_separated(Parser::parse_expr)?;
    let closing_token = AttachedToken(parser.expect_token(&Token::RParen)?);
    Ok(Parens { opening_token, content, closing_token })
}

/// `DO NOTHING`
fn parse_nothing(parser: &mut Parser<'_>) -> Result<AttachedToken, ParserError> {
    let token = token(parser, Keyword::DO)?;
    parser.expect_keyword_is(Keyword::NOTHING)?;
    Ok(token)
}
