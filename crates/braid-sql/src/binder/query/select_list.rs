//! The select list.

use sqlparser::ast::{
    Ident, ObjectNamePart, SelectItem, SelectItemQualifiedWildcardKind, Spanned, WildcardAdditionalOptions,
};

use super::Target;
use super::scope::{Scope, ScopeColumn};
use crate::binder::places::Place;
use crate::binder::{Binder, fold};
use crate::expression::Origin;
use crate::syntax::is_no_columns;
use crate::{SqlError, SqlState};

impl Binder<'_> {
    /// The columns that a select list means.
    pub(super) fn select_list<'s>(
        &self,
        items: &'s [SelectItem],
        scope: &Scope<'_>,
    ) -> Result<Vec<Target<'s>>, SqlError> {
        let mut targets = Vec::new();
        for item in items {
            match item {
                item if is_no_columns(item) => {}
                SelectItem::UnnamedExpr(syntax) => match self.fields_of_star(syntax)? {
                    Some(fields) => targets.extend(fields.into_iter().map(|(name, expression)| Target {
                        name,
                        expression,
                        place: Place::Nowhere,
                    })),
                    None => targets.push(Target {
                        name: self.expression_name(syntax),
                        expression: self.expression(syntax)?,
                        place: Place::Start(syntax),
                    }),
                },
                // A string is no name in PostgreSQL.
                SelectItem::ExprWithAlias { alias, .. } if alias.quote_style == Some('\'') => {
                    return Err(SqlError::unsupported("a string as a name is not supported"));
                }
                SelectItem::ExprWithAlias { expr, alias } => targets.push(Target {
                    name: fold(alias),
                    expression: self.expression(expr)?,
                    place: Place::Start(expr),
                }),
                SelectItem::ExprWithAliases { .. } => {
                    return Err(SqlError::unsupported("several names of one expression are not supported"));
                }
                SelectItem::Wildcard(options) => {
                    check_plain(options)?;
                    if scope.relations.is_empty() {
                        let place = Place::At(options.wildcard_token.0.span.start);
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), place));
                    }
                    let origin = Origin(Some(options.wildcard_token.0.span.start));
                    targets.extend(scope.visible_columns().map(|column| self.target_of(column, origin)));
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    check_plain(options)?;
                    let origin = Origin(Some(kind.span().start));
                    let columns = self.relation_of_wildcard(kind)?.iter().filter(|column| !column.is_hidden());
                    targets.extend(columns.map(|column| self.target_of(column, origin)));
                }
            }
        }
        Ok(targets)
    }

    fn target_of<'s>(&self, column: &ScopeColumn, origin: Origin) -> Target<'s> {
        Target { name: column.name.clone(), expression: self.reference(column, origin), place: Place::Nowhere }
    }

    /// The columns of `t.*`.
    fn relation_of_wildcard(&self, kind: &SelectItemQualifiedWildcardKind) -> Result<&[ScopeColumn], SqlError> {
        let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(SqlError::unsupported("the columns of an expression are not supported"));
        };
        let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let place = Place::of(parts.first().copied());
        let found = match &parts[..] {
            [relation] => self.relation_named(None, &fold(relation)),
            [schema, relation] => self.relation_named(Some(&fold(schema)), &fold(relation)),
            _ => Err(SqlError::unsupported("references to other databases are not supported")),
        };
        Ok(&found.map_err(|error| self.places.mark(error, place))?.columns)
    }
}

/// Refuses what other dialects write after `*`.
fn check_plain(options: &WildcardAdditionalOptions) -> Result<(), SqlError> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike: None,
        opt_exclude: None,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
    } = options
    else {
        return Err(SqlError::new(SqlState::SyntaxError, "syntax error after *"));
    };
    Ok(())
}
