//! Places in a text: the parser counts lines and characters, a statement bytes, the protocol characters.

use sqlparser::tokenizer::Location;

/// Places of a text from its beginning to its end, found in one pass.
pub(crate) struct Places<'a> {
    sql: &'a str,
    byte: usize,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    pub fn new(sql: &'a str) -> Self {
        Self { sql, byte: 0, line: 1, column: 1 }
    }

    /// The byte offset of a place that is not before the last one asked for.
    pub fn byte_of(&mut self, location: Location) -> usize {
        while self.line < location.line {
            let Some(rest_of_line) = self.sql[self.byte..].find('\n') else {
                self.byte = self.sql.len();
                return self.byte;
            };
            self.byte += rest_of_line + 1;
            (self.line, self.column) = (self.line + 1, 1);
        }
        for c in self.sql[self.byte..].chars() {
            if (self.line, self.column) >= (location.line, location.column) {
                break;
            }
            self.byte += c.len_utf8();
            if c == '\n' {
                (self.line, self.column) = (self.line + 1, 1);
            } else {
                self.column += 1;
            }
        }
        self.byte
    }
}

/// A place that is given in lines and characters, both from 1, in characters from 1, as the protocol counts.
pub(super) fn character_of(sql: &str, location: Location) -> usize {
    sql[..Places::new(sql).byte_of(location)].chars().count() + 1
}
