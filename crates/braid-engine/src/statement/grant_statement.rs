//! GRANT and REVOKE as written: of privileges on objects, and of roles.
//!
//! A statement without ON is about roles. What it calls privileges then are the roles.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::StatementKind;
use super::behavior::Behavior;
use super::comment_statement::consume_words;
use super::granted_objects::{GrantedObjects, Privilege, Privileges};
use super::role_names::RoleName;
use super::role_statement::parse_behavior;

/// GRANT or REVOKE.
#[derive(Debug)]
pub(crate) enum GrantStatement {
    /// Of privileges on objects.
    Privileges(PrivilegeChange<GrantedObjects>),
    /// Of roles.
    Roles(MembershipChange),
}

/// Whether something is granted or revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantAction {
    Grant,
    Revoke,
}

/// `GRANT privileges ON objects TO grantees` or `REVOKE privileges ON objects FROM grantees`
#[derive(Debug)]
pub(crate) struct PrivilegeChange<T> {
    /// Whether they are granted or revoked.
    pub action: GrantAction,
    /// The privileges.
    pub privileges: Privileges,
    /// The objects.
    pub objects: T,
    /// The roles that get or lose them.
    pub grantees: Vec<RoleName>,
    /// WITH GRANT OPTION: they may grant them. In REVOKE, GRANT OPTION FOR: they lose only that.
    pub has_grant_option: bool,
    /// GRANTED BY.
    pub granted_by: Option<RoleName>,
    /// What becomes of what the grantees have granted, when they lose it.
    pub behavior: Behavior,
}

/// `GRANT role, … TO role, …` or `REVOKE role, … FROM role, …`
#[derive(Debug)]
pub(crate) struct MembershipChange {
    /// Whether roles are granted or revoked.
    pub action: GrantAction,
    /// The roles that get or lose members. Columns behind them are refused when the statement is executed.
    pub roles: Vec<Privilege>,
    /// The members.
    pub members: Vec<RoleName>,
    /// WITH ADMIN OPTION: they may grant the role. In REVOKE, ADMIN OPTION FOR: they lose only that.
    pub has_admin_option: bool,
    /// GRANTED BY.
    pub granted_by: Option<RoleName>,
}

/// Whether a statement may name its grantor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grantor {
    /// GRANTED BY may be written.
    Any,
    /// It may not.
    Own,
}

/// The words up to the privileges.
struct Head {
    action: GrantAction,
    /// GRANT OPTION FOR.
    is_of_grant_option: bool,
    /// ADMIN OPTION FOR.
    is_of_admin_option: bool,
}

impl GrantAction {
    /// Reads TO or FROM.
    fn parse_direction(self, parser: &mut Parser<'_>) -> Result<(), ParserError> {
        parser.expect_keyword_is(match self {
            Self::Grant => Keyword::TO,
            Self::Revoke => Keyword::FROM,
        })
    }
}

impl GrantStatement {
    /// Reads it, from its first word on.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let head = Head::parse(parser)?;
        if head.is_of_admin_option {
            let roles = parser.parse_comma_separated(Privilege::parse)?;
            return MembershipChange::parse(parser, &head, roles).map(Self::Roles);
        }
        let privileges = Privileges::parse(parser)?;
        match privileges {
            Privileges::Listed(roles) if !head.is_of_grant_option && !parser.peek_keyword(Keyword::ON) => {
                MembershipChange::parse(parser, &head, roles).map(Self::Roles)
            }
            privileges => {
                let parse_objects = GrantedObjects::parse;
                PrivilegeChange::parse_rest(parser, &head, privileges, parse_objects, Grantor::Any)
                    .map(Self::Privileges)
            }
        }
    }

    /// What it does.
    pub(super) fn kind(&self) -> StatementKind {
        match self {
            Self::Privileges(PrivilegeChange { action: GrantAction::Grant, .. }) => StatementKind::Grant,
            Self::Privileges(PrivilegeChange { action: GrantAction::Revoke, .. }) => StatementKind::Revoke,
            Self::Roles(MembershipChange { action: GrantAction::Grant, .. }) => StatementKind::GrantRole,
            Self::Roles(MembershipChange { action: GrantAction::Revoke, .. }) => StatementKind::RevokeRole,
        }
    }

    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Privileges(PrivilegeChange { action: GrantAction::Grant, .. }) => "GRANT",
            Self::Privileges(PrivilegeChange { action: GrantAction::Revoke, .. }) => "REVOKE",
            Self::Roles(MembershipChange { action: GrantAction::Grant, .. }) => "GRANT ROLE",
            Self::Roles(MembershipChange { action: GrantAction::Revoke, .. }) => "REVOKE ROLE",
        }
    }
}

