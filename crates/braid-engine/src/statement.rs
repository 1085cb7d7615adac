//! SQL text into statements: what kind of thing was asked for, before anything is planned.
//!
//! sqlparser's PostgreSQL dialect does the reading. COPY is read by [`copy_statement`] on the same tokens,
//! because sqlparser expects its data inline and knows neither Parquet nor all of PostgreSQL's spellings. What Braid does not
//! do is still a statement (kind [`StatementKind::Unsupported`]): it is refused when it is executed, so that a failed
//! transaction block answers in PostgreSQL's order.
//!
//! | module | contents |
//! |---|---|
//! | [`command`] | the syntax tree of one statement |
//! | [`behavior`] | CASCADE and RESTRICT |
//! | [`column_change`] | changes of generated and identity columns as written |
//! | [`kind`] | what a statement does |
//! | [`copy_statement`], [`copy_options`] | COPY as written; its options with their defaults |
//! | [`prepare_statement`] | PREPARE and EXECUTE as written |
//! | [`prepared_literals`] | the literals of times of a prepared statement |
//! | [`relation_names`] | the names of the relations that a tree reads |
//! | [`table_of_rows`] | SELECT INTO and CREATE TABLE AS EXECUTE |
//! | [`merge_statement`] | MERGE as written |
//! | [`sequence_statement`] | CREATE SEQUENCE and ALTER SEQUENCE as written |
//! | [`signed_number`] | numbers with a sign in options |
//! | [`overriding`] | `OVERRIDING … VALUE` of an INSERT |
//! | [`comment_statement`] | COMMENT ON as written |
//! | [`absent_statement`] | DROP of functions, triggers, extensions as written |
//! | [`object_statement`] | ALTER … OWNER TO and SET SCHEMA as written |
//! | [`role_statement`], [`role_options`], [`role_settings`] | CREATE ROLE and the like as written |
//! | [`role_names`] | names of roles |
//! | [`grant_statement`], [`granted_objects`] | GRANT and REVOKE as written |
//! | [`default_privileges_statement`] | ALTER DEFAULT PRIVILEGES as written |
//! | [`index_statement`] | ALTER INDEX … RENAME TO as written |
//! | [`refused_statement`], [`unsupported_clauses`] | statements that are refused by name; clauses that are |
//! | [`do_statement`] | DO as written |
//! | [`domain_statement`] | CREATE DOMAIN and the like as written |
//! | [`locking_queries`] | subqueries that lock rows |
//! | [`maintenance_statement`] | VACUUM, ANALYZE, CHECKPOINT, REINDEX, CLUSTER and LOCK TABLE as written |
//! | [`constraint_statement`] | SET CONSTRAINTS and ALTER CONSTRAINT as written |
//! | [`storage_statement`] | ALTER TABLE … SET STATISTICS and the like as written |
//! | [`transaction_statement`] | BEGIN and SET TRANSACTION with DEFERRABLE as written |
//! | [`view_statement`] | CREATE VIEW and the like as written |
//! | [`dialect`] | PostgreSQL's dialect, as far as sqlparser's differs |
//! | [`text_template`] | the tokens of a text, with its constants lifted out |
//! | [`syntax_errors`], [`places`] | errors in PostgreSQL's words; places in the text |

