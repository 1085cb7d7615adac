//! The literals of times of a prepared statement: they keep the values that they had when it was prepared.
//!
//! A statement is bound at each execution. Where the zone or, for words like `'today'`, the transaction is another one than then, a
//! statement with the former values in the places of its literals runs instead.

use braid_sql::functions::text_input::ReadingSession;
use braid_sql::literal_notes::{LiteralNote, LiteralNotes};
use parking_lot::Mutex;
use sqlparser::tokenizer::Token;

use super::places::{Places, character_of};
use super::{Statement, StatementKind, Tokens};
use crate::EngineError;

/// Words of times that move.
const MOVING_WORDS: &[&str] = &["now", "today", "tomorrow", "yesterday"];

/// A reading that is not that of the session now, and what it reads.
#[derive(Debug)]
pub(crate) struct FormerReading {
    /// Where and when.
    pub session: ReadingSession,
    /// The literals that it reads.
    pub notes: LiteralNotes,
}

/// How the literals of a statement were read when it was prepared.
pub(super) struct PreparedLiterals {
    session: ReadingSession,
    has_moving_words: bool,
    /// The statement with the values of then, once it was needed.
    settled: Mutex<Option<Statement>>,
}

impl Statement {
    /// Notes that it is prepared. What was noted first stays.
    pub(crate) fn note_prepared(&self, session: ReadingSession) {
        let is_bound = matches!(self.kind, StatementKind::Query | StatementKind::LockingQuery | StatementKind::Merge)
            || self.kind.changes_rows();
        if is_bound && self.text().contains(['\'', '$']) {
            let lower = self.text().to_ascii_lowercase();
            let has_moving_words = MOVING_WORDS.iter().any(|word| lower.contains(word));
            let literals = PreparedLiterals { session, has_moving_words, settled: Mutex::default() };
            drop(self.literals.set(literals));
        }
    }

    /// Whether its literals were read when it was prepared.
    pub(crate) fn has_prepared_literals(&self) -> bool {
        self.literals.get().is_some()
    }

    /// How its literals were read when it was prepared, if that matters for this reading.
    pub(crate) fn former_session(&self, now: ReadingSession) -> Option<ReadingSession> {
        let PreparedLiterals { session, has_moving_words, .. } = self.literals.get()?;
        let is_other = session.zone != now.zone || *has_moving_words && session.now_us != now.now_us;
        is_other.then_some(*session)
    }

    /// The statement with the values of its literals, if it was needed before.
    pub(crate) fn settled(&self) -> Option<Self> {
        self.literals.get()?.settled.lock().clone()
    }

    /// The same statement with values in the places of its literals, which is kept.
    ///
    /// # Errors
    /// As unsupported (0A000) if it is not known where one of them is.
    pub(crate) fn settle(&self, notes: &[LiteralNote]) -> Result<Self, EngineError> {
        let settled = match notes {
            [] => Self { literals: std::sync::Arc::default(), ..self.clone() },
            notes => self.with_literals(notes)?,
        };
        if let Some(literals) = self.literals.get() {
            *literals.settled.lock() = Some(settled.clone());
        }
        Ok(settled)
    }

    fn with_literals(&self, notes: &[LiteralNote]) -> Result<Self, EngineError> {
        let mut text = String::with_capacity(self.origin.len());
        let mut written = 0;
        let strings = strings_of(&self.origin)?;
        for note in notes {
            let string = strings.iter().find(|string| note.position.is_some_and(|at| string.is_at(at)));
            let string = string.filter(|string| string.start >= written).ok_or_else(|| unplaced(&note.text))?;
            text.push_str(&self.origin[written..string.start]);
            text.push('\'');
            text.push_str(&note.text.replace('\'', "''"));
            text.push('\'');
            written = string.end;
        }
        text.push_str(&self.origin[written..]);
        let mut statements = Self::parse(&text)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(EngineError::internal("a prepared text of several statements")),
        }
    }
}

fn unplaced(value: &str) -> EngineError {
    let message =
        format!("a prepared literal with the value {value} cannot be kept for another time zone or transaction");
    EngineError::unsupported(message).with_hint("Prepare the statement again.")
}

/// A string of a text.
struct StringToken {
    /// Its bytes.
    start: usize,
    end: usize,
    /// Its place, and that of the name of its type before it, in characters from 1.
    characters: [usize; 2],
}

impl StringToken {
    fn is_at(&self, position: usize) -> bool {
        self.characters.contains(&position)
    }
}

/// The strings that are one token each.
fn strings_of(sql: &str) -> Result<Vec<StringToken>, EngineError> {
    let tokens = Tokens::of(sql)?.tokens;
    let is_blank = |token: &Token| matches!(token, Token::Whitespace(_));
    let solid: Vec<_> = tokens.iter().filter(|token| !is_blank(&token.token)).collect();
    let is_string = |token: &Token| {
        matches!(
            token,
            Token::SingleQuotedString(_)
                | Token::EscapedStringLiteral(_)
                | Token::UnicodeStringLiteral(_)
                | Token::DollarQuotedString(_)
        )
    };
    let mut places = Places::new(sql);
    let mut strings = Vec::new();
    for (at, token) in solid.iter().enumerate() {
        let neighbor_is_string =
            |at: Option<usize>| at.and_then(|at| solid.get(at)).is_some_and(|t| is_string(&t.token));
        let is_joined = neighbor_is_string(at.checked_sub(1)) || neighbor_is_string(Some(at + 1));
        if is_string(&token.token) && !is_joined {
            let (start, end) = (places.byte_of(token.span.start), places.byte_of(token.span.end));
            let own = character_of(sql, token.span.start);
            let before = at.checked_sub(1).map(|at| character_of(sql, solid[at].span.start));
            strings.push(StringToken { start, end, characters: [own, before.unwrap_or(own)] });
        }
    }
    Ok(strings)
}
