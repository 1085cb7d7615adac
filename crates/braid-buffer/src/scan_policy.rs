//! The four scheduling policies by name.

use std::fmt;
use std::str::FromStr;

use crate::attach::Attach;
use crate::elevator::Elevator;
use crate::normal::Normal;
use crate::policy::Policy;
use crate::relevance::Relevance;

/// How the buffer orders the reads of all scans (Cooperative Scans, sections 3 and 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScanPolicy {
    /// Every scan reads in its own order, least recently used segments go first.
    Normal,
    /// A new scan starts where the scan it overlaps most with is, and wraps around.
    Attach,
    /// One cursor per table reads for all scans of it.
    Elevator,
    /// Every read, delivery and eviction is the currently most relevant one.
    #[default]
    Relevance,
}

impl ScanPolicy {
    /// All policies, in the order in which the paper presents them.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Attach, Self::Elevator, Self::Relevance];

    /// The name as `SET braid.scan_policy` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Attach => "attach",
            Self::Elevator => "elevator",
            Self::Relevance => "relevance",
        }
    }
}

impl ScanPolicy {
    /// The policy's decisions.
    pub(crate) fn decisions(self) -> &'static dyn Policy {
        match self {
            Self::Normal => &Normal,
            Self::Attach => &Attach,
            Self::Elevator => &Elevator,
            Self::Relevance => &Relevance,
        }
    }
}

impl fmt::Display for ScanPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no scan policy: there are normal, attach, elevator and relevance")]
pub struct ParseScanPolicyError(pub String);

impl FromStr for ScanPolicy {
    type Err = ParseScanPolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim();
        let found = Self::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(wanted));
        found.ok_or_else(|| ParseScanPolicyError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_other_texts_are_refused() {
        for policy in ScanPolicy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            assert_eq!(format!(" {} ", policy.name().to_uppercase()).parse(), Ok(policy));
        }
        let error = "lru".parse::<ScanPolicy>().unwrap_err();
        assert_eq!(error.to_string(), "\"lru\" is no scan policy: there are normal, attach, elevator and relevance");
    }
}
