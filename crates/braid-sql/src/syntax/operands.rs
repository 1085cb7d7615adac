//! What stands where an operand begins, and sqlparser reads otherwise than PostgreSQL or not at all.
//!
//! | syntax | tree |
//! |---|---|
//! | `type 'text'` for every name of a type | [`Expr::TypedString`] |
//! | `GROUPING SETS (…)` within GROUPING SETS | [`Expr::GroupingSets`] |
//! | `TRIM(LEADING FROM a)`, `TRIM(FROM a)` | [`Expr::Trim`] |
//! | `SUBSTRING(a SIMILAR b ESCAPE c)`, `SUBSTRING(a FOR b FROM c)` | a call, and [`Expr::Substring`] |
//! | `ARRAY[[a], [b]]` | [`Expr::Array`]; other brackets are refused |
//! | `ROW(a, b)` | an [`Expr::Prefixed`] of a tuple |
//! | `VARIADIC a`, an argument | [`Expr::Prefixed`] |
//! | `(VALUES …)` | [`Expr::Subquery`] |
//! | names and literals with nothing behind them, sooner than sqlparser does | [`Expr::Identifier`], [`Expr::Value`] |
//! | `~ a`, `@ a`, `\|/ a`, `\|\|/ a`, `OPERATOR(pg_catalog.-) a` | [`Expr::UnaryOp`], with all that binds tighter |

use sqlparser::ast::{
    Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    TrimWhereField, TypedString, UnaryOperator,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, Word};

use super::words::can_name_type;

/// The name that [`Expr::Prefixed`] has for a last argument that is written with VARIADIC.
pub const VARIADIC: &str = "VARIADIC";

/// The name that [`Expr::Prefixed`] has for a row that is written with ROW.
pub const ROW: &str = "ROW";

/// Levels of brackets in ARRAY. A value has 6 dimensions at most.
const ARRAY_DEPTH_MAX: usize = 64;

type Read = Option<Result<Expr, ParserError>>;

/// Reads an operand, or leaves it to sqlparser.
pub(super) fn operand(parser: &mut Parser<'_>, operator_precedence: u8) -> Read {
    let first = parser.peek_token_ref();
    let span = first.span;
    let prefix = match &first.token {
        Token::Tilde => Some(UnaryOperator::BitwiseNot),
        Token::AtSign => Some(UnaryOperator::PGAbs),
        Token::PGSquareRoot => Some(UnaryOperator::PGSquareRoot),
        Token::PGCubeRoot => Some(UnaryOperator::PGCubeRoot),
        Token::LParen if begins_values(parser) => return Some(values(parser)),
        Token::LBracket => return Some(parser.expected_ref("an expression", parser.peek_token_ref())),
        Token::Word(word) => return of_word(parser, &word.clone(), span, operator_precedence),
        Token::Number(..) | Token::SingleQuotedString(_) if ends_operand(&parser.peek_nth_token_ref(1).token) => {
            return Some(parser.parse_value().map(Expr::Value));
        }
        _ => None,
    }?;
    parser.advance_token();
    Some(prefixed(parser, prefix, operator_precedence))
}

fn of_word(parser: &mut Parser<'_>, word: &Word, span: Span, operator_precedence: u8) -> Read {
    let second = &parser.peek_nth_token_ref(1).token;
    let (opens, opens_array) = (*second == Token::LParen, *second == Token::LBracket);
    if begins_typed_literal(parser, word) {
        return Some(typed(parser));
    }
    if word.quote_style.is_some() {
        return None;
    }
    if let Some(count) = super::fetch_counts::operand(parser, word) {
        return Some(count);
    }
    if begins_qualified_substring(parser, word) {
        parser.advance_token();
        parser.advance_token();
        return Some(substring(parser, Ident::with_span(span, "substring")));
    }
    match word.keyword {
        Keyword::ARRAY if opens_array => {
            parser.advance_token();
            Some(array(parser, true, ARRAY_DEPTH_MAX))
        }
        Keyword::GROUPING if begins_grouping_sets(parser) => Some(grouping_sets(parser)),
        Keyword::TRIM if opens && trims_blanks(parser) => Some(trim(parser)),
        Keyword::SUBSTRING if opens => Some(substring(parser, word.clone().into_ident(span))),
        Keyword::ROW if opens => Some(row(parser, span)),
        Keyword::INTERVAL if opens && is_string(&parser.peek_nth_token_ref(4).token) => Some(typed(parser)),
        Keyword::OPERATOR if opens => Some(named_operator(parser, operator_precedence)),
        _ if word.value.eq_ignore_ascii_case(VARIADIC) => {
            parser.advance_token();
            let prefix = Ident::with_span(span, VARIADIC);
            Some(parser.parse_expr().map(|value| Expr::Prefixed { prefix, value: Box::new(value) }))
        }
        Keyword::NoKeyword if is_name(parser) => {
            parser.advance_token();
            Some(Ok(Expr::Identifier(word.clone().into_ident(span))))
        }
        _ => None,
    }
}