mod absent_statement;
mod behavior;
mod column_change;
mod command;
mod comment_statement;
mod constraint_statement;
mod copy_options;
mod copy_statement;
mod default_privileges_statement;
mod dialect;
mod do_statement;
mod domain_statement;
mod grant_statement;
mod granted_objects;
mod index_statement;
mod kind;
mod locking_queries;
mod maintenance_statement;
mod merge_statement;
mod object_statement;
mod overriding;
mod places;
mod prepare_statement;
mod prepared_literals;
mod refused_statement;
mod relation_names;
mod returned_settings;
mod role_names;
mod role_options;
mod role_settings;
mod role_statement;
mod sequence_statement;
mod signed_number;
mod sound_update;
mod storage_statement;
mod syntax_errors;
mod table_of_rows;
mod text_template;
mod transaction_statement;
mod unsupported_clauses;
mod view_statement;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use braid_sql::SqlType;
use braid_sql::binder::precedence::Rebind;
use braid_storage::TableDef;
use parking_lot::Mutex;
use sqlparser::ast::{self, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use crate::deep_stack::on_deep_stack;
use crate::names::{NAME_BYTES_MAX, fold, folded};
use crate::notices::Notice;
use crate::statement_limits::{DEPTH_MAX, StatementSize, check_text, check_tokens};
use crate::{EngineError, SqlState};
pub(crate) use absent_statement::{AbsentObjects, DropAbsent, RoutineName};
pub(crate) use behavior::Behavior;
pub(crate) use column_change::{ColumnChange, IdentityChange};
pub(crate) use command::Command;
pub(crate) use comment_statement::{CommentObject, CommentStatement, CommentedRelation};
pub(crate) use constraint_statement::ConstraintStatement;
pub(crate) use copy_options::{CopyFormat, CopyOptions, Header};
pub(crate) use copy_statement::{CopyPlace, CopyStatement, CopySubject};
pub(crate) use default_privileges_statement::{DefaultObjects, DefaultPrivilegesStatement};
pub(crate) use dialect::SqlDialect;
pub(crate) use domain_statement::{CreateDomain, DomainChange, DomainStatement, check_of};
pub(crate) use grant_statement::{GrantAction, GrantStatement, MembershipChange, PrivilegeChange};
pub(crate) use granted_objects::{GrantedObjects, Privilege, Privileges, SchemaObjects};
pub use kind::StatementKind;
pub(crate) use locking_queries::is_locking_subquery;
pub(crate) use maintenance_statement::{LockPatience, MaintenanceStatement, ReindexSubject, Target};
pub(crate) use object_statement::{ObjectChange, ObjectStatement};
pub(crate) use overriding::Overriding;
pub(crate) use places::Places;
use places::character_of;
pub(crate) use prepare_statement::{InnerStatement, PrepareStatement};
pub(crate) use prepared_literals::{Dependencies, Dependency, FormerReading, PreparedLiterals, ReadLiterals};
pub(crate) use refused_statement::Refused;
pub(crate) use relation_names::RelationNames;
use returned_settings::check_returned_settings;
pub(crate) use role_names::RoleName;
pub(crate) use role_options::{RoleOption, RoleOptions};
pub(crate) use role_settings::{SettingChange, SettingValue};
pub(crate) use role_statement::{MemberChange, RoleStatement, RoleWord};
pub(crate) use sequence_statement::{SequenceChange, SequenceKind, SequenceOption, SequenceStatement};
pub(crate) use sound_update::SoundUpdate;
pub(crate) use storage_statement::{StorageHint, StorageStatement};
use syntax_errors::{error_near, parser_error, syntax_error};
pub(crate) use table_of_rows::CreateTableOfExecution;
pub(crate) use text_template::{Constant, HoleContent, ScannedText, Unscanned};
use unsupported_clauses::{check_calls, refused_clause};
pub(crate) use view_statement::{AlterView, CreateForm, CreateView, RefreshView, ViewChange, ViewStatement};

/// How deep the parser descends. It needs up to four levels for one of the tree.
const PARSER_DEPTH_MAX: usize = 4 * DEPTH_MAX;

/// Bytes of a short token, of which a text mostly consists: each blank is one.
const TOKEN_BYTES_MIN: usize = 2;

/// Most tokens for which memory is reserved before a text is read.
const TOKENS_RESERVED_MAX: usize = 1024;

/// One statement: its kind, its syntax tree, its text. Cheap to clone.
#[derive(Clone)]
pub struct Statement {
    kind: StatementKind,
    /// Everything that was sent, with the statements beside this one: places in the text count from its beginning.
    origin: Arc<str>,
    /// This statement's bytes of it.
    range: Range<usize>,
    size: StatementSize,
    /// Whether it was sent with others in one text.
    is_among_others: bool,
    /// Whose values it stores in identity columns, if it says so.
    overriding: Option<Overriding>,
    /// `None` for a statement that runs by a template, and has not been parsed.
    command: Option<Arc<Command>>,
    /// Its template and constants, if it was sent alone and can have them.
    scanned: Option<Arc<ScannedText>>,
    /// The same of the query of an EXPLAIN that was sent alone, or why it can have none.
    explained: Option<Arc<Result<ScannedText, Unscanned>>>,
    /// For which table its ON CONFLICT DO UPDATE was found to be sound.
    sound_update: Arc<Mutex<Option<Arc<SoundUpdate>>>>,
    /// How its literals were read, if it is prepared.
    literals: Arc<OnceLock<PreparedLiterals>>,
}

/// What becomes of a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavepointChange {
    /// SAVEPOINT.
    Set,
    /// RELEASE.
    Release,
    /// ROLLBACK TO.
    RollBack,
}

