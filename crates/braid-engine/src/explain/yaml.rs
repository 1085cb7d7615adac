//! YAML, laid out as PostgreSQL's EXPLAIN lays it out.

use super::json::{Json, write_quoted};

/// The text of a list.
pub(super) fn laid_out(elements: &[Json]) -> String {
    let mut out = String::new();
    for (at, element) in elements.iter().enumerate() {
        out.push_str(if at == 0 { "- " } else { "\n- " });
        write_element(element, 1, &mut out);
    }
    out
}

/// An element behind its dash: the first member of an object stands in its line.
fn write_element(element: &Json, depth: usize, out: &mut String) {
    match element {
        Json::Object(members) => write_members(members, depth, true, out),
        other => write_value(other, depth, out),
    }
}

fn write_members(members: &[(String, Json)], depth: usize, mut is_in_line: bool, out: &mut String) {
    for (name, value) in members {
        if !std::mem::take(&mut is_in_line) {
            begin_line(depth, out);
        }
        out.push_str(name);
        out.push_str(": ");
        write_value(value, depth, out);
    }
}

fn write_value(value: &Json, depth: usize, out: &mut String) {
    match value {
        Json::Text(text) => write_quoted(text, out),
        Json::Number(number) => out.push_str(number),
        Json::Object(members) => write_members(members, depth + 1, false, out),
        Json::List(elements) => {
            for element in elements {
                begin_line(depth + 1, out);
                out.push_str("- ");
                write_element(element, depth + 2, out);
            }
        }
    }
}

fn begin_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_below_each_other() {
        let text = |text: &str| Json::Text(text.to_owned());
        let leaf = |name: &str| Json::Object(vec![("a b".to_owned(), text(name)), ("c".to_owned(), text("x\"y"))]);
        let inputs = ("Plans".to_owned(), Json::List(vec![leaf("1"), leaf("2")]));
        let plan =
            Json::Object(vec![("a b".to_owned(), text("0")), ("n".to_owned(), Json::Number("7".into())), inputs]);
        let top = Json::Object(vec![("Plan".to_owned(), plan), ("t".to_owned(), text("u"))]);
        let expected = "- Plan: \n    a b: \"0\"\n    n: 7\n    Plans: \n      - a b: \"1\"\n        c: \"x\\\"y\"\n      \
                        - a b: \"2\"\n        c: \"x\\\"y\"\n  t: \"u\"";
        assert_eq!(laid_out(&[top]), expected);
    }
}
