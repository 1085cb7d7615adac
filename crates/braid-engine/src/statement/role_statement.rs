//! CREATE ROLE, ALTER ROLE, DROP ROLE, REASSIGN OWNED, DROP OWNED and ALTER DATABASE … SET as written.
//!
//! USER and GROUP may stand for ROLE, and the command tag is that of ROLE. The statements about USER MAPPING are others.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::StatementKind;
use super::behavior::Behavior;
use super::comment_statement::{consume_words, word_of};
use super::role_names::{RoleName, parse_name};
use super::role_options::{OptionPlace, RoleOptions};
use super::role_settings::SettingChange;

/// A statement about roles.
#[derive(Debug)]
pub(crate) enum RoleStatement {
    /// `CREATE ROLE name [WITH] option …`
    Create {
        /// How it calls the role: a user may log in unless it says otherwise.
        word: RoleWord,
        /// The name.
        name: Ident,
        /// The options.
        options: RoleOptions,
    },
    /// `ALTER ROLE role [WITH] option …`
    Alter {
        /// The role.
        role: RoleName,
        /// The options.
        options: RoleOptions,
    },
    /// `ALTER GROUP group ADD USER role, …` and DROP USER
    ChangeMembers {
        /// The group.
        group: RoleName,
        /// What becomes of the members.
        change: MemberChange,
        /// The members.
        members: Vec<RoleName>,
    },
    /// `ALTER ROLE name RENAME TO name`
    Rename {
        /// The name.
        name: Ident,
        /// The name that it gets.
        new_name: Ident,
    },
    /// `ALTER ROLE role [IN DATABASE name] SET …` and RESET
    Configure {
        /// The role; `None` for ALL.
        role: Option<RoleName>,
        /// The database; `None` for all databases.
        database: Option<Ident>,
        /// What becomes of the settings.
        change: SettingChange,
    },
    /// `ALTER DATABASE name SET …` and RESET
    ConfigureDatabase {
        /// The database.
        database: Ident,
        /// What becomes of the settings.
        change: SettingChange,
    },
    /// `DROP ROLE [IF EXISTS] role, …`
    Drop {
        /// IF EXISTS.
        if_exists: bool,
        /// The roles.
        names: Vec<RoleName>,
    },
    /// `REASSIGN OWNED BY role, … TO role`
    ReassignOwned {
        /// The roles that own objects.
        owners: Vec<RoleName>,
        /// The role that gets them.
        new_owner: RoleName,
    },
    /// `DROP OWNED BY role, …`
    DropOwned {
        /// The roles that own objects.
        owners: Vec<RoleName>,
        /// What becomes of what depends on them.
        behavior: Behavior,
    },
}

/// How a statement calls roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleWord {
    Role,
    User,
    Group,
}

/// What ALTER GROUP does with members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberChange {
    /// ADD USER
    Add,
    /// DROP USER
    Drop,
}

const WORDS: [(&str, RoleWord); 3] = [("role", RoleWord::Role), ("user", RoleWord::User), ("group", RoleWord::Group)];

impl RoleStatement {
    /// Whether the statement that begins here is one.
    pub(super) fn begins(parser: &Parser<'_>) -> bool {
        let word = |at: usize| word_of(&parser.peek_nth_token(at).token);
        match (word(0).as_deref(), word(1).as_deref()) {
            (Some("create" | "alter" | "drop"), Some("user")) => {
                let is_mapping = word(2).as_deref() == Some("mapping");
                !(is_mapping && matches!(word(3).as_deref(), Some("for" | "if")))
            }
            (Some("create" | "alter" | "drop"), Some("role" | "group")) => true,
            (Some("alter"), Some("database")) => match word(3).as_deref() {
                Some("set") => word(4).as_deref() != Some("tablespace"),
                other => other == Some("reset"),
            },
            (first, second) => matches!((first, second), (Some("reassign"), _) | (Some("drop"), Some("owned"))),
        }
    }