/// The tokens of a text, within the limits.
pub(crate) struct Tokens<'a> {
    sql: &'a str,
    tokens: Vec<TokenWithSpan>,
}

impl<'a> Tokens<'a> {
    /// Reads a text.
    pub fn of(sql: &'a str) -> Result<Self, EngineError> {
        check_text(sql)?;
        let mut tokens = Vec::with_capacity((sql.len() / TOKEN_BYTES_MIN).min(TOKENS_RESERVED_MAX));
        Tokenizer::new(&SqlDialect::for_text(sql), sql)
            .tokenize_with_location_into_buf(&mut tokens)
            .map_err(|error| syntax_error(sql, &error.message, Some(error.location)))?;
        check_tokens(&tokens)?;
        check_names(sql, &tokens)?;
        check_numbers(sql, &tokens)?;
        Ok(Self { sql, tokens })
    }

    /// Notices of the names that are longer than names may be, and are cut.
    pub fn cut_names(&self) -> impl Iterator<Item = Notice> {
        let words = self.tokens.iter().filter_map(|token| match &token.token {
            Token::Word(word) if word.value.len() > NAME_BYTES_MAX => Some(word),
            _ => None,
        });
        words.map(|word| {
            let ident = Ident { value: word.value.clone(), quote_style: word.quote_style, span: Span::empty() };
            let (long, cut) = (folded(&ident), fold(&ident));
            let message = format!("identifier \"{long}\" will be truncated to \"{cut}\"");
            Notice::harmless(SqlState::NameTooLong, message)
        })
    }

    /// The text as template and constants, if it can have a template.
    pub fn scanned(&self) -> Option<ScannedText> {
        ScannedText::of(&self.tokens).ok()
    }

    /// The statements.
    pub fn parse(self) -> Result<Vec<Statement>, EngineError> {
        let scanned = self.scanned();
        self.parse_scanned(scanned)
    }

    /// The statements of a text that is [`Self::scanned`] already.
    pub fn parse_scanned(self, scanned: Option<ScannedText>) -> Result<Vec<Statement>, EngineError> {
        let Self { sql, tokens } = self;
        let explained = begins_with(&tokens, Keyword::EXPLAIN).then(|| ScannedText::of_explained(&tokens));
        let mut statements = on_deep_stack(tokens.len(), || Statement::parse_tokens(sql, tokens))?;
        match &mut statements[..] {
            [only] => {
                only.scanned = scanned.filter(|_| only.kind == StatementKind::Query).map(Arc::new);
                only.explained = explained.map(Arc::new);
            }
            several => several.iter_mut().for_each(|statement| statement.is_among_others = true),
        }
        Ok(statements)
    }
}

impl Statement {
    /// Reads `sql`, which may hold several statements. Empty statements are left out.
    ///
    /// The time is linear in the text. Trees are shallow when they leave here: long chains of operators have been made so,
    /// and what is still deep is refused ([`crate::statement_limits`]).
    pub fn parse(sql: &str) -> Result<Vec<Self>, EngineError> {
        Tokens::of(sql)?.parse()
    }

