//! Result columns named as PostgreSQL names them.
//!
//! DataFusion names an unnamed column by its whole expression, PostgreSQL by its function, its column, or
//! `?column?` (`FigureColname` in parse_target.c). The names are taken from the syntax and put on the results; the plan
//! keeps its own (`plan_names`).

use arrow::datatypes::{Fields, Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, Ident, ObjectName, Query, SelectItem, SetExpr, Subscript, TrimWhereField,
};
use std::sync::Arc;

use crate::names::{fold, fold_parts};
use crate::semantics::operator_chains::{CONCATENATION, SUM_OF_TERMS};

/// What PostgreSQL calls a column that nothing names.
const UNNAMED: &str = "?column?";

/// The names of a query's columns, as far as its select list says: `None` stands for the columns of one `*`.
pub(crate) fn output_names(query: &Query) -> Vec<Option<String>> {
    match &*query.body {
        SetExpr::Values(_) => Vec::new(),
        SetExpr::Query(query) => output_names(query),
        body => match leftmost_select(body) {
            Some(items) => items.iter().map(item_name).collect(),
            None => Vec::new(),
        },
    }
}

/// Puts the names on a schema. A `*` keeps the names of the plan; with two of them, what is between them does too.
pub(crate) fn rename(schema: &SchemaRef, names: &[Option<String>]) -> SchemaRef {
    let count = schema.fields().len();
    let stars = names.iter().filter(|name| name.is_none()).count();
    if names.is_empty() || (stars == 0 && names.len() != count) || names.len() - stars > count {
        return schema.clone();
    }
    let head = names.iter().take_while(|name| name.is_some()).count();
    let tail = if stars == 0 { 0 } else { names.iter().rev().take_while(|name| name.is_some()).count() };
    let fields: Fields = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| {
            let name = if at < head {
                names[at].as_ref()
            } else if at >= count - tail {
                names[names.len() - (count - at)].as_ref()
            } else {
                None
            };
            match name {
                Some(name) if name != field.name() => Arc::new(field.as_ref().clone().with_name(name)),
                _ => field.clone(),
            }
        })
        .collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn leftmost_select(body: &SetExpr) -> Option<&[SelectItem]> {
    match body {
        SetExpr::Select(select) => Some(&select.projection),
        SetExpr::SetOperation { left, .. } => leftmost_select(left),
        SetExpr::Query(query) => leftmost_select(&query.body),
        _ => None,
    }
}

pub(super) fn item_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(expression_name(expr)),
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        _ => None,
    }
}

/// What PostgreSQL calls a column of this expression.
pub(super) fn expression_name(expr: &Expr) -> String {
    strong_name(expr).or_else(|| weak_name(expr)).unwrap_or_else(|| UNNAMED.to_owned())
}

/// Names of columns and functions: they show through casts.
fn strong_name(expr: &Expr) -> Option<String> {
    Some(match expr {
        Expr::Identifier(ident) => word_name(ident),
        Expr::CompoundIdentifier(idents) => fold(idents.last()?),
        Expr::Function(function) if is_chain(function) => return None,
        Expr::Function(function) => function_name(function),
        Expr::Nested(expr) | Expr::Collate { expr, .. } => return strong_name(expr),
        Expr::Cast { expr, .. } => return strong_name(expr),
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
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Subquery(query) => return subquery_name(query),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(AccessExpr::Dot(field)) => return strong_name(field),
            Some(AccessExpr::Subscript(Subscript::Index { .. } | Subscript::Slice { .. })) | None => {
                return strong_name(root);
            }
        },
        Expr::Case { else_result: Some(expr), .. } => return strong_name(expr),
        _ => return None,
    })
}

/// Names of last resort: a cast's type, the word CASE.
fn weak_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Cast { data_type, .. } => Some(type_name(&data_type.to_string())),
        Expr::TypedString(typed) => Some(type_name(&typed.data_type.to_string())),
        Expr::Interval(_) => Some("interval".to_owned()),
        Expr::Case { .. } => Some("case".to_owned()),
        Expr::Nested(expr) => weak_name(expr),
        _ => None,
    }
}

