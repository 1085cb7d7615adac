//! SQL cursors: DECLARE, FETCH, MOVE and CLOSE, which drivers use to read a large result in pieces.
//!
//! A cursor is a named portal, as in PostgreSQL, and belongs to the server, not to the engine. Its query runs once, and
//! every FETCH takes the next rows of its stream. Cursors move forward only. A cursor without HOLD needs a transaction
//! block and ends with it. A cursor WITH HOLD keeps reading the snapshot of its query.

use std::sync::Arc;

use braid_engine::{Statement, StatementKind, TransactionStatus};
use datafusion::common::ScalarValue;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::CommandComplete;

use crate::connection::Connection;
use crate::error_report::{ErrorReport, Failure};
use crate::portal::{Portal, PortalState, PreparedStatement};

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
    Declare {
        /// The cursor's name.
        name: String,
        /// Whether it outlives its transaction.
        hold: bool,
        /// Whether FETCH in the simple protocol answers binary values.
        binary: bool,
        /// What it reads.
        query: Statement,
    },
    /// `FETCH [count] FROM name`
    Fetch(Step),
    /// `MOVE [count] FROM name`: as FETCH, without the rows.
    Move(Step),
    /// `CLOSE name`, or all.
    Close(Option<String>),
}

/// How far a cursor is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The cursor's name.
    pub name: String,
    /// How many rows; `usize::MAX` for all.
    pub rows_max: usize,
}

/// How a cursor command was called.
pub(crate) enum Call {
    /// In a Query message: rows as text, described with each FETCH.
    Simple,
    /// In an Execute message: described before, in the formats that Bind wished.
    Extended(Vec<i16>),
}

impl Connection {
    /// Reads a text into statements.
    pub(crate) fn parse(&self, sql: &str) -> Result<Vec<Command>, ErrorReport> {
        // A single statement about a cursor is parsed here, because the engine's parser rejects some forms of it.
        let single = sql.trim().trim_end_matches(';');
        if !single.contains(';')
            && let Some(command) = self.read_cursor_command(single)?
        {
            return Ok(vec![Command::Cursor(command)]);
        }
        let whose = |statement: Statement| match statement.kind() {
            StatementKind::Unsupported | StatementKind::Discard => {
                Ok(match self.read_cursor_command(statement.text())? {
                    Some(command) => Command::Cursor(command),
                    None => Command::Engine(statement),
                })
            }
            _ => Ok(Command::Engine(statement)),
        };
        self.session.parse(sql)?.into_iter().map(whose).collect()
    }

    fn read_cursor_command(&self, sql: &str) -> Result<Option<CursorCommand>, ErrorReport> {
        let mut words = Words(sql);
        Ok(Some(match words.next_word().as_deref() {
            Some("declare") => self.read_declare(words)?,
            Some("fetch") => CursorCommand::Fetch(read_step(words)?),
            Some("move") => CursorCommand::Move(read_step(words)?),
            Some("close") => CursorCommand::Close(match words.next_word() {
                Some(name) if name == "all" => None,
                name => name,
            }),
            _ => return Ok(None),
        }))
    }

    fn read_declare(&self, mut words: Words<'_>) -> Result<CursorCommand, ErrorReport> {
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
        let mut queries = self.session.parse(words.0)?;
        match queries.pop().filter(|query| query.kind() == StatementKind::Query && queries.is_empty()) {
            Some(query) => Ok(CursorCommand::Declare { name, hold, binary, query }),
            None => Err(ErrorReport::error("42P11", "DECLARE CURSOR must be followed by a query")),
        }
    }

    /// The parameters of a cursor command, and the columns that a FETCH returns.
    pub(crate) async fn prepare_cursor_command(
        &mut self,
        command: CursorCommand,
        declared: &[u32],
    ) -> Result<PreparedStatement, Failure> {
        self.check_not_failed()?;
        let schema = match &command {
            CursorCommand::Declare { query, .. } => {
                let query = self.prepare(query.clone(), declared).await?;
                return Ok(PreparedStatement { command: Some(Command::Cursor(command)), schema: None, ..query });
            }
            CursorCommand::Fetch(step) => self.names.portal(&step.name).map_err(no_cursor)?.prepared.schema.clone(),
            CursorCommand::Move(_) | CursorCommand::Close(_) => None,
        };
        Ok(PreparedStatement::without_parameters(Some(Command::Cursor(command)), schema))
    }

