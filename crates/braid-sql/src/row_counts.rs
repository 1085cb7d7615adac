//! The check of a number of rows that LIMIT, FETCH or OFFSET asks for, where it is computed for rows.

use crate::expression::{Expression, FunctionCall, Node};
use crate::functions::{Call, Function};
use crate::pg_catalog::{TypeId, Volatility, pg_catalog};
use crate::{SqlError, SqlState, SqlType, Value};

/// The clause that a number of rows belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCount {
    /// Null limits nothing.
    Limit,
    /// Null is 0.
    Offset,
}

impl RowCount {
    fn name(self) -> &'static str {
        match self {
            Self::Limit => "LIMIT",
            Self::Offset => "OFFSET",
        }
    }

    /// The number, which is a `bigint`, or an error if it is negative.
    pub fn checked(self, count: Expression) -> Expression {
        let symbol = "int8up";
        let mut named = pg_catalog().functions().filter(|entry| entry.symbol == Some(symbol));
        // PostgreSQL has no function for it: it goes by the name of one that returns its argument.
        let id = named.next().expect("the catalog has the functions of PostgreSQL").id;
        let clause = Expression::of(Value::text(self.name()), TypeId::TEXT);
        let call = FunctionCall {
            function: Function::own(id, check),
            is_strict: false,
            volatility: Volatility::Immutable,
            argument_types: vec![SqlType::of(TypeId::INT8), SqlType::of(TypeId::TEXT)],
            arguments: vec![count, clause],
        };
        Expression { node: Node::Call(Box::new(call)), sql_type: SqlType::of(TypeId::INT8) }
    }
}

fn check(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let clause = match &arguments[1] {
        Value::Text(clause) => &**clause,
        _ => "LIMIT",
    };
    match (&arguments[0], clause) {
        (Value::Int8(count), _) if *count >= 0 => Ok(Value::Int8(*count)),
        (Value::Int8(_), "OFFSET") => Err(SqlError::new(SqlState::InvalidOffset, "OFFSET must not be negative")),
        (Value::Int8(_), _) => Err(SqlError::new(SqlState::InvalidLimit, "LIMIT must not be negative")),
        (_, "OFFSET") => Ok(Value::Int8(0)),
        _ => Ok(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evaluation;
    use crate::testing::FixedSession;

    #[test]
    fn counts_are_checked_in_the_words_of_their_clauses() {
        let checked = |clause: RowCount, count: Value| {
            let expression = clause.checked(Expression::of(count, TypeId::INT8));
            let value = Evaluation::new(&FixedSession, &[]).value(&expression);
            value.map_err(|error| format!("{} {}", error.sqlstate(), error.message()))
        };
        for clause in [RowCount::Limit, RowCount::Offset] {
            assert_eq!(checked(clause, Value::Int8(7)), Ok(Value::Int8(7)));
        }
        assert_eq!(checked(RowCount::Limit, Value::Null), Ok(Value::Null));
        assert_eq!(checked(RowCount::Offset, Value::Null), Ok(Value::Int8(0)));
        assert_eq!(checked(RowCount::Limit, Value::Int8(-1)), Err("2201W LIMIT must not be negative".to_owned()));
        assert_eq!(checked(RowCount::Offset, Value::Int8(-1)), Err("2201X OFFSET must not be negative".to_owned()));
    }
}
