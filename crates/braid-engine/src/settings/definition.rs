//! One setting: its name, its default, the values it takes and the form in which they are kept.

use std::fmt::Display;

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;
use braid_sql::encodings::Encoding;
use braid_sql::input::time_zones::TimeZone;
use braid_sql::search_path::names_of_list;

use super::date_style;
use crate::{EngineError, SqlState};

/// The fixed settings that PostgreSQL takes when it starts.
const OF_SERVER_START: [&str; 10] = [
    "autovacuum_max_workers",
    "data_directory",
    "max_connections",
    "max_prepared_transactions",
    "max_replication_slots",
    "max_wal_senders",
    "max_worker_processes",
    "shared_preload_libraries",
    "track_activity_query_size",
    "wal_level",
];

/// The settings that only superusers set: what they change is not the session's alone.
const OF_SUPERUSERS: [&str; 4] =
    ["braid.scan_policy", "log_min_duration_statement", "log_min_error_statement", "session_replication_role"];

/// One setting.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Name as SHOW prints it; compared without case.
    pub name: &'static str,
    /// The default value. The database or the session provides some defaults instead.
    pub default: &'static str,
    /// What may be set.
    pub domain: Domain,
    /// Whether clients are told of changes (ParameterStatus).
    pub report: Report,
    /// What SHOW ALL says.
    pub description: &'static str,
}

/// Whether clients are told of a setting's changes (ParameterStatus).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// They are.
    Reported,
    /// They are not.
    Silent,
}

/// The values a setting takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Domain {
    /// A text that cannot be set.
    Fixed,
    /// A number that cannot be set.
    FixedNumber,
    /// `on` or `off`, which cannot be set.
    FixedBoolean,
    /// Anything.
    Text,
    /// A list of names, each folded to lower case unless it is quoted.
    Names,
    /// `on` or `off`.
    Boolean,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A whole number between these.
    Integer(i64, i64),
    /// A number between these.
    Real(f64, f64),
    /// PostgreSQL's sizes of memory: this many kB are its unit, and so many units the least and the most.
    Memory(i64, [i64; 2]),
    /// A time in milliseconds, with optional unit; 0 means no limit.
    Milliseconds,
    /// The same, but -1 means no limit, and 0 is the least one.
    MillisecondsOrNone,
    /// A size in bytes, with optional unit.
    Bytes,
    /// A time zone.
    Zone,
    /// An encoding that texts are converted to and from.
    Encoding,
    /// A style of dates, and an order of day, month and year.
    DateStyle,
    /// A scan policy; for the whole server.
    ScanPolicy,
}

impl Definition {
    /// The refusal to change a fixed setting.
    pub fn cannot_be_changed(&self) -> EngineError {
        let until = if self.context() == "postmaster" { " without restarting the server" } else { "" };
        let message = format!("parameter \"{}\" cannot be changed{until}", self.name);
        EngineError::new(SqlState::CannotChangeNow, message)
    }

