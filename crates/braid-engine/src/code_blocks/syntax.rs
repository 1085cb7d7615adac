//! The text of a code block as a tree: statements of SQL, whose texts are kept as they are, and those of PL/pgSQL around them.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::conditions::Condition;
use crate::statement::{Places, SqlDialect};
use crate::{EngineError, SqlState};

/// Most blocks and IFs that stand within each other.
const DEPTH_MAX: usize = 32;

/// `BEGIN … EXCEPTION … END`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub steps: Vec<Step>,
    pub handlers: Vec<Handler>,
}

/// `WHEN condition OR … THEN …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handler {
    pub conditions: Vec<Condition>,
    pub steps: Vec<Step>,
}

/// A statement of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A statement of SQL.
    Sql(String),
    /// PERFORM: the text of a query whose rows are not wanted.
    Perform(String),
    /// EXECUTE: an expression whose value is the text of a statement.
    Execute(String),
    /// NULL.
    Nothing,
    /// RAISE.
    Raise(Raise),
    /// IF: conditions with their statements, and those of ELSE.
    If(Vec<(String, Vec<Step>)>, Vec<Step>),
    /// A block of its own.
    Block(Block),
}

/// `RAISE level 'message', argument, …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raise {
    pub level: Level,
    /// `None`: the error that is handled, again.
    pub message: Option<String>,
    pub arguments: Vec<String>,
}

/// What a RAISE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// It fails.
    Exception,
    Warning,
    /// NOTICE, and INFO.
    Notice,
    /// LOG and DEBUG, of which clients are not told.
    Log,
}

/// Reads the text of a block.
///
/// # Errors
/// 42601 for what is none; 0A000 for what is not supported.
pub(crate) fn parse(text: &str) -> Result<Block, EngineError> {
    let tokens = Tokenizer::new(&SqlDialect::for_text(text), text).tokenize_with_location();
    let tokens = tokens.map_err(|error| EngineError::new(SqlState::SyntaxError, error.to_string()))?;
    let mut places = Places::new(text);
    let tokens: Vec<Placed> = tokens
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
        .map(|TokenWithSpan { token, span }| Placed {
            token,
            start: places.byte_of(span.start),
            end: places.byte_of(span.end),
        })
        .collect();
    let mut parser = BlockParser { text, tokens: &tokens, at: 0, depth: 0 };
    let block = parser.block()?;
    parser.take(&Token::SemiColon);
    match parser.tokens.get(parser.at) {
        None => Ok(block),
        Some(_) => Err(parser.unexpected()),
    }
}

/// A token and its bytes.
struct Placed {
    token: Token,
    start: usize,
    end: usize,
}

struct BlockParser<'a> {
    text: &'a str,
    tokens: &'a [Placed],
    at: usize,
    depth: usize,
}

/// Statements of PL/pgSQL that are not supported.
const REFUSED: [&str; 20] = [
    "assert",
    "call",
    "case",
    "close",
    "commit",
    "continue",
    "declare",
    "exit",
    "fetch",
    "for",
    "foreach",
    "get",
    "loop",
    "move",
    "open",
    "return",
    "rollback",
    "while",
    "abort",
    "savepoint",
];

