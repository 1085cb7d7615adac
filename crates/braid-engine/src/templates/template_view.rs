//! System view `braid_templates`: a row for each text template.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::template_cache::{TemplateCache, TextEntry, TextReport};
use crate::system_views::{SystemView, TEMPLATES_VIEW};

/// The view of a database's templates.
pub(crate) fn template_view(templates: &Arc<TemplateCache>) -> Arc<dyn SystemView> {
    Arc::new(TemplateView { templates: templates.clone() })
}

#[derive(Debug)]
struct TemplateView {
    templates: Arc<TemplateCache>,
}

impl SystemView for TemplateView {
    fn name(&self) -> &'static str {
        TEMPLATES_VIEW
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("number", DataType::Int64, false),
            Field::new("template", DataType::Utf8, false),
            Field::new("constants", DataType::Int64, false),
            Field::new("parameters", DataType::Int64, false),
            Field::new("plans", DataType::Int64, false),
            Field::new("hits", DataType::Int64, false),
            Field::new("refusal", DataType::Utf8, true),
            Field::new("bytes", DataType::Int64, false),
        ]))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let mut entries = self.templates.all();
        entries.sort_unstable_by_key(|entry| entry.number);
        let reports: Vec<TextReport> = entries.iter().map(|entry| entry.report()).collect();
        let of_entries = |value: &dyn Fn(&TextEntry) -> u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(entries.iter().map(|entry| value(entry) as i64)))
        };
        let of_reports = |value: &dyn Fn(&TextReport) -> usize| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(reports.iter().map(|report| value(report) as i64)))
        };
        vec![
            of_entries(&|entry| entry.number),
            Arc::new(StringArray::from_iter_values(entries.iter().map(|entry| entry.template().trim_end()))),
            of_reports(&|report| report.constants),
            of_reports(&|report| report.parameters),
            of_reports(&|report| report.plans),
            of_entries(&|entry| entry.hits.load(Ordering::Relaxed)),
            Arc::new(reports.iter().map(|report| report.refusal.as_deref()).collect::<StringArray>()),
            of_entries(&TextEntry::bytes),
        ]
    }
}