impl Head {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let action = match parser.expect_one_of_keywords(&[Keyword::GRANT, Keyword::REVOKE])? {
            Keyword::GRANT => GrantAction::Grant,
            _ => GrantAction::Revoke,
        };
        let is_revoke = action == GrantAction::Revoke;
        let is_of_grant_option = is_revoke && consume_words(parser, "grant option for");
        let is_of_admin_option = is_revoke && consume_words(parser, "admin option for");
        Ok(Self { action, is_of_grant_option, is_of_admin_option })
    }
}

impl<T> PrivilegeChange<T> {
    /// Reads it, from GRANT or REVOKE on.
    pub(super) fn parse(
        parser: &mut Parser<'_>,
        parse_objects: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
        grantor: Grantor,
    ) -> Result<Self, ParserError> {
        let head = Head::parse(parser)?;
        let privileges = Privileges::parse(parser)?;
        Self::parse_rest(parser, &head, privileges, parse_objects, grantor)
    }

    /// Reads what follows the privileges.
    fn parse_rest(
        parser: &mut Parser<'_>,
        head: &Head,
        privileges: Privileges,
        parse_objects: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
        grantor: Grantor,
    ) -> Result<Self, ParserError> {
        let action = head.action;
        parser.expect_keyword_is(Keyword::ON)?;
        let objects = parse_objects(parser)?;
        action.parse_direction(parser)?;
        let grantees = parser.parse_comma_separated(parse_grantee)?;
        let has_grant_option = head.is_of_grant_option || parse_option(parser, action, Keyword::GRANT)?;
        let granted_by = match grantor {
            Grantor::Any => parse_granted_by(parser)?,
            Grantor::Own => None,
        };
        let behavior = parse_behavior_of(parser, action);
        Ok(Self { action, privileges, objects, grantees, has_grant_option, granted_by, behavior })
    }
}

impl MembershipChange {
    /// Reads what follows the roles.
    fn parse(parser: &mut Parser<'_>, head: &Head, roles: Vec<Privilege>) -> Result<Self, ParserError> {
        let action = head.action;
        action.parse_direction(parser)?;
        let members = RoleName::parse_list(parser)?;
        let has_admin_option = head.is_of_admin_option || parse_option(parser, action, Keyword::ADMIN)?;
        let granted_by = parse_granted_by(parser)?;
        // No other memberships depend on one.
        let _ = parse_behavior_of(parser, action);
        Ok(Self { action, roles, members, has_admin_option, granted_by })
    }
}

/// `[GROUP] role`
fn parse_grantee(parser: &mut Parser<'_>) -> Result<RoleName, ParserError> {
    let _ = parser.parse_keyword(Keyword::GROUP);
    RoleName::parse(parser)
}

/// `[WITH word OPTION]`, of GRANT only: whether it is written.
fn parse_option(parser: &mut Parser<'_>, action: GrantAction, word: Keyword) -> Result<bool, ParserError> {
    if action == GrantAction::Revoke || !parser.parse_keyword(Keyword::WITH) {
        return Ok(false);
    }
    parser.expect_keywords(&[word, Keyword::OPTION])?;
    Ok(true)
}

/// `[GRANTED BY role]`
fn parse_granted_by(parser: &mut Parser<'_>) -> Result<Option<RoleName>, ParserError> {
    match consume_words(parser, "granted by") {
        true => RoleName::parse(parser).map(Some),
        false => Ok(None),
    }
}

