//! `FOR UPDATE OF a, b SKIP LOCKED`: the locking clauses of a query.
//!
//! sqlparser reads `FOR UPDATE` and `FOR SHARE`, one name behind OF, and no LIMIT behind them. Here the names become the parts of one
//! name, whose first part is a mark of the lock's strength, and LIMIT comes before the clauses ([`locking_clauses`]).

use std::fmt;

use sqlparser::ast::{Ident, LockClause, LockType, NonBlock, ObjectNamePart, Query};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;
use crate::{SqlError, SqlState};

/// The name behind [`MARK`], before the strength.
const NAME: &str = "lock ";

/// Words that begin a limit.
const LIMITS: [Keyword; 3] = [Keyword::LIMIT, Keyword::OFFSET, Keyword::FETCH];

/// How strong a row lock is: PostgreSQL's row-level lock modes, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// KEY SHARE
    KeyShare,
    /// SHARE
    Share,
    /// NO KEY UPDATE
    NoKeyUpdate,
    /// UPDATE
    Update,
}

/// What a statement does about a row that another transaction has locked. Of two clauses on one table the later one here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockWait {
    /// It waits.
    Wait,
    /// SKIP LOCKED: it goes on without the row.
    SkipLocked,
    /// NOWAIT: it fails.
    NoWait,
}

/// A locking clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockingClause<'q> {
    /// The strength of its locks.
    pub strength: LockStrength,
    /// The names of relations behind OF; none for all relations.
    pub of: Vec<&'q Ident>,
    /// What is done about locked rows.
    pub wait: LockWait,
}

impl LockStrength {
    const ALL: [Self; 4] = [Self::KeyShare, Self::Share, Self::NoKeyUpdate, Self::Update];

    fn words(self) -> &'static str {
        match self {
            Self::KeyShare => "KEY SHARE",
            Self::Share => "SHARE",
            Self::NoKeyUpdate => "NO KEY UPDATE",
            Self::Update => "UPDATE",
        }
    }
}

/// As in errors: `FOR UPDATE`.
impl fmt::Display for LockStrength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FOR {}", self.words())
    }
}

/// The locking clauses of a query.
///
/// # Errors
/// For a qualified name behind OF (42601).
pub fn locking_clauses(query: &Query) -> Result<Vec<LockingClause<'_>>, SqlError> {
    query.locks.iter().map(clause_of).collect()
}

fn clause_of(lock: &LockClause) -> Result<LockingClause<'_>, SqlError> {
    let wait = match lock.nonblock {
        None => LockWait::Wait,
        Some(NonBlock::SkipLocked) => LockWait::SkipLocked,
        Some(NonBlock::Nowait) => LockWait::NoWait,
    };
    let unmarked = match lock.lock_type {
        LockType::Update => LockStrength::Update,
        LockType::Share => LockStrength::Share,
    };
    let Some(name) = &lock.of else { return Ok(LockingClause { strength: unmarked, of: Vec::new(), wait }) };
    let mut parts = name.0.iter().filter_map(ObjectNamePart::as_ident);
    let marked = parts.next().and_then(|mark| mark.value.strip_prefix(MARK)?.strip_prefix(NAME));
    let strength = marked.and_then(|words| LockStrength::ALL.into_iter().find(|strength| strength.words() == words));
    match strength {
        Some(strength) => Ok(LockingClause { strength, of: parts.collect(), wait }),
        None => {
            let message = format!("{unmarked} must specify unqualified relation names");
            Err(SqlError::new(SqlState::SyntaxError, message))
        }
    }
}

/// The tokens with locking clauses that sqlparser reads. In linear time.
pub(super) fn as_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::FOR)) {
        return tokens;
    }
    let places: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let solid = Solid { tokens: &tokens, places: &places };
    let mut read = Vec::with_capacity(tokens.len() + 2);
    let (mut at, mut copied) = (0, 0);
    while at < places.len() {
        let Some(mut clauses) = solid.clauses(at) else {
            at += 1;
            continue;
        };
        let (end, limit_end) = (clauses.end, solid.end_of_limit(clauses.end));
        let place = |at: usize| places.get(at).copied().unwrap_or(tokens.len());
        read.extend_from_slice(&tokens[copied..place(at)]);
        if limit_end > end {
            read.extend_from_slice(&tokens[place(end)..place(limit_end)]);
            read.push(TokenWithSpan::new(Token::Whitespace(Whitespace::Space), tokens[place(at)].span));
            // The text of a statement ends with its last token.
            if let Some(last) = clauses.tokens.iter_mut().rfind(|token| !matches!(token.token, Token::Whitespace(_))) {
                last.span.end = tokens[place(limit_end - 1)].span.end;
            }
        }
        read.extend(clauses.tokens);
        (at, copied) = (limit_end, place(limit_end));
    }
    read.extend_from_slice(&tokens[copied..]);
    read
}

