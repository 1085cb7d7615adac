//! `pg_settings`.

use braid_sql::Value;
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::ArrayValue;

use crate::named_row::{NamedRow, optional_text, text};
use crate::server_facts::{ServerFacts, Setting};

/// All settings.
pub(super) fn settings(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |setting: Setting| {
        vec![
            ("name", text(&setting.name)),
            ("setting", text(&setting.value)),
            ("unit", optional_text(setting.unit)),
            ("category", text(setting.category)),
            ("short_desc", text(setting.description)),
            ("context", text(setting.context)),
            ("vartype", text(setting.value_type)),
            ("source", text(setting.source)),
            ("min_val", optional_text(setting.bounds.as_ref().map(|(least, _)| &**least))),
            ("max_val", optional_text(setting.bounds.as_ref().map(|(_, most)| &**most))),
            ("enumvals", setting.enum_values.map_or(Value::Null, texts)),
            ("boot_val", optional_text(setting.boot_value.as_deref())),
            ("reset_val", optional_text(setting.reset_value.as_deref())),
            ("pending_restart", Value::Bool(false)),
        ]
    };
    facts.settings().into_iter().map(row).collect()
}

fn texts(texts: Vec<&'static str>) -> Value {
    Value::Array(ArrayValue::of(TypeId::TEXT, texts.into_iter().map(text).collect()).into())
}
