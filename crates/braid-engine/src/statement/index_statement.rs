//! `ALTER INDEX [IF EXISTS] name RENAME TO name` as written. As in PostgreSQL it renames any relation, and is read as ALTER TABLE.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{AlterTable, AlterTableOperation, ObjectName, RenameTableNameKind};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// Reads it; `None` if the statement is another one, and nothing is read then.
pub(super) fn parse_rename(parser: &mut Parser<'_>) -> Result<Option<AlterTable>, ParserError> {
    parser.maybe_parse(|parser| {
        parser.expect_keywords(&[Keyword::ALTER, Keyword::INDEX])?;
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        parser.expect_keywords(&[Keyword::RENAME, Keyword::TO])?;
        let new_name = ObjectName::from(vec![parser.parse_identifier()?]);
        let rename = AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new_name) };
        Ok(AlterTable {
            name,
            if_exists,
            only: false,
            operations: vec![rename],
            location: None,
            on_cluster: None,
            table_type: None,
            end_token: AttachedToken::empty(),
        })
    })
}
