-- A transaction of 100 million rows: `psql -f large_transaction.sql`. Then one beside automatic compaction, rolled back.
\timing on
create table huge (a bigint, b int);
begin;
insert into huge select n, (n % 1000)::int from generate_series(1, 100000000) n;
select count(*), sum(a), sum(b) from huge;
update huge set b = b + 1;
select count(*), sum(a), sum(b) from huge;
delete from huge where a % 2 = 0;
select count(*), sum(a), sum(b) from huge;
commit;
select count(*), sum(a), sum(b) from huge;
begin;
update huge set b = 0;
rollback;
select count(*), sum(a), sum(b) from huge;
select rows, deleted_rows, chunks, chunks_in_memory, memory_bytes, file_bytes from braid_tables;
vacuum huge;
select rows, deleted_rows, chunks, chunks_in_memory, memory_bytes, file_bytes from braid_tables;
