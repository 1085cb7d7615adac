//! The names of result columns, as PostgreSQL gives them: of the function, the column, the type, or `?column?`.

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, Expr, Query, SelectItem, SetExpr, TrimWhereField,
};

use crate::binder::{Binder, fold};
use crate::pg_catalog::pg_catalog;
use crate::syntax::{ROW, WHOLE_ROW};
use crate::types::type_numbers::numbered_type;

/// What PostgreSQL calls a column that nothing names.
pub(super) const UNNAMED: &str = "?column?";

impl Binder<'_> {
    /// What PostgreSQL calls a column of this expression.
    pub fn expression_name(&self, expr: &Expr) -> String {
        let weak_name = |expr: &Expr| self.weak_name(expr);
        strong_name(expr, &weak_name).or_else(|| weak_name(expr)).unwrap_or_else(|| UNNAMED.to_owned())
    }

    /// Names of last resort: a cast's type, the word CASE.
    fn weak_name(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Cast { data_type, .. } => self.internal_name(data_type),
            Expr::TypedString(typed) => self.internal_name(&typed.data_type),
            Expr::Interval(_) => Some("interval".to_owned()),
            Expr::Case { .. } => Some("case".to_owned()),
            Expr::Nested(expr) => self.weak_name(expr),
            // A subscript has the name of what it is of.
            Expr::CompoundFieldAccess { root, access_chain } => {
                let has_field = access_chain.iter().any(|access| matches!(access, AccessExpr::Dot(_)));
                if has_field { None } else { self.weak_name(root) }
            }
            _ => None,
        }
    }

    /// The catalog's name of a type, or that which a stored text was written with; of an array, that of its elements.
    fn internal_name(&self, data_type: &DataType) -> Option<String> {
        if let DataType::Custom(name, _) = element_syntax(data_type)
            && let Some((_, written)) = numbered_type(name)
        {
            return Some(written.to_owned());
        }
        let id = self.type_of(data_type).ok()?.id;
        let catalog = pg_catalog();
        Some(catalog.type_entry(catalog.element_of_array(id).unwrap_or(id)).name.to_owned())
    }
}

/// The type of the elements of an array type, or another type itself.
fn element_syntax(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element)) => {
            element_syntax(element)
        }
        other => other,
    }
}

/// The name of a column of a select list of one column, if it is an alias or that of a column or function.
pub fn only_column_name(query: &Query) -> Option<String> {
    let SetExpr::Select(select) = &*query.body else { return None };
    match &select.projection[..] {
        [SelectItem::ExprWithAlias { alias, .. }] => Some(fold(alias)),
        [SelectItem::UnnamedExpr(expr)] => strong_name(expr, &|_| None),
        _ => None,
    }
}

/// The name of last resort of an expression.
type WeakName<'a> = &'a dyn Fn(&Expr) -> Option<String>;

/// Names of columns and functions: they show through casts. Within a subquery a column may have a weak name.
fn strong_name(expr: &Expr, weak_name: WeakName<'_>) -> Option<String> {
    Some(match expr {
        Expr::Identifier(name) => fold(name),
        Expr::CompoundIdentifier(names) => match &names[..] {
            [.., relation, last] if last.value == WHOLE_ROW => fold(relation),
            names => fold(names.last()?),
        },
        Expr::Function(function) => match numbered_type(&function.name) {
            Some((_, written)) => written.to_owned(),
            None => fold(function.name.0.last()?.as_ident()?),
        },
        Expr::Nested(expr) | Expr::Collate { expr, .. } | Expr::Cast { expr, .. } => {
            return strong_name(expr, weak_name);
        }
        Expr::Extract { .. } => "extract".to_owned(),
        Expr::Position { .. } => "position".to_owned(),
        Expr::Substring { shorthand: true, .. } => "substr".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Trim { trim_where: Some(TrimWhereField::Leading), .. } => "ltrim".to_owned(),
        Expr::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => "rtrim".to_owned(),
        Expr::Trim { .. } => "btrim".to_owned(),
        Expr::Overlay { .. } => "overlay".to_owned(),
        Expr::Ceil { .. } => "ceil".to_owned(),
        Expr::Floor { .. } => "floor".to_owned(),
        Expr::AtTimeZone { .. } => "timezone".to_owned(),
        Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => "overlaps".to_owned(),
        Expr::Exists { negated: false, .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Tuple(_) => "row".to_owned(),
        Expr::Prefixed { prefix, .. } if prefix.value == ROW => "row".to_owned(),
        Expr::Subquery(query) => return subquery_name(query, weak_name),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(field) => Some(field),
                AccessExpr::Subscript(_) => None,
            });
            return strong_name(field.unwrap_or(root), weak_name);
        }
        Expr::Case { else_result: Some(expr), .. } => return strong_name(expr, weak_name),
        _ => return None,
    })
}

/// A scalar subquery is called what its column is called.
fn subquery_name(query: &Query, weak_name: WeakName<'_>) -> Option<String> {
    let mut body = &*query.body;
    loop {
        match body {
            SetExpr::Select(select) => {
                return match select.projection.first()? {
                    SelectItem::UnnamedExpr(expr) => {
                        let name = strong_name(expr, weak_name).or_else(|| weak_name(expr));
                        Some(name.unwrap_or_else(|| UNNAMED.to_owned()))
                    }
                    SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
                    _ => None,
                };
            }
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(query) => body = &query.body,
            SetExpr::Values(_) => return Some("column1".to_owned()),
            _ => return None,
        }
    }
}
