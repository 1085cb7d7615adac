//! The fields of a record's text, as `record_out` writes it: `(1,"a b",)`.

/// The texts of the fields, `None` for null; `None` for a text that is none of a record.
pub fn fields_of_text(text: &str) -> Option<Vec<Option<String>>> {
    let mut rest = text.strip_prefix('(')?.strip_suffix(')')?.chars().peekable();
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), None::<String>, false);
    while let Some(character) = rest.next() {
        match character {
            ',' if !is_quoted => fields.push(field.take()),
            '"' if is_quoted && rest.next_if_eq(&'"').is_some() => field.get_or_insert_default().push('"'),
            '"' => {
                is_quoted = !is_quoted;
                field.get_or_insert_default();
            }
            '\\' => field.get_or_insert_default().push(rest.next()?),
            other => field.get_or_insert_default().push(other),
        }
    }
    fields.push(field);
    (!is_quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let fields = |text: &str| -> Vec<String> {
            let fields = fields_of_text(text).unwrap().into_iter();
            fields.map(|field| field.unwrap_or_else(|| "NULL".to_owned())).collect()
        };
        assert_eq!(fields(r#"(1,"a ""b"" \\ ,()",,"",x)"#), ["1", r#"a "b" \ ,()"#, "NULL", "", "x"]);
        assert_eq!(fields("()"), ["NULL"], "a record of one null, or of no fields");
        for text in ["", "(", "1,2", r#"("a)"#, "(a\\)"] {
            assert_eq!(fields_of_text(text), None, "{text}");
        }
    }
}