fn word_name(ident: &Ident) -> String {
    fold(ident)
}

fn function_name(function: &Function) -> String {
    last_part(&function.name)
}

/// Whether it stands for operators, which have no name.
fn is_chain(function: &Function) -> bool {
    let name = function_name(function);
    name == SUM_OF_TERMS || name == CONCATENATION
}

fn last_part(name: &ObjectName) -> String {
    fold_parts(name).ok().and_then(|mut parts| parts.pop()).unwrap_or_else(|| UNNAMED.to_owned())
}

fn subquery_name(query: &Query) -> Option<String> {
    match output_names(query).first() {
        Some(Some(name)) => Some(name.clone()),
        _ => None,
    }
}

/// PostgreSQL's internal name of a type.
fn type_name(written: &str) -> String {
    let lower = written.to_lowercase();
    let base = lower.split(['(', '[']).next().unwrap_or_default().trim();
    match base {
        "int" | "integer" | "int4" => "int4",
        "bigint" | "int8" => "int8",
        "smallint" | "int2" => "int2",
        "real" | "float4" => "float4",
        "double precision" | "float8" | "float" => "float8",
        "boolean" | "bool" => "bool",
        "numeric" | "decimal" | "dec" => "numeric",
        "varchar" | "character varying" => "varchar",
        "char" | "character" => "bpchar",
        "timestamp with time zone" | "timestamptz" => "timestamptz",
        "timestamp without time zone" => "timestamp",
        other => other.rsplit('.').next().unwrap_or(other),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn query(sql: &str) -> Query {
        *Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_query().unwrap()
    }

    fn names(sql: &str) -> String {
        let names = output_names(&query(sql));
        names.iter().map(|name| name.as_deref().unwrap_or("*")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn columns_are_named_as_in_postgresql() {
        for (select, expected) in [
            ("1, 'a', a + b, true, NULL, a IS NULL", "?column? ?column? ?column? ?column? ?column? ?column?"),
            ("A, t.b, \"C\", a AS x, a AS \"Y\"", "a b C x Y"),
            ("count(*), SUM(a), pg_catalog.lower(b)", "count sum lower"),
            ("a::text, 1::int, '1'::varchar(3), cast(count(*) as text)", "a int4 varchar count"),
            ("date '2024-01-01', interval '1 day', timestamp '2024-01-01'", "date interval timestamp"),
            ("case when a then 1 end, case when a then 1 else b end", "case b"),
            (
                "extract(year from a), substring(a from 1), position('a' in b), trim(a)",
                "extract substring position btrim",
            ),
            (
                "coalesce(a, b), nullif(a, b), exists (select 1), (select max(a) from t), (a)",
                "coalesce nullif exists max a",
            ),
            ("current_date, current_user, array[1]", "current_date current_user array"),
            ("*, t.*, a", "* * a"),
        ] {
            assert_eq!(names(&format!("select {select} from t")), expected, "{select}");
        }
        assert_eq!(names("select a from t union all select b from t"), "a");
        assert_eq!(names("values (1, 2)"), "");
    }

    #[test]
    fn stars_keep_the_names_of_the_plan() {
        let schema: SchemaRef =
            Arc::new(Schema::new(["k", "l", "m", "n"].map(|name| Field::new(name, DataType::Int32, true)).to_vec()));
        let renamed = |names: &[Option<&str>]| {
            let names: Vec<_> = names.iter().map(|name| name.map(str::to_owned)).collect();
            let schema = rename(&schema, &names);
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(renamed(&[Some("a"), None, Some("z")]), "a l m z");
        assert_eq!(renamed(&[None]), "k l m n");
        assert_eq!(renamed(&[Some("a"), Some("b"), Some("c"), Some("d")]), "a b c d");
        assert_eq!(renamed(&[Some("a"), None, Some("x"), None]), "a l m n");
        assert_eq!(renamed(&[]), "k l m n");
    }
}
