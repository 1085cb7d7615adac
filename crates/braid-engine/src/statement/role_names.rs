//! Names of roles as written, and plain names beside them.
//!
//! Words with a meaning of their own count as names only in quotes. `public` and `none` are no such words: they are special also in quotes, as
//! in PostgreSQL.

use braid_sql::syntax::is_no_table_name;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::comment_statement::word_of;
use super::syntax_errors::refusal;
use crate::SqlState;
use crate::names::fold;

/// Words that name functions and types, and roles, but no other objects.
const FUNCTION_NAMES: [&str; 23] = [
    "authorization",
    "binary",
    "collation",
    "concurrently",
    "cross",
    "current_schema",
    "freeze",
    "full",
    "ilike",
    "inner",
    "is",
    "isnull",
    "join",
    "left",
    "like",
    "natural",
    "notnull",
    "outer",
    "overlaps",
    "right",
    "similar",
    "tablesample",
    "verbose",
];

/// A role where PostgreSQL takes more than names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoleName {
    /// A role of this name.
    Named(Ident),
    /// CURRENT_USER and CURRENT_ROLE.
    CurrentUser,
    /// SESSION_USER.
    SessionUser,
    /// PUBLIC: all roles.
    Public,
}

impl RoleName {
    /// Reads a name.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let next = parser.next_token();
        match word_of(&next.token).as_deref() {
            Some("current_user" | "current_role") => return Ok(Self::CurrentUser),
            Some("session_user") => return Ok(Self::SessionUser),
            _ => {}
        }
        let name = word_as_name(parser, next.clone())?;
        match &*fold(&name) {
            "public" => Ok(Self::Public),
            "none" => Err(refusal(SqlState::ReservedName, "role name \"none\" is reserved", None, &next)),
            _ => Ok(Self::Named(name)),
        }
    }

    /// A role where a word was read as a name.
    pub fn of(name: &Ident) -> Self {
        let is_word = |words: &[&str]| name.quote_style.is_none() && words.contains(&&*fold(name));
        match name {
            _ if is_word(&["current_user", "current_role"]) => Self::CurrentUser,
            _ if is_word(&["session_user"]) => Self::SessionUser,
            name if fold(name) == "public" => Self::Public,
            name => Self::Named(name.clone()),
        }
    }

    /// Reads names with commas between them.
    pub(super) fn parse_list(parser: &mut Parser<'_>) -> Result<Vec<Self>, ParserError> {
        parser.parse_comma_separated(Self::parse)
    }

    /// The name, where only one of a single role may stand. It was read from this token.
    pub(super) fn into_plain(self, token: &TokenWithSpan) -> Result<Ident, ParserError> {
        let message = match self {
            Self::Named(name) => return Ok(name),
            Self::Public => "role name \"public\" is reserved".to_owned(),
            Self::CurrentUser | Self::SessionUser => {
                format!("{} cannot be used as a role name here", token.token.to_string().to_uppercase())
            }
        };
        Err(refusal(SqlState::ReservedName, &message, None, token))
    }

    /// Reads the name of one role, as [`Self::into_plain`] takes it.
    pub(super) fn parse_plain(parser: &mut Parser<'_>) -> Result<Ident, ParserError> {
        let token = parser.peek_token();
        Self::parse(parser)?.into_plain(&token)
    }
}

/// A word that may be a role or a value of a setting: one that is not reserved.
pub(super) fn word_as_name(parser: &Parser<'_>, token: TokenWithSpan) -> Result<Ident, ParserError> {
    match name_of(&token) {
        Some(name) if !is_no_table_name(&name) || FUNCTION_NAMES.contains(&&*fold(&name)) => Ok(name),
        _ => parser.expected("a name", token),
    }
}

/// Reads the plain name of a schema, a column or another object that is no role.
pub(super) fn parse_name(parser: &mut Parser<'_>) -> Result<Ident, ParserError> {
    let next = parser.next_token();
    match name_of(&next) {
        Some(name) if !is_no_table_name(&name) => Ok(name),
        _ => parser.expected("a name", next),
    }
}

/// Reads plain names with commas between them.
pub(super) fn parse_names(parser: &mut Parser<'_>) -> Result<Vec<Ident>, ParserError> {
    parser.parse_comma_separated(parse_name)
}

/// Reads a name with its schema: any words may stand behind the first point.
pub(super) fn parse_qualified_name(parser: &mut Parser<'_>) -> Result<ObjectName, ParserError> {
    let first = parse_name(parser)?;
    parse_rest_of_name(parser, first)
}

/// Reads what follows the first part of a name.
pub(super) fn parse_rest_of_name(parser: &mut Parser<'_>, first: Ident) -> Result<ObjectName, ParserError> {
    let mut parts = vec![ObjectNamePart::Identifier(first)];
    while parser.consume_token(&Token::Period) {
        let next = parser.next_token();
        match name_of(&next) {
            Some(part) => parts.push(ObjectNamePart::Identifier(part)),
            None => return parser.expected("a name", next),
        }
    }
    Ok(ObjectName(parts))
}

/// A word as a name.
fn name_of(token: &TokenWithSpan) -> Option<Ident> {
    match &token.token {
        Token::Word(word) => Some(word.to_ident(token.span)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, RoleStatement, Statement};
    use super::*;

    fn dropped(names: &str) -> Vec<RoleName> {
        let statement = Statement::parse(&format!("drop role {names}")).unwrap().remove(0);
        match statement.command() {
            Command::Role(RoleStatement::Drop { names, .. }) => names.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn special_roles_are_told_from_names() {
        let named = |name: &str| RoleName::Named(Ident::new(name));
        let quoted = |name: &str| RoleName::Named(Ident::with_quote('"', name));
        for (names, expected) in [
            ("a, Left, int", vec![named("a"), named("Left"), named("int")]),
            ("current_user, CURRENT_ROLE", vec![RoleName::CurrentUser, RoleName::CurrentUser]),
            ("session_user, \"session_user\"", vec![RoleName::SessionUser, quoted("session_user")]),
            ("Public, \"public\", \"PUBLIC\"", vec![RoleName::Public, RoleName::Public, quoted("PUBLIC")]),
            ("\"select\", \"None\"", vec![quoted("select"), quoted("None")]),
        ] {
            assert_eq!(dropped(names), expected, "{names}");
        }
    }

    #[test]
    fn reserved_names_are_refused() {
        for (sql, message) in [
            ("drop role NONE", "role name \"none\" is reserved"),
            ("drop role a, \"none\"", "role name \"none\" is reserved"),
            ("create role public", "role name \"public\" is reserved"),
            ("create user Current_Role", "CURRENT_ROLE cannot be used as a role name here"),
            ("alter role session_user rename to a", "SESSION_USER cannot be used as a role name here"),
            ("alter role a rename to current_user", "CURRENT_USER cannot be used as a role name here"),
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), ("42939", message), "{sql}");
            assert!(error.position().is_some());
        }
        for sql in ["drop role user", "drop role a.b", "drop role 'a'", "drop role a,", "create role select"] {
            assert_eq!(Statement::parse(sql).unwrap_err().sqlstate(), "42601", "{sql}");
        }
    }
}
