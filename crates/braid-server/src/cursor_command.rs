//! Statements as the server takes them: for the engine, or about cursors, which are the server's.

use braid_engine::{Session, Statement, StatementKind};

use crate::error_report::ErrorReport;

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
    /// `DECLARE name [BINARY] CURSOR [WITH HOLD] FOR query`
    Declare(Declaration),
    /// `FETCH [count] FROM name`
    Fetch(Step),
    /// `MOVE [count] FROM name`: as FETCH, without the rows.
    Move(Step),
    /// `CLOSE name`, or all.
    Close(Option<String>),
}

/// A cursor to be.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    /// The cursor's name.
    pub name: String,
    /// Whether it outlives its transaction.
    pub hold: bool,
    /// Whether FETCH in the simple protocol answers binary values.
    pub binary: bool,
    /// What it reads.
    pub query: Statement,
}

/// How far a cursor is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The cursor's name.
    pub name: String,
    /// How many rows; `usize::MAX` for all.
    pub rows_max: usize,
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
    /// Reads a statement; `None` if it is not about a cursor.
    fn parse(session: &Session, sql: &str) -> Result<Option<Self>, ErrorReport> {
        let mut words = Words(sql);
        Ok(Some(match words.next_word().as_deref() {
            Some("declare") => Self::Declare(read_declaration(session, words)?),
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

/// `name [BINARY] [INSENSITIVE] [NO SCROLL] CURSOR [WITH HOLD | WITHOUT HOLD] FOR query`
fn read_declaration(session: &Session, mut words: Words<'_>) -> Result<Declaration, ErrorReport> {
    let name = words.next_word().ok_or_else(|| syntax("a cursor name is missing"))?;
    let (mut hold, mut binary, mut negated) = (false, false, false);
    loop {
        match words.next_word().as_deref() {
            Some("binary") => binary = true,
            Some("hold") => hold = !negated,
            Some("scroll") if !negated => {
                return Err(ErrorReport::error("0A000", "scrollable cursors are not supported"));
            }
            Some("for") => break,
            Some("no" | "without") => {
                negated = true;
                continue;
            }
            Some("scroll" | "insensitive" | "asensitive" | "cursor" | "with") => {}
            _ => return Err(syntax("expected DECLARE … CURSOR … FOR")),
        }
        negated = false;
    }
    let mut queries = session.parse(words.0)?;
    match queries.pop().filter(|query| query.kind() == StatementKind::Query && queries.is_empty()) {
        Some(query) => Ok(Declaration { name, hold, binary, query }),
        None => Err(ErrorReport::error("42P11", "DECLARE CURSOR must be followed by a query")),
    }
}

/// `FETCH [NEXT | FORWARD [n | ALL] | n | ALL] [FROM | IN] name`
fn read_step(mut words: Words<'_>) -> Result<Step, ErrorReport> {
    let mut rows_max = 1;
    let mut next = words.next_word();
    while let Some(word) = &next {
        match word.as_str() {
            "next" | "forward" | "from" | "in" => {}
            "all" => rows_max = usize::MAX,
            "prior" | "first" | "last" | "absolute" | "relative" | "backward" => {
                return Err(ErrorReport::error("55000", "cursor can only scan forward"));
            }
            number if number.starts_with(|c: char| c == '-' || c == '+' || c.is_ascii_digit()) => {
                let count: i64 = number.parse().map_err(|_| syntax("expected a row count"))?;
                rows_max = usize::try_from(count)
                    .ok()
                    .filter(|count| *count > 0)
                    .ok_or_else(|| ErrorReport::error("55000", "cursor can only scan forward"))?;
            }
            _ => break,
        }
        next = words.next_word();
    }
    match next {
        Some(name) if words.0.trim().is_empty() => Ok(Step { name, rows_max }),
        Some(_) => Err(syntax("unexpected text after the cursor's name")),
        None => Err(syntax("a cursor name is missing")),
    }
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
    fn fetch_counts_forward_only() {
        for (text, expected) in [
            ("c", Ok(1)),
            ("next from c", Ok(1)),
            ("7 in c", Ok(7)),
            ("forward 7 from c", Ok(7)),
            ("forward all from c", Ok(usize::MAX)),
            ("all c", Ok(usize::MAX)),
            ("backward 1 from c", Err("55000")),
            ("-1 from c", Err("55000")),
            ("0 from c", Err("55000")),
            ("5x from c", Err("42601")),
            ("from", Err("42601")),
            ("from c d", Err("42601")),
        ] {
            let expected = expected.map(|rows_max| Step { name: "c".to_owned(), rows_max });
            let read = read_step(Words(text)).map_err(|e| e.code);
            assert_eq!(read, expected, "{text}");
        }
    }
}