    /// A query that runs by a template, not parsed.
    pub(crate) fn recalled(sql: &str, scanned: ScannedText) -> Self {
        let origin: Arc<str> = Arc::from(sql);
        let start = sql.len() - sql.trim_start().len();
        let range = start..start + sql[start..].trim_end_matches(|c: char| c == ';' || c.is_whitespace()).len();
        let (size, scanned) = (StatementSize::default(), Some(Arc::new(scanned)));
        let (kind, is_among_others) = (StatementKind::Query, false);
        let overriding = None;
        let (command, explained, sound_update, literals) = Default::default();
        Self {
            kind,
            origin,
            range,
            size,
            is_among_others,
            overriding,
            command,
            scanned,
            explained,
            sound_update,
            literals,
        }
    }

    /// Its DO UPDATE, if it was bound before for this table and with parameters of these types.
    pub(crate) fn sound_update(&self, def: &TableDef, parameter_types: &[SqlType]) -> Option<Arc<SoundUpdate>> {
        self.sound_update.lock().clone().filter(|sound| sound.is_of(def, parameter_types))
    }

    /// Notes that its DO UPDATE can be bound. What is known of it stays.
    pub(crate) fn note_sound_update(&self, def: &Arc<TableDef>, parameter_types: &[SqlType]) {
        let mut sound = self.sound_update.lock();
        if !sound.as_ref().is_some_and(|sound| sound.is_of(def, parameter_types)) {
            *sound = Some(Arc::new(SoundUpdate::new(def, parameter_types)));
        }
    }

    /// Whether it is parsed.
    pub(crate) fn is_parsed(&self) -> bool {
        self.command.is_some()
    }

