//! PREPARE and EXECUTE, EXPLAIN, which may name a prepared query, and the statements that a client names through the protocol.
//!
//! EXECUTE runs the statement as if it had been sent with its parameters, so that it has the same template and shares the same passes.

use std::sync::Arc;

use braid_sql::SqlType;
use braid_sql::binder::type_of_syntax;
use braid_sql::pg_catalog::TypeId;
use futures::future::BoxFuture;
use sqlparser::ast::{self, Expr};

use super::{Session, unsupported_statement};
use crate::bound_parameters::{BoundParameters, declared_types, typed_parameter};
use crate::explain::{self, Explained, Request};
use crate::front_end::{ExecutedArguments, StatementFacts};
use crate::interrupt::Interrupt;
use crate::named_statements::{Description, NamedStatement, PreparedBy};
use crate::names::fold;
use crate::statement::{Command, CreateTableOfExecution, InnerStatement, PrepareStatement};
use crate::told_columns::{ToldColumns, check_same_columns};
use crate::{EngineError, Outcome, ParameterType, Prepared, SqlState, Statement, StatementKind, table};

impl Session {
    /// Keeps what a client has prepared under a name through the protocol.
    ///
    /// # Errors
    /// 42P05 if there is one of this name, and 54000 if there are too many.
    pub fn keep_statement(&self, name: &str, statement: NamedStatement) -> Result<Arc<NamedStatement>, EngineError> {
        self.context.named_statements().keep(name, statement)
    }

    /// The statement that was prepared under a name.
    ///
    /// # Errors
    /// 26000 if there is none.
    pub fn named_statement(&self, name: &str) -> Result<Arc<NamedStatement>, EngineError> {
        self.context.named_statements().find(name)
    }

    /// Forgets the statement of this name. That there is none is no error.
    pub fn forget_statement(&self, name: &str) {
        drop(self.context.named_statements().remove(name));
    }

    /// PREPARE.
    pub(super) async fn prepare_named(
        &self,
        statement: &Statement,
        prepare: &PrepareStatement,
    ) -> Result<Outcome, EngineError> {
        let InnerStatement { statement: inner, characters_before } = statement.prepared(prepare)?;
        if let (StatementKind::Unsupported, Command::Sql(tree)) = (inner.kind(), inner.command()) {
            return Err(unsupported_statement(tree));
        }
        self.note_prepared(&inner);
        let declared = self.types_of(&prepare.types)?;
        let meaning = self.meaning();
        let prepared = self.prepare_inner(&inner, &declared).await;
        let Prepared { parameter_types, schema } = prepared.map_err(|error| error.moved_by(characters_before))?;
        let columns = schema.map(|schema| ToldColumns::new(schema, meaning));
        let described = Description { parameter_types, columns };
        let named = NamedStatement::new(statement.origin(), Some(inner), described, PreparedBy::Statement);
        self.context.named_statements().keep(&fold(&prepare.name), named)?;
        Ok(Outcome::done("PREPARE"))
    }

    /// The types that PREPARE lists; `None` for `unknown`, which leaves the type to the uses.
    fn types_of(&self, types: &[ast::DataType]) -> Result<Vec<Option<ParameterType>>, EngineError> {
        let facts = StatementFacts::of(&self.context);
        let type_of = |syntax| -> Result<Option<ParameterType>, EngineError> {
            let sql_type = typed_parameter(type_of_syntax(syntax, &facts)?)?;
            Ok((sql_type.id != TypeId::UNKNOWN).then(|| ParameterType::of(sql_type)))
        };
        types.iter().map(type_of).collect()
    }

