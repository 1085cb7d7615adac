//! The templates of formats for dates and times: `YYYY-MM-DD HH24:MI:SS` cut into `YYYY`, `-`, `MM`, and so on.
//!
//! The patterns are those of PostgreSQL's documentation, section 9.8.

use crate::functions::templates::{Piece, cut};

/// A template with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it shows.
    pub key: Key,
    /// Its name in the list of templates: in upper case, or with a capital letter.
    pub name: &'static str,
    /// Whether it is padded: `FM` does not stand before it.
    pub is_filled: bool,
    /// Whether `TM` stands before it: a word is not padded.
    pub is_translated: bool,
    /// `TH` (true) or `th` after it.
    pub ordinal: Option<bool>,
    /// How words are written.
    pub letters: Letters,
}

/// How a word is written, by the template's own letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// `MONTH`
    Upper,
    /// `Month`
    Capital,
    /// `month`
    Lower,
}

impl Node {
    /// The template as it stands in the format.
    pub fn spelling(&self) -> String {
        if self.letters == Letters::Lower { self.name.to_ascii_lowercase() } else { self.name.to_owned() }
    }
}

impl Letters {
    /// A word, which begins with a capital letter or has only such, in these letters.
    pub fn apply(self, word: &str) -> String {
        match self {
            Self::Upper => word.to_ascii_uppercase(),
            Self::Capital => word.to_owned(),
            Self::Lower => word.to_ascii_lowercase(),
        }
    }
}

/// What a template shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the templates' own")]
pub enum Key {
    Am { dotted: bool },
    Ad { dotted: bool },
    Cc,
    Day,
    Ddd,
    Dd,
    Dy,
    D,
    Ff(u8),
    Fx,
    Hh24,
    Hh12,
    Iddd,
    Id,
    Iw,
    Iyyy,
    Iyy,
    Iy,
    I,
    J,
    Mi,
    Mm,
    Month,
    Mon,
    Of,
    Q,
    Rm,
    Ssss,
    Ss,
    Tzh,
    Tzm,
    Tz,
    Ww,
    W,
    YCommaYyy,
    Yyyy,
    Yyy,
    Yy,
    Y,
}

impl Key {
    /// Whether an interval does not have it.
    pub fn needs_calendar(self) -> bool {
        use Key::{Ad, D, Day, Dy, Id, Mon, Month, Of, Tz, Tzh, Tzm};
        matches!(self, Ad { .. } | D | Day | Dy | Id | Mon | Month | Of | Tz | Tzh | Tzm)
    }

    /// Whether it counts weeks of ISO 8601. PostgreSQL shows them for intervals as well, without a meaning; Braid refuses that.
    pub fn counts_iso_weeks(self) -> bool {
        use Key::{I, Iddd, Iw, Iy, Iyy, Iyyy};
        matches!(self, I | Iddd | Iw | Iy | Iyy | Iyyy)
    }

    /// Whether it stands for digits in a text.
    pub fn is_number(self) -> bool {
        use Key::{Ad, Am, Day, Dy, Fx, Mon, Month, Of, Rm, Tz, Tzh};
        !matches!(self, Ad { .. } | Am { .. } | Day | Dy | Fx | Mon | Month | Of | Rm | Tz | Tzh)
    }

    /// What it makes of a date in a text: fields of both kinds do not go together.
    pub fn convention(self) -> Option<Convention> {
        use Key::{D, Dd, Ddd, I, Id, Iddd, Iw, Iy, Iyy, Iyyy, Mm, Mon, Month, Rm, W, Ww, Y, YCommaYyy, Yy, Yyy, Yyyy};
        match self {
            Ddd | Dd | D | Mm | Month | Mon | Rm | Ww | W | YCommaYyy | Yyyy | Yyy | Yy | Y => {
                Some(Convention::Gregorian)
            }
            Iddd | Id | Iw | Iyyy | Iyy | Iy | I => Some(Convention::IsoWeek),
            _ => None,
        }
    }

    /// Whether `TH` makes it an ordinal number.
    pub fn has_ordinal(self) -> bool {
        !matches!(self, Self::Tzh | Self::Tzm | Self::Of)
    }
}

/// How a date is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Months and days.
    Gregorian,
    /// Weeks, as ISO 8601 counts them.
    IsoWeek,
}