impl BlockParser<'_> {
    fn word_at(&self, at: usize) -> Option<String> {
        match &self.tokens.get(at)?.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
            _ => None,
        }
    }

    fn word(&self) -> Option<String> {
        self.word_at(self.at)
    }

    fn is_word(&self, wanted: &str) -> bool {
        self.word().as_deref() == Some(wanted)
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let is_it = self.is_word(wanted);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect_word(&mut self, wanted: &str) -> Result<(), EngineError> {
        if self.take_word(wanted) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn take(&mut self, token: &Token) -> bool {
        let is_it = self.tokens.get(self.at).is_some_and(|placed| placed.token == *token);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect_end(&mut self) -> Result<(), EngineError> {
        if self.take(&Token::SemiColon) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> EngineError {
        let message = match self.tokens.get(self.at) {
            Some(placed) => format!("syntax error at or near \"{}\"", &self.text[placed.start..placed.end]),
            None => "syntax error at end of input".to_owned(),
        };
        EngineError::new(SqlState::SyntaxError, message)
    }

    fn deeper(&mut self) -> Result<(), EngineError> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => {
                let message = format!("a DO block has more than {DEPTH_MAX} blocks and IFs within each other");
                Err(EngineError::new(SqlState::StatementTooComplex, message))
            }
            false => Ok(()),
        }
    }

    fn block(&mut self) -> Result<Block, EngineError> {
        self.deeper()?;
        if self.is_word("declare") {
            return Err(refused("DECLARE"));
        }
        self.expect_word("begin")?;
        let steps = self.steps()?;
        let mut handlers = Vec::new();
        if self.take_word("exception") {
            while self.take_word("when") {
                handlers.push(self.handler()?);
            }
            if handlers.is_empty() {
                return Err(self.unexpected());
            }
        }
        self.expect_word("end")?;
        self.depth -= 1;
        Ok(Block { steps, handlers })
    }

    fn handler(&mut self) -> Result<Handler, EngineError> {
        let mut conditions = vec![self.condition()?];
        while self.take_word("or") {
            conditions.push(self.condition()?);
        }
        self.expect_word("then")?;
        Ok(Handler { conditions, steps: self.steps()? })
    }

    fn condition(&mut self) -> Result<Condition, EngineError> {
        if self.take_word("sqlstate") {
            return match self.tokens.get(self.at).map(|placed| &placed.token) {
                Some(Token::SingleQuotedString(state))
                    if state.len() == 5
                        && state.bytes().all(|letter| letter.is_ascii_digit() || letter.is_ascii_uppercase()) =>
                {
                    self.at += 1;
                    Ok(Condition::State(state.clone()))
                }
                _ => Err(self.unexpected()),
            };
        }
        let name = self.word().ok_or_else(|| self.unexpected())?;
        let condition = Condition::named(&name)?;
        self.at += 1;
        Ok(condition)
    }

    /// Statements up to the word that ends them.
    fn steps(&mut self) -> Result<Vec<Step>, EngineError> {
        let mut steps = Vec::new();
        loop {
            match self.word().as_deref() {
                Some("end" | "exception" | "when" | "else" | "elsif" | "elseif") => return Ok(steps),
                _ => steps.push(self.step()?),
            }
        }
    }

    fn step(&mut self) -> Result<Step, EngineError> {
        let word = self.word();
        match word.as_deref() {
            Some("begin") => {
                let block = self.block()?;
                self.expect_end()?;
                Ok(Step::Block(block))
            }
            Some("if") => self.condition_of_steps(),
            Some("null") => {
                self.at += 1;
                self.expect_end()?;
                Ok(Step::Nothing)
            }
            Some("raise") => {
                self.at += 1;
                self.raise().map(Step::Raise)
            }
            Some("perform") => {
                self.at += 1;
                Ok(Step::Perform(format!("SELECT {}", self.text_to_end()?)))
            }
            Some("execute") => {
                self.at += 1;
                let from = self.at;
                let text = self.text_to_end()?;
                let has = |word: &str| (from..self.at).any(|at| self.word_at(at).as_deref() == Some(word));
                match has("into") || has("using") {
                    true => Err(refused("EXECUTE … INTO or USING")),
                    false => Ok(Step::Execute(text)),
                }
            }
            Some(other) if REFUSED.contains(&other) => Err(refused(&other.to_ascii_uppercase())),
            Some(_) => {
                if self.tokens.get(self.at + 1).is_some_and(|next| matches!(next.token, Token::Assignment | Token::Eq))
                {
                    return Err(refused("assignment"));
                }
                self.text_to_end().map(Step::Sql)
            }
            None if self.tokens.get(self.at).is_some_and(|placed| placed.token == Token::LParen) => {
                self.text_to_end().map(Step::Sql)
            }
            None => Err(self.unexpected()),
        }
    }

    fn condition_of_steps(&mut self) -> Result<Step, EngineError> {
        self.deeper()?;
        let mut branches = Vec::new();
        while self.take_word(if branches.is_empty() { "if" } else { "elsif" })
            || !branches.is_empty() && self.take_word("elseif")
        {
            let condition = self.text_to_then()?;
            branches.push((condition, self.steps()?));
        }
        let otherwise = if self.take_word("else") { self.steps()? } else { Vec::new() };
        self.expect_word("end")?;
        self.expect_word("if")?;
        self.expect_end()?;
        self.depth -= 1;
        Ok(Step::If(branches, otherwise))
    }

    fn raise(&mut self) -> Result<Raise, EngineError> {
        let level = match self.word().as_deref() {
            Some("notice" | "info") => Some(Level::Notice),
            Some("log" | "debug") => Some(Level::Log),
            Some("warning") => Some(Level::Warning),
            Some("exception") => Some(Level::Exception),
            _ => None,
        };
        match level {
            Some(_) => self.at += 1,
            None if self.take(&Token::SemiColon) => {
                return Ok(Raise { level: Level::Exception, message: None, arguments: Vec::new() });
            }
            None => {}
        }
        let level = level.unwrap_or(Level::Exception);
        let message = match self.tokens.get(self.at).map(|placed| &placed.token) {
            Some(Token::SingleQuotedString(message)) => message.clone(),
            Some(Token::SemiColon) | None => return Err(self.unexpected()),
            _ => return Err(refused("RAISE without a message")),
        };
        self.at += 1;
        let mut arguments = Vec::new();
        while self.take(&Token::Comma) {
            arguments.push(self.text_until(|token| matches!(token, Token::Comma | Token::SemiColon), &[])?);
        }
        if self.is_word("using") {
            return Err(refused("RAISE … USING"));
        }
        self.expect_end()?;
        let wanted = message.replace("%%", "").matches('%').count();
        match wanted.cmp(&arguments.len()) {
            std::cmp::Ordering::Equal => Ok(Raise { level, message: Some(message), arguments }),
            std::cmp::Ordering::Less => {
                Err(EngineError::new(SqlState::SyntaxError, "too many parameters specified for RAISE"))
            }
            std::cmp::Ordering::Greater => {
                Err(EngineError::new(SqlState::SyntaxError, "too few parameters specified for RAISE"))
            }
        }
    }

    /// The text of an expression up to THEN, which is taken.
    fn text_to_then(&mut self) -> Result<String, EngineError> {
        let text = self.text_until(|token| *token == Token::SemiColon, &["then"])?;
        self.expect_word("then")?;
        Ok(text)
    }

    /// The text of a statement up to its semicolon, which is taken.
    fn text_to_end(&mut self) -> Result<String, EngineError> {
        let text = self.text_until(|token| *token == Token::SemiColon, &[])?;
        self.expect_end()?;
        Ok(text)
    }

    /// The text up to a token or a word that stands in no parentheses, and in no CASE.
    fn text_until(&mut self, is_end: impl Fn(&Token) -> bool, words: &[&str]) -> Result<String, EngineError> {
        let (from, mut depth, mut cases) = (self.at, 0usize, 0usize);
        while let Some(placed) = self.tokens.get(self.at) {
            let word = self.word();
            let is_word = word.as_deref().is_some_and(|word| words.contains(&word));
            if depth == 0 && (cases == 0 && is_word || is_end(&placed.token)) {
                break;
            }
            match (&placed.token, word.as_deref()) {
                (Token::LParen | Token::LBracket, _) => depth += 1,
                (Token::RParen | Token::RBracket, _) => depth = depth.saturating_sub(1),
                (_, Some("case")) => cases += 1,
                (_, Some("end")) => cases = cases.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        match (self.tokens.get(from), self.at > from) {
            (Some(first), true) => Ok(self.text[first.start..self.tokens[self.at - 1].end].to_owned()),
            _ => Err(self.unexpected()),
        }
    }
}

fn refused(what: &str) -> EngineError {
    EngineError::unsupported(format!("{what} in a DO block is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> Step {
        Step::Sql(text.to_owned())
    }

    #[test]
    fn a_block_has_statements_and_handlers() {
        let text = "BEGIN\n CREATE TYPE t AS ENUM ('a;b', 'end');\n NULL; -- a comment; END\nEXCEPTION WHEN duplicate_object OR sqlstate '42P07' THEN null;\n WHEN others THEN PERFORM 1; END;";
        let block = parse(text).unwrap();
        assert_eq!(block.steps, [sql("CREATE TYPE t AS ENUM ('a;b', 'end')"), Step::Nothing]);
        let conditions = [Condition::Name("duplicate_object"), Condition::State("42P07".to_owned())];
        assert_eq!(block.handlers[0].conditions, conditions);
        assert_eq!(block.handlers[1].steps, [Step::Perform("SELECT 1".to_owned())]);
    }

    #[test]
    fn conditions_choose_statements() {
        let text = "begin if not exists (select 1 from a where case when b then c end) then insert into a values (1); \
                    elsif x = case when y then z end then null; else begin delete from a; end; end if; end";
        let Step::If(branches, otherwise) = &parse(text).unwrap().steps[0] else { panic!("{text}") };
        assert_eq!(branches[0].0, "not exists (select 1 from a where case when b then c end)");
        assert_eq!(branches[0].1, [sql("insert into a values (1)")]);
        assert_eq!(branches[1], ("x = case when y then z end".to_owned(), vec![Step::Nothing]));
        assert_eq!(*otherwise, [Step::Block(Block { steps: vec![sql("delete from a")], handlers: Vec::new() })]);
    }

    #[test]
    fn messages_are_raised() {
        let raised = |text: &str| match parse(&format!("begin {text} end")).map(|mut block| block.steps.remove(0)) {
            Ok(Step::Raise(raise)) => Ok(raise),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.sqlstate().to_owned()),
        };
        let notice = raised("raise notice 'a % and % of 5%%', f(1, 2), 'x, y';").unwrap();
        assert_eq!(notice.arguments, ["f(1, 2)", "'x, y'"]);
        assert_eq!(raised("raise;").unwrap(), Raise { level: Level::Exception, message: None, arguments: Vec::new() });
        assert_eq!(raised("raise exception 'no';").unwrap().level, Level::Exception);
        assert_eq!(raised("raise warning '%';"), Err("42601".to_owned()));
        assert_eq!(raised("raise notice 'x', 1;"), Err("42601".to_owned()));
    }

    #[test]
    fn what_is_no_block_is_an_error() {
        for (text, state) in [
            ("", "42601"),
            ("begin", "42601"),
            ("begin null end", "42601"),
            ("begin null; end; select 1", "42601"),
            ("begin if true then null; end", "42601"),
            ("begin exception end", "42601"),
            ("begin null; exception when nothing then null; end", "42704"),
            ("declare a int; begin null; end", "0A000"),
            ("begin for i in 1..3 loop null; end loop; end", "0A000"),
            ("begin x := 1; end", "0A000"),
            ("begin commit; end", "0A000"),
            ("begin execute 'select 1' into a; end", "0A000"),
            ("begin 'unfinished", "42601"),
        ] {
            assert_eq!(parse(text).unwrap_err().sqlstate(), state, "{text}");
        }
        let deep = format!("{}{}", "begin ".repeat(100), "null; end;".repeat(100));
        assert_eq!(parse(&deep).unwrap_err().sqlstate(), "54001");
    }
}
