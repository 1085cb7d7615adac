//! The template of a statement's text: its tokens with the constants lifted out.
//!
//! Texts that differ only in their constants, in blanks, in comments and in the case of names have one template. A constant is
//! a number, a string in single quotes, or the value of a parameter (`$1`). All other tokens are part of the template. Each place
//! of a constant is a *hole*.
//!
//! Only texts of a single query have a template. That of an EXPLAIN is the template of the query that it explains, for which
//! EXPLAIN and its options are left out.

use std::fmt;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Most holes of a template. A text with more constants is planned each time.
const HOLES_MAX: usize = 256;

/// Most bytes of a template's tokens.
const TEMPLATE_BYTES_MAX: usize = 16 << 10;

/// A text as template and constants.
#[derive(Clone, Debug)]
pub(crate) struct ScannedText {
    /// The tokens, with a mark in each hole.
    pub template: String,
    /// What stands in the holes, in the order of the text.
    pub holes: Vec<Hole>,
}

/// A constant in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// Its place in the text.
    pub location: Location,
    /// What stands there.
    pub content: HoleContent,
}

/// What stands in a hole of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HoleContent {
    /// A constant.
    Constant(Constant),
    /// The value of the parameter at this position.
    Parameter(usize),
}

/// A constant as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    /// Digits, perhaps with a point.
    Number(String),
    /// The text of a string.
    Text(String),
    /// No value.
    Null,
}

/// Why a text has no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unscanned {
    /// It is not a single statement that begins with SELECT or WITH.
    OtherStatement,
    /// It has more than [`HOLES_MAX`] constants.
    ManyConstants,
    /// Its tokens are longer than [`TEMPLATE_BYTES_MAX`].
    Long,
}

impl fmt::Display for Unscanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherStatement => f.write_str("it does not begin with SELECT or WITH"),
            Self::ManyConstants => write!(f, "it has more than {HOLES_MAX} constants"),
            Self::Long => write!(f, "it is longer than {TEMPLATE_BYTES_MAX} bytes"),
        }
    }
}

impl ScannedText {
    /// Reads the tokens of a text.
    ///
    /// # Errors
    /// If the text is not a single query, or too large for a template.
    pub fn of(tokens: &[TokenWithSpan]) -> Result<Self, Unscanned> {
        let mut scanned = Self { template: String::with_capacity(128), holes: Vec::new() };
        let mut is_first = true;
        let mut is_over = false;
        for TokenWithSpan { token, span } in tokens {
            match token {
                Token::Whitespace(_) | Token::EOF => continue,
                Token::SemiColon => {
                    is_over = true;
                    continue;
                }
                _ if is_over => return Err(Unscanned::OtherStatement),
                Token::Word(word) if is_first && !matches!(word.keyword, Keyword::SELECT | Keyword::WITH) => {
                    return Err(Unscanned::OtherStatement);
                }
                Token::Word(_) => {}
                _ if is_first => return Err(Unscanned::OtherStatement),
                _ => {}
            }
            is_first = false;
            scanned.add(token, span.start)?;
        }
        match scanned.template.len() {
            0 => Err(Unscanned::OtherStatement),
            1..=TEMPLATE_BYTES_MAX => Ok(scanned),
            _ => Err(Unscanned::Long),
        }
    }

    /// Reads the tokens of the query that an EXPLAIN explains.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn of_explained(tokens: &[TokenWithSpan]) -> Result<Self, Unscanned> {
        Self::of(explained(tokens))
    }

    fn add(&mut self, token: &Token, location: Location) -> Result<(), Unscanned> {
        let constant = match token {
            Token::Number(digits, false) => Some(('#', HoleContent::Constant(Constant::Number(digits.clone())))),
            Token::SingleQuotedString(text) => Some(('\'', HoleContent::Constant(Constant::Text(text.clone())))),
            Token::Placeholder(name) => {
                let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
                let at = number.and_then(|number| number.checked_sub(1)).ok_or(Unscanned::OtherStatement)?;
                // Two places of one parameter have the same value, whatever it is.
                self.template.push_str(name);
                Some(('$', HoleContent::Parameter(at)))
            }
            _ => None,
        };
        match constant {
            Some((mark, content)) => {
                self.holes.push(Hole { location, content });
                self.template.push(mark);
            }
            None => push_token(&mut self.template, token),
        }
        self.template.push(' ');
        if self.holes.len() > HOLES_MAX { Err(Unscanned::ManyConstants) } else { Ok(()) }
    }
}

/// The tokens after EXPLAIN and its options, which stand in parentheses or are words.
fn explained(tokens: &[TokenWithSpan]) -> &[TokenWithSpan] {
    let is_of_explain = |word: Keyword| {
        matches!(word, Keyword::EXPLAIN | Keyword::DESCRIBE | Keyword::DESC | Keyword::ANALYZE | Keyword::VERBOSE)
    };
    let mut depth = 0;
    let first = tokens.iter().position(|TokenWithSpan { token, .. }| {
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth > 0 => depth -= 1,
            Token::Word(word) => return depth == 0 && !is_of_explain(word.keyword),
            Token::Whitespace(_) => {}
            _ => return depth == 0,
        }
        false
    });
    &tokens[first.unwrap_or(tokens.len())..]
}

