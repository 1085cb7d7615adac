//! The query of an EXPLAIN: planned or found by its template, and with ANALYZE run to its end.

use braid_exec::plan::PlanText;
use futures::StreamExt;

use crate::bound_parameters::BoundParameters;
use crate::interrupt::Interrupt;
use crate::recall::{Answer, Course, KnownTemplate, Place, answer, plan_alone, use_tables};
use crate::rows::Rows;
use crate::sharing::{AlonePlan, PassReport, Wanted};
use crate::statement_context::StatementContext;
use crate::templates::plan_template::BoundTemplate;
use crate::{EngineError, Statement, front_end};

/// A query that is explained.
pub(super) enum ExplainedQuery {
    /// It runs by a template. Alone it has this plan.
    Template(BoundTemplate, AlonePlan),
    /// It was planned with its constants.
    Planned(AlonePlan),
}

/// How a query ran.
pub(super) struct ExplainedRun {
    /// In which pass it ran.
    pub course: Vec<(&'static str, String)>,
    /// The plan that ran.
    pub shown: Shown,
    /// Rows that it had.
    pub row_count: usize,
}

/// A plan to be shown.
pub(super) enum Shown {
    /// That of the query alone.
    Alone(AlonePlan),
    /// That of its pass, as text.
    Pass(PlanText),
}

impl Shown {
    /// How the operators run, if they are those of the query alone; `with_figures` with what they have done.
    pub fn course(&self, with_figures: bool) -> Option<String> {
        match self {
            Self::Alone(plan) => Some(plan.course(with_figures)),
            Self::Pass(_) => None,
        }
    }

    /// The operators.
    pub fn into_text(self) -> PlanText {
        match self {
            Self::Alone(plan) => plan.text(),
            Self::Pass(text) => text,
        }
    }
}

impl ExplainedQuery {
    /// The query of a statement with this template.
    pub async fn of(
        context: &StatementContext,
        statement: &Statement,
        params: &BoundParameters,
        template: KnownTemplate,
    ) -> Result<Self, EngineError> {
        if let KnownTemplate::Plan(bound, _) = &template {
            use_tables(context, &bound.template)?;
        }
        if let KnownTemplate::Plan(bound, _) = template
            && let Some(plan) = plan_alone(context, &bound, &context.settings())
        {
            return Ok(Self::Template(bound, plan));
        }
        Self::planned(context, statement, params).await
    }

    /// The query of a statement, planned with its constants.
    pub async fn planned(
        context: &StatementContext,
        statement: &Statement,
        params: &BoundParameters,
    ) -> Result<Self, EngineError> {
        let (plan, _) = front_end::plan_alone(context, statement, params).await?;
        Ok(Self::Planned(plan))
    }

    /// The plan, before it runs.
    pub fn shown(&self) -> Shown {
        let (Self::Template(_, plan) | Self::Planned(plan)) = self;
        Shown::Alone(plan.clone())
    }

    /// Runs the query as the statement alone would run; `None` if its template's plan does not fit the tables any more.
    pub async fn run(
        &self,
        context: &StatementContext,
        interrupt: &Interrupt,
    ) -> Result<Option<ExplainedRun>, EngineError> {
        let (rows, course) = match self {
            Self::Template(bound, _) => match answer(context, bound, &context.settings(), Wanted::RowsAndPlan).await? {
                Some(Answer { rows, course }) => (rows, Some(course)),
                None => return Ok(None),
            },
            Self::Planned(plan) => (front_end::start_alone(context, plan), None),
        };
        let row_count = row_count(rows, interrupt).await?;
        let shown = match &course {
            None | Some(Course::Kept) => self.shown(),
            Some(Course::Alone(plan, _)) => Shown::Alone(plan.clone()),
            Some(Course::Pass(report)) => Shown::Pass(report.plan.clone().unwrap_or_default()),
        };
        let course = course.as_ref().map_or_else(Vec::new, facts_of_course);
        Ok(Some(ExplainedRun { course, shown, row_count }))
    }
}

/// Reads all rows, and drops them.
async fn row_count(mut rows: Rows, interrupt: &Interrupt) -> Result<usize, EngineError> {
    let mut count = 0;
    while let Some(batch) = interrupt.run(async { Ok(rows.next().await) }).await? {
        count += batch?.num_rows();
    }
    Ok(count)
}

fn facts_of_course(course: &Course) -> Vec<(&'static str, String)> {
    let pass = match course {
        Course::Pass(report) => return facts_of_pass(report),
        Course::Alone(_, Place::Lane { start, queries }) => {
            let for_equal = if *queries > 1 { format!(" for {queries} equal queries") } else { String::new() };
            format!("{}, alone{for_equal}, predicted {:.3} ms", start.number.0, ms(start.predicted))
        }
        Course::Kept => "none, its result was kept from an equal query".to_owned(),
        Course::Alone(_, Place::AtOnce) => "none, it reads so few rows that it runs at once".to_owned(),
        Course::Alone(_, Place::NotSharing) => "none, the session does not share".to_owned(),
        Course::Alone(_, Place::OfOlderVersions) => "none, its block reads older versions of its tables".to_owned(),
    };
    vec![("Pass", pass)]
}

fn facts_of_pass(report: &PassReport) -> Vec<(&'static str, String)> {
    let PassReport { start, query_count, distinct_count, set_count, took, .. } = report;
    let others = match query_count - 1 {
        1 => "1 other query".to_owned(),
        others => format!("{others} other queries"),
    };
    let took = ms(*took);
    vec![
        ("Pass", format!("{}, with {others}, {distinct_count} distinct, {set_count} query sets", start.number.0)),
        (
            "Pass Time",
            format!(
                "{took:.3} ms, predicted {:.3} ms, {:.3} ms for this query",
                ms(start.predicted),
                took / *distinct_count as f64
            ),
        ),
    ]
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