    /// Reads it, from its first word on.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if consume_words(parser, "reassign") {
            parser.expect_keywords(&[Keyword::OWNED, Keyword::BY])?;
            let owners = RoleName::parse_list(parser)?;
            parser.expect_keyword_is(Keyword::TO)?;
            return Ok(Self::ReassignOwned { owners, new_owner: RoleName::parse(parser)? });
        }
        if consume_words(parser, "drop owned") {
            parser.expect_keyword_is(Keyword::BY)?;
            let owners = RoleName::parse_list(parser)?;
            return Ok(Self::DropOwned { owners, behavior: parse_behavior(parser) });
        }
        match parser.expect_one_of_keywords(&[Keyword::CREATE, Keyword::ALTER, Keyword::DROP])? {
            Keyword::CREATE => {
                let word = RoleWord::parse(parser)?;
                let name = RoleName::parse_plain(parser)?;
                Ok(Self::Create { word, name, options: RoleOptions::parse(parser, OptionPlace::Create)? })
            }
            Keyword::ALTER if consume_words(parser, "database") => {
                let database = parse_name(parser)?;
                Ok(Self::ConfigureDatabase { database, change: SettingChange::parse(parser)? })
            }
            Keyword::ALTER => {
                let word = RoleWord::parse(parser)?;
                parse_alter(parser, word)
            }
            _ => {
                RoleWord::parse(parser)?;
                let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
                Ok(Self::Drop { if_exists, names: RoleName::parse_list(parser)? })
            }
        }
    }

    /// What it does.
    pub(super) fn kind(&self) -> StatementKind {
        match self {
            Self::Create { .. } => StatementKind::CreateRole,
            Self::Alter { .. }
            | Self::ChangeMembers { .. }
            | Self::Rename { .. }
            | Self::Configure { .. }
            | Self::ConfigureDatabase { .. } => StatementKind::AlterRole,
            Self::Drop { .. } => StatementKind::DropRole,
            Self::ReassignOwned { .. } => StatementKind::ReassignOwned,
            Self::DropOwned { .. } => StatementKind::DropOwned,
        }
    }

    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE ROLE",
            Self::Alter { .. } | Self::ChangeMembers { .. } | Self::Rename { .. } | Self::Configure { .. } => {
                "ALTER ROLE"
            }
            Self::ConfigureDatabase { .. } => "ALTER DATABASE",
            Self::Drop { .. } => "DROP ROLE",
            Self::ReassignOwned { .. } => "REASSIGN OWNED",
            Self::DropOwned { .. } => "DROP OWNED",
        }
    }
}

impl RoleWord {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        match WORDS.iter().find(|(word, _)| consume_words(parser, word)) {
            Some((_, word)) => Ok(*word),
            None => parser.expected("ROLE, USER or GROUP", parser.peek_token()),
        }
    }
}

/// Reads ALTER ROLE from the role on. The words after a group are few.
fn parse_alter(parser: &mut Parser<'_>, word: RoleWord) -> Result<RoleStatement, ParserError> {
    if word != RoleWord::Group && parser.parse_keyword(Keyword::ALL) {
        return parse_configure(parser, None);
    }
    let token = parser.peek_token();
    let role = RoleName::parse(parser)?;
    if parser.parse_keyword(Keyword::RENAME) {
        parser.expect_keyword_is(Keyword::TO)?;
        let name = role.into_plain(&token)?;
        return Ok(RoleStatement::Rename { name, new_name: RoleName::parse_plain(parser)? });
    }
    if word == RoleWord::Group {
        let change = match parser.expect_one_of_keywords(&[Keyword::ADD, Keyword::DROP])? {
            Keyword::ADD => MemberChange::Add,
            _ => MemberChange::Drop,
        };
        parser.expect_keyword_is(Keyword::USER)?;
        return Ok(RoleStatement::ChangeMembers { group: role, change, members: RoleName::parse_list(parser)? });
    }
    if parser.peek_keyword(Keyword::IN) || SettingChange::is_next(parser) {
        return parse_configure(parser, Some(role));
    }
    Ok(RoleStatement::Alter { role, options: RoleOptions::parse(parser, OptionPlace::Alter)? })
}

/// Reads `[IN DATABASE name] SET …`, for all roles unless one is given.
fn parse_configure(parser: &mut Parser<'_>, role: Option<RoleName>) -> Result<RoleStatement, ParserError> {
    let mut database = None;
    if parser.parse_keyword(Keyword::IN) {
        parser.expect_keyword_is(Keyword::DATABASE)?;
        database = Some(parse_name(parser)?);
    }
    Ok(RoleStatement::Configure { role, database, change: SettingChange::parse(parser)? })
}

