#!/bin/sh
# psql over TLS with a password: SCRAM-SHA-256 with channel binding, certificate checked; and what must be refused.
set -eu
export PGPASSWORD=sesame
answer=$(psql -X -At "sslmode=verify-full sslrootcert=$CERTIFICATE channel_binding=require" -c 'select 1')
[ "$answer" = 1 ] || { echo "psql over TLS: $answer" >&2; exit 1; }
answer=$(psql -X -At "sslmode=disable" -c 'select 1')
[ "$answer" = 1 ] || { echo "psql with a password: $answer" >&2; exit 1; }
refused=$(PGPASSWORD=wrong psql -X -At "sslmode=require" -c 'select 1' 2>&1) && { echo "a wrong password was let in" >&2; exit 1; }
case $refused in
*'password authentication failed for user "braid"'*) ;;
*) echo "psql, wrong password: $refused" >&2; exit 1 ;;
esac
