//! Statements as the server takes them: for the engine, or about cursors, which are the server's.

use braid_engine::{Session, Statement, StatementKind};

use crate::error_report::ErrorReport;
use crate::scrolled_rows::Motion;

/// A statement, either for the engine or about a cursor.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// A statement for the engine.
    Engine(Statement),
    /// A statement about a cursor, which the server runs.
    Cursor(CursorCommand),
}

/// A statement about cursors.
#[derive(Clone, Debug)]
pub(crate) enum CursorCommand {
    /// `DECLARE name [BINARY] [[NO] SCROLL] CURSOR [WITH HOLD] FOR query`
    Declare(Declaration),
    /// `FETCH [direction] FROM name`
    Fetch(Step),
    /// `MOVE [direction] FROM name`: as FETCH, without the rows.
    Move(Step),
    /// `CLOSE name`, or all.
    Close(Option<String>),
}

/// A cursor to be.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    /// The cursor's name.
    pub name: String,
    /// The statement.
    pub text: String,
    /// Whether it outlives its transaction.
    pub hold: bool,
    /// Whether it goes backward.
    pub scroll: bool,
    /// Whether FETCH in the simple protocol answers binary values.
    pub binary: bool,
    /// What it reads.
    pub query: Statement,
}

/// Where a cursor is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The cursor's name.
    pub name: String,
    /// Where to.
    pub motion: Motion,
}

impl Command {
    /// Reads a text into statements.
    pub fn parse(session: &Session, sql: &str) -> Result<Vec<Self>, ErrorReport> {
        // A single statement about a cursor is parsed here, because the engine's parser rejects some forms of it.
        let single = sql.trim().trim_end_matches(';');
        if !single.contains(';')
            && let Some(command) = CursorCommand::parse(session, single)?
        {
            return Ok(vec![Self::Cursor(command)]);
        }
        let whose = |statement: Statement| match statement.kind() {
            StatementKind::Unsupported | StatementKind::Discard => {
                Ok(match CursorCommand::parse(session, statement.text())? {
                    Some(command) => Self::Cursor(command),
                    None => Self::Engine(statement),
                })
            }
            _ => Ok(Self::Engine(statement)),
        };
        session.parse(sql)?.into_iter().map(whose).collect()
    }
}

impl CursorCommand {
    /// Its first word, for the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Declare(_) => "DECLARE",
            Self::Fetch(_) => "FETCH",
            Self::Move(_) => "MOVE",
            Self::Close(_) => "CLOSE",
        }
    }

    /// Reads a statement; `None` if it is not about a cursor.
    fn parse(session: &Session, sql: &str) -> Result<Option<Self>, ErrorReport> {
        let mut words = Words(sql);
        Ok(Some(match words.next_word().as_deref() {
            Some("declare") => Self::Declare(read_declaration(session, (sql, words))?),
            Some("fetch") => Self::Fetch(read_step(words)?),
            Some("move") => Self::Move(read_step(words)?),
            Some("close") => Self::Close(match words.next_word() {
                Some(name) if name == "all" => None,
                name => name,
            }),
            _ => return Ok(None),
        }))
    }
}

/// `name [BINARY] [INSENSITIVE] [[NO] SCROLL] CURSOR [WITH HOLD | WITHOUT HOLD] FOR query`
fn read_declaration(session: &Session, (text, mut words): (&str, Words<'_>)) -> Result<Declaration, ErrorReport> {
    let text = text.trim().to_owned();
    let name = words.next_word().ok_or_else(|| syntax("a cursor name is missing"))?;
    let (mut hold, mut binary, mut scroll, mut negated) = (false, false, false, false);
    let mut is_insensitive = false;
    loop {
        match words.next_word().as_deref() {
            Some("binary") => binary = true,
            Some("hold") => hold = !negated,
            Some("scroll") => scroll = !negated,
            Some("for") => break,
            Some("no" | "without") => {
                negated = true;
                continue;
            }
            Some("insensitive") => is_insensitive = true,
            Some("asensitive" | "cursor" | "with") => {}
            _ => return Err(syntax("expected DECLARE … CURSOR … FOR")),
        }
        negated = false;
    }
    let mut queries = session.parse(words.0)?;
    let is_query = |query: &Statement| matches!(query.kind(), StatementKind::Query | StatementKind::LockingQuery);
    match queries.pop().filter(|query| is_query(query) && queries.is_empty()) {
        Some(query) => {
            if query.kind() == StatementKind::LockingQuery {
                check_reads_only(hold, scroll, is_insensitive)?;
            }
            Ok(Declaration { name, text, hold, scroll, binary, query })
        }
        None => Err(ErrorReport::error("42P11", "DECLARE CURSOR must be followed by a query")),
    }
}

/// Refuses cursors that lock no rows, for a query that does.
fn check_reads_only(hold: bool, scroll: bool, is_insensitive: bool) -> Result<(), ErrorReport> {
    let refused = |state, form: &str, how: &str| {
        let message = format!("{form} ... FOR UPDATE/SHARE is not {how}");
        Err(ErrorReport::error(state, message).with_hint("Such cursors must be READ ONLY."))
    };
    match (hold, scroll, is_insensitive) {
        (true, _, _) => refused("0A000", "DECLARE CURSOR WITH HOLD", "supported"),
        (_, true, _) => refused("0A000", "DECLARE SCROLL CURSOR", "supported"),
        (_, _, true) => refused("42P11", "DECLARE INSENSITIVE CURSOR", "valid"),
        _ => Ok(()),
    }
}

/// `FETCH [direction] [FROM | IN] name`
fn read_step(mut words: Words<'_>) -> Result<Step, ErrorReport> {
    let first = words.next_word();
    let (motion, mut next) = match first.as_deref() {
        Some("next") => (Motion::Forward(1), words.next_word()),
        Some("prior") => (Motion::Backward(1), words.next_word()),
        Some("first") => (Motion::Absolute(1), words.next_word()),
        Some("last") => (Motion::Absolute(-1), words.next_word()),
        Some("absolute") => (Motion::Absolute(number(words.next_word())?), words.next_word()),
        Some("relative") => (Motion::Relative(number(words.next_word())?), words.next_word()),
        Some("forward") => counted(words.next_word(), 1, &mut words)?,
        Some("backward") => counted(words.next_word(), -1, &mut words)?,
        _ => counted(first, 1, &mut words)?,
    };
    if matches!(next.as_deref(), Some("from" | "in")) {
        next = words.next_word();
    }
    match next {
        Some(name) if words.0.trim().is_empty() && !is_number(&name) => Ok(Step { name, motion }),
        Some(_) => Err(syntax("unexpected text after the cursor's name")),
        None => Err(syntax("a cursor name is missing")),
    }
}

/// The motion of a count of rows, of ALL, or of a single row if neither is there; and the word behind it.
fn counted(word: Option<String>, sign: i64, words: &mut Words<'_>) -> Result<(Motion, Option<String>), ErrorReport> {
    match word.as_deref() {
        Some("all") if sign < 0 => Ok((Motion::Backward(u64::MAX), words.next_word())),
        Some("all") => Ok((Motion::Forward(u64::MAX), words.next_word())),
        Some(text) if is_number(text) => Ok((rows(number(word)?.saturating_mul(sign)), words.next_word())),
        _ => Ok((rows(sign), word)),
    }
}

/// The motion by so many rows: backward if it is negative, and to the same row again for 0.
fn rows(count: i64) -> Motion {
    match count {
        0 => Motion::Relative(0),
        1.. => Motion::Forward(count.unsigned_abs()),
        _ => Motion::Backward(count.unsigned_abs()),
    }
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c == '-' || c == '+' || c.is_ascii_digit())
}