/// `[CASCADE | RESTRICT]`
pub(super) fn parse_behavior(parser: &mut Parser<'_>) -> Behavior {
    match parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]) {
        Some(Keyword::CASCADE) => Behavior::Cascade,
        _ => Behavior::Restrict,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};
    use super::*;

    fn check(sql: &str, tag: &str, expected: impl FnOnce(&RoleStatement) -> bool) {
        let statement = Statement::parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0);
        let Command::Role(role) = statement.command() else { panic!("{statement:?}") };
        assert_eq!(role.tag(), tag, "{sql}");
        assert!(statement.kind().writes(), "{sql}");
        assert!(expected(role), "{sql}: {role:?}");
    }

    fn is_named(role: &RoleName, expected: &str) -> bool {
        *role == RoleName::Named(Ident::new(expected))
    }

    #[test]
    fn roles_are_created_and_dropped() {
        use RoleStatement::{Create, Drop};
        for (sql, expected) in [
            ("create role a", RoleWord::Role),
            ("CREATE USER a WITH PASSWORD 'x'", RoleWord::User),
            ("create group a role b", RoleWord::Group),
        ] {
            let is_it = |role: &RoleStatement| matches!(role, Create { word, name, .. } if *word == expected && name.value == "a");
            check(sql, "CREATE ROLE", is_it);
        }
        check(
            "create user mapping",
            "CREATE ROLE",
            |role| matches!(role, Create { name, .. } if name.value == "mapping"),
        );
        check("drop role a", "DROP ROLE", |role| matches!(role, Drop { if_exists: false, names } if names.len() == 1));
        let is_three = |role: &RoleStatement| matches!(role, Drop { if_exists: true, names } if names.len() == 3);
        check("drop user if exists a, \"B\", current_user", "DROP ROLE", is_three);
        check("drop group a", "DROP ROLE", |role| matches!(role, Drop { .. }));
    }

    #[test]
    fn databases_have_settings() {
        let is_own = |expected: SettingChange| {
            move |role: &RoleStatement| match role {
                RoleStatement::ConfigureDatabase { database, change } => database.value == "d" && *change == expected,
                _ => false,
            }
        };
        let from_current = SettingChange::FromCurrent("work_mem".to_owned());
        check("alter database d set work_mem from current", "ALTER DATABASE", is_own(from_current));
        check("ALTER DATABASE \"d\" RESET ALL", "ALTER DATABASE", is_own(SettingChange::ResetAll));
    }

    #[test]
    fn roles_are_altered() {
        use RoleStatement::{Alter, ChangeMembers, Configure, Rename};
        let count = |options: &RoleOptions| options.iter().count();
        check("alter role a", "ALTER ROLE", |role| matches!(role, Alter { options, .. } if count(options) == 0));
        let is_own = |role: &RoleStatement| match role {
            Alter { role, options } => *role == RoleName::CurrentUser && count(options) == 2,
            _ => false,
        };
        check("alter user current_user with createdb password 'x'", "ALTER ROLE", is_own);
        for (sql, expected) in [
            ("alter group g add user a, b", MemberChange::Add),
            ("ALTER GROUP g DROP USER a, session_user", MemberChange::Drop),
        ] {
            let is_it = |role: &RoleStatement| match role {
                ChangeMembers { group, change, members } => {
                    (*change, members.len()) == (expected, 2) && is_named(group, "g")
                }
                _ => false,
            };
            check(sql, "ALTER ROLE", is_it);
        }
        for word in ["role", "user", "group"] {
            let is_it = |role: &RoleStatement| match role {
                Rename { name, new_name } => (&*name.value, &*new_name.value) == ("a", "b"),
                _ => false,
            };
            check(&format!("alter {word} a rename to b"), "ALTER ROLE", is_it);
        }
        let is_of = |role: &RoleStatement, expected: (Option<&str>, Option<&str>)| match role {
            Configure { role, database, .. } => {
                let role = role.as_ref().map(|role| is_named(role, expected.0.unwrap_or_default()));
                role == expected.0.map(|_| true) && database.as_ref().map(|name| &*name.value) == expected.1
            }
            _ => false,
        };
        check("alter role a set x to 1", "ALTER ROLE", |role| is_of(role, (Some("a"), None)));
        check("alter user a in database d reset all", "ALTER ROLE", |role| is_of(role, (Some("a"), Some("d"))));
        check("alter role all set x from current", "ALTER ROLE", |role| is_of(role, (None, None)));
        check("alter role all in database d reset x", "ALTER ROLE", |role| is_of(role, (None, Some("d"))));
    }

    #[test]
    fn what_roles_own_changes_hands() {
        use RoleStatement::{DropOwned, ReassignOwned};
        check(
            "reassign owned by a, current_user to b",
            "REASSIGN OWNED",
            |role| matches!(role, ReassignOwned { owners, new_owner } if owners.len() == 2 && is_named(new_owner, "b")),
        );
        for (end, expected) in
            [("", Behavior::Restrict), (" restrict", Behavior::Restrict), (" cascade", Behavior::Cascade)]
        {
            check(
                &format!("drop owned by a{end}"),
                "DROP OWNED",
                |role| matches!(role, DropOwned { owners, behavior } if owners.len() == 1 && *behavior == expected),
            );
        }
    }

    #[test]
    fn syntax_errors_are_postgresqls() {
        for (sql, near) in [
            ("create role", "end of input"),
            ("create role a, b", "or near \",\""),
            ("create role if not exists a", "or near \"not\""),
            ("alter role all createdb", "or near \"createdb\""),
            ("alter role all", "end of input"),
            ("alter role a add user b", "or near \"add\""),
            ("alter role a rename b", "or near \"b\""),
            ("alter role a in database d", "end of input"),
            ("alter group all set a = 1", "or near \"all\""),
            ("alter group g", "end of input"),
            ("alter group g createdb", "or near \"createdb\""),
            ("alter group g add a", "or near \"a\""),
            ("drop role if exists", "end of input"),
            ("drop role a cascade", "or near \"cascade\""),
            ("reassign a", "or near \"a\""),
            ("reassign owned by a", "end of input"),
            ("reassign owned by a to b, c", "or near \",\""),
            ("drop owned a", "or near \"a\""),
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), ("42601", &*format!("syntax error at {near}")), "{sql}");
        }
    }
}
