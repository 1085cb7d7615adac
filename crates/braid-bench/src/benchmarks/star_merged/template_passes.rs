//! Passes by template, as the engine runs them: one for the queries of each template, one after the other.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use braid_engine::{Session, SharedForm};
use braid_exec::SharedPlan;
use braid_exec::runtime::result_rows::ResultRows;
use braid_exec::sorting::SortWorker;

use super::pass_runtime::{PassRuntime, failed};
use crate::BenchError;
use crate::workloads::answer::Answer;
use crate::workloads::star::StarQuery;

/// The plans of all templates, made from the texts of their queries.
pub struct TemplatePasses {
    forms: Vec<Form>,
}

struct Form {
    form: SharedForm,
    /// The queries: positions in the pass.
    queries: Vec<usize>,
}

/// The result of passes.
pub struct TemplateRows {
    /// The rows of each query.
    pub by_query: Vec<ResultRows>,
    /// The distinct sets of all passes.
    pub set_count: usize,
    /// Seconds of each pass.
    pub seconds: Vec<f64>,
}

impl TemplatePasses {
    /// The passes of distinct queries, which ascend by type.
    ///
    /// # Errors
    /// When queries of a type have no template in common.
    pub async fn new(session: &Session, queries: &[StarQuery]) -> Result<Self, BenchError> {
        let (mut forms, mut first) = (Vec::new(), 0);
        for of_type in queries.chunk_by(|a, b| a.number == b.number) {
            let texts: Vec<String> = of_type.iter().map(StarQuery::text).collect();
            let form = session.shared_form(&texts).await.map_err(|e| BenchError::other("a template", e))?;
            forms.push(Form { form, queries: (first..first + of_type.len()).collect() });
            first += of_type.len();
        }
        Ok(Self { forms })
    }

    /// Number of templates.
    pub fn count(&self) -> usize {
        self.forms.len()
    }

    /// Runs the passes.
    ///
    /// # Errors
    /// When one of them fails.
    pub async fn run(&self) -> Result<TemplateRows, BenchError> {
        let mut result = TemplateRows { by_query: Vec::new(), set_count: 0, seconds: Vec::new() };
        for Form { form, .. } in &self.forms {
            let start = Instant::now();
            let runtime = PassRuntime::new();
            let shared = SharedPlan::new(&form.plan, &form.parameters, runtime.budget.clone()).map_err(failed)?;
            let collected = runtime.executor().run_shared(&shared, |_| runtime.collector()).await.map_err(failed)?;
            let rows = |sinks| SortWorker::finish(sinks, form.plan.column_count()).map_err(failed);
            result.by_query.extend(collected.into_iter().map(rows).collect::<Result<Vec<_>, _>>()?);
            result.set_count += shared.set_count();
            result.seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(result)
    }

    /// The answer of a query from its rows, whichever pass they are from.
    ///
    /// # Errors
    /// When the columns have other types than the template's.
    pub fn answer(&self, query: usize, rows: &ResultRows) -> Result<Answer, BenchError> {
        let form = self.forms.iter().find(|form| form.queries.contains(&query)).expect("each query has a template");
        let schema: &SchemaRef = &form.form.schema;
        let columns = rows.columns().iter().zip(schema.fields());
        let arrays = columns.map(|(column, field)| column.to_array(field.data_type()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.row_count()));
        // Whether a column may be null is of no importance here.
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()));
        let batch = arrays
            .collect::<Result<Vec<ArrayRef>, _>>()
            .and_then(|arrays| RecordBatch::try_new_with_options(schema, arrays, &options));
        batch.and_then(|batch| Answer::from_batches(&[batch])).map_err(|e| BenchError::other("reading a pass", e))
    }
}
