//! What stands between or behind operands, and sqlparser reads otherwise than PostgreSQL or not at all.
//!
//! - Every operator binds as tightly as in PostgreSQL's grammar. Operators that PostgreSQL has not end the expression.
//! - The escape character of LIKE and SIMILAR TO is any expression. One that is no literal becomes the call that PostgreSQL makes of it.
//! - `a LIKE ANY (b)` is `a ~~ ANY (b)`.
//! - `a OPERATOR(pg_catalog.=) ANY (b)` compares with an operator by its name.
//! - A query behind ANY or ALL may begin with a query in parentheses.
//! - What IS DISTINCT FROM compares ends where its precedence says.
//! - COLLATE follows casts as well.
//! - LIKE, BETWEEN and IS DISTINCT FROM do not associate, and COLLATE is read once. So each of these copies its left operand once: a chain would copy it each time.

use sqlparser::ast::{BinaryOperator, Expr, Ident};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::operands::{call, is_string};

/// The name that [`Expr::Prefixed`] has for the lower bound of BETWEEN SYMMETRIC.
pub const SYMMETRIC: &str = "SYMMETRIC";

type Read = Option<Result<Expr, ParserError>>;

/// How tightly the next token binds, if not as sqlparser has it.
pub(super) fn precedence(dialect: &dyn Dialect, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
    let next = parser.peek_token_ref();
    match &next.token {
        Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => Some(Ok(dialect.prec_value(Precedence::PgOther))),
        Token::DoubleEq | Token::Spaceship | Token::ExclamationMark => Some(Ok(dialect.prec_unknown())),
        // No statement has a string behind an expression: sqlparser would take it for a column's name.
        token if is_string(token) => Some(parser.expected_ref("the end of an expression", next)),
        Token::Word(word) => match word.keyword {
            Keyword::OPERATOR => Some(Ok(dialect.prec_value(Precedence::PgOther))),
            Keyword::XOR | Keyword::REGEXP | Keyword::RLIKE | Keyword::MATCH | Keyword::MEMBER | Keyword::DIV => {
                Some(Ok(dialect.prec_unknown()))
            }
            Keyword::NOT => {
                let is_operator = matches!(
                    keyword_at(parser, 1),
                    Keyword::IN | Keyword::BETWEEN | Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR
                );
                (!is_operator).then(|| Ok(dialect.prec_unknown()))
            }
            Keyword::SIMILAR if keyword_at(parser, 1) != Keyword::TO => Some(Ok(dialect.prec_unknown())),
            _ => None,
        },
        _ => None,
    }
}

fn keyword_at(parser: &Parser<'_>, index: usize) -> Keyword {
    match &parser.peek_nth_token_ref(index).token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Reads what follows `left`, or leaves it to sqlparser.
pub(super) fn infix(dialect: &dyn Dialect, parser: &mut Parser<'_>, left: &Expr) -> Read {
    if let Some((compare_op, quantifier)) = quantified_query(parser) {
        return match parser.maybe_parse(query_in_parentheses) {
            Ok(Some(right)) => Some(Ok(quantified_by(quantifier, Box::new(left.clone()), compare_op, right))),
            // An expression of subqueries.
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
    }
    let first = keyword_at(parser, 0);
    if first == Keyword::OPERATOR {
        return parser.maybe_parse(|parser| named_quantified(parser, left)).transpose();
    }
    let negated = first == Keyword::NOT;
    let word = if negated { keyword_at(parser, 1) } else { first };
    match word {
        Keyword::IN | Keyword::BETWEEN | Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR if is_pattern_test(left) => {
            Some(parser.expected_ref("the end of an expression", parser.peek_token_ref()))
        }
        // PostgreSQL has no operator for the truth value on the left.
        Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR
            if matches!(left, Expr::AnyOp { .. } | Expr::AllOp { .. }) =>
        {
            Some(parser.expected_ref("the end of an expression", parser.peek_token_ref()))
        }
        Keyword::IS | Keyword::NOTNULL if matches!(left, Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..)) => {
            Some(parser.expected_ref("the end of an expression", parser.peek_token_ref()))
        }
        Keyword::COLLATE if !has_collation(left) => {
            parser.advance_token();
            let collation = parser.parse_object_name(false);
            Some(collation.map(|collation| Expr::Collate { expr: Box::new(left.clone()), collation }))
        }
        Keyword::IS => {
            let negated = keyword_at(parser, 1) == Keyword::NOT;
            let is_distinct = keyword_at(parser, if negated { 2 } else { 1 }) == Keyword::DISTINCT;
            is_distinct.then(|| distinct(dialect, parser, left, negated))
        }
        Keyword::BETWEEN => {
            let is_symmetric = match keyword_at(parser, if negated { 2 } else { 1 }) {
                Keyword::SYMMETRIC => true,
                Keyword::ASYMMETRIC => false,
                _ => return None,
            };
            Some(between(dialect, parser, left, negated, is_symmetric))
        }
        Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR => Some(pattern_test(dialect, parser, left, negated, word)),
        _ => None,
    }
}

/// Whether an expression under its casts has COLLATE.
fn has_collation(mut expr: &Expr) -> bool {
    while let Expr::Cast { expr: operand, .. } = expr {
        expr = operand;
    }
    matches!(expr, Expr::Collate { .. })
}

/// Whether an expression is one of those that do not associate.
fn is_pattern_test(expr: &Expr) -> bool {
    matches!(expr, Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } | Expr::Between { .. })
}