    /// The same statement, parsed.
    pub(crate) fn parsed(&self) -> Result<Self, EngineError> {
        if self.command.is_some() {
            return Ok(self.clone());
        }
        let mut statements = Self::parse(&self.origin)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(EngineError::internal("a template of several statements")),
        }
    }

    /// Its template and constants.
    pub(crate) fn scanned(&self) -> Option<&ScannedText> {
        self.scanned.as_deref()
    }

    /// The query of this EXPLAIN as template and constants, or why it can have no template.
    pub(crate) fn explained(&self) -> Result<Arc<Result<ScannedText, Unscanned>>, EngineError> {
        match &self.explained {
            Some(explained) => Ok(explained.clone()),
            None => Ok(Arc::new(ScannedText::of_explained(&Tokens::of(self.text())?.tokens))),
        }
    }

    fn parse_tokens(sql: &str, tokens: Vec<TokenWithSpan>) -> Result<Vec<Self>, EngineError> {
        let tokens = braid_sql::syntax::postgresql_tokens(tokens).map_err(|error| parser_error(sql, error))?;
        check_calls(sql, &tokens)?;
        let (tokens, overridings) = overriding::taken_out(tokens);
        let dialect = SqlDialect::for_tokens(tokens.len());
        let may_lock_rows = tokens.iter().any(|token| is_word(&token.token, Keyword::FOR));
        let may_return = tokens.iter().any(|token| is_word(&token.token, Keyword::RETURNING));
        let mut parser =
            Parser::new(&dialect).with_recursion_limit(PARSER_DEPTH_MAX).with_tokens_with_locations(tokens);
        let origin: Arc<str> = Arc::from(sql);
        let mut places = Places::new(sql);
        let mut statements = Vec::new();
        loop {
            while parser.consume_token(&Token::SemiColon) {}
            let first = parser.peek_token();
            if first.token == Token::EOF {
                return Ok(statements);
            }
            let begins = first.span.start;
            let mut command = Command::parse(&mut parser, &first)
                .map_err(|error| refused_clause(sql, begins, parser_error(sql, error)))?;
            if may_lock_rows {
                command = command.with_locking_queries();
            }
            let last = parser.get_current_token().span.end;
            let next = parser.peek_token();
            if !matches!(next.token, Token::SemiColon | Token::EOF) {
                let error = error_near(sql, &next.token.to_string(), Some(next.span.start));
                return Err(refused_clause(sql, begins, error));
            }
            command.rewrite(&mut Rebind);
            let size = command.size();
            size.check_depth()?;
            if let Command::Sql(statement) = &command
                && may_return
            {
                check_returned_settings(statement)?;
            }
            let start = places.byte_of(first.span.start);
            let end = start + sql[start..places.byte_of(last)].trim_end().len();
            let kind = StatementKind::of(&command);
            let is_within = |(place, _): &&(Location, Overriding)| first.span.start <= *place && *place <= last;
            let overriding = overridings.iter().find(is_within).copied();
            if let Some((place, _)) = overriding.filter(|_| !may_override(kind)) {
                return Err(error_near(sql, "overriding", Some(place)));
            }
            statements.push(Self {
                kind,
                origin: origin.clone(),
                range: start..end,
                size,
                is_among_others: false,
                overriding: overriding.map(|(_, overriding)| overriding),
                command: Some(Arc::new(command)),
                scanned: None,
                explained: None,
                sound_update: Arc::default(),
                literals: Arc::default(),
            });
        }
    }

    /// What it consists of.
    pub(crate) fn size(&self) -> StatementSize {
        self.size
    }

    /// What it does.
    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// Whether it was sent with others in one text.
    pub(crate) fn is_among_others(&self) -> bool {
        self.is_among_others
    }

    /// Whose values it stores in identity columns, if it says so.
    pub(crate) fn overriding(&self) -> Option<Overriding> {
        self.overriding
    }

    /// Its own text, without the semicolon.
    pub fn text(&self) -> &str {
        &self.origin[self.range.clone()]
    }

    /// Everything that was sent with it: what its places count in.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The same, shared.
    pub(crate) fn origin_text(&self) -> &Arc<str> {
        &self.origin
    }

    /// For DEALLOCATE: the name, folded, or `None` for ALL. `None` for every other statement.
    pub fn deallocates(&self) -> Option<Option<String>> {
        match self.command.as_deref()? {
            Command::Sql(ast::Statement::Deallocate { name, .. }) => {
                let all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
                Some((!all).then(|| fold(name)))
            }
            _ => None,
        }
    }

    /// The command tag of a DROP of objects that users cannot create; empty for other statements.
    pub(crate) fn dropped_tag(&self) -> &'static str {
        match self.command.as_deref() {
            Some(Command::DropAbsent(dropped)) => dropped.tag,
            _ => "",
        }
    }

    /// What it does to a savepoint, whose name is folded; `None` for every other statement.
    pub fn savepoint(&self) -> Option<(SavepointChange, String)> {
        match self.command.as_deref()? {
            Command::Sql(ast::Statement::Savepoint { name }) => Some((SavepointChange::Set, fold(name))),
            Command::Sql(ast::Statement::ReleaseSavepoint { name }) => Some((SavepointChange::Release, fold(name))),
            Command::Sql(ast::Statement::Rollback { savepoint: Some(name), .. }) => {
                Some((SavepointChange::RollBack, fold(name)))
            }
            _ => None,
        }
    }

    /// Whether it may change rows and return them. What EXECUTE executes is not known here.
    pub fn may_return_changed_rows(&self) -> bool {
        match self.kind {
            StatementKind::Execute | StatementKind::ChangingQuery => true,
            kind if kind.changes_rows() => self.command.as_deref().is_some_and(|command| command.returning().is_some()),
            _ => false,
        }
    }

    /// The query that it is or contains.
    pub(crate) fn query(&self) -> Option<&ast::Query> {
        use ast::Statement as S;
        match self.command.as_deref()? {
            Command::Sql(S::Query(query)) => Some(query),
            Command::Sql(S::Explain { statement, .. }) => match &**statement {
                S::Query(query) => Some(query),
                _ => None,
            },
            Command::Sql(S::Insert(insert)) => insert.source.as_deref(),
            Command::Sql(S::CreateTable(create)) | Command::CreateTableWithoutData(create) => create.query.as_deref(),
            Command::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => Some(query),
            Command::View(ViewStatement::Create(create)) => Some(&create.query),
            _ => None,
        }
    }

    /// What it is. The statement must have been parsed.
    pub(crate) fn command(&self) -> &Command {
        self.command.as_deref().expect("statements are parsed before their commands are looked at")
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text())
    }
}

/// Whether OVERRIDING may stand in a statement of this kind.
fn may_override(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::Insert | StatementKind::Prepare | StatementKind::Explain)
}