    /// Who sets it and when, as `pg_settings` shows it.
    pub fn context(&self) -> &'static str {
        match self.is_fixed() {
            true if OF_SERVER_START.contains(&self.name) => "postmaster",
            true => "internal",
            false if self.is_of_superusers() => "superuser",
            false => "user",
        }
    }

    /// Whether only superusers set it.
    pub fn is_of_superusers(&self) -> bool {
        OF_SUPERUSERS.contains(&self.name)
    }

    /// Where the value is from that it has as long as nothing sets it.
    pub fn default_source(&self) -> &'static str {
        if self.is_of_transaction() || self.name == "data_directory" { "override" } else { "default" }
    }

    /// What PostgreSQL shows as the value before anything is known of the database, where that is not the default.
    pub fn boot_value(&self) -> Option<&'static str> {
        ["client_encoding", "server_encoding"].contains(&self.name).then_some("SQL_ASCII")
    }

    /// Whether it belongs to a transaction, and ends with it.
    pub fn is_of_transaction(&self) -> bool {
        ["transaction_deferrable", "transaction_isolation", "transaction_read_only"].contains(&self.name)
    }

    /// Whether no session sets it.
    pub fn is_fixed(&self) -> bool {
        matches!(self.domain, Domain::Fixed | Domain::FixedNumber | Domain::FixedBoolean)
    }

    /// The unit of the setting in `pg_settings`, if it has one.
    pub fn unit(&self) -> Option<&'static str> {
        match self.domain {
            Domain::Memory(1, _) => Some("kB"),
            Domain::Memory(..) => Some("8kB"),
            Domain::Milliseconds | Domain::MillisecondsOrNone => Some("ms"),
            _ => None,
        }
    }

    /// The least and the most number in `pg_settings`.
    pub fn bounds(&self) -> Option<(String, String)> {
        let numbers = |least: i64, most: i64| Some((least.to_string(), most.to_string()));
        match self.domain {
            Domain::FixedNumber => Some((self.default.to_owned(), self.default.to_owned())),
            Domain::Integer(least, most) => numbers(least, most),
            Domain::Memory(_, [least, most]) => numbers(least, most),
            Domain::Milliseconds => numbers(0, i32::MAX.into()),
            Domain::MillisecondsOrNone => numbers(-1, i32::MAX.into()),
            Domain::Real(least, most) => Some((real_bound(least), real_bound(most))),
            _ => None,
        }
    }

    /// The type of the setting in `pg_settings`.
    pub fn value_type(&self) -> &'static str {
        match self.domain {
            Domain::Boolean | Domain::FixedBoolean => "bool",
            // PostgreSQL has names of access methods and tablespaces as texts.
            Domain::OneOf(_) if ["default_table_access_method", "default_tablespace"].contains(&self.name) => "string",
            Domain::OneOf(values) if values.iter().all(|value| ["on", "off"].contains(value)) => "bool",
            Domain::OneOf(_) | Domain::ScanPolicy => "enum",
            Domain::Integer(..) | Domain::Memory(..) | Domain::FixedNumber => "integer",
            Domain::Milliseconds | Domain::MillisecondsOrNone => "integer",
            Domain::Real(..) => "real",
            Domain::Fixed | Domain::Text | Domain::Names | Domain::Bytes => "string",
            Domain::Zone | Domain::Encoding | Domain::DateStyle => "string",
        }
    }

    /// The values of an `enum` in `pg_settings`.
    pub fn enum_values(&self) -> Option<Vec<&'static str>> {
        match self.domain {
            Domain::ScanPolicy => Some(vec!["normal", "attach", "elevator", "relevance"]),
            Domain::OneOf(values) if self.value_type() == "enum" => Some(values.to_vec()),
            _ => None,
        }
    }

    /// A value in the form of `pg_settings`: a number of its units.
    pub fn in_units(&self, canonical: &str) -> String {
        let number = match self.domain {
            Domain::Memory(unit_kib, _) => memory_units(canonical, unit_kib).map(|units| units.to_string()),
            Domain::Milliseconds | Domain::MillisecondsOrNone => milliseconds(canonical).map(|ms| ms.to_string()),
            _ => None,
        };
        number.unwrap_or_else(|| canonical.to_owned())
    }

    /// The refusal of a value beyond the range of the setting.
    fn outside(&self, value: &str, (least, most): (impl Display, impl Display)) -> EngineError {
        let name = self.name;
        let message = format!("{value} is outside the valid range for parameter \"{name}\" ({least} .. {most})");
        EngineError::new(SqlState::InvalidParameterValue, message)
    }

    /// [`Self::canonical`] of a setting that has the value `now`, and that RESET gives the value `default`: a part that `value` leaves out stays.
    pub fn canonical_over(&self, value: &str, now: &str, default: &str) -> Result<String, EngineError> {
        match self.domain {
            Domain::DateStyle => date_style::canonical(value, now, default),
            _ => self.canonical(value),
        }
    }

    /// `value` in the form in which it is kept and shown.
    pub fn canonical(&self, value: &str) -> Result<String, EngineError> {
        let trimmed = value.trim();
        let invalid = || {
            let message = format!("invalid value for parameter \"{}\": \"{value}\"", self.name);
            EngineError::new(SqlState::InvalidParameterValue, message)
        };
        match self.domain {
            Domain::Fixed | Domain::FixedNumber | Domain::FixedBoolean => Err(self.cannot_be_changed()),
            Domain::Text => Ok(value.to_owned()),
            Domain::Names if names_of_list(value).is_some() => Ok(value.to_owned()),
            Domain::Names => Err(invalid().with_detail("List syntax is invalid.")),
            Domain::Boolean => match trimmed.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "1" | "t" => Ok("on".to_owned()),
                "off" | "false" | "no" | "0" | "f" => Ok("off".to_owned()),
                _ => Err(invalid()),
            },
            Domain::OneOf(values) => {
                let on = if trimmed.eq_ignore_ascii_case("true") { "on" } else { trimmed };
                match values.iter().position(|allowed| allowed.eq_ignore_ascii_case(on)) {
                    Some(at) => Ok(values[at].to_owned()),
                    None => Err(invalid().with_hint(format!("Available values: {}.", values.join(", ")))),
                }
            }
            Domain::Integer(least, most) => match trimmed.parse::<i64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(number.to_string()),
                Ok(number) => Err(self.outside(&number.to_string(), (least, most))),
                Err(_) => Err(invalid()),
            },
            Domain::Real(least, most) => match trimmed.parse::<f64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(number.to_string()),
                Ok(number) if most == f64::MAX => Err(self.outside(&number.to_string(), (least, "1.79769e+308"))),
                Ok(number) => Err(self.outside(&number.to_string(), (least, most))),
                Err(_) => Err(invalid()),
            },
            Domain::Memory(unit_kib, [least, most]) => {
                let units = memory_units(trimmed, unit_kib).ok_or_else(|| {
                    if !trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                        return invalid();
                    }
                    invalid().with_hint("Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".")
                })?;
                match (least..=most).contains(&units) {
                    true => Ok(canonical_memory(units * unit_kib)),
                    false => {
                        let unit = if unit_kib == 1 { "kB".to_owned() } else { format!("{unit_kib}kB") };
                        Err(self.outside(&format!("{units} {unit}"), (least, most)))
                    }
                }
            }
            Domain::MillisecondsOrNone if trimmed == "-1" => Ok(trimmed.to_owned()),
            Domain::Milliseconds | Domain::MillisecondsOrNone => {
                milliseconds(trimmed).map(canonical_milliseconds).ok_or_else(invalid)
            }
            Domain::Bytes => match trimmed.parse::<ByteSize>() {
                Ok(size) if size.0 > 0 => Ok(size.to_string()),
                Ok(_) => Err(invalid()),
                Err(error) => Err(invalid().with_detail(error.to_string())),
            },
            Domain::Zone => TimeZone::of_setting(value).map(|(_, name)| name).ok_or_else(invalid),
            Domain::Encoding => {
                let encoding = Encoding::named(value).ok_or_else(invalid)?;
                encoding.check_convertible().map(|()| encoding.name().to_owned()).map_err(|_| {
                    let detail = format!("Conversion between {} and UTF8 is not supported.", encoding.name());
                    EngineError::new(SqlState::FeatureNotSupported, invalid().message()).with_detail(detail)
                })
            }
            Domain::DateStyle => date_style::canonical(value, self.default, self.default),
            Domain::ScanPolicy => trimmed
                .to_ascii_lowercase()
                .parse::<ScanPolicy>()
                .map(|policy| policy.to_string())
                .map_err(|_| invalid().with_hint("Available values: normal, attach, elevator, relevance.")),
        }
    }
}

