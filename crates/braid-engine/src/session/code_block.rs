//! The statements of a block, one after the other. Before a block with handlers the transaction is marked: an error that is handled leaves
//! nothing of what the block has changed.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use futures::StreamExt;
use futures::future::BoxFuture;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};

use braid_sql::functions::strings::quoting::quote_literal;

use super::Session;
use crate::bound_parameters::BoundParameters;
use crate::code_blocks::syntax::{self, Block, Level, Raise, Step};
use crate::interrupt::Interrupt;
use crate::notices::Notice;
use crate::statement::{Command, MaintenanceStatement, Places, SqlDialect};
use crate::statement_context::StatementContext;
use crate::transaction::BlockEnd;
use crate::{EngineError, Outcome, SqlState, Statement, StatementKind};

impl Session {
    /// DO: runs a block, as one transaction outside of one.
    ///
    /// # Errors
    /// For a text that is no block, and those of its statements.
    pub(super) async fn execute_block(&self, text: &str, interrupt: &Interrupt) -> Result<Outcome, EngineError> {
        let block = syntax::parse(text)?;
        let run = BlockRun { session: self, interrupt };
        if self.context.is_in_transaction() {
            run.block(&block, None).await?;
            return Ok(Outcome::done("DO"));
        }
        self.context.begin_block(self.context.default_access_mode());
        let mut open = OpenBlock { context: &self.context, is_open: true };
        self.context.begin_statement(StatementKind::Do)?;
        run.block(&block, None).await?;
        let end = self.context.commit_block().await;
        open.is_open = false;
        debug_assert!(!matches!(end, Ok(end) if end != BlockEnd::Committed), "the block of a DO is open until its end");
        end.map(|_| Outcome::done("DO"))
    }
}

/// The transaction of a DO, which is rolled back if it fails, and if it is cancelled.
struct OpenBlock<'a> {
    context: &'a StatementContext,
    is_open: bool,
}

impl Drop for OpenBlock<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.context.roll_back_block();
        }
    }
}

/// A block that runs.
struct BlockRun<'a> {
    session: &'a Session,
    interrupt: &'a Interrupt,
}

