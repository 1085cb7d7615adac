//! PostgreSQL's SQLSTATE codes, as far as Braid answers them.
//!
//! Clients branch on these five characters, never on texts, so each error of the engine carries one. The list is
//! Appendix A of PostgreSQL's manual, cut to what can happen here.

use std::fmt;

macro_rules! sql_states {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// A SQLSTATE: what kind of error it is, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SqlState {
            $($(#[$doc])* $name,)*
        }

        impl SqlState {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The five characters.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }
        }
    };
}

sql_states! {
    /// No error: what a notice has.
    SuccessfulCompletion = "00000",
    /// A warning of no other class.
    Warning = "01000",
    /// A commit that may or may not have been made.
    TransactionResolutionUnknown = "08007",
    /// A message that does not have what it says it has.
    ProtocolViolation = "08P01",
    /// A feature that Braid does not have (yet).
    FeatureNotSupported = "0A000",
    /// A statement that makes no sense within (or outside) a transaction block.
    ActiveTransaction = "25001",
    /// COMMIT or ROLLBACK without BEGIN.
    NoActiveTransaction = "25P01",
    /// A statement after an error within a transaction block.
    InFailedTransaction = "25P02",
    /// `ROLLBACK TO SAVEPOINT` and `RELEASE SAVEPOINT` of a savepoint that does not exist.
    InvalidSavepointSpecification = "3B001",
    /// A transaction whose changes or reads others have changed.
    SerializationFailure = "40001",
    /// Transactions that wait for each other.
    DeadlockDetected = "40P01",
    /// A write in a read-only transaction.
    ReadOnlyTransaction = "25006",
    /// A value or a function's argument that makes no sense, where no code says it better.
    DataException = "22000",
    /// A root or power that has no real value.
    InvalidPowerArgument = "2201F",
    /// A statement that does not make sense, where no code says it better.
    InvalidStatement = "42000",
    /// A scalar subquery gave several rows.
    CardinalityViolation = "21000",
    /// A text longer than varchar(n) or char(n) allows.
    StringRightTruncation = "22001",
    /// A sequence has no further number.
    SequenceGeneratorLimitExceeded = "2200H",
    /// A value for a column whose values are always generated.
    GeneratedAlways = "428C9",
    /// A number outside its type's range.
    NumericOutOfRange = "22003",
    /// A date or time outside its type's range, or no date or time at all.
    DatetimeOverflow = "22008",
    /// A text that is no date or time.
    InvalidDatetime = "22007",
    /// An offset from UTC of 16 hours or more.
    TimeZoneDisplacement = "22009",
    /// A part of an interval outside its range.
    IntervalOverflow = "22015",
    /// A part of a text of negative length.
    SubstringError = "22011",
    /// A subscript, or a dimension, that an array or a byte string does not have.
    ArraySubscriptError = "2202E",
    /// An argument of TABLESAMPLE that its method does not take.
    InvalidTablesampleArgument = "2202H",
    /// A seed of TABLESAMPLE that is null.
    InvalidTablesampleRepeat = "2202G",
    /// The row that nth_value asks for is below 1.
    InvalidNthValueArgument = "22016",
    /// The number of buckets that ntile asks for is below 1.
    InvalidNtileArgument = "22014",
    /// An offset of a window frame that is negative, or NaN.
    InvalidPrecedingOrFollowingSize = "22013",
    /// Division by zero.
    DivisionByZero = "22012",
    /// A regular expression that does not parse.
    InvalidRegularExpression = "2201B",
    /// A bit string of another length than its type's, or than the other operand's.
    StringLengthMismatch = "22026",
    /// invalid_escape_sequence
    InvalidEscapeSequence = "22025",
    /// The argument of a logarithm was zero or negative.
    InvalidLogarithmArgument = "2201E",
    /// Buckets of `width_bucket` that have no width, or that there are none of.
    InvalidWidthBucketArgument = "2201G",
    /// LIMIT below zero.
    InvalidLimit = "2201W",
    /// OFFSET below zero.
    InvalidOffset = "2201X",
    /// A null where a value is needed.
    NullValueNotAllowed = "22004",
    /// An escape character where it means nothing.
    InvalidUseOfEscapeCharacter = "2200C",
    /// An argument of a jsonpath's `.datetime()` that is no text of a date or time.
    InvalidSqlJsonDatetime = "22031",
    /// A subscript in a jsonpath that an array does not have.
    InvalidSqlJsonSubscript = "22033",
    /// An item of a jsonpath that is no number.
    NonNumericSqlJsonItem = "22036",
    /// An item of a jsonpath that must be a single one.
    SingletonSqlJsonItemRequired = "22038",
    /// An array that a jsonpath needs.
    SqlJsonArrayNotFound = "22039",
    /// A field that a jsonpath needs.
    SqlJsonMemberNotFound = "2203A",
    /// A number that a jsonpath needs.
    SqlJsonNumberNotFound = "2203B",
    /// An object that a jsonpath needs.
    SqlJsonObjectNotFound = "2203C",
    /// A character that another encoding does not have.
    UntranslatableCharacter = "22P05",
    /// A function's argument outside its domain.
    InvalidParameterValue = "22023",
    /// Bytes that are not UTF-8.
    CharacterNotInRepertoire = "22021",
    /// A text that does not read as a value of the type.
    InvalidTextRepresentation = "22P02",
    /// Bytes that are no value of the type in its binary format.
    InvalidBinaryRepresentation = "22P03",
    /// A row of COPY with too many or too few columns, or quotes left open.
    BadCopyFileFormat = "22P04",
    /// Null in a NOT NULL column.
    NotNullViolation = "23502",
    /// A row for which a CHECK is false.
    CheckViolation = "23514",
    /// A name that is longer than names may be.
    NameTooLong = "42622",
    /// The SQL does not parse.
    SyntaxError = "42601",
    /// Something that a column cannot be.
    InvalidColumnDefinition = "42611",
    /// A misuse of names: two columns of one name.
    DuplicateColumn = "42701",
    /// A column name that several tables have.
    AmbiguousColumn = "42702",
    /// A text that does not read as a name.
    InvalidName = "42602",
    /// No such column.
    UndefinedColumn = "42703",
    /// No such type, setting or other object.
    UndefinedObject = "42704",
    /// A type of this name exists.
    DuplicateObject = "42710",
    /// Two tables of one alias.
    DuplicateAlias = "42712",
    /// A table name that several tables have.
    AmbiguousAlias = "42P09",
    /// An expression outside GROUP BY that is not aggregated, and the like.
    GroupingError = "42803",
    /// Types that do not fit.
    DatatypeMismatch = "42804",
    /// A wrong kind of object.
    WrongObjectType = "42809",
    /// A cast that does not exist.
    CannotCoerce = "42846",
    /// No such function, or not with these argument types.
    UndefinedFunction = "42883",
    /// An operator or function that the arguments' types do not single out.
    AmbiguousFunction = "42725",
    /// No such table.
    UndefinedTable = "42P01",
    /// No such parameter (`$n`).
    UndefinedParameter = "42P02",
    /// Uses of a parameter that tell different types.
    AmbiguousParameter = "42P08",
    /// The table exists.
    DuplicateTable = "42P07",
    /// A schema of that name exists.
    DuplicateSchema = "42P06",
    /// A window function where there are no rows to look at.
    WindowingError = "42P20",
    /// A recursive query that does not have the form of one.
    InvalidRecursion = "42P19",
    /// A column list that does not fit.
    InvalidColumnReference = "42P10",
    /// A definition that contradicts itself.
    InvalidTableDefinition = "42P16",
    /// A view that would read itself.
    InvalidObjectDefinition = "42P17",
    /// The type of a parameter cannot be told.
    IndeterminateDatatype = "42P18",
    /// The server may not read the file.
    InsufficientPrivilege = "42501",
    /// The user of a session is no role, or may not log in.
    InvalidAuthorization = "28000",
    /// A privilege cannot be granted so.
    InvalidGrantOperation = "0LP01",
    /// A warning that some privileges were not granted.
    PrivilegeNotGranted = "01007",
    /// A warning that some privileges were not revoked.
    PrivilegeNotRevoked = "01006",
    /// A name that is kept for the system.
    ReservedName = "42939",
    /// No such schema.
    InvalidSchemaName = "3F000",
    /// No such database.
    InvalidCatalogName = "3D000",
    /// No such cursor.
    InvalidCursorName = "34000",
    /// A cursor of that name exists.
    DuplicateCursor = "42P03",
    /// A prepared statement of that name exists.
    DuplicatePreparedStatement = "42P05",
    /// No such prepared statement.
    InvalidStatementName = "26000",
    /// A limit on resources that a session asked for, or the server has.
    InsufficientResources = "53000",
    /// As many sessions as there may be.
    TooManyConnections = "53300",
    /// No space left on the disk.
    DiskFull = "53100",
    /// The query went over its memory budget.
    OutOfMemory = "53200",
    /// A limit of the configuration: temporary files.
    ConfigurationLimitExceeded = "53400",
    /// A limit of the program: too many columns, a statement too complex.
    ProgramLimitExceeded = "54000",
    /// A statement that is nested too deeply, or too long.
    StatementTooComplex = "54001",
    /// More arguments than a function may have.
    TooManyArguments = "54023",
    /// More columns than a table may have.
    TooManyColumns = "54011",
    /// Another process has the data directory, or the object is in use.
    ObjectInUse = "55006",
    /// A lock that another transaction holds, where the statement does not wait.
    LockNotAvailable = "55P03",
    /// An object that others need.
    DependentObjectsStillExist = "2BP01",
    /// A label that exists.
    UniqueViolation = "23505",
    /// Rows that refer to no row.
    ForeignKeyViolation = "23503",
    /// A foreign key that refers to no key.
    InvalidForeignKey = "42830",
    /// An object that is not yet what the statement needs.
    ObjectNotInPrerequisiteState = "55000",
    /// A label of an enumerated type whose transaction has not committed.
    UnsafeNewEnumValue = "55P04",
    /// A setting that cannot be changed now.
    CannotChangeNow = "55P02",
    /// Cancelled by the client, or timed out.
    QueryCanceled = "57014",
    /// The database is shutting down.
    AdminShutdown = "57P01",
    /// The disk or the operating system failed.
    IoError = "58030",
    /// No such file.
    UndefinedFile = "58P01",
    /// RAISE of a code block.
    RaiseException = "P0001",
    /// RAISE of nothing, where no error is handled.
    StackedDiagnosticsOutsideHandler = "0Z002",
    /// Our own bug.
    InternalError = "XX000",
    /// Bytes on disk that are not what was written.
    DataCorrupted = "XX001",
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
