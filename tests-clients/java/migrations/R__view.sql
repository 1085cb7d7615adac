create or replace view f_counts as select active, count(*) as n from f_users group by active;