/// Whether the function stands there with its schema, as an ordinary call.
fn begins_qualified_substring(parser: &Parser<'_>, schema: &Word) -> bool {
    let token = |at: usize| &parser.peek_nth_token_ref(at).token;
    let is_function = matches!(token(2), Token::Word(name) if name.keyword == Keyword::SUBSTRING);
    schema.value.eq_ignore_ascii_case("pg_catalog")
        && *token(1) == Token::Period
        && is_function
        && *token(3) == Token::LParen
}

/// Whether the next word is the name of a column, or that of its relation. sqlparser tries a name as a type first, and makes an error
/// of it.
fn is_name(parser: &Parser<'_>) -> bool {
    let token = |at: usize| &parser.peek_nth_token_ref(at).token;
    match (token(1), token(2)) {
        (Token::Period, Token::Word(_)) => ends_operand(token(3)),
        (second, _) => ends_operand(second),
    }
}

/// Whether a token behind a name or a literal is no part of it, however it goes on.
fn ends_operand(token: &Token) -> bool {
    const ENDS: &[Keyword] = &[
        Keyword::AND,
        Keyword::AS,
        Keyword::ASC,
        Keyword::DESC,
        Keyword::END,
        Keyword::FROM,
        Keyword::GROUP,
        Keyword::IN,
        Keyword::LIKE,
        Keyword::OR,
        Keyword::ORDER,
        Keyword::THEN,
        Keyword::WHERE,
    ];
    match token {
        Token::Comma
        | Token::RParen
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::LtEq
        | Token::Gt
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::SemiColon
        | Token::EOF => true,
        Token::Word(word) => word.quote_style.is_none() && ENDS.contains(&word.keyword),
        _ => false,
    }
}

fn prefixed(parser: &mut Parser<'_>, op: UnaryOperator, operator_precedence: u8) -> Result<Expr, ParserError> {
    Ok(Expr::UnaryOp { op, expr: Box::new(parser.parse_subexpr(operator_precedence)?) })
}

/// `ROW(a, b)`
fn row(parser: &mut Parser<'_>, span: Span) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let members = match parser.consume_token(&Token::RParen) {
        true => Vec::new(),
        false => {
            let members = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_token(&Token::RParen)?;
            members
        }
    };
    Ok(Expr::Prefixed { prefix: Ident::with_span(span, ROW), value: Box::new(Expr::Tuple(members)) })
}

/// Whether VALUES stands behind the parenthesis.
fn begins_values(parser: &Parser<'_>) -> bool {
    let second = &parser.peek_nth_token_ref(1).token;
    matches!(second, Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::VALUES)
}

/// `(VALUES (a))`
fn values(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}

/// `OPERATOR(pg_catalog.-) a`
fn named_operator(parser: &mut Parser<'_>, operator_precedence: u8) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    if *parser.peek_nth_token_ref(1) == Token::Period {
        let schema = parser.parse_identifier()?;
        let is_catalog = match schema.quote_style {
            Some(_) => schema.value == "pg_catalog",
            None => schema.value.eq_ignore_ascii_case("pg_catalog"),
        };
        if !is_catalog {
            return parser.expected_ref("an operator of pg_catalog", parser.peek_token_ref());
        }
        parser.expect_token(&Token::Period)?;
    }
    let op = match parser.peek_token_ref().token {
        Token::Plus => UnaryOperator::Plus,
        Token::Minus => UnaryOperator::Minus,
        Token::Tilde => UnaryOperator::BitwiseNot,
        Token::AtSign => UnaryOperator::PGAbs,
        Token::PGSquareRoot => UnaryOperator::PGSquareRoot,
        Token::PGCubeRoot => UnaryOperator::PGCubeRoot,
        _ => return parser.expected_ref("a prefix operator", parser.peek_token_ref()),
    };
    parser.advance_token();
    parser.expect_token(&Token::RParen)?;
    // Parentheses keep the sign from becoming one with a number, and from binding like a sign.
    let operand = Expr::Nested(Box::new(parser.parse_subexpr(operator_precedence)?));
    Ok(Expr::Nested(Box::new(Expr::UnaryOp { op, expr: Box::new(operand) })))
}

/// Whether `GROUPING SETS (` comes. Those of GROUP BY are read by sqlparser; these are within others.
fn begins_grouping_sets(parser: &Parser<'_>) -> bool {
    let is_sets = matches!(&parser.peek_nth_token_ref(1).token, Token::Word(word) if word.keyword == Keyword::SETS);
    is_sets && parser.peek_nth_token_ref(2).token == Token::LParen
}