/// PostgreSQL's counts are of type `integer`.
fn number(word: Option<String>) -> Result<i64, ErrorReport> {
    let count = word.and_then(|word| word.parse::<i32>().ok());
    count.map(i64::from).ok_or_else(|| syntax("expected a row count"))
}

fn syntax(message: &'static str) -> ErrorReport {
    ErrorReport::error("42601", format!("syntax error: {message}"))
}

/// Words of a statement: identifiers in lower case, quoted ones as they are, numbers with their sign.
struct Words<'a>(&'a str);

impl Words<'_> {
    fn next_word(&mut self) -> Option<String> {
        self.0 = self.0.trim_start();
        if let Some(quoted) = self.0.strip_prefix('"') {
            let mut name = String::new();
            let mut characters = quoted.char_indices().peekable();
            while let Some((at, c)) = characters.next() {
                match c {
                    '"' if characters.next_if(|(_, next)| *next == '"').is_some() => name.push('"'),
                    '"' => {
                        self.0 = &quoted[at + 1..];
                        return Some(name);
                    }
                    c => name.push(c),
                }
            }
            return None;
        }
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '+');
        let end = self.0.find(|c| !in_word(c)).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then(|| word.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_unless_quoted() {
        let mut words = Words(r#" Fetch  FORWARD -5 from "My ""C""" x"#);
        let read: Vec<String> = std::iter::from_fn(|| words.next_word()).collect();
        assert_eq!(read, ["fetch", "forward", "-5", "from", "My \"C\"", "x"]);
        assert_eq!(Words("\"open").next_word(), None);
    }

    #[test]
    fn fetch_names_a_direction() {
        use Motion::{Absolute, Backward, Forward, Relative};
        for (text, expected) in [
            ("c", Ok(Forward(1))),
            ("from c", Ok(Forward(1))),
            ("next from c", Ok(Forward(1))),
            ("7 in c", Ok(Forward(7))),
            ("forward c", Ok(Forward(1))),
            ("forward 7 from c", Ok(Forward(7))),
            ("forward all from c", Ok(Forward(u64::MAX))),
            ("all c", Ok(Forward(u64::MAX))),
            ("prior c", Ok(Backward(1))),
            ("backward from c", Ok(Backward(1))),
            ("backward 3 from c", Ok(Backward(3))),
            ("backward -3 from c", Ok(Forward(3))),
            ("backward all in c", Ok(Backward(u64::MAX))),
            ("-1 from c", Ok(Backward(1))),
            ("0 from c", Ok(Relative(0))),
            ("first from c", Ok(Absolute(1))),
            ("last from c", Ok(Absolute(-1))),
            ("absolute -2 from c", Ok(Absolute(-2))),
            ("relative +2 from c", Ok(Relative(2))),
            ("absolute from c", Err("42601")),
            ("99999999999 from c", Err("42601")),
            ("5x from c", Err("42601")),
            ("from", Err("42601")),
            ("from c d", Err("42601")),
        ] {
            let expected = expected.map(|motion| Step { name: "c".to_owned(), motion });
            let read = read_step(Words(text)).map_err(|e| e.code);
            assert_eq!(read, expected, "{text}");
        }
    }
}
