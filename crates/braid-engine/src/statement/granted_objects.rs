//! What GRANT and REVOKE are about, as written: privileges, and the objects behind ON.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::comment_statement::{consume_words, word_of};
use super::role_names::{parse_name, parse_names, parse_qualified_name, parse_rest_of_name, word_as_name};
use super::signed_number::parse_number;

/// Privileges as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Privileges {
    /// ALL: all that there are, of some columns if there are any.
    All(Vec<Ident>),
    /// Some.
    Listed(Vec<Privilege>),
}

/// A privilege as written. Its name may be any word: it is looked up when the statement is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Privilege {
    /// The name; `alter system` is one with a blank.
    pub name: Ident,
    /// The columns; none for the whole object.
    pub columns: Vec<Ident>,
}

/// The objects that privileges are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GrantedObjects {
    /// Tables, and whatever else has rows: TABLE is not written always.
    Tables(Vec<ObjectName>),
    /// SEQUENCE
    Sequences(Vec<ObjectName>),
    /// SCHEMA
    Schemas(Vec<Ident>),
    /// DATABASE
    Databases(Vec<Ident>),
    /// TYPE
    Types(Vec<ObjectName>),
    /// DOMAIN
    Domains(Vec<ObjectName>),
    /// FUNCTION, PROCEDURE and ROUTINE
    Routines(RoutineWord, Vec<RoutineName>),
    /// LANGUAGE
    Languages(Vec<Ident>),
    /// TABLESPACE
    Tablespaces(Vec<Ident>),
    /// FOREIGN DATA WRAPPER
    ForeignDataWrappers(Vec<Ident>),
    /// FOREIGN SERVER
    ForeignServers(Vec<Ident>),
    /// LARGE OBJECT: numbers as they are written.
    LargeObjects(Vec<String>),
    /// PARAMETER
    Parameters(Vec<ObjectName>),
    /// `ALL … IN SCHEMA`: all objects of a kind that schemas have.
    InSchemas(SchemaObjects, Vec<Ident>),
}

/// How a statement calls functions and procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutineWord {
    Function,
    Procedure,
    Routine,
}

/// A function or procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoutineName {
    /// The name.
    pub name: ObjectName,
    /// The text between the parentheses, if there are any.
    pub arguments: Option<String>,
}

/// The objects behind ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaObjects {
    /// ALL TABLES, which are views, too.
    Tables,
    /// ALL SEQUENCES.
    Sequences,
    /// ALL FUNCTIONS, ALL PROCEDURES and ALL ROUTINES.
    Routines(RoutineWord),
}

/// Reserved words that are privileges.
const RESERVED_PRIVILEGES: [&str; 3] = ["create", "references", "select"];

const ROUTINES: [(&str, RoutineWord); 3] =
    [("function", RoutineWord::Function), ("procedure", RoutineWord::Procedure), ("routine", RoutineWord::Routine)];

const SCHEMA_OBJECTS: [(&str, SchemaObjects); 5] = [
    ("tables", SchemaObjects::Tables),
    ("sequences", SchemaObjects::Sequences),
    ("functions", SchemaObjects::Routines(RoutineWord::Function)),
    ("procedures", SchemaObjects::Routines(RoutineWord::Procedure)),
    ("routines", SchemaObjects::Routines(RoutineWord::Routine)),
];

impl Privileges {
    /// Reads privileges.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if parser.parse_keyword(Keyword::ALL) {
            let _ = parser.parse_keyword(Keyword::PRIVILEGES);
            return parse_columns(parser).map(Self::All);
        }
        parser.parse_comma_separated(Privilege::parse).map(Self::Listed)
    }
}

impl Privilege {
    /// Reads a privilege.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let first = parser.peek_token();
        let is_reserved = word_of(&first.token).is_some_and(|word| RESERVED_PRIVILEGES.contains(&&*word));
        let name = if consume_words(parser, "alter system") {
            Ident::with_span(first.span, "alter system")
        } else if is_reserved {
            parser.parse_identifier()?
        } else {
            parse_name(parser)?
        };
        Ok(Self { name, columns: parse_columns(parser)? })
    }
}

/// `[(column, …)]`
fn parse_columns(parser: &mut Parser<'_>) -> Result<Vec<Ident>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let columns = parse_names(parser)?;
    parser.expect_token(&Token::RParen)?;
    Ok(columns)
}

