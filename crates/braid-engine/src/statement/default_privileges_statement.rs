//! ALTER DEFAULT PRIVILEGES as written.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Location;

use super::comment_statement::consume_words;
use super::grant_statement::{Grantor, PrivilegeChange};
use super::role_names::{RoleName, parse_names};

/// `ALTER DEFAULT PRIVILEGES [FOR ROLE role, …] [IN SCHEMA schema, …] GRANT …` or `… REVOKE …`
#[derive(Debug)]
pub(crate) struct DefaultPrivilegesStatement {
    /// The roles whose new objects it is about; none for those of the current user.
    pub roles: Vec<RoleName>,
    /// The schemas that the objects are in; none for all of the database.
    pub schemas: Vec<Ident>,
    /// What becomes of their privileges. It has no GRANTED BY.
    pub change: PrivilegeChange<DefaultObjects>,
    /// Where FOR or IN stands for the second time: PostgreSQL refuses it when the statement is executed.
    pub repeated: Option<Location>,
}

/// The objects that get privileges when they are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultObjects {
    /// TABLES, which are views, too.
    Tables,
    /// SEQUENCES.
    Sequences,
    /// FUNCTIONS and ROUTINES, which are the same.
    Routines,
    /// TYPES.
    Types,
    /// SCHEMAS.
    Schemas,
}

const OBJECTS: [(&str, DefaultObjects); 6] = [
    ("tables", DefaultObjects::Tables),
    ("sequences", DefaultObjects::Sequences),
    ("functions", DefaultObjects::Routines),
    ("routines", DefaultObjects::Routines),
    ("types", DefaultObjects::Types),
    ("schemas", DefaultObjects::Schemas),
];

impl DefaultPrivilegesStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        if !consume_words(parser, "alter default") {
            return Ok(None);
        }
        parser.expect_keyword_is(Keyword::PRIVILEGES)?;
        let (mut roles, mut schemas, mut repeated) = (Vec::new(), Vec::new(), None);
        loop {
            let place = parser.peek_token().span.start;
            let is_repeated = if parser.parse_keyword(Keyword::FOR) {
                parser.expect_one_of_keywords(&[Keyword::ROLE, Keyword::USER])?;
                !std::mem::replace(&mut roles, RoleName::parse_list(parser)?).is_empty()
            } else if parser.parse_keyword(Keyword::IN) {
                parser.expect_keyword_is(Keyword::SCHEMA)?;
                !std::mem::replace(&mut schemas, parse_names(parser)?).is_empty()
            } else {
                break;
            };
            repeated = repeated.or(is_repeated.then_some(place));
        }
        let change = PrivilegeChange::parse(parser, DefaultObjects::parse, Grantor::Own)?;
        Ok(Some(Self { roles, schemas, change, repeated }))
    }
}

impl DefaultObjects {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        match OBJECTS.iter().find(|(word, _)| consume_words(parser, word)) {
            Some((_, objects)) => Ok(*objects),
            None => parser.expected("TABLES, SEQUENCES, FUNCTIONS, TYPES or SCHEMAS", parser.peek_token()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, GrantAction, Privileges, Statement, StatementKind};
    use super::*;

    fn check(
        sql: &str,
        expected: (usize, usize),
        objects: DefaultObjects,
        examine: fn(&PrivilegeChange<DefaultObjects>),
    ) {
        let statement = Statement::parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0);
        let Command::DefaultPrivileges(default) = statement.command() else { panic!("{sql}") };
        assert_eq!((default.roles.len(), default.schemas.len()), expected, "{sql}");
        assert_eq!((default.change.objects, default.repeated), (objects, None), "{sql}");
        assert_eq!(statement.kind(), StatementKind::AlterDefaultPrivileges);
        examine(&default.change);
    }

    #[test]
    fn privileges_of_new_objects_are_changed() {
        use DefaultObjects::*;
        check("alter default privileges grant select, insert on tables to a", (0, 0), Tables, |change| {
            assert_eq!((change.action, change.has_grant_option), (GrantAction::Grant, false));
            assert!(matches!(&change.privileges, Privileges::Listed(listed) if listed.len() == 2));
        });
        let sql =
            "ALTER DEFAULT PRIVILEGES FOR ROLE a, b IN SCHEMA s GRANT ALL ON ROUTINES TO PUBLIC WITH GRANT OPTION";
        check(sql, (2, 1), Routines, |change| {
            assert_eq!((change.action, change.has_grant_option), (GrantAction::Grant, true));
            assert_eq!(change.grantees, [RoleName::Public]);
        });
        let sql = "alter default privileges in schema s, t for user current_user revoke all privileges on types from group a cascade";
        check(sql, (1, 2), Types, |change| {
            assert_eq!((change.action, change.has_grant_option), (GrantAction::Revoke, false));
            assert!(matches!(&change.privileges, Privileges::All(columns) if columns.is_empty()));
        });
        let sql = "alter default privileges revoke grant option for usage on sequences from a restrict";
        check(sql, (0, 0), Sequences, |change| assert!(change.has_grant_option));
        check("alter default privileges grant execute on functions to a", (0, 0), Routines, |_| {});
        check("alter default privileges grant select (a) on schemas to a", (0, 0), Schemas, |_| {});
    }

    #[test]
    fn a_repeated_option_is_found() {
        for (options, position) in [
            ("for role a in schema s", None),
            ("for role a for user b", Some(37)),
            ("in schema s for role a in schema t", Some(49)),
        ] {
            let sql = format!("alter default privileges {options} grant all on tables to a");
            let statement = Statement::parse(&sql).unwrap().remove(0);
            let Command::DefaultPrivileges(default) = statement.command() else { panic!("{sql}") };
            let error = default.repeated.map(|place| statement.repeated_option(place));
            assert_eq!(error.and_then(|error| error.position()), position, "{sql}");
        }
    }

    #[test]
    fn syntax_errors_are_postgresqls() {
        for (text, near) in [
            ("", "end of input"),
            ("drop all", "or near \"drop\""),
            ("for a grant all on tables to a", "or near \"a\""),
            ("in schema s", "end of input"),
            ("grant a to b", "or near \"to\""),
            ("grant select on table to a", "or near \"table\""),
            ("grant execute on procedures to a", "or near \"procedures\""),
            ("grant all on tables, sequences to a", "or near \",\""),
            ("grant select on tables to a granted by b", "or near \"granted\""),
        ] {
            let error = Statement::parse(&format!("alter default privileges {text}")).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), ("42601", &*format!("syntax error at {near}")), "{text}");
        }
        let error = Statement::parse("alter default grant all on tables to a").unwrap_err();
        assert_eq!(error.message(), "syntax error at or near \"grant\"");
    }
}