impl BlockRun<'_> {
    /// Runs a block; `handled` is the error that is handled around it.
    fn block<'b>(
        &'b self,
        block: &'b Block,
        handled: Option<&'b EngineError>,
    ) -> BoxFuture<'b, Result<(), EngineError>> {
        Box::pin(async move {
            if block.handlers.is_empty() {
                return self.steps(&block.steps, handled).await;
            }
            let context = &self.session.context;
            let mark = context.mark_transaction();
            let Err(error) = self.steps(&block.steps, handled).await else { return context.release_mark(mark) };
            let is_meant =
                |handler: &&syntax::Handler| handler.conditions.iter().any(|condition| condition.fits(&error));
            let Some(handler) = block.handlers.iter().find(is_meant) else { return Err(error) };
            context.return_to_mark(mark);
            let mark = context.mark_transaction();
            self.steps(&handler.steps, Some(&error)).await?;
            context.release_mark(mark)
        })
    }

    async fn steps(&self, steps: &[Step], handled: Option<&EngineError>) -> Result<(), EngineError> {
        for step in steps {
            match step {
                Step::Nothing => {}
                Step::Sql(text) => self.run(&with_error(text, handled), Wanted::NoRows).await?,
                Step::Perform(text) => self.run(&with_error(text, handled), Wanted::Rows).await?,
                Step::Execute(expression) => {
                    let text = self.value(expression, handled).await?;
                    let text = text.ok_or_else(|| {
                        EngineError::new(SqlState::NullValueNotAllowed, "query string argument of EXECUTE is null")
                    })?;
                    self.execute(&text).await.map_err(|error| error.within(&text))?;
                }
                Step::Raise(raise) => self.raise(raise, handled).await?,
                Step::Block(block) => self.block(block, handled).await?,
                Step::If(branches, otherwise) => {
                    let mut chosen = otherwise;
                    for (condition, steps) in branches {
                        if self.is_true(condition, handled).await? {
                            chosen = steps;
                            break;
                        }
                    }
                    Box::pin(self.steps(chosen, handled)).await?;
                }
            }
        }
        Ok(())
    }

    /// Runs a statement of SQL.
    async fn run(&self, text: &str, wanted: Wanted) -> Result<(), EngineError> {
        self.run_inner(text, wanted).await.map_err(|error| error.within(text))
    }

    async fn run_inner(&self, text: &str, wanted: Wanted) -> Result<(), EngineError> {
        let mut statements = Statement::parse(text)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(EngineError::new(SqlState::SyntaxError, "a statement of a block is one of SQL"));
        };
        if let Some(variable) = variable_of_into(&statement) {
            let message = format!("\"{variable}\" is not a known variable");
            return Err(EngineError::new(SqlState::SyntaxError, message));
        }
        self.run_statement(&statement, wanted).await
    }

    /// EXECUTE: runs the statements of a text.
    async fn execute(&self, text: &str) -> Result<(), EngineError> {
        for statement in Statement::parse(text)? {
            if variable_of_into(&statement).is_some() {
                return Err(EngineError::unsupported("EXECUTE of SELECT ... INTO is not implemented")
                    .with_hint("You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead."));
            }
            self.run_statement(&statement, Wanted::Rows).await?;
        }
        Ok(())
    }

    async fn run_statement(&self, statement: &Statement, wanted: Wanted) -> Result<(), EngineError> {
        match self.outcome(statement).await? {
            Outcome::Done { .. } => Ok(()),
            Outcome::Rows { .. } if wanted == Wanted::NoRows => {
                Err(EngineError::new(SqlState::SyntaxError, "query has no destination for result data")
                    .with_hint("If you want to discard the results of a SELECT, use PERFORM instead."))
            }
            Outcome::Rows { mut stream, .. } => {
                while let Some(batch) = stream.next().await {
                    batch?;
                }
                Ok(())
            }
            Outcome::CopyIn(_) | Outcome::CopyOut(_) => {
                Err(EngineError::unsupported("cannot COPY to/from client in PL/pgSQL"))
            }
        }
    }

    async fn outcome(&self, statement: &Statement) -> Result<Outcome, EngineError> {
        let kind = statement.kind();
        if kind.controls_transaction() {
            return Err(EngineError::unsupported("unsupported transaction command in PL/pgSQL"));
        }
        if kind == StatementKind::Do {
            return Err(EngineError::unsupported("DO in a DO block is not supported"));
        }
        if matches!(statement.command(), Command::Maintenance(MaintenanceStatement::Vacuum { .. })) {
            let message = "VACUUM cannot be executed from a function";
            return Err(EngineError::new(SqlState::ActiveTransaction, message));
        }
        self.session.context.begin_statement(kind)?;
        Box::pin(self.session.dispatch(statement, &BoundParameters::none(), self.interrupt)).await
    }

    async fn is_true(&self, condition: &str, handled: Option<&EngineError>) -> Result<bool, EngineError> {
        let value = self.value(&format!("CAST(({condition}) AS boolean)"), handled).await?;
        Ok(value.as_deref() == Some("t"))
    }

    /// The value of an expression as text.
    async fn value(&self, expression: &str, handled: Option<&EngineError>) -> Result<Option<String>, EngineError> {
        // As clients get it, which CAST does not always give: 't' for true, and the blanks of a character(n).
        let expression = with_error(expression, handled);
        let query =
            format!("SELECT CASE WHEN num_nulls(q.v) = 0 THEN concat(q.v) END FROM (SELECT ({expression})) AS q(v)");
        self.only_value(&query).await.map_err(|error| error.within(&query))
    }

    async fn only_value(&self, query: &str) -> Result<Option<String>, EngineError> {
        let mut statements = Statement::parse(query)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \";\""));
        };
        let Outcome::Rows { mut stream, .. } = self.outcome(&statement).await? else {
            return Err(EngineError::internal("a query without rows"));
        };
        let mut value = None;
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            if value.is_none() && batch.num_rows() > 0 {
                let texts = cast(batch.column(0), &DataType::Utf8)?;
                let texts = texts.as_string::<i32>();
                value = Some(texts.is_valid(0).then(|| texts.value(0).to_owned()));
            }
        }
        Ok(value.flatten())
    }

    async fn raise(&self, raise: &Raise, handled: Option<&EngineError>) -> Result<(), EngineError> {
        let Some(format) = &raise.message else {
            return Err(match handled {
                Some(error) => error.clone(),
                None => EngineError::new(
                    SqlState::StackedDiagnosticsOutsideHandler,
                    "RAISE without parameters cannot be used outside an exception handler",
                ),
            });
        };
        let mut message = String::new();
        let (mut arguments, mut letters) = (raise.arguments.iter(), format.chars().peekable());
        while let Some(letter) = letters.next() {
            match (letter, letters.peek()) {
                ('%', Some('%')) => message.extend(letters.next()),
                ('%', _) => {
                    if let Some(argument) = arguments.next() {
                        let value = self.value(argument, handled).await?;
                        message.push_str(value.as_deref().unwrap_or("<NULL>"));
                    }
                }
                (letter, _) => message.push(letter),
            }
        }
        match raise.level {
            Level::Exception => Err(EngineError::new(SqlState::RaiseException, message)),
            Level::Log => Ok(()),
            Level::Notice => {
                self.session.context.raise(Notice::harmless(SqlState::SuccessfulCompletion, message));
                Ok(())
            }
            Level::Warning => {
                self.session.context.raise(Notice::warning(SqlState::Warning, message));
                Ok(())
            }
        }
    }
}