impl GrantedObjects {
    /// Reads objects. A word of a kind is a table of this name if no name follows it.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if parser.parse_keyword(Keyword::ALL) {
            return Self::parse_all(parser);
        }
        if parser.parse_keyword(Keyword::FOREIGN) {
            if parser.parse_keyword(Keyword::SERVER) {
                return parse_names(parser).map(Self::ForeignServers);
            }
            parser.expect_keywords(&[Keyword::DATA, Keyword::WRAPPER])?;
            return parse_names(parser).map(Self::ForeignDataWrappers);
        }
        if consume_words(parser, "large object") {
            return parser.parse_comma_separated(parse_number).map(Self::LargeObjects);
        }
        if parser.parse_keyword(Keyword::TABLE) {
            return parse_qualified_names(parser).map(Self::Tables);
        }
        let word = word_of(&parser.peek_token().token).filter(|_| is_name_next(parser));
        if let Some((_, routine)) = ROUTINES.iter().find(|(name, _)| word.as_deref() == Some(name)) {
            parser.next_token();
            let names = parser.parse_comma_separated(RoutineName::parse)?;
            return Ok(Self::Routines(*routine, names));
        }
        let parse_named: fn(&mut Parser<'_>) -> Result<Self, ParserError> = match word.as_deref() {
            Some("sequence") => |parser| parse_qualified_names(parser).map(Self::Sequences),
            Some("type") => |parser| parse_qualified_names(parser).map(Self::Types),
            Some("domain") => |parser| parse_qualified_names(parser).map(Self::Domains),
            Some("parameter") => |parser| parse_qualified_names(parser).map(Self::Parameters),
            Some("schema") => |parser| parse_names(parser).map(Self::Schemas),
            Some("database") => |parser| parse_names(parser).map(Self::Databases),
            Some("language") => |parser| parse_names(parser).map(Self::Languages),
            Some("tablespace") => |parser| parse_names(parser).map(Self::Tablespaces),
            _ => return parse_qualified_names(parser).map(Self::Tables),
        };
        parser.next_token();
        parse_named(parser)
    }

    /// Reads what follows ALL.
    fn parse_all(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let Some((_, objects)) = SCHEMA_OBJECTS.iter().find(|(word, _)| consume_words(parser, word)) else {
            return parser.expected("TABLES, SEQUENCES, FUNCTIONS, PROCEDURES or ROUTINES", parser.peek_token());
        };
        parser.expect_keywords(&[Keyword::IN, Keyword::SCHEMA])?;
        Ok(Self::InSchemas(*objects, parse_names(parser)?))
    }
}

/// Whether a name stands behind the next word: nothing that ends a name or goes on with one.
fn is_name_next(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token(1).token {
        Token::Comma | Token::Period | Token::EOF | Token::SemiColon => false,
        token => !matches!(word_of(token).as_deref(), Some("to" | "from")),
    }
}

fn parse_qualified_names(parser: &mut Parser<'_>) -> Result<Vec<ObjectName>, ParserError> {
    parser.parse_comma_separated(parse_qualified_name)
}

impl RoutineName {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let next = parser.next_token();
        let first = word_as_name(parser, next)?;
        let name = parse_rest_of_name(parser, first)?;
        Ok(Self { name, arguments: parse_arguments(parser)? })
    }
}

