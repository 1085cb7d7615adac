//! The arguments of an EXECUTE: bound, each cast to the type of its parameter, and computed once.

use braid_plan::values::RowValues;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::tables::NoTables;
use braid_sql::{Evaluation, Expression, SqlError, SqlType, Value};
use sqlparser::ast::Expr;

use super::session_facts::StatementFacts;
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;
use crate::{EngineError, ParameterType, Statement};

/// The arguments of an EXECUTE.
pub(crate) struct ExecutedArguments {
    expressions: Vec<Expression>,
    parameter_types: Vec<ParameterType>,
}

impl ExecutedArguments {
    /// Binds the arguments that `statement` has for parameters of the types `targets`. Without `declared` they name no parameters
    /// themselves.
    ///
    /// # Errors
    /// Those of the expressions; 42804 for a type that cannot be cast.
    pub fn bind(
        context: &StatementContext,
        statement: &Statement,
        arguments: &[Expr],
        targets: &[SqlType],
        declared: Option<&[Option<SqlType>]>,
    ) -> Result<Self, EngineError> {
        statement.size().check_for_planning()?;
        let facts = StatementFacts::of(context);
        let bound = on_deep_stack(statement.size().expressions, || {
            let mut bound = BoundStatement::new(statement.origin(), &facts, &NoTables);
            if let Some(declared) = declared {
                bound = bound.with_parameters(declared);
            }
            let mut expressions = Vec::with_capacity(arguments.len());
            for (at, (syntax, target)) in arguments.iter().zip(targets).enumerate() {
                let mut syntax = syntax.clone();
                rebind_all(&mut syntax);
                expressions.push(bound.binder().executed_argument(&syntax, at + 1, *target)?);
            }
            let parameter_types = bound.parameter_types()?.into_iter().map(ParameterType::of).collect();
            Ok::<_, SqlError>(Self { expressions, parameter_types })
        });
        Ok(bound?)
    }

    /// The types of the parameters that the arguments name.
    pub fn into_parameter_types(self) -> Vec<ParameterType> {
        self.parameter_types
    }

    /// Their values. What may take long is computed apart, so that a timeout or a cancel ends it at once.
    pub async fn values(self, context: &StatementContext, params: &[Value]) -> Result<BoundParameters, EngineError> {
        let params = params.to_vec();
        match self.expressions.iter().any(Expression::may_take_long) {
            true => context.plan_alone(async move |context: StatementContext| self.computed(&context, &params)).await,
            false => self.computed(context, &params),
        }
    }

    fn computed(&self, context: &StatementContext, params: &[Value]) -> Result<BoundParameters, EngineError> {
        let (facts, budget) = (StatementFacts::of(context), context.value_budget());
        let memory = RowValues::new(&budget);
        let evaluation = Evaluation::new(&facts, params).with_memory(&memory);
        let values = self.expressions.iter().map(|argument| evaluation.value(argument)).collect::<Result<_, _>>()?;
        let types = self.expressions.iter().map(|argument| SqlType::of(argument.sql_type.id)).collect();
        Ok(BoundParameters::of_types(types, values))
    }
}
