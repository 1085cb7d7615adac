create table f_users (id serial primary key, email varchar(100) not null unique, created_at timestamptz not null default now());
create index f_users_lower on f_users (lower(email));
comment on table f_users is 'users';
insert into f_users (email) values ('a@x'), ('b@x');