/// A token as part of a template. Unquoted names are the same in any case. A token with blanks or quotes has its length before it,
/// so that no two rows of tokens have one template.
fn push_token(template: &mut String, token: &Token) {
    if let Token::Word(word) = token
        && word.quote_style.is_none()
    {
        let start = template.len();
        template.push_str(&word.value);
        template[start..].make_ascii_lowercase();
        return;
    }
    if let Some(sign) = sign(token) {
        return template.push_str(sign);
    }
    let text = token.to_string();
    if text.contains(|letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"' | '$' | '#')) {
        template.push_str(&format!("{}:", text.len()));
    }
    template.push_str(&text);
}

/// The text of a token that is a common sign.
fn sign(token: &Token) -> Option<&'static str> {
    Some(match token {
        Token::Comma => ",",
        Token::Period => ".",
        Token::LParen => "(",
        Token::RParen => ")",
        Token::Eq => "=",
        Token::Lt => "<",
        Token::LtEq => "<=",
        Token::Gt => ">",
        Token::GtEq => ">=",
        Token::Plus => "+",
        Token::Minus => "-",
        Token::Mul => "*",
        Token::Div => "/",
        _ => return None,
    })
}

impl Constant {
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Number(text) | Self::Text(text) => text.len(),
            Self::Null => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn scanned(sql: &str) -> Option<ScannedText> {
        ScannedText::of(&tokens(sql)).ok()
    }

    fn tokens(sql: &str) -> Vec<TokenWithSpan> {
        let dialect = PostgreSqlDialect {};
        Tokenizer::new(&dialect, sql).tokenize_with_location().unwrap()
    }

    #[test]
    fn texts_that_differ_in_constants_have_one_template() {
        let one = scanned("SELECT a FROM t WHERE b = 5 AND c LIKE 'x%' -- why\n;").unwrap();
        let other = scanned("select A\n from t where b=77 and c like '%'").unwrap();
        assert_eq!(one.template, other.template);
        let number = |digits: &str| HoleContent::Constant(Constant::Number(digits.to_owned()));
        let text = |text: &str| HoleContent::Constant(Constant::Text(text.to_owned()));
        let contents =
            |scanned: &ScannedText| scanned.holes.iter().map(|hole| hole.content.clone()).collect::<Vec<_>>();
        assert_eq!(contents(&one), [number("5"), text("x%")]);
        assert_eq!(contents(&other), [number("77"), text("%")]);
    }

    #[test]
    fn other_tokens_tell_templates_apart() {
        let base = scanned("select a from t where b = 5").unwrap().template;
        for other in [
            "select a from t where b = '5'",
            "select a from t where b < 5",
            "select \"A\" from t where b = 5",
            "select a from t where b = -5",
            "select a from t where b = $1",
            "select a from t where b = e'5'",
            "select a from t where b = 5 and true",
        ] {
            assert_ne!(scanned(other).unwrap().template, base, "{other}");
        }
    }

    #[test]
    fn a_sign_has_the_text_of_its_token() {
        let tokens = tokens("select ( a.b , c ) = < <= > >= + - * / [ ] ; :: <>");
        let signs = tokens.iter().filter_map(|TokenWithSpan { token, .. }| Some((token.to_string(), sign(token)?)));
        let signs: Vec<_> = signs.collect();
        assert_eq!(signs.len(), 13);
        assert!(signs.iter().all(|(text, sign)| text == sign), "{signs:?}");
    }

    #[test]
    fn what_is_quoted_is_not_taken_for_tokens() {
        for (one, other) in [
            ("select e'x' = 'y'", "select e'x\\' = '"),
            ("select \"a\" , \"b\"", "select \"a\"\" , \"\"b\""),
            ("select $q$a$q$ , 5", "select $q$a$q , #$q$"),
        ] {
            let (one, other) = (scanned(one).unwrap(), scanned(other).unwrap());
            assert_ne!(one.template, other.template);
        }
    }

    #[test]
    fn only_single_queries_have_templates() {
        for sql in ["", ";", "insert into t values (1)", "select 1; select 2", "values (1)", "(select 1)", "select $0"]
        {
            assert!(scanned(sql).is_none(), "{sql}");
        }
        assert!(scanned(&format!("select {}", vec!["1"; HOLES_MAX + 1].join(", "))).is_none());
        assert!(scanned("with a as (select 1) select * from a;;").is_some());
    }

    #[test]
    fn an_explain_has_the_template_of_its_query() {
        let query = "select a from t where b = 5";
        let template = scanned(query).unwrap().template;
        for explain in [
            "explain",
            "EXPLAIN ANALYZE",
            "explain /* why */ analyze verbose",
            "explain (analyze, verbose off)",
            "explain (format 'text', (costs))",
        ] {
            let explained = ScannedText::of_explained(&tokens(&format!("{explain} {query};"))).unwrap();
            assert_eq!(explained.template, template, "{explain}");
        }
        for (sql, why) in [
            ("explain values (1)".to_owned(), Unscanned::OtherStatement),
            ("explain".to_owned(), Unscanned::OtherStatement),
            (format!("explain select {}", vec!["1"; HOLES_MAX + 1].join(", ")), Unscanned::ManyConstants),
            (format!("explain select {}", "a".repeat(TEMPLATE_BYTES_MAX)), Unscanned::Long),
        ] {
            assert_eq!(ScannedText::of_explained(&tokens(&sql)).unwrap_err(), why, "{sql}");
        }
    }
}
