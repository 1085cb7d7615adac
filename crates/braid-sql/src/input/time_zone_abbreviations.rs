//! The abbreviations of time zones that PostgreSQL knows without being configured: its set `Default`.
//!
//! The list is a fact of PostgreSQL 15 (`pg_timezone_abbrevs`). It is sorted, so that a binary search finds a name.

/// What an abbreviation stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abbreviation {
    /// Seconds east of UTC, and whether it is the name of summer time.
    Fixed(i32, bool),
    /// What this zone calls so at the time in question.
    Zone(&'static str),
}

use Abbreviation::{Fixed, Zone};

/// What an abbreviation in lower case stands for.
pub fn abbreviation(word: &str) -> Option<Abbreviation> {
    ABBREVIATIONS.binary_search_by_key(&word, |row| row.0).ok().map(|at| ABBREVIATIONS[at].1)
}

/// All of them in order, in lower case.
pub fn abbreviations() -> impl Iterator<Item = (&'static str, Abbreviation)> + Send {
    ABBREVIATIONS.iter().copied()
}

#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, Abbreviation)] = &[
    ("acdt", Fixed(37800, true)), ("acsst", Fixed(37800, true)), ("acst", Fixed(34200, false)),
    ("act", Fixed(-18000, false)), ("acwst", Fixed(31500, false)), ("adt", Fixed(-10800, true)),
    ("aedt", Fixed(39600, true)), ("aesst", Fixed(39600, true)), ("aest", Fixed(36000, false)),
    ("aft", Fixed(16200, false)), ("akdt", Fixed(-28800, true)), ("akst", Fixed(-32400, false)),
    ("almst", Fixed(25200, true)), ("almt", Fixed(21600, false)), ("amst", Zone("Asia/Yerevan")),
    ("amt", Fixed(-14400, false)), ("anast", Zone("Asia/Anadyr")), ("anat", Zone("Asia/Anadyr")),
    ("arst", Zone("America/Argentina/Buenos_Aires")), ("art", Zone("America/Argentina/Buenos_Aires")),
    ("ast", Fixed(-14400, false)), ("awsst", Fixed(32400, true)), ("awst", Fixed(28800, false)),
    ("azost", Fixed(0, true)), ("azot", Fixed(-3600, false)), ("azst", Zone("Asia/Baku")),
    ("azt", Zone("Asia/Baku")), ("bdst", Fixed(7200, true)), ("bdt", Fixed(21600, false)),
    ("bnt", Fixed(28800, false)), ("bort", Fixed(28800, false)), ("bot", Fixed(-14400, false)),
    ("bra", Fixed(-10800, false)), ("brst", Fixed(-7200, true)), ("brt", Fixed(-10800, false)),
    ("bst", Fixed(3600, true)), ("btt", Fixed(21600, false)), ("cadt", Fixed(37800, true)),
    ("cast", Fixed(34200, false)), ("cct", Fixed(28800, false)), ("cdt", Fixed(-18000, true)),
    ("cest", Fixed(7200, true)), ("cet", Fixed(3600, false)), ("cetdst", Fixed(7200, true)),
    ("chadt", Fixed(49500, true)), ("chast", Fixed(45900, false)), ("chut", Fixed(36000, false)),
    ("ckt", Zone("Pacific/Rarotonga")), ("clst", Fixed(-10800, true)), ("clt", Zone("America/Santiago")),
    ("cot", Fixed(-18000, false)), ("cst", Fixed(-21600, false)), ("cxt", Fixed(25200, false)),
    ("davt", Zone("Antarctica/Davis")), ("ddut", Fixed(36000, false)), ("easst", Zone("Pacific/Easter")),
    ("east", Zone("Pacific/Easter")), ("eat", Fixed(10800, false)), ("edt", Fixed(-14400, true)),
    ("eest", Fixed(10800, true)), ("eet", Fixed(7200, false)), ("eetdst", Fixed(10800, true)),
    ("egst", Fixed(0, true)), ("egt", Fixed(-3600, false)), ("est", Fixed(-18000, false)),
    ("fet", Fixed(10800, false)), ("fjst", Fixed(46800, true)), ("fjt", Fixed(43200, false)),
    ("fkst", Zone("Atlantic/Stanley")), ("fkt", Zone("Atlantic/Stanley")), ("fnst", Fixed(-3600, true)),
    ("fnt", Fixed(-7200, false)), ("galt", Fixed(-21600, false)), ("gamt", Fixed(-32400, false)),
    ("gest", Zone("Asia/Tbilisi")), ("get", Zone("Asia/Tbilisi")), ("gft", Fixed(-10800, false)),
    ("gilt", Fixed(43200, false)), ("gmt", Fixed(0, false)), ("gyt", Zone("America/Guyana")),
    ("hkt", Fixed(28800, false)), ("hst", Fixed(-36000, false)), ("ict", Fixed(25200, false)),
    ("idt", Fixed(10800, true)), ("iot", Zone("Indian/Chagos")), ("irkst", Zone("Asia/Irkutsk")),
    ("irkt", Zone("Asia/Irkutsk")), ("irt", Fixed(12600, false)), ("ist", Fixed(7200, false)),
    ("jayt", Fixed(32400, false)), ("jst", Fixed(32400, false)), ("kdt", Fixed(36000, true)),
    ("kgst", Fixed(21600, true)), ("kgt", Zone("Asia/Bishkek")), ("kost", Zone("Pacific/Kosrae")),
    ("krast", Zone("Asia/Krasnoyarsk")), ("krat", Zone("Asia/Krasnoyarsk")), ("kst", Fixed(32400, false)),
    ("lhdt", Zone("Australia/Lord_Howe")), ("lhst", Fixed(37800, false)), ("ligt", Fixed(36000, false)),
    ("lint", Zone("Pacific/Kiritimati")), ("lkt", Zone("Asia/Colombo")), ("magst", Zone("Asia/Magadan")),
    ("magt", Zone("Asia/Magadan")), ("mart", Fixed(-34200, false)), ("mawt", Zone("Antarctica/Mawson")),
    ("mdt", Fixed(-21600, true)), ("mest", Fixed(7200, true)), ("mesz", Fixed(7200, true)),
    ("met", Fixed(3600, false)), ("metdst", Fixed(7200, true)), ("mez", Fixed(3600, false)),
    ("mht", Fixed(43200, false)), ("mmt", Fixed(23400, false)), ("mpt", Fixed(36000, false)),
    ("msd", Fixed(14400, true)), ("msk", Zone("Europe/Moscow")), ("mst", Fixed(-25200, false)),
    ("must", Fixed(18000, true)), ("mut", Fixed(14400, false)), ("mvt", Fixed(18000, false)),
    ("myt", Fixed(28800, false)), ("ndt", Fixed(-9000, true)), ("nft", Fixed(-12600, false)),
    ("novst", Zone("Asia/Novosibirsk")), ("novt", Zone("Asia/Novosibirsk")), ("npt", Fixed(20700, false)),
    ("nst", Fixed(-12600, false)), ("nut", Zone("Pacific/Niue")), ("nzdt", Fixed(46800, true)),
    ("nzst", Fixed(43200, false)), ("nzt", Fixed(43200, false)), ("omsst", Zone("Asia/Omsk")),
    ("omst", Zone("Asia/Omsk")), ("pdt", Fixed(-25200, true)), ("pet", Fixed(-18000, false)),
    ("petst", Zone("Asia/Kamchatka")), ("pett", Zone("Asia/Kamchatka")), ("pgt", Fixed(36000, false)),
    ("pht", Fixed(28800, false)), ("pkst", Fixed(21600, true)), ("pkt", Fixed(18000, false)),
    ("pmdt", Fixed(-7200, true)), ("pmst", Fixed(-10800, false)), ("pont", Fixed(39600, false)),
    ("pst", Fixed(-28800, false)), ("pwt", Fixed(32400, false)), ("pyst", Fixed(-10800, true)),
    ("pyt", Zone("America/Asuncion")), ("ret", Fixed(14400, false)), ("sadt", Fixed(37800, true)),
    ("sast", Fixed(7200, false)), ("sct", Fixed(14400, false)), ("sgt", Zone("Asia/Singapore")),
    ("taht", Fixed(-36000, false)), ("tft", Fixed(18000, false)), ("tjt", Fixed(18000, false)),
    ("tkt", Zone("Pacific/Fakaofo")), ("tmt", Zone("Asia/Ashgabat")), ("tot", Fixed(46800, false)),
    ("trut", Fixed(36000, false)), ("tvt", Fixed(43200, false)), ("uct", Fixed(0, false)),
    ("ulast", Fixed(32400, true)), ("ulat", Zone("Asia/Ulaanbaatar")), ("ut", Fixed(0, false)),
    ("utc", Fixed(0, false)), ("uyst", Fixed(-7200, true)), ("uyt", Fixed(-10800, false)),
    ("uzst", Fixed(21600, true)), ("uzt", Fixed(18000, false)), ("vet", Zone("America/Caracas")),
    ("vlast", Zone("Asia/Vladivostok")), ("vlat", Zone("Asia/Vladivostok")), ("volt", Zone("Europe/Volgograd")),
    ("vut", Fixed(39600, false)), ("wadt", Fixed(28800, true)), ("wakt", Fixed(43200, false)),
    ("wast", Fixed(25200, false)), ("wat", Fixed(3600, false)), ("wdt", Fixed(32400, true)),
    ("wet", Fixed(0, false)), ("wetdst", Fixed(3600, true)), ("wft", Fixed(43200, false)),
    ("wgst", Fixed(-7200, true)), ("wgt", Fixed(-10800, false)), ("xjt", Fixed(21600, false)),
    ("yakst", Zone("Asia/Yakutsk")), ("yakt", Zone("Asia/Yakutsk")), ("yapt", Fixed(36000, false)),
    ("yekst", Fixed(21600, true)), ("yekt", Zone("Asia/Yekaterinburg")), ("z", Fixed(0, false)),
    ("zulu", Fixed(0, false)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(ABBREVIATIONS.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!(abbreviation("cest"), Some(Fixed(7200, true)));
        assert_eq!(abbreviation("msk"), Some(Zone("Europe/Moscow")));
        assert_eq!(abbreviation("foo"), None);
    }
}
