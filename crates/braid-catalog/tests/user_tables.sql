CREATE TABLE every_type (
    a_boolean boolean, a_smallint smallint, an_integer integer NOT NULL DEFAULT 7, a_bigint bigint, a_real real,
    a_double double precision, a_numeric numeric(12,2) DEFAULT 0.5, a_wide numeric, a_text text DEFAULT 'x', a_varchar varchar(10) NOT NULL,
    a_char char(3), a_date date, a_timestamp timestamp, a_timestamptz timestamptz, an_interval interval, a_bytea bytea, a_uuid uuid,
    PRIMARY KEY (a_varchar, an_integer)
);
CREATE TABLE unkeyed (a integer);