    fn check_not_failed(&self) -> Result<(), ErrorReport> {
        if self.session.transaction_status() == TransactionStatus::Failed {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(ErrorReport::error("25P02", message));
        }
        Ok(())
    }

    /// Runs a cursor command and sends its response.
    pub(crate) async fn run_cursor_command(
        &mut self,
        command: CursorCommand,
        parameters: Vec<ScalarValue>,
        call: Call,
    ) -> Result<(), Failure> {
        self.check_not_failed()?;
        let tag = match command {
            CursorCommand::Declare { name, hold, binary, query } => {
                if !hold && self.session.transaction_status() == TransactionStatus::Idle {
                    let message = "DECLARE CURSOR can only be used in transaction blocks";
                    return Err(ErrorReport::error("25P01", message).into());
                }
                self.declare(name, hold, binary, query, parameters).await?;
                "DECLARE CURSOR".to_owned()
            }
            CursorCommand::Fetch(step) => format!("FETCH {}", self.step(&step, Some(call)).await?),
            CursorCommand::Move(step) => format!("MOVE {}", self.step(&step, None).await?),
            CursorCommand::Close(Some(name)) => {
                if !self.names.close_portal(&name) {
                    return Err(ErrorReport::error("34000", format!("cursor \"{name}\" does not exist")).into());
                }
                "CLOSE CURSOR".to_owned()
            }
            CursorCommand::Close(None) => {
                self.names.close_all_portals();
                "CLOSE CURSOR ALL".to_owned()
            }
        };
        self.wire.put(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)));
        Ok(())
    }

    async fn declare(
        &mut self,
        name: String,
        hold: bool,
        binary: bool,
        query: Statement,
        parameters: Vec<ScalarValue>,
    ) -> Result<(), Failure> {
        let prepared = Arc::new(self.prepare(query, &[]).await?);
        let result_formats = if binary { vec![1] } else { Vec::new() };
        let portal = Portal { prepared, parameters, result_formats, hold, state: PortalState::Bound };
        Ok(self.names.put_portal(name, portal)?)
    }

    /// Advances a cursor, and sends the rows if `call` is given. Returns the number of rows.
    async fn step(&mut self, step: &Step, call: Option<Call>) -> Result<usize, Failure> {
        let name = &step.name;
        let portal = self.names.portal(name).map_err(no_cursor)?;
        if matches!(portal.state, PortalState::Bound) {
            let prepared = Arc::clone(&portal.prepared);
            if let Some(Command::Engine(query)) = &prepared.command {
                self.begin_portal(name, query).await?;
            }
        }
        let portal = self.names.portal(name).map_err(no_cursor)?;
        let mut state = std::mem::replace(&mut portal.state, PortalState::Done(Some("FETCH")));
        let formats = match &call {
            Some(Call::Extended(formats)) => formats,
            _ => &portal.result_formats,
        };
        let description = match &mut state {
            PortalState::Rows(rows) => {
                rows.reformat(formats)?;
                Some(rows.encoder().description())
            }
            _ => portal.prepared.description(formats)?,
        };
        if let (Some(Call::Simple), Some(description)) = (&call, description) {
            self.wire.put(&PgWireBackendMessage::RowDescription(description));
        }
        let PortalState::Rows(mut rows) = state else {
            return Ok(0);
        };
        let (mut running, _, names) = self.running(rows.token.clone());
        let sent = match call {
            Some(_) => rows.send(&mut running, step.rows_max).await?,
            None => rows.skip(&mut running, step.rows_max).await?,
        };
        if !sent.at_end {
            names.portal(name)?.state = PortalState::Rows(rows);
        }
        Ok(sent.rows)
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

/// PostgreSQL calls a portal a cursor here.
fn no_cursor(report: ErrorReport) -> ErrorReport {
    let message = report.message.replace("portal", "cursor");
    report.with_message(message)
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
