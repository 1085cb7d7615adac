//! System views `braid_passes`, `braid_queries` and `braid_sharing`: the passes that run and the last ones that have ended; the
//! queries that wait and run; totals of all passes.
//!
//! Records are copied under the dispatcher's lock; arrays are made of the copies.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use braid_share::{Ending, Form};

use super::dispatcher::Dispatcher;
use super::pass_log::{PassEnd, PassRecord, PassTotals, QueryRecord};
use crate::system_views::{PASSES_VIEW, QUERIES_VIEW, SHARING_VIEW, SystemView};

/// The views of a dispatcher.
pub(crate) fn sharing_views(dispatcher: &Arc<Dispatcher>) -> Vec<Arc<dyn SystemView>> {
    vec![
        Arc::new(PassView { dispatcher: dispatcher.clone() }),
        Arc::new(QueryView { dispatcher: dispatcher.clone() }),
        Arc::new(SharingView { dispatcher: dispatcher.clone() }),
    ]
}

#[derive(Debug)]
struct PassView {
    dispatcher: Arc<Dispatcher>,
}

impl SystemView for PassView {
    fn name(&self) -> &'static str {
        PASSES_VIEW
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("number", DataType::Int64, false),
            Field::new("template", DataType::Int64, false),
            Field::new("plan", DataType::Int64, false),
            Field::new("state", DataType::Utf8, false),
            Field::new("form", DataType::Utf8, false),
            Field::new("queries", DataType::Int64, false),
            Field::new("distinct_queries", DataType::Int64, false),
            Field::new("query_sets", DataType::Int64, true),
            Field::new("result_rows", DataType::Int64, true),
            Field::new("memory_bytes", DataType::Int64, true),
            Field::new("predicted_ms", DataType::Float64, false),
            Field::new("taken_ms", DataType::Float64, false),
            Field::new("ending", DataType::Utf8, true),
        ]))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let (now_us, mut passes) = self.dispatcher.passes();
        passes.sort_unstable_by_key(|pass| pass.number);
        let of = |value: &dyn Fn(&PassRecord) -> u64| integers(passes.iter().map(|pass| Some(value(pass))));
        let of_end = |value: &dyn Fn(&PassEnd) -> Option<u64>| {
            integers(passes.iter().map(|pass| pass.end.as_ref().and_then(value)))
        };
        let ms_of = |value: &dyn Fn(&PassRecord) -> Duration| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(passes.iter().map(|pass| ms(value(pass)))))
        };
        vec![
            of(&|pass| pass.number.0),
            of(&|pass| pass.template.text),
            of(&|pass| pass.template.plan),
            Arc::new(StringArray::from_iter_values(passes.iter().map(state_of_pass))),
            Arc::new(StringArray::from_iter_values(passes.iter().map(|pass| form_name(pass.form)))),
            of(&|pass| pass.query_count as u64),
            of(&|pass| pass.distinct_count as u64),
            of_end(&|end| end.size.set_count.map(|count| count as u64)),
            of_end(&|end| end.size.row_count),
            of_end(&|end| end.memory_bytes),
            ms_of(&|pass| pass.predicted),
            ms_of(&|pass| pass.taken_until(now_us)),
            texts(passes.iter().map(|pass| pass.end.map(|end| ending_name(end.ending)))),
        ]
    }
}

#[derive(Debug)]
struct QueryView {
    dispatcher: Arc<Dispatcher>,
}

impl SystemView for QueryView {
    fn name(&self) -> &'static str {
        QUERIES_VIEW
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("ticket", DataType::Int64, false),
            Field::new("template", DataType::Int64, false),
            Field::new("plan", DataType::Int64, false),
            Field::new("state", DataType::Utf8, false),
            Field::new("pass", DataType::Int64, true),
            Field::new("waited_ms", DataType::Float64, false),
            Field::new("mode", DataType::Utf8, false),
        ]))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let (now_us, mut queries) = self.dispatcher.queries();
        queries.sort_unstable_by_key(|(query, _)| query.ticket);
        let of = |value: &dyn Fn(&QueryRecord) -> u64| integers(queries.iter().map(|(query, _)| Some(value(query))));
        let state = |pass: &Option<PassRecord>| pass.as_ref().map_or("waiting", state_of_pass);
        let waited = |(query, pass): &(QueryRecord, Option<PassRecord>)| {
            let until_us = pass.map_or(now_us, |pass| pass.started_us);
            ms(Duration::from_micros(until_us.saturating_sub(query.arrived_us)))
        };
        vec![
            of(&|query| query.ticket.0),
            of(&|query| query.template.text),
            of(&|query| query.template.plan),
            Arc::new(StringArray::from_iter_values(queries.iter().map(|(_, pass)| state(pass)))),
            integers(queries.iter().map(|(_, pass)| pass.map(|pass| pass.number.0))),
            Arc::new(Float64Array::from_iter_values(queries.iter().map(waited))),
            Arc::new(StringArray::from_iter_values(queries.iter().map(|(query, _)| query.mode.name()))),
        ]
    }
}

#[derive(Debug)]
struct SharingView {
    dispatcher: Arc<Dispatcher>,
}

impl SystemView for SharingView {
    fn name(&self) -> &'static str {
        SHARING_VIEW
    }

    fn schema(&self) -> SchemaRef {
        let names = ["passes", "queries", "shared_passes", "shared_queries", "distinct_queries_max"];
        Arc::new(Schema::new(names.map(|name| Field::new(name, DataType::Int64, false)).to_vec()))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let PassTotals { passes, queries, shared_passes, shared_queries, distinct_count_max } =
            self.dispatcher.pass_totals();
        let totals = [passes, queries, shared_passes, shared_queries, distinct_count_max as u64];
        totals.map(|total| integers([Some(total)].into_iter())).to_vec()
    }
}

/// A pass that has given its lane up only sends its rows.
fn state_of_pass(pass: &PassRecord) -> &'static str {
    match (pass.end, pass.taken) {
        (Some(_), _) => "ended",
        (None, Some(_)) => "sending",
        (None, None) => "running",
    }
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Alone => "alone",
        Form::Shared => "shared",
    }
}

fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Answered => "answered",
        Ending::Failed => "failed",
        Ending::OutOfMemory => "out of memory",
        Ending::Cancelled => "cancelled",
    }
}

/// Numbers are below 2^63: they are counted up from 0.
fn integers(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.map(|value| value.map(|value| value as i64)).collect::<Int64Array>())
}

fn texts(values: impl Iterator<Item = Option<&'static str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn ms(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
