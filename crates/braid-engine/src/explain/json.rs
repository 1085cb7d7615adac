//! JSON, laid out as PostgreSQL's EXPLAIN lays it out.

use std::fmt::Write;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    /// A text.
    Text(String),
    /// A number, as it is written.
    Number(String),
    /// A list.
    List(Vec<Json>),
    /// Members in their order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The text, with members and elements on lines of their own.
    pub fn laid_out(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        match self {
            Self::Text(text) => write_quoted(text, out),
            Self::Number(number) => out.push_str(number),
            Self::List(elements) => {
                let writers = elements.iter().map(|element| move |out: &mut String| element.write(depth + 1, out));
                write_lines(('[', ']'), depth, writers, out);
            }
            Self::Object(members) => {
                let writers = members.iter().map(|(name, value)| {
                    move |out: &mut String| {
                        write_quoted(name, out);
                        out.push_str(": ");
                        value.write(depth + 1, out);
                    }
                });
                write_lines(('{', '}'), depth, writers, out);
            }
        }
    }
}

/// Lines between two brackets, with commas between them.
fn write_lines(
    (open, close): (char, char),
    depth: usize,
    lines: impl Iterator<Item = impl Fn(&mut String)>,
    out: &mut String,
) {
    out.push(open);
    for (at, line) in lines.enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        indent(depth + 1, out);
        line(out);
    }
    out.push('\n');
    indent(depth, out);
    out.push(close);
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

pub(super) fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            // Writing to a string does not fail.
            c if c < ' ' => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_lines_of_their_own_and_texts_are_escaped() {
        let text = |text: &str| Json::Text(text.to_owned());
        let inner =
            Json::Object(vec![("a".to_owned(), text("x\n\"\\\u{1}")), ("b".to_owned(), Json::Number("1".into()))]);
        let laid_out = Json::List(vec![inner, text("ä")]).laid_out();
        let expected = "[\n  {\n    \"a\": \"x\\n\\\"\\\\\\u0001\",\n    \"b\": 1\n  },\n  \"ä\"\n]";
        assert_eq!(laid_out, expected);
        assert_eq!(Json::List(Vec::new()).laid_out(), "[\n]");
    }
}