/// A bound as PostgreSQL shows it: six digits.
fn real_bound(bound: f64) -> String {
    match bound {
        f64::MAX => "1.79769e+308".to_owned(),
        1_000_000.0 => "1e+06".to_owned(),
        bound => bound.to_string(),
    }
}

/// `64`, `64kB`, `1.5 GB`: in units of so many kB, rounded (`parse_int`).
fn memory_units(text: &str, unit_kib: i64) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !['.', '-', '+'].contains(&c)).unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<f64>().ok()?, text[end..].trim());
    let kib = match unit {
        "" => unit_kib as f64,
        "B" => 1.0 / 1024.0,
        "kB" => 1.0,
        "MB" => 1024.0,
        "GB" => 1_048_576.0,
        "TB" => 1_073_741_824.0,
        _ => return None,
    };
    let units = (number * kib / unit_kib as f64).round_ties_even();
    (units.abs() <= i32::MAX.into()).then_some(units as i64)
}

/// So many kB with the largest unit that divides them, as PostgreSQL shows them.
fn canonical_memory(kib: i64) -> String {
    let units = [(1 << 30, "TB"), (1 << 20, "GB"), (1 << 10, "MB")];
    match units.iter().find(|(factor, _)| kib != 0 && kib % factor == 0) {
        Some((factor, unit)) => format!("{}{unit}", kib / factor),
        None if kib == 0 => "0".to_owned(),
        None => format!("{kib}kB"),
    }
}