fn distinct(dialect: &dyn Dialect, parser: &mut Parser<'_>, left: &Expr, negated: bool) -> Result<Expr, ParserError> {
    parser.expect_keyword_is(Keyword::IS)?;
    if negated {
        parser.expect_keyword_is(Keyword::NOT)?;
    }
    parser.expect_keywords(&[Keyword::DISTINCT, Keyword::FROM])?;
    let right = Box::new(parser.parse_subexpr(dialect.prec_value(Precedence::Is))?);
    let left = Box::new(left.clone());
    Ok(if negated { Expr::IsNotDistinctFrom(left, right) } else { Expr::IsDistinctFrom(left, right) })
}

fn between(
    dialect: &dyn Dialect,
    parser: &mut Parser<'_>,
    left: &Expr,
    negated: bool,
    is_symmetric: bool,
) -> Result<Expr, ParserError> {
    if negated {
        parser.expect_keyword_is(Keyword::NOT)?;
    }
    parser.expect_keyword_is(Keyword::BETWEEN)?;
    parser.advance_token();
    let span = parser.get_current_token().span;
    let level = dialect.prec_value(Precedence::Between);
    let mut low = Box::new(parser.parse_subexpr(level)?);
    if is_symmetric {
        low = Box::new(Expr::Prefixed { prefix: Ident::with_span(span, SYMMETRIC), value: low });
    }
    parser.expect_keyword_is(Keyword::AND)?;
    let high = Box::new(parser.parse_subexpr(level)?);
    Ok(Expr::Between { expr: Box::new(left.clone()), negated, low, high })
}

fn pattern_test(
    dialect: &dyn Dialect,
    parser: &mut Parser<'_>,
    left: &Expr,
    negated: bool,
    word: Keyword,
) -> Result<Expr, ParserError> {
    if negated {
        parser.expect_keyword_is(Keyword::NOT)?;
    }
    parser.expect_keyword_is(word)?;
    if word == Keyword::SIMILAR {
        parser.expect_keyword_is(Keyword::TO)?;
    }
    let expr = Box::new(left.clone());
    let quantifier = keyword_at(parser, 0);
    if matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL)
        && word != Keyword::SIMILAR
        && *parser.peek_nth_token_ref(1) == Token::LParen
    {
        return quantified(parser, expr, pattern_operator(word, negated), quantifier);
    }
    let level = dialect.prec_value(Precedence::Like);
    let mut pattern = Box::new(parser.parse_subexpr(level)?);
    let mut escape_char = None;
    if parser.parse_keyword(Keyword::ESCAPE) {
        let name = if word == Keyword::SIMILAR { "similar_to_escape" } else { "like_escape" };
        let span = parser.get_current_token().span;
        match parser.parse_subexpr(level)? {
            Expr::Value(value) => escape_char = Some(value),
            escape => *pattern = call(Ident::with_span(span, name), vec![*pattern, escape]),
        }
        if word == Keyword::SIMILAR && escape_char.is_none() {
            return Ok(Expr::BinaryOp { left: expr, op: pattern_operator(word, negated), right: pattern });
        }
    }
    Ok(match word {
        Keyword::LIKE => Expr::Like { negated, any: false, expr, pattern, escape_char },
        Keyword::ILIKE => Expr::ILike { negated, any: false, expr, pattern, escape_char },
        _ => Expr::SimilarTo { negated, expr, pattern, escape_char },
    })
}

