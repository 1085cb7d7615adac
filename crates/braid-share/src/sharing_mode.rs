//! The three sharing modes by name.

use std::fmt;
use std::str::FromStr;

/// Whether a query may wait for others and run in a pass with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SharingMode {
    /// In a pass where a pass is predicted to be cheaper, otherwise alone.
    #[default]
    Auto,
    /// Never queued: every query starts at once, alone.
    Off,
    /// Always in a pass, also a single query (the global plan of SharedDB, section 3.2).
    Global,
}

impl SharingMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Off, Self::Global];

    /// The name as a setting takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Global => "global",
        }
    }
}

impl fmt::Display for SharingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no sharing mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no sharing mode: there are auto, off and global")]
pub struct ParseSharingModeError(pub String);

impl FromStr for SharingMode {
    type Err = ParseSharingModeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim();
        let found = Self::ALL.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(wanted));
        found.ok_or_else(|| ParseSharingModeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_other_texts_are_refused() {
        for mode in SharingMode::ALL {
            assert_eq!(format!(" {} ", mode.name().to_uppercase()).parse(), Ok(mode));
        }
        let error = "on".parse::<SharingMode>().unwrap_err();
        assert_eq!(error.to_string(), "\"on\" is no sharing mode: there are auto, off and global");
    }
}