    /// EXECUTE.
    pub(super) fn execute_named<'a>(
        &'a self,
        statement: &'a Statement,
        params: &'a BoundParameters,
        interrupt: &'a Interrupt,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move {
            let named = self.executed(statement)?;
            let inner = named.executable()?;
            let arguments = self.argument_values(statement, &named, params).await?;
            named.count_execution();
            self.check_executed(&named, inner).await?;
            let outcome = self.dispatch(inner, &arguments, interrupt).await?;
            if let (Some(told), Outcome::Rows { schema, .. }) = (named.columns(), &outcome) {
                check_same_columns(told.schema(), schema)?;
            }
            Ok(outcome)
        })
    }

    /// CREATE TABLE AS EXECUTE.
    pub(super) async fn create_table_of_execution(
        &self,
        statement: &Statement,
        create: &CreateTableOfExecution,
        params: &BoundParameters,
    ) -> Result<Outcome, EngineError> {
        let named = self.executed(statement)?;
        let Some(query) = named.statement().filter(|inner| inner.kind() == StatementKind::Query) else {
            return Err(EngineError::new(SqlState::WrongObjectType, "prepared statement is not a SELECT"));
        };
        let arguments = self.argument_values(statement, &named, params).await?;
        self.check_executed(&named, query).await?;
        let query = self.with_prepared_literals(query, &arguments).await?;
        let wanted = if create.with_data { table::Rows::All } else { table::Rows::None };
        table::create_table_as(&self.context, &query.parsed()?, &create.create, wanted, &arguments).await
    }

    /// The parameters and columns of EXECUTE.
    pub(super) fn describe_execution(
        &self,
        statement: &Statement,
        declared: &[Option<ParameterType>],
    ) -> Result<Prepared, EngineError> {
        let named = self.executed(statement)?;
        named.executable()?;
        let declared = declared_types(declared, &StatementFacts::of(&self.context))?;
        let arguments = self.arguments_of(statement, &named, Some(&declared))?;
        Ok(Prepared {
            parameter_types: arguments.into_parameter_types(),
            schema: named.columns().map(|told| told.schema().clone()),
        })
    }

    /// EXPLAIN.
    pub(super) async fn explain(
        &self,
        statement: &Statement,
        params: &BoundParameters,
        interrupt: &Interrupt,
    ) -> Result<Outcome, EngineError> {
        let (context, request) = (&self.context, Request::of(statement)?);
        if Call::of(statement).is_none() {
            return explain::execute(context, &request, Explained::within(statement)?, params, interrupt).await;
        }
        let named = self.executed(statement)?;
        let query = named.explainable()?;
        let arguments = self.argument_values(statement, &named, params).await?;
        self.check_executed(&named, query).await?;
        let query = self.with_prepared_literals(query, &arguments).await?;
        explain::execute(context, &request, Explained::prepared(&query), &arguments, interrupt).await
    }

    /// The parameters and columns of EXPLAIN.
    pub(super) async fn describe_explanation(
        &self,
        statement: &Statement,
        declared: &[Option<ParameterType>],
    ) -> Result<Prepared, EngineError> {
        let request = Request::of(statement)?;
        if Call::of(statement).is_none() {
            return explain::prepare(&self.context, statement, declared).await;
        }
        self.executed(statement)?.explainable()?;
        let described = self.describe_execution(statement, declared)?;
        Ok(Prepared { schema: Some(explain::schema(request.format)), ..described })
    }

    /// The values of the arguments.
    async fn argument_values(
        &self,
        statement: &Statement,
        named: &NamedStatement,
        params: &BoundParameters,
    ) -> Result<BoundParameters, EngineError> {
        let types: Vec<Option<SqlType>> = params.types().iter().copied().map(Some).collect();
        // Where there are none, the text may name none.
        let arguments = self.arguments_of(statement, named, Some(&types[..]).filter(|types| !types.is_empty()))?;
        arguments.values(&self.context, params.values()).await
    }

    /// What an EXECUTE names.
    fn executed(&self, statement: &Statement) -> Result<Arc<NamedStatement>, EngineError> {
        let call = Call::of(statement).ok_or_else(|| EngineError::internal("EXECUTE without a name"))?;
        self.named_statement(&call.name)
    }

    fn arguments_of(
        &self,
        statement: &Statement,
        named: &NamedStatement,
        declared: Option<&[Option<SqlType>]>,
    ) -> Result<ExecutedArguments, EngineError> {
        let targets: Vec<_> = named.parameter_types().iter().copied().map(Some).collect();
        let targets = declared_types(&targets, &StatementFacts::of(&self.context))?;
        let targets: Vec<SqlType> = targets.into_iter().flatten().collect();
        let call = Call::of(statement).ok_or_else(|| EngineError::internal("EXECUTE without a name"))?;
        let arguments = call.checked(targets.len())?;
        ExecutedArguments::bind(&self.context, statement, arguments, &targets, declared)
    }
}

/// An EXECUTE as written, also that of an EXPLAIN.
struct Call<'a> {
    name: String,
    arguments: &'a [Expr],
}

impl<'a> Call<'a> {
    /// What a statement calls, if it is an EXECUTE, or explains one.
    fn of(statement: &'a Statement) -> Option<Self> {
        let kinds = [StatementKind::Execute, StatementKind::Explain, StatementKind::CreateTable];
        if !kinds.contains(&statement.kind()) {
            return None;
        }
        let tree = match statement.command() {
            Command::Sql(tree) => tree,
            Command::CreateTableOfExecution(create) => &create.execution,
            _ => return None,
        };
        let tree = match tree {
            ast::Statement::Explain { statement, .. } => statement,
            other => other,
        };
        let ast::Statement::Execute { name, parameters, .. } = tree else { return None };
        match &name.as_ref()?.0[..] {
            [ast::ObjectNamePart::Identifier(name)] => Some(Self { name: fold(name), arguments: parameters }),
            _ => None,
        }
    }

    /// The arguments, as many as are expected. For a statement without parameters PostgreSQL does not look at them.
    fn checked(&self, expected: usize) -> Result<&'a [Expr], EngineError> {
        let got = self.arguments.len();
        match expected {
            0 => Ok(&[]),
            _ if expected == got => Ok(self.arguments),
            _ => {
                let message = format!("wrong number of parameters for prepared statement \"{}\"", self.name);
                Err(EngineError::new(SqlState::SyntaxError, message)
                    .with_detail(format!("Expected {expected} parameters but got {got}.")))
            }
        }
    }
}

impl NamedStatement {
    /// What EXECUTE executes: a query, or a statement that writes.
    fn executable(&self) -> Result<&Statement, EngineError> {
        let is_query = |kind| matches!(kind, StatementKind::Query | StatementKind::LockingQuery);
        let executable = |inner: &&Statement| is_query(inner.kind()) || inner.kind().writes();
        self.statement().filter(executable).ok_or_else(|| {
            EngineError::unsupported("EXECUTE of statements that neither read nor write tables is not supported")
        })
    }
}

impl NamedStatement {
    /// What EXPLAIN EXECUTE explains.
    fn explainable(&self) -> Result<&Statement, EngineError> {
        let query = self.statement().filter(|inner| inner.kind() == StatementKind::Query);
        query.ok_or_else(|| EngineError::unsupported("EXPLAIN supports only queries; other statements have no plan"))
    }
}