/// Templates in upper case; of those that begin alike, the longer first.
const KEYS: &[(&str, Key)] = &[
    ("A.D.", Key::Ad { dotted: true }),
    ("A.M.", Key::Am { dotted: true }),
    ("AD", Key::Ad { dotted: false }),
    ("AM", Key::Am { dotted: false }),
    ("B.C.", Key::Ad { dotted: true }),
    ("BC", Key::Ad { dotted: false }),
    ("CC", Key::Cc),
    ("DAY", Key::Day),
    ("DDD", Key::Ddd),
    ("DD", Key::Dd),
    ("DY", Key::Dy),
    ("D", Key::D),
    ("FF1", Key::Ff(1)),
    ("FF2", Key::Ff(2)),
    ("FF3", Key::Ff(3)),
    ("FF4", Key::Ff(4)),
    ("FF5", Key::Ff(5)),
    ("FF6", Key::Ff(6)),
    ("FX", Key::Fx),
    ("HH24", Key::Hh24),
    ("HH12", Key::Hh12),
    ("HH", Key::Hh12),
    ("IDDD", Key::Iddd),
    ("ID", Key::Id),
    ("IW", Key::Iw),
    ("IYYY", Key::Iyyy),
    ("IYY", Key::Iyy),
    ("IY", Key::Iy),
    ("I", Key::I),
    ("J", Key::J),
    ("MI", Key::Mi),
    ("MM", Key::Mm),
    ("MONTH", Key::Month),
    ("MON", Key::Mon),
    ("MS", Key::Ff(3)),
    ("OF", Key::Of),
    ("P.M.", Key::Am { dotted: true }),
    ("PM", Key::Am { dotted: false }),
    ("Q", Key::Q),
    ("RM", Key::Rm),
    ("SSSSS", Key::Ssss),
    ("SSSS", Key::Ssss),
    ("SS", Key::Ss),
    ("TZH", Key::Tzh),
    ("TZM", Key::Tzm),
    ("TZ", Key::Tz),
    ("US", Key::Ff(6)),
    ("WW", Key::Ww),
    ("W", Key::W),
    ("Y,YYY", Key::YCommaYyy),
    ("YYYY", Key::Yyyy),
    ("YYY", Key::Yyy),
    ("YY", Key::Yy),
    ("Y", Key::Y),
];

/// Templates that have a form with a capital letter only.
const CAPITALS: &[(&str, Key)] = &[("Day", Key::Day), ("Dy", Key::Dy), ("Month", Key::Month), ("Mon", Key::Mon)];

/// The template at the start of a text. All of its letters are upper case, or all lower.
fn key_at(text: &str) -> Option<(&'static str, Key, Letters)> {
    let is_lower = |name: &str| text.bytes().take(name.len()).eq(name.bytes().map(|c| c.to_ascii_lowercase()));
    let found = |keys: &'static [(&'static str, Key)], is_there: &dyn Fn(&str) -> bool, letters: Letters| {
        keys.iter().find(|(name, _)| is_there(name)).map(|(name, key)| (*name, *key, letters))
    };
    found(CAPITALS, &|name| text.starts_with(name), Letters::Capital)
        .or_else(|| found(KEYS, &|name| text.starts_with(name), Letters::Upper))
        .or_else(|| found(KEYS, &is_lower, Letters::Lower))
}

/// Cuts a format.
pub fn parse(format: &str) -> Vec<Piece<Node>> {
    cut(format, node_at)
}

/// The template at the start of a text with its prefix and suffix, and the length of them all. A prefix before text is skipped.
fn node_at(text: &str) -> (Option<Node>, usize) {
    let prefix = ["FM", "fm", "TM", "tm"].iter().find(|prefix| text.starts_with(**prefix));
    let start = prefix.map_or(0, |prefix| prefix.len());
    let Some((name, key, letters)) = key_at(&text[start..]) else {
        return (None, start);
    };
    let end = start + name.len();
    let ordinal = [("TH", true), ("th", false)].into_iter().find(|(suffix, _)| text[end..].starts_with(suffix));
    let suffix_bytes = if ordinal.is_some() || text[end..].starts_with("SP") { 2 } else { 0 };
    let ordinal = ordinal.map(|(_, is_upper)| is_upper);
    let has = |name: &str| prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(name));
    let node = Node { key, name, is_filled: !has("FM"), is_translated: has("TM"), ordinal, letters };
    (Some(node), end + suffix_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_cut_into_templates() {
        let keys = |format: &str| -> Vec<Key> {
            let key = |piece: Piece<Node>| if let Piece::Template(node) = piece { Some(node.key) } else { None };
            parse(format).into_iter().filter_map(key).collect()
        };
        assert_eq!(keys("YYYY-MM-DD HH24:MI:SS"), [Key::Yyyy, Key::Mm, Key::Dd, Key::Hh24, Key::Mi, Key::Ss]);
        assert_eq!(keys("Yyyy"), [Key::Y, Key::Yyy]);
        assert_eq!(keys("\"DD\" \\\"DD"), [Key::Dd]);
        let Piece::Template(node) = parse("FMDDth")[0] else { panic!("a template") };
        assert_eq!((node.is_filled, node.ordinal), (false, Some(false)));
    }
}
