//! `concat`, `concat_ws` and `format`: texts of values of any types.
//!
//! An array after VARIADIC is not told apart from one argument that is an array; the binder must spread it.

use super::quoting::{quote_identifier, quote_literal};
use super::results::{append_counted, check_growth, output};
use crate::functions::Call;
use crate::functions::Implementations;
use crate::value_memory::GrowingValue;
use crate::{SqlError, SqlState, Value};

/// Functions of values of any types.
pub const FUNCTIONS: Implementations =
    &[("text_concat", concat), ("text_concat_ws", concat_ws), ("text_format", format), ("text_format_nv", format)];

/// All values that are not null.
fn concat(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    joined("", args, 0, call)
}

/// All values after the first that are not null, with the first between them.
fn concat_ws(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        separator => joined(separator.as_text(), args, 1, call),
    }
}

fn joined(separator: &str, args: &[Value], from: usize, call: &Call<'_>) -> Result<Value, SqlError> {
    let (mut out, mut memory) = (String::new(), call.growing_value());
    let mut is_first = true;
    for (at, value) in args.iter().enumerate().skip(from).filter(|(_, value)| !value.is_null()) {
        if !std::mem::take(&mut is_first) {
            append_counted(&mut out, separator, &mut memory)?;
        }
        append_counted(&mut out, &output(value, call.argument_types[at], call)?, &mut memory)?;
    }
    Ok(Value::text(out))
}

fn format(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let (mut out, mut memory) = (String::new(), call.growing_value());
    let mut next = 1;
    let mut rest = args[0].as_text();
    while let Some(at) = rest.find('%') {
        append_counted(&mut out, &rest[..at], &mut memory)?;
        let mut specifier = Specifier { rest: &rest[at + 1..] };
        if specifier.peek()? == '%' {
            append_counted(&mut out, "%", &mut memory)?;
            rest = &specifier.rest[1..];
            continue;
        }
        let parsed = specifier.parse()?;
        rest = &specifier.rest[parsed.conversion.len_utf8()..];
        let width = match parsed.width {
            Width::Of(width) => width,
            Width::Argument(place) => {
                let value = argument(args, place, &mut next)?;
                width_value(value, call, next - 1)?
            }
        };
        let value = argument(args, parsed.argument, &mut next)?;
        let text = converted(parsed.conversion, value, call, next - 1)?;
        append_aligned(&mut out, &text, (width, parsed.is_left), &mut memory)?;
    }
    append_counted(&mut out, rest, &mut memory)?;
    Ok(Value::text(out))
}

/// Where the argument of a specifier is: a place, or the next one.
fn argument<'a>(args: &'a [Value], place: Option<usize>, next: &mut usize) -> Result<&'a Value, SqlError> {
    let place = place.unwrap_or(*next);
    *next = place.saturating_add(1);
    args.get(place).ok_or_else(|| invalid("too few arguments for format()"))
}

enum Width {
    Of(i32),
    /// In an argument; `None` for the next one.
    Argument(Option<usize>),
}

struct Parsed {
    argument: Option<usize>,
    is_left: bool,
    width: Width,
    conversion: char,
}

/// What follows a percent sign.
struct Specifier<'a> {
    rest: &'a str,
}

impl Specifier<'_> {
    fn peek(&self) -> Result<char, SqlError> {
        let next = self.rest.chars().next();
        next.ok_or_else(|| invalid("unterminated format() type specifier").with_hint("For a single \"%\" use \"%%\"."))
    }

    fn advance(&mut self) -> Result<(), SqlError> {
        self.rest = &self.rest[self.peek()?.len_utf8()..];
        self.peek().map(|_| ())
    }

    fn parse(&mut self) -> Result<Parsed, SqlError> {
        let mut parsed = Parsed { argument: None, is_left: false, width: Width::Of(0), conversion: 's' };
        match self.number()? {
            Some(number) if self.peek()? != '$' => parsed.width = Width::Of(number),
            number => {
                if let Some(number) = number {
                    parsed.argument = Some(place(number)?);
                    self.advance()?;
                }
                while self.peek()? == '-' {
                    parsed.is_left = true;
                    self.advance()?;
                }
                if let Some(width) = self.width()? {
                    parsed.width = width;
                }
            }
        }
        parsed.conversion = self.peek()?;
        if !['s', 'I', 'L'].contains(&parsed.conversion) {
            let message = format!("unrecognized format() type specifier \"{}\"", parsed.conversion);
            return Err(invalid(&message).with_hint("For a single \"%\" use \"%%\"."));
        }
        Ok(parsed)
    }

    fn width(&mut self) -> Result<Option<Width>, SqlError> {
        if self.peek()? != '*' {
            return Ok(self.number()?.map(Width::Of));
        }
        self.advance()?;
        let Some(number) = self.number()? else { return Ok(Some(Width::Argument(None))) };
        if self.peek()? != '$' {
            return Err(invalid("width argument position must be ended by \"$\""));
        }
        let place = place(number)?;
        self.advance()?;
        Ok(Some(Width::Argument(Some(place))))
    }

    fn number(&mut self) -> Result<Option<i32>, SqlError> {
        let mut number: Option<i32> = None;
        while let Some(digit) = self.peek()?.to_digit(10) {
            let longer = number.unwrap_or(0).checked_mul(10).and_then(|number| number.checked_add(digit as i32));
            number = Some(longer.ok_or_else(out_of_range)?);
            self.advance()?;
        }
        Ok(number)
    }
}

fn place(number: i32) -> Result<usize, SqlError> {
    if number == 0 {
        return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
    }
    Ok(number as usize)
}

fn width_value(value: &Value, call: &Call<'_>, at: usize) -> Result<i32, SqlError> {
    match value {
        Value::Null => Ok(0),
        Value::Int4(width) => Ok(*width),
        Value::Int2(width) => Ok(i32::from(*width)),
        other => crate::input::numbers::parse_integer(&output(other, call.argument_types[at], call)?, "integer"),
    }
}

fn converted(conversion: char, value: &Value, call: &Call<'_>, at: usize) -> Result<String, SqlError> {
    if value.is_null() {
        return match conversion {
            's' => Ok(String::new()),
            'L' => Ok("NULL".to_owned()),
            _ => {
                let message = "null values cannot be formatted as an SQL identifier";
                Err(SqlError::new(SqlState::NullValueNotAllowed, message))
            }
        };
    }
    let text = output(value, call.argument_types[at], call)?;
    Ok(match conversion {
        's' => text,
        'I' => quote_identifier(&text),
        _ => quote_literal(&text),
    })
}

/// A negative width means what a minus sign does.
fn append_aligned(
    out: &mut String,
    text: &str,
    (width, is_left): (i32, bool),
    memory: &mut GrowingValue<'_>,
) -> Result<(), SqlError> {
    let is_left = is_left || width < 0;
    let width = width.checked_abs().ok_or_else(out_of_range)? as usize;
    let blanks = width.saturating_sub(text.chars().count());
    check_growth(out.len(), text.len().saturating_add(blanks))?;
    memory.reach(out.len() + text.len() + blanks)?;
    if is_left {
        out.push_str(text);
    }
    out.extend(std::iter::repeat_n(' ', blanks));
    if !is_left {
        out.push_str(text);
    }
    Ok(())
}

fn invalid(message: &str) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}

fn out_of_range() -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, "number is out of range")
}