/// `[CASCADE | RESTRICT]`, of REVOKE only.
fn parse_behavior_of(parser: &mut Parser<'_>, action: GrantAction) -> Behavior {
    match action {
        GrantAction::Grant => Behavior::Restrict,
        GrantAction::Revoke => parse_behavior(parser),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Ident;

    use super::super::{Command, Statement};
    use super::*;

    fn read(sql: &str) -> Statement {
        Statement::parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0)
    }

    fn named(name: &str) -> RoleName {
        RoleName::Named(Ident::new(name))
    }

    /// The privileges as text.
    fn shown(privileges: &Privileges) -> String {
        let columns = |columns: &[Ident]| columns.iter().map(|column| format!(" {column}")).collect::<String>();
        match privileges {
            Privileges::All(of) => format!("ALL{}", columns(of)),
            Privileges::Listed(listed) => {
                let listed =
                    listed.iter().map(|privilege| format!("{}{}", privilege.name, columns(&privilege.columns)));
                listed.collect::<Vec<_>>().join(",")
            }
        }
    }

    /// Checks the privileges, the grantees, and whether GRANT OPTION and CASCADE are written.
    fn check(sql: &str, privileges: &str, grantees: &[RoleName], (option, cascade): (bool, bool)) {
        let statement = read(sql);
        let Command::Grant(grant @ GrantStatement::Privileges(change)) = statement.command() else { panic!("{sql}") };
        assert_eq!(shown(&change.privileges), privileges, "{sql}");
        assert_eq!(change.grantees, grantees, "{sql}");
        assert_eq!((change.has_grant_option, change.behavior), (option, Behavior::of(cascade)), "{sql}");
        assert_eq!(grant.tag(), if change.action == GrantAction::Grant { "GRANT" } else { "REVOKE" });
        assert!(statement.kind().writes());
    }

    #[test]
    fn privileges_are_granted() {
        let a = || named("a");
        check("grant select on t to a", "select", &[a()], (false, false));
        check("GRANT SELECT, Insert (a, \"B\") ON t TO a", "SELECT,Insert a \"B\"", &[a()], (false, false));
        check("grant all privileges on t to group a, public", "ALL", &[a(), RoleName::Public], (false, false));
        check("grant all (a, b) on t to current_user", "ALL a b", &[RoleName::CurrentUser], (false, false));
        check(
            "grant foo, \"select\" on t to \"A\" with grant option",
            "foo,\"select\"",
            &[RoleName::Named(Ident::with_quote('"', "A"))],
            (true, false),
        );
        check(
            "grant references, create, temp, alter on t to a",
            "references,create,temp,alter",
            &[a()],
            (false, false),
        );
        check("grant set, alter system on parameter x to a", "set,alter system", &[a()], (false, false));
    }

    #[test]
    fn privileges_are_revoked() {
        let a = || named("a");
        check("revoke select on t from a", "select", &[a()], (false, false));
        check("revoke all on t from a, group b restrict", "ALL", &[a(), named("b")], (false, false));
        check(
            "revoke grant option FOR UPDATE (x), select on t from a cascade",
            "UPDATE x,select",
            &[a()],
            (true, true),
        );
        check("revoke grant option for all privileges on t from a", "ALL", &[a()], (true, false));
        for (sql, expected) in [
            ("grant select on t to a with grant option granted by current_role", Some(RoleName::CurrentUser)),
            ("revoke select on t from a granted by b cascade", Some(named("b"))),
            ("revoke select on t from a cascade", None),
        ] {
            let statement = read(sql);
            let Command::Grant(GrantStatement::Privileges(change)) = statement.command() else { panic!("{sql}") };
            assert_eq!(change.granted_by, expected, "{sql}");
        }
    }

    #[test]
    fn roles_are_granted_where_no_object_is_named() {
        for (sql, tag, roles, member_count, admin, by) in [
            ("grant a to b", "GRANT ROLE", "a", 1, false, None),
            (
                "grant a, \"B\" to c, public with admin option granted by d",
                "GRANT ROLE",
                "a,\"B\"",
                2,
                true,
                Some(named("d")),
            ),
            ("grant select, none, public to a", "GRANT ROLE", "select,none,public", 1, false, None),
            ("grant a (x) to b", "GRANT ROLE", "a x", 1, false, None),
            ("revoke a from b", "REVOKE ROLE", "a", 1, false, None),
            ("revoke a, admin from b, session_user restrict", "REVOKE ROLE", "a,admin", 2, false, None),
            (
                "revoke admin option for a from b granted by public cascade",
                "REVOKE ROLE",
                "a",
                1,
                true,
                Some(RoleName::Public),
            ),
            ("revoke admin from b", "REVOKE ROLE", "admin", 1, false, None),
        ] {
            let statement = read(sql);
            let Command::Grant(grant @ GrantStatement::Roles(change)) = statement.command() else { panic!("{sql}") };
            assert_eq!(
                (grant.tag(), shown(&Privileges::Listed(change.roles.clone()))),
                (tag, roles.to_owned()),
                "{sql}"
            );
            assert_eq!((change.members.len(), change.has_admin_option), (member_count, admin), "{sql}");
            assert_eq!(change.granted_by, by, "{sql}");
            assert!(statement.kind().writes());
        }
    }

    #[test]
    fn syntax_errors_are_postgresqls() {
        for (sql, near) in [
            ("grant", "end of input"),
            ("grant on t to a", "or near \"on\""),
            ("grant all () on t to a", "or near \")\""),
            ("grant select (a on t to a", "or near \"on\""),
            ("grant all, select on t to a", "or near \",\""),
            ("grant select, all on t to a", "or near \"all\""),
            ("grant select on t", "end of input"),
            ("grant select on t from a", "or near \"from\""),
            ("grant select on t to a with admin option", "or near \"admin\""),
            ("grant select on t to a granted by b with grant option", "or near \"with\""),
            ("grant select on t to a cascade", "or near \"cascade\""),
            ("grant all to b", "or near \"to\""),
            ("grant current_user to b", "or near \"current_user\""),
            ("grant a to group b", "or near \"group\""),
            ("grant a to b with grant option", "or near \"grant\""),
            ("grant a to b cascade", "or near \"cascade\""),
            ("revoke a to b", "or near \"to\""),
            ("revoke a from b cascade granted by c", "or near \"granted\""),
            ("revoke select on t from a with grant option", "or near \"with\""),
            ("revoke grant option for a from b", "or near \"from\""),
            ("revoke admin option for select on t from a", "or near \"on\""),
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), ("42601", &*format!("syntax error at {near}")), "{sql}");
        }
        assert_eq!(Statement::parse("grant a to none").unwrap_err().sqlstate(), "42939");
    }
}