/// Whether this is the first word of a text.
fn begins_with(tokens: &[TokenWithSpan], keyword: Keyword) -> bool {
    let first = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    first.is_some_and(|first| is_word(&first.token, keyword))
}

fn is_word(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword)
}

/// Refuses empty names.
fn check_names(sql: &str, tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    let is_empty = |token: &&TokenWithSpan| matches!(&token.token, Token::Word(word) if word.quote_style.is_some() && word.value.is_empty());
    match tokens.iter().find(is_empty) {
        Some(token) => {
            let message = "zero-length delimited identifier at or near \"\"\"\"";
            let position = character_of(sql, token.span.start);
            Err(EngineError::new(SqlState::SyntaxError, message).with_position(position))
        }
        None => Ok(()),
    }
}

/// Refuses a number that runs into a word, such as `1_000`: the parser would take the word for a name.
fn check_numbers(sql: &str, tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    for pair in tokens.windows(2) {
        if let (Token::Number(number, _), Token::Word(word)) = (&pair[0].token, &pair[1].token)
            && pair[0].span.end == pair[1].span.start
            && word.quote_style.is_none()
        {
            let message = format!("trailing junk after numeric literal at or near \"{number}{word}\"");
            let position = character_of(sql, pair[0].span.start);
            return Err(EngineError::new(SqlState::SyntaxError, message).with_position(position));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_split_and_keep_their_text() {
        let statements = Statement::parse(" ;; select 'ä;' ;\n insert into t values (1) ; ").unwrap();
        let texts: Vec<&str> = statements.iter().map(Statement::text).collect();
        assert_eq!(texts, ["select 'ä;'", "insert into t values (1)"]);
        assert!(Statement::parse(" -- nothing\n;").unwrap().is_empty());
    }

    #[test]
    fn depth_is_bounded() {
        for (open, close) in
            [("(", ")"), ("not (", ")"), ("abs(", ")"), ("- ", ""), ("case when a then 1 else ", " end")]
        {
            let nested = |levels: usize| format!("select {}1{}", open.repeat(levels), close.repeat(levels));
            assert!(Statement::parse(&nested(DEPTH_MAX / 2 - 2)).is_ok(), "{open}");
            for levels in [DEPTH_MAX, 5000] {
                assert_eq!(Statement::parse(&nested(levels)).unwrap_err().sqlstate(), "54001", "{levels} {open}");
            }
            let broken = nested(DEPTH_MAX / 2 - 2) + " )";
            assert_eq!(Statement::parse(&broken).unwrap_err().sqlstate(), "42601", "{open}");
        }
    }

    #[test]
    fn long_chains_are_read_and_dropped() {
        for (op, allowed) in [("+", true), (" or ", true), ("||", true), ("*", false), (" = ", false), ("->", false)] {
            let chain = vec!["a"; 20_000].join(op);
            for sql in [format!("select {chain}"), format!("copy (select {chain}) to stdout")] {
                let parsed = Statement::parse(&sql).map_err(|error| error.sqlstate());
                assert_eq!(
                    parsed.map(|statements| statements.len()),
                    if allowed { Ok(1) } else { Err("54001") },
                    "{op}"
                );
            }
            let broken = format!("select {chain} from");
            assert_eq!(Statement::parse(&broken).unwrap_err().sqlstate(), "42601", "{op}");
        }
        let unions = vec!["select 1"; 5000].join(" union all ");
        assert_eq!(Statement::parse(&unions).unwrap_err().sqlstate(), "54001");
    }

    #[test]
    fn many_statements_are_found_in_one_pass() {
        let text = "select 'ä';\n".repeat(20_000);
        let statements = Statement::parse(&text).unwrap();
        assert_eq!((statements.len(), statements[19_999].text()), (20_000, "select 'ä'"));
    }

    #[test]
    fn deallocate_names_its_statement() {
        let of = |sql: &str| Statement::parse(sql).unwrap()[0].deallocates();
        assert_eq!(of("deallocate a"), Some(Some("a".to_owned())));
        assert_eq!(of("deallocate all"), Some(None));
        assert_eq!(of("select 1"), None);
    }
}
