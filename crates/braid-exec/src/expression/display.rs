//! Expressions as EXPLAIN shows them: columns by position, constants as they are computed with.

use std::fmt;

use braid_storage::Scalar;

use crate::Expression;
use crate::expression::{Arithmetic, Comparison};

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => write!(f, "#{column}"),
            Self::Constant(value) => write_constant(f, value.as_ref()),
            Self::Parameter(parameter) => write!(f, "parameter {parameter}"),
            Self::SubqueryValue(subquery) => write!(f, "subquery {subquery}"),
            Self::Arithmetic { operation, left, right, .. } => write!(f, "({left} {} {right})", symbol(*operation)),
            Self::ScaleUp { value, digits } => write!(f, "{value} * 1e{digits}"),
            Self::Compare { comparison, left, right } => write!(f, "{left} {} {right}", comparison_symbol(*comparison)),
            Self::And(parts) => write_joined(f, parts, " AND "),
            Self::Or(parts) => write_joined(f, parts, " OR "),
            Self::Not(value) => write!(f, "NOT ({value})"),
            Self::IsNull(value) => write!(f, "{value} IS NULL"),
            Self::In { value, list } => {
                write!(f, "{value} IN (")?;
                for (at, scalar) in list.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    write_constant(f, Some(scalar))?;
                }
                f.write_str(")")
            }
            Self::Like { value, pattern } => write!(f, "{value} LIKE {pattern}"),
            Self::Case { branches, otherwise } => {
                f.write_str("CASE")?;
                branches.iter().try_for_each(|(condition, result)| write!(f, " WHEN {condition} THEN {result}"))?;
                match otherwise {
                    Some(otherwise) => write!(f, " ELSE {otherwise} END"),
                    None => f.write_str(" END"),
                }
            }
            Self::DatePart { part, value } => write!(f, "EXTRACT({} FROM {value})", format!("{part:?}").to_uppercase()),
            Self::Substring { value, start, length: None } => write!(f, "substring({value} from {start})"),
            Self::Substring { value, start, length: Some(length) } => {
                write!(f, "substring({value} from {start} for {length})")
            }
            Self::Foreign { function, arguments } => {
                write!(f, "[{function}](")?;
                for (at, (argument, _)) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, parts: &[Expression], connective: &str) -> fmt::Result {
    f.write_str("(")?;
    for (at, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if at == 0 { "" } else { connective })?;
    }
    f.write_str(")")
}

fn write_constant(f: &mut fmt::Formatter<'_>, value: Option<&Scalar>) -> fmt::Result {
    match value {
        None => f.write_str("NULL"),
        Some(Scalar::Bool(value)) => write!(f, "{value}"),
        Some(Scalar::Int(value)) => write!(f, "{value}"),
        Some(Scalar::Int128(value)) => write!(f, "{value}"),
        Some(Scalar::Float(value)) => write!(f, "{value}"),
        Some(Scalar::Bytes(bytes)) => write!(f, "'{}'", String::from_utf8_lossy(bytes)),
        Some(other) => write!(f, "{other:?}"),
    }
}

fn symbol(operation: Arithmetic) -> &'static str {
    match operation {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
    }
}

fn comparison_symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