/// The text between parentheses, without what separates its tokens but for one blank.
fn parse_arguments(parser: &mut Parser<'_>) -> Result<Option<String>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let (mut text, mut depth) = (String::new(), 0_usize);
    loop {
        let next: TokenWithSpan = parser.next_token();
        match &next.token {
            Token::RParen if depth == 0 => return Ok(Some(text)),
            Token::RParen => depth -= 1,
            Token::LParen => depth += 1,
            Token::EOF | Token::SemiColon => return parser.expected("a parenthesis", next),
            _ => {}
        }
        let is_close = |last: char| matches!(last, '(' | '[' | '.');
        let joins = matches!(
            next.token,
            Token::Comma | Token::Period | Token::LParen | Token::RParen | Token::LBracket | Token::RBracket
        );
        if !joins && !text.is_empty() && !text.ends_with(is_close) {
            text.push(' ');
        }
        text.push_str(&next.token.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, GrantStatement, Statement};
    use super::*;

    fn check(objects: &str, expected: GrantedObjects) {
        let sql = format!("grant x on {objects} to a");
        let statement = Statement::parse(&sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0);
        let Command::Grant(GrantStatement::Privileges(change)) = statement.command() else { panic!("{sql}") };
        assert_eq!(change.objects, expected, "{sql}");
    }

    fn names(names: &[&str]) -> Vec<Ident> {
        names.iter().map(|name| Ident::new(*name)).collect()
    }

    fn qualified(names: &[&str]) -> Vec<ObjectName> {
        names.iter().map(|name| ObjectName::from(name.split('.').map(Ident::new).collect::<Vec<_>>())).collect()
    }

    #[test]
    fn objects_of_all_kinds_are_read() {
        use GrantedObjects::*;
        check("t", Tables(qualified(&["t"])));
        check("TABLE t, s.U", Tables(qualified(&["t", "s.U"])));
        check("s.select, t", Tables(qualified(&["s.select", "t"])));
        check("sequence q, s.q", Sequences(qualified(&["q", "s.q"])));
        check("schema s, \"public\"", Schemas(vec![Ident::new("s"), Ident::with_quote('"', "public")]));
        check("database d", Databases(names(&["d"])));
        check("type s.t", Types(qualified(&["s.t"])));
        check("domain d", Domains(qualified(&["d"])));
        check("language plpgsql", Languages(names(&["plpgsql"])));
        check("tablespace x, y", Tablespaces(names(&["x", "y"])));
        check("foreign data wrapper w", ForeignDataWrappers(names(&["w"])));
        check("foreign server s, t", ForeignServers(names(&["s", "t"])));
        check("large object 12, -3", LargeObjects(vec!["12".to_owned(), "-3".to_owned()]));
        check("parameter work_mem, a.b", Parameters(qualified(&["work_mem", "a.b"])));
        check("all tables in schema s, t", InSchemas(SchemaObjects::Tables, names(&["s", "t"])));
        check("all sequences in schema s", InSchemas(SchemaObjects::Sequences, names(&["s"])));
        for (word, routine) in [
            ("functions", RoutineWord::Function),
            ("procedures", RoutineWord::Procedure),
            ("routines", RoutineWord::Routine),
        ] {
            check(&format!("all {word} in schema s"), InSchemas(SchemaObjects::Routines(routine), names(&["s"])));
        }
    }

    #[test]
    fn words_of_kinds_are_tables_without_a_name_behind_them() {
        for word in ["sequence", "schema", "database", "type", "domain", "function", "language", "parameter", "large"] {
            check(word, GrantedObjects::Tables(qualified(&[word])));
            let point = format!("{word}.t");
            check(&format!("{point}, {word}"), GrantedObjects::Tables(qualified(&[&point, word])));
        }
    }

    #[test]
    fn routines_keep_the_text_of_their_arguments() {
        let routine = |name: &str, arguments: Option<&str>| RoutineName {
            name: qualified(&[name]).remove(0),
            arguments: arguments.map(str::to_owned),
        };
        let f = |arguments| vec![routine("f", arguments)];
        check("function f", GrantedObjects::Routines(RoutineWord::Function, f(None)));
        check("procedure f()", GrantedObjects::Routines(RoutineWord::Procedure, f(Some(""))));
        check("routine f(int)", GrantedObjects::Routines(RoutineWord::Routine, f(Some("int"))));
        let several = vec![
            routine("s.f", Some("int, out x numeric(1, 2), s.t[]")),
            routine("left", None),
            routine("g", Some("variadic \"A\"[]")),
        ];
        let written = "function s.f( int,out x  numeric(1,2), s.t[] ), left, g(variadic \"A\" array)";
        check(written, GrantedObjects::Routines(RoutineWord::Function, several));
    }

    #[test]
    fn other_objects_are_syntax_errors() {
        for (objects, near) in [
            ("", "\"to\""),
            ("table", "\"to\""),
            ("only t", "\"only\""),
            ("table only t", "\"only\""),
            ("t *", "\"*\""),
            ("'t'", "\"'t'\""),
            ("select", "\"select\""),
            ("left", "\"left\""),
            ("view v", "\"v\""),
            ("schema s.t", "\".\""),
            ("foreign table t", "\"table\""),
            ("large object x", "\"x\""),
            ("all", "\"to\""),
            ("all tables", "\"to\""),
            ("all types in schema s", "\"types\""),
        ] {
            let error = Statement::parse(&format!("grant x on {objects} to a")).unwrap_err();
            assert_eq!(error.message(), format!("syntax error at or near {near}"), "{objects}");
        }
        assert_eq!(Statement::parse("grant x on function f( to a").unwrap_err().sqlstate(), "42601");
    }
}
