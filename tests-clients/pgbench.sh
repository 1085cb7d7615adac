#!/bin/sh
# pgbench: its tables, TPC-B and select-only, then whether all that was committed is there, before and after VACUUM.
set -eu
quiet() { "$@" >pgbench.log 2>&1 || { cat pgbench.log >&2; exit 1; }; }
agrees() {
    sums=$(psql -X -At -v ON_ERROR_STOP=1 -c "select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers),
        (select sum(bbalance) from pgbench_branches), (select sum(delta) from pgbench_history), (select count(*) from pgbench_accounts)")
    [ "$(printf '%s' "$sums" | cut -d'|' -f1-4 | tr '|' '\n' | sort -u | wc -l)" = 1 ] && [ "${sums##*|}" = 100000 ] ||
        { echo "pgbench: the sums of its tables differ: $sums" >&2; exit 1; }
}

quiet pgbench -i -q --foreign-keys
psql -X -q -v ON_ERROR_STOP=1 -c "update pgbench_accounts set abalance = 0; update pgbench_tellers set tbalance = 0"
for mode in simple extended prepared; do
    quiet pgbench -n -c 4 -j 2 -T 2 -M $mode
    grep -q 'number of failed transactions: 0 ' pgbench.log || { cat pgbench.log >&2; exit 1; }
    quiet pgbench -n -S -c 4 -j 2 -T 1 -M $mode
    agrees
done
psql -X -q -v ON_ERROR_STOP=1 -c 'vacuum full'
agrees
