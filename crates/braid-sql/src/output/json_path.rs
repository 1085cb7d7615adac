//! Paths as text, as `jsonpath_out` writes them. It leaves out parentheses around an operand to which something is applied.

use std::fmt::Write;

use super::json::write_json_string;
use crate::SqlError;
use crate::values::json_path::{Chain, JsonPath, LEAVES, PathFlags, PathItem, PathOperator};

/// A path.
pub fn json_path_text(path: &JsonPath) -> Result<String, SqlError> {
    let mut out = String::new();
    if !path.is_lax {
        out.push_str("strict ");
    }
    write_chain(&path.chain, true, &mut out)?;
    Ok(out)
}

/// How tightly an item binds; the more, the tighter.
fn priority(item: &PathItem) -> u8 {
    use PathOperator as Op;
    match item {
        PathItem::Binary(Op::Or, _) => 0,
        PathItem::Binary(Op::And, _) => 1,
        PathItem::Binary(Op::Add | Op::Subtract, _) => 3,
        PathItem::Binary(Op::Multiply | Op::Divide | Op::Remainder, _) => 4,
        PathItem::Binary(..) => 2,
        PathItem::Sign(..) => 5,
        _ => 6,
    }
}

/// A chain; `encloses` says whether an operation at its beginning is in parentheses.
fn write_chain(chain: &Chain, encloses: bool, out: &mut String) -> Result<(), SqlError> {
    for (at, item) in chain.iter().enumerate() {
        match item {
            PathItem::Binary(..) | PathItem::Sign(..) | PathItem::LikeRegex(..) if encloses => {
                out.push('(');
                write_operation(item, out)?;
                out.push(')');
            }
            PathItem::Binary(..) | PathItem::Sign(..) | PathItem::LikeRegex(..) => write_operation(item, out)?,
            PathItem::Number(number) if at + 1 < chain.len() => write(out, format_args!("({number})")),
            item => write_item(item, out)?,
        }
    }
    Ok(())
}

fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes everything");
}

/// An operand of an item, in parentheses if it does not bind tighter.
fn write_operand(operand: &Chain, item: &PathItem, out: &mut String) -> Result<(), SqlError> {
    let encloses = operand.first().is_some_and(|first| priority(first) <= priority(item));
    write_chain(operand, encloses, out)
}

fn write_operation(item: &PathItem, out: &mut String) -> Result<(), SqlError> {
    match item {
        PathItem::Binary(operator, operands) => {
            write_operand(&operands[0], item, out)?;
            write(out, format_args!(" {} ", operator.name()));
            write_operand(&operands[1], item, out)
        }
        PathItem::Sign(is_minus, operand) => {
            out.push(if *is_minus { '-' } else { '+' });
            write_operand(operand, item, out)
        }
        PathItem::LikeRegex(operand, pattern, flags) => {
            write_operand(operand, item, out)?;
            out.push_str(" like_regex ");
            write_json_string(pattern, out)?;
            write_flags(*flags, out);
            Ok(())
        }
        other => write_item(other, out),
    }
}

fn write_flags(flags: PathFlags, out: &mut String) {
    if flags == PathFlags::default() {
        return;
    }
    let letters = [
        (flags.ignores_case, 'i'),
        (flags.dot_matches_newline, 's'),
        (flags.anchors_at_newline, 'm'),
        (flags.is_expanded, 'x'),
        (flags.is_literal, 'q'),
    ];
    out.push_str(" flag \"");
    out.extend(letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter));
    out.push('"');
}

fn write_item(item: &PathItem, out: &mut String) -> Result<(), SqlError> {
    match item {
        PathItem::Null => out.push_str("null"),
        PathItem::Bool(value) => write(out, format_args!("{value}")),
        PathItem::Number(number) => write(out, format_args!("{number}")),
        PathItem::String(string) => write_json_string(string, out)?,
        PathItem::Variable(name) => {
            out.push('$');
            write_json_string(name, out)?;
        }
        PathItem::Root => out.push('$'),
        PathItem::Current => out.push('@'),
        PathItem::Last => out.push_str("last"),
        PathItem::Key(key) => {
            out.push('.');
            write_json_string(key, out)?;
        }
        PathItem::AnyKey => out.push_str(".*"),
        PathItem::AnyElement => out.push_str("[*]"),
        PathItem::Elements(elements) => write_subscripts(elements, out)?,
        PathItem::Descendants(first, last) => write_levels(*first, *last, out),
        PathItem::Filter(predicate) => {
            out.push_str("?(");
            write_chain(predicate, false, out)?;
            out.push(')');
        }
        PathItem::Method(method) => write(out, format_args!(".{}()", method.name())),
        PathItem::Datetime(template) => {
            out.push_str(".datetime(");
            template.iter().try_for_each(|template| write_json_string(template, out))?;
            out.push(')');
        }
        PathItem::Not(predicate) => {
            out.push_str("!(");
            write_chain(predicate, false, out)?;
            out.push(')');
        }
        PathItem::IsUnknown(predicate) => {
            out.push('(');
            write_chain(predicate, false, out)?;
            out.push_str(") is unknown");
        }
        PathItem::Exists(path) => {
            out.push_str("exists (");
            write_chain(path, false, out)?;
            out.push(')');
        }
        PathItem::Binary(..) | PathItem::Sign(..) | PathItem::LikeRegex(..) => write_operation(item, out)?,
    }
    Ok(())
}

fn write_subscripts(elements: &[(Chain, Option<Chain>)], out: &mut String) -> Result<(), SqlError> {
    out.push('[');
    for (at, (first, last)) in elements.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_chain(first, false, out)?;
        if let Some(last) = last {
            out.push_str(" to ");
            write_chain(last, false, out)?;
        }
    }
    out.push(']');
    Ok(())
}

fn write_levels(first: u32, last: u32, out: &mut String) {
    out.push_str(".**");
    match (first, last) {
        (0, LEAVES) => {}
        (LEAVES, LEAVES) => out.push_str("{last}"),
        (first, last) if first == last => write(out, format_args!("{{{first}}}")),
        (LEAVES, last) => write(out, format_args!("{{last to {last}}}")),
        (first, LEAVES) => write(out, format_args!("{{{first} to last}}")),
        (first, last) => write(out, format_args!("{{{first} to {last}}}")),
    }
}
