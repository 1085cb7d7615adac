//! XML, laid out as PostgreSQL's EXPLAIN lays it out: members are elements with their names, and elements of lists have the list's name
//! without its last letter.

use super::json::Json;

/// The text of a list of queries.
pub(super) fn laid_out(queries: &[Json]) -> String {
    let mut out = "<explain xmlns=\"http://www.postgresql.org/2009/explain\">".to_owned();
    queries.iter().for_each(|query| write_element("Query", query, 1, &mut out));
    out.push_str("\n</explain>");
    out
}

fn write_element(name: &str, value: &Json, depth: usize, out: &mut String) {
    begin_line(depth, out);
    let tag = tag_of(name);
    out.extend(["<", &tag, ">"]);
    match value {
        Json::Text(text) => write_escaped(text, out),
        Json::Number(number) => out.push_str(number),
        Json::Object(members) => {
            members.iter().for_each(|(name, value)| write_element(name, value, depth + 1, out));
            begin_line(depth, out);
        }
        Json::List(elements) => {
            let name = name.strip_suffix('s').unwrap_or("Item");
            elements.iter().for_each(|element| write_element(name, element, depth + 1, out));
            begin_line(depth, out);
        }
    }
    out.extend(["</", &tag, ">"]);
}

fn begin_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A name of an element: `Node Type` is `Node-Type`.
fn tag_of(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}

fn write_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_elements() {
        let text = |text: &str| Json::Text(text.to_owned());
        let leaf = Json::Object(vec![("Node Type".to_owned(), text("a < b & c"))]);
        let plan = Json::Object(vec![
            ("n".to_owned(), Json::Number("7".into())),
            ("Plans".to_owned(), Json::List(vec![leaf])),
        ]);
        let expected = "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n    <Plan>\n      <n>7</n>\n      \
                        <Plans>\n        <Plan>\n          <Node-Type>a &lt; b &amp; c</Node-Type>\n        </Plan>\n      </Plans>\n    \
                        </Plan>\n  </Query>\n</explain>";
        assert_eq!(laid_out(&[Json::Object(vec![("Plan".to_owned(), plan)])]), expected);
    }
}