/// The tokens that are no blanks.
#[derive(Clone, Copy)]
struct Solid<'a> {
    tokens: &'a [TokenWithSpan],
    places: &'a [usize],
}

/// Locking clauses one behind the other, as they are read.
struct Clauses {
    tokens: Vec<TokenWithSpan>,
    end: usize,
}

impl Solid<'_> {
    fn token(&self, at: usize) -> &Token {
        self.places.get(at).map_or(&Token::EOF, |place| &self.tokens[*place].token)
    }

    fn are(&self, at: usize, keywords: &[Keyword]) -> bool {
        keywords.iter().enumerate().all(|(next, keyword)| is_keyword(self.token(at + next), *keyword))
    }

    /// The clauses that begin at `at`.
    fn clauses(&self, at: usize) -> Option<Clauses> {
        let mut clauses = Clauses { tokens: Vec::new(), end: at };
        while let Some(end) = self.clause(clauses.end, &mut clauses.tokens) {
            clauses.end = end;
        }
        (clauses.end > at).then_some(clauses)
    }

    /// Adds the clause that begins at `at`, and returns its end.
    fn clause(&self, at: usize, read: &mut Vec<TokenWithSpan>) -> Option<usize> {
        let (strength, mut end) = match () {
            () if self.are(at, &[Keyword::FOR, Keyword::UPDATE]) => (LockStrength::Update, at + 2),
            () if self.are(at, &[Keyword::FOR, Keyword::SHARE]) => (LockStrength::Share, at + 2),
            () if self.are(at, &[Keyword::FOR, Keyword::KEY, Keyword::SHARE]) => (LockStrength::KeyShare, at + 3),
            () if self.are(at, &[Keyword::FOR, Keyword::NO, Keyword::KEY, Keyword::UPDATE]) => {
                (LockStrength::NoKeyUpdate, at + 4)
            }
            () => return None,
        };
        let span = self.tokens[self.places[end - 1]].span;
        let mut put = |token: Token| {
            read.push(TokenWithSpan::new(token, span));
            read.push(TokenWithSpan::new(Token::Whitespace(Whitespace::Space), span));
        };
        let is_exclusive = matches!(strength, LockStrength::Update | LockStrength::NoKeyUpdate);
        put(Token::make_keyword("FOR"));
        put(Token::make_keyword(if is_exclusive { "UPDATE" } else { "SHARE" }));
        let names = match self.are(end, &[Keyword::OF]) {
            true => self.names(end + 1),
            false => Vec::new(),
        };
        let is_unmarked = matches!(strength, LockStrength::Update | LockStrength::Share);
        if !names.is_empty() || !is_unmarked {
            let value = format!("{MARK}{NAME}{}", strength.words());
            put(Token::make_keyword("OF"));
            put(Token::Word(Word { value, quote_style: None, keyword: Keyword::NoKeyword }));
        }
        if let Some(last) = names.last() {
            end = last + 1;
        }
        for name in names {
            let token = &self.tokens[self.places[name]];
            read.push(TokenWithSpan::new(Token::Period, token.span));
            read.push(token.clone());
            read.push(TokenWithSpan::new(Token::Whitespace(Whitespace::Space), token.span));
        }
        let waits: [&[Keyword]; 2] = [&[Keyword::NOWAIT], &[Keyword::SKIP, Keyword::LOCKED]];
        if let Some(words) = waits.iter().find(|words| self.are(end, words)) {
            for word in 0..words.len() {
                read.push(self.tokens[self.places[end + word]].clone());
                read.push(TokenWithSpan::new(Token::Whitespace(Whitespace::Space), span));
            }
            end += words.len();
        }
        Some(end)
    }

    /// The places of names with commas between them; none if something else stands there, such as a qualified name.
    fn names(&self, mut at: usize) -> Vec<usize> {
        let mut names = Vec::new();
        while let Token::Word(_) = self.token(at) {
            names.push(at);
            match self.token(at + 1) {
                Token::Comma => at += 2,
                Token::Period => return Vec::new(),
                _ => return names,
            }
        }
        Vec::new()
    }

    /// The end of the LIMIT that begins at `at`; `at` if none does.
    fn end_of_limit(&self, at: usize) -> usize {
        if !LIMITS.iter().any(|keyword| self.are(at, &[*keyword])) {
            return at;
        }
        let (mut depth, mut end) = (0_usize, at);
        while end < self.places.len() {
            match self.token(end) {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                Token::SemiColon => break,
                _ if depth > 0 => {}
                _ if self.are(end, &[Keyword::WITH]) && !self.are(end + 1, &[Keyword::TIES]) => break,
                _ if self.are(end, &[Keyword::ON]) || self.are(end, &[Keyword::RETURNING]) => break,
                _ if self.are(end, &[Keyword::FOR]) => break,
                _ => {}
            }
            end += 1;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{SetExpr, Statement};

    use super::*;
    use crate::syntax::{SqlDialect, parser_of, read_again};

    /// The clauses of a query, and the query without them.
    fn read(text: &str) -> Result<(Vec<String>, String), String> {
        let dialect = SqlDialect::for_text(text);
        let parsed = parser_of(&dialect, text).and_then(|mut parser| parser.parse_statement());
        let Statement::Query(mut query) = parsed.map_err(|error| error.to_string())? else { panic!("{text}") };
        let shown = |LockingClause { strength, of, wait }: LockingClause<'_>| {
            let names: Vec<String> = of.iter().map(ToString::to_string).collect();
            format!("{strength} {} {wait:?}", names.join(" "))
        };
        let clauses = locking_clauses(&query).map_err(|error| error.to_string())?;
        let clauses = clauses.into_iter().map(shown).collect();
        query.locks.clear();
        Ok((clauses, query.to_string()))
    }

    #[test]
    fn all_strengths_names_and_waits_are_read() {
        for (clauses, expected) in [
            ("FOR UPDATE", &["FOR UPDATE  Wait"][..]),
            ("FOR SHARE NOWAIT", &["FOR SHARE  NoWait"]),
            ("for no key update skip locked", &["FOR NO KEY UPDATE  SkipLocked"]),
            ("FOR KEY SHARE OF t , \"U\"", &["FOR KEY SHARE t \"U\" Wait"]),
            ("FOR UPDATE OF t, u NOWAIT FOR SHARE OF v", &["FOR UPDATE t u NoWait", "FOR SHARE v Wait"]),
        ] {
            let expected: Vec<String> = expected.iter().map(|clause| (*clause).to_owned()).collect();
            let text = format!("SELECT * FROM t {clauses}");
            assert_eq!(read(&text), Ok((expected.clone(), "SELECT * FROM t".to_owned())), "{clauses}");
            for limit in ["LIMIT 1", "OFFSET f(2) LIMIT 1", "FETCH FIRST 3 ROWS WITH TIES"] {
                let before = read(&format!("SELECT * FROM t {limit} {clauses}"));
                assert_eq!(before.as_ref().map(|(clauses, _)| clauses), Ok(&expected));
                assert_eq!(read(&format!("SELECT * FROM t {clauses} {limit}")), before, "{clauses} {limit}");
            }
        }
        let qualified = read("SELECT * FROM s.t FOR SHARE OF s.t");
        assert!(qualified.unwrap_err().contains("FOR SHARE must specify unqualified relation names"));
    }

    #[test]
    fn limits_come_before_the_clauses_in_subqueries_too() {
        let text = "INSERT INTO t SELECT * FROM u FOR UPDATE LIMIT 1 ON CONFLICT DO NOTHING";
        let read = read_again(text);
        assert_eq!(read.as_deref(), Ok("INSERT INTO t SELECT * FROM u LIMIT 1 FOR UPDATE ON CONFLICT DO NOTHING"));
        let text = "DELETE FROM t WHERE a = (SELECT a FROM t FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING *";
        let dialect = SqlDialect::for_text(text);
        let parsed = parser_of(&dialect, text).and_then(|mut parser| parser.parse_statement());
        assert!(parsed.unwrap().to_string().contains("(SELECT a FROM t LIMIT 1 FOR UPDATE SKIP LOCKED)"));
    }

    #[test]
    fn other_words_are_left_alone() {
        for text in ["SELECT substring(a FROM 1 FOR update) FROM t", "SELECT substring(a FOR share)"] {
            let dialect = SqlDialect::for_text(text);
            let parsed = parser_of(&dialect, text).and_then(|mut parser| parser.parse_statement());
            let Ok(Statement::Query(query)) = parsed else { panic!("{text}") };
            assert!(matches!(*query.body, SetExpr::Select(_)) && query.locks.is_empty());
        }
    }
}