fn pattern_operator(word: Keyword, negated: bool) -> BinaryOperator {
    match (word, negated) {
        (Keyword::LIKE, false) => BinaryOperator::PGLikeMatch,
        (Keyword::LIKE, true) => BinaryOperator::PGNotLikeMatch,
        (Keyword::ILIKE, false) => BinaryOperator::PGILikeMatch,
        (Keyword::ILIKE, true) => BinaryOperator::PGNotILikeMatch,
        (_, false) => BinaryOperator::PGRegexMatch,
        (_, true) => BinaryOperator::PGRegexNotMatch,
    }
}

/// `OPERATOR(pg_catalog.=) ANY (array)`
fn named_quantified(parser: &mut Parser<'_>, left: &Expr) -> Result<Expr, ParserError> {
    parser.expect_keyword_is(Keyword::OPERATOR)?;
    parser.expect_token(&Token::LParen)?;
    let mut path = Vec::new();
    loop {
        let part = parser.next_token();
        path.push(match part.token {
            Token::Word(word) => word.value,
            other => other.to_string(),
        });
        match parser.next_token().token {
            Token::Period => {}
            Token::RParen => break,
            _ => return parser.expected("an operator", parser.peek_token()),
        }
    }
    let quantifier = keyword_at(parser, 0);
    if !matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL) {
        return parser.expected("ANY or ALL", parser.peek_token());
    }
    quantified(parser, Box::new(left.clone()), BinaryOperator::PGCustomBinaryOperator(path), quantifier)
}

/// `ANY (array)`, `ALL (SELECT …)`
fn quantified(
    parser: &mut Parser<'_>,
    left: Box<Expr>,
    compare_op: BinaryOperator,
    quantifier: Keyword,
) -> Result<Expr, ParserError> {
    parser.advance_token();
    let right = if matches!(keyword_at(parser, 1), Keyword::SELECT | Keyword::WITH | Keyword::VALUES) {
        parser.parse_prefix()?
    } else {
        parser.expect_token(&Token::LParen)?;
        let array = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        array
    };
    Ok(quantified_by(quantifier, left, compare_op, right))
}

fn quantified_by(quantifier: Keyword, left: Box<Expr>, compare_op: BinaryOperator, right: Expr) -> Expr {
    let right = Box::new(right);
    match quantifier {
        Keyword::ALL => Expr::AllOp { left, compare_op, right },
        _ => Expr::AnyOp { left, compare_op, right, is_some: quantifier == Keyword::SOME },
    }
}

/// The comparison and the quantifier of what follows, if that is compared with a query that begins with a query in parentheses:
/// `= ANY ((SELECT …) EXCEPT (SELECT …))`.
fn quantified_query(parser: &Parser<'_>) -> Option<(BinaryOperator, Keyword)> {
    let operator = match parser.peek_token_ref().token {
        Token::Eq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        _ => return None,
    };
    let quantifier = keyword_at(parser, 1);
    let is_quantifier = matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL);
    let is_opening = |at: usize| parser.peek_nth_token_ref(at).token == Token::LParen;
    if !is_quantifier || !is_opening(2) || !is_opening(3) {
        return None;
    }
    let first = (4..).find(|at| !is_opening(*at))?;
    matches!(keyword_at(parser, first), Keyword::SELECT | Keyword::WITH | Keyword::VALUES)
        .then_some((operator, quantifier))
}

/// What follows a comparison and a quantifier, as a query.
fn query_in_parentheses(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}