/// A text in which SQLERRM and SQLSTATE are those of the error that is handled.
fn with_error(text: &str, handled: Option<&EngineError>) -> String {
    let Some(error) = handled else { return text.to_owned() };
    let Ok(tokens) = Tokenizer::new(&SqlDialect::for_text(text), text).tokenize_with_location() else {
        return text.to_owned();
    };
    let (mut places, mut written, mut end) = (Places::new(text), String::new(), 0);
    let (mut before, mut is_target) = (Token::EOF, false);
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        let before = std::mem::replace(&mut before, token.token.clone());
        let Token::Word(word) = &token.token else { continue };
        // The columns of an INSERT are names, as what follows AS and a dot.
        match word.keyword {
            Keyword::INSERT => is_target = true,
            Keyword::VALUES | Keyword::SELECT | Keyword::WITH | Keyword::DEFAULT => {
                is_target = false;
            }
            _ => {}
        }
        let is_name = is_target
            || word.quote_style.is_some()
            || before == Token::Period
            || matches!(before, Token::Word(word) if matches!(word.keyword, Keyword::AS | Keyword::SET));
        let value = match &word.value {
            _ if is_name => continue,
            word if word.eq_ignore_ascii_case("sqlerrm") => error.message(),
            word if word.eq_ignore_ascii_case("sqlstate") => error.sqlstate(),
            _ => continue,
        };
        written.push_str(&text[end..places.byte_of(token.span.start)]);
        written.push_str(&quote_literal(value));
        end = places.byte_of(token.span.end);
    }
    written + &text[end..]
}

/// What comes after INTO in a query, which is a variable in a block and a new table elsewhere.
fn variable_of_into(statement: &Statement) -> Option<String> {
    let Command::Sql(sqlparser::ast::Statement::CreateTable(create)) = statement.command() else { return None };
    let text = statement.text();
    let tokens = Tokenizer::new(&SqlDialect::for_text(text), text).tokenize().ok()?;
    let first = tokens.into_iter().find(|token| !matches!(token, Token::Whitespace(_)))?;
    let is_create = matches!(&first, Token::Word(word) if word.value.eq_ignore_ascii_case("create"));
    (!is_create).then(|| create.name.to_string())
}

/// Whether the rows of a statement may be thrown away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Rows,
    NoRows,
}