fn grouping_sets(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_keywords(&[Keyword::GROUPING, Keyword::SETS])?;
    parser.expect_token(&Token::LParen)?;
    let sets = parser.parse_comma_separated(|parser| {
        if parser.consume_tokens(&[Token::LParen, Token::RParen]) {
            return Ok(Vec::new());
        }
        Ok(match parser.parse_expr()? {
            Expr::Tuple(members) => members,
            Expr::Nested(member) => vec![*member],
            member => vec![member],
        })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::GroupingSets(sets))
}

/// Whether a string follows the name of a type, `name 'text'` or `pg_catalog.int4 '5'`.
fn begins_typed_literal(parser: &Parser<'_>, word: &Word) -> bool {
    let mut name_tokens = 1;
    while parser.peek_nth_token_ref(name_tokens).token == Token::Period {
        if !matches!(parser.peek_nth_token_ref(name_tokens + 1).token, Token::Word(_)) {
            return false;
        }
        name_tokens += 2;
    }
    is_string(&parser.peek_nth_token_ref(name_tokens).token) && can_name_type(word)
}

/// The brackets of ARRAY: all elements are brackets again, or none is.
fn array(parser: &mut Parser<'_>, named: bool, levels_left: usize) -> Result<Expr, ParserError> {
    let levels_left = levels_left.checked_sub(1).ok_or(ParserError::RecursionLimitExceeded)?;
    parser.expect_token(&Token::LBracket)?;
    let elem = match parser.peek_token_ref().token {
        Token::RBracket => Vec::new(),
        Token::LBracket => parser.parse_comma_separated(|parser| array(parser, false, levels_left))?,
        _ => parser.parse_comma_separated(Parser::parse_expr)?,
    };
    parser.expect_token(&Token::RBracket)?;
    Ok(Expr::Array(Array { elem, named }))
}

/// A type and its literal.
fn typed(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let data_type = parser.parse_data_type()?;
    Ok(Expr::TypedString(TypedString { data_type, value: parser.parse_value()?, uses_odbc_syntax: false }))
}

/// Whether a token is a string literal.
pub(super) fn is_string(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::DollarQuotedString(_)
    )
}

/// Whether TRIM has FROM without characters before it.
fn trims_blanks(parser: &Parser<'_>) -> bool {
    let keyword = |index: usize| match &parser.peek_nth_token_ref(index).token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    match keyword(2) {
        Keyword::LEADING | Keyword::TRAILING | Keyword::BOTH => keyword(3) == Keyword::FROM,
        word => word == Keyword::FROM,
    }
}

/// `TRIM([LEADING] FROM a[, characters])`
fn trim(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let trim_where = match parser.parse_one_of_keywords(&[Keyword::LEADING, Keyword::TRAILING, Keyword::BOTH]) {
        Some(Keyword::LEADING) => Some(TrimWhereField::Leading),
        Some(Keyword::TRAILING) => Some(TrimWhereField::Trailing),
        Some(_) => Some(TrimWhereField::Both),
        None => None,
    };
    parser.expect_keyword_is(Keyword::FROM)?;
    let expr = Box::new(parser.parse_expr()?);
    let trim_characters = match parser.consume_token(&Token::Comma) {
        true => Some(parser.parse_comma_separated(Parser::parse_expr)?),
        false => None,
    };
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Trim { expr, trim_where, trim_what: None, trim_characters })
}

/// All forms of SUBSTRING but that with names.
fn substring(parser: &mut Parser<'_>, name: Ident) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let expr = parser.parse_expr()?;
    if parser.parse_keyword(Keyword::SIMILAR) {
        let pattern = parser.parse_expr()?;
        parser.expect_keyword_is(Keyword::ESCAPE)?;
        let escape = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        return Ok(call(name, vec![expr, pattern, escape]));
    }
    let (mut from, mut length) = (None, None);
    let special = parser.consume_token(&Token::Comma);
    if special {
        from = Some(Box::new(parser.parse_expr()?));
        if parser.consume_token(&Token::Comma) {
            length = Some(Box::new(parser.parse_expr()?));
        }
    } else {
        // Each of them once, in either order.
        while let Some(word) = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::FOR]) {
            let part = if word == Keyword::FROM { &mut from } else { &mut length };
            if part.is_some() {
                return parser.expected_ref(")", parser.get_current_token());
            }
            *part = Some(Box::new(parser.parse_expr()?));
        }
    }
    parser.expect_token(&Token::RParen)?;
    let (expr, shorthand) = (Box::new(expr), false);
    Ok(Expr::Substring { expr, substring_from: from, substring_for: length, special, shorthand })
}

/// A call of a function with these arguments.
pub(super) fn call(name: Ident, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