/// `5`, `5ms`, `5 s`, `1min`: in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<u64>().ok()?, text[end..].trim());
    let factor = match unit {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    // PostgreSQL's limit: an int.
    number.checked_mul(factor).filter(|ms| *ms <= i32::MAX as u64)
}

/// With the largest unit that divides it, as PostgreSQL shows it.
fn canonical_milliseconds(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")];
    match units.iter().find(|(factor, _)| ms != 0 && ms.is_multiple_of(*factor)) {
        Some((factor, unit)) => format!("{}{unit}", ms / factor),
        None if ms == 0 => "0".to_owned(),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition;

    #[test]
    fn values_are_brought_into_one_form() {
        for (name, value, canonical) in [
            ("timezone", "Europe/Berlin", "Europe/Berlin"),
            ("TIME ZONE", "2", "<+02>-02"),
            ("TimeZone", "gmt", "GMT"),
            ("statement_timeout", "90s", "90s"),
            ("statement_timeout", "60000", "1min"),
            ("statement_timeout", "1500", "1500ms"),
            ("datestyle", "mdy, iso", "ISO, MDY"),
            ("client_encoding", "'utf-8'", "UTF8"),
            ("client_encoding", "iso-8859-15", "LATIN9"),
            ("client_encoding", "sql_ascii", "SQL_ASCII"),
            ("standard_conforming_strings", "true", "on"),
            ("braid.query_memory", "1024kB", "1MB"),
            ("BRAID.SCAN_POLICY", "Relevance", "relevance"),
            ("default_transaction_read_only", "true", "on"),
            ("extra_float_digits", "3", "3"),
            ("extra_float_digits", "-15", "-15"),
            ("IntervalStyle", "SQL_Standard", "sql_standard"),
            ("bytea_output", "Escape", "escape"),
            ("log_min_duration_statement", "-1", "-1"),
            ("log_min_duration_statement", "0", "0"),
            ("log_min_duration_statement", "2000", "2s"),
            ("application_name", " psql ", " psql "),
            ("search_path", " \"a b\" ,c", " \"a b\" ,c"),
            ("search_path", "", ""),
            ("work_mem", "65536", "64MB"),
            ("work_mem", "1.5 GB", "1536MB"),
            ("WORK_MEM", "100kB", "100kB"),
            ("effective_cache_size", "3", "24kB"),
            ("random_page_cost", "1.10", "1.1"),
        ] {
            assert_eq!(definition(name).unwrap().canonical(value).unwrap(), canonical, "{name} = {value}");
        }
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for (name, value, sqlstate) in [
            ("client_encoding", "utf_8_x", "22023"),
            ("client_encoding", "mule_internal", "0A000"),
            ("DateStyle", "French", "22023"),
            ("DateStyle", "iso, sql", "22023"),
            ("IntervalStyle", "iso", "22023"),
            ("bytea_output", "base64", "22023"),
            ("extra_float_digits", "4", "22023"),
            ("extra_float_digits", "-16", "22023"),
            ("TimeZone", "Mars/Base", "22023"),
            ("statement_timeout", "-1", "22023"),
            ("log_min_duration_statement", "-2", "22023"),
            ("statement_timeout", "1 fortnight", "22023"),
            ("braid.query_memory", "much", "22023"),
            ("braid.target_partitions", "0", "22023"),
            ("braid.scan_policy", "best", "22023"),
            ("search_path", "a b", "22023"),
            ("search_path", "a,", "22023"),
            ("work_mem", "63", "22023"),
            ("work_mem", "1 XB", "22023"),
            ("work_mem", "3TB", "22023"),
            ("seq_page_cost", "-1", "22023"),
            ("session_replication_role", "replica", "22023"),
            ("server_version", "16", "55P02"),
            ("standard_conforming_strings", "off", "22023"),
        ] {
            assert_eq!(definition(name).unwrap().canonical(value).unwrap_err().sqlstate(), sqlstate, "{name}");
        }
        assert_eq!(definition("braid.nosuch").unwrap_err().sqlstate(), "42704");
    }
}
