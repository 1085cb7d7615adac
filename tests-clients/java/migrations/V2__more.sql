alter table f_users add column active boolean not null default true;
create table f_moods (mood text primary key);
alter table f_users add mood text references f_moods;
create view f_active as select id, email from f_users where active;
do $$ begin if not exists (select 1 from pg_class where relname = 'f_log') then create table f_log (id bigint generated always as identity, text text); end if; end $$;
