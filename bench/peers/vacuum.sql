-- Scans of a table before and after a fifth of its rows is deleted, and after VACUUM: `psql -f vacuum.sql`.
\timing on
create table big as select n as id, n % 1000 as g, md5(n::text) as v from generate_series(1, 4000000) n;
select count(*), sum(id), max(v) from big;
select count(*), sum(id), max(v) from big;
delete from big where g >= 800;
select file_bytes, deleted_rows, chunks from braid_tables;
select count(*), sum(id), max(v) from big;
select count(*), sum(id), max(v) from big;
vacuum big;
select file_bytes, deleted_rows, chunks from braid_tables;
select count(*), sum(id), max(v) from big;
select count(*), sum(id), max(v) from big;
