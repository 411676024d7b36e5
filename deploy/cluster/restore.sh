#!/bin/bash
# Brings the database of this host to the moment that MOMENT names, or to the end of the archived log (docs/cluster.md). Nothing may
# run here but etcd. The former database is kept, in a folder whose name ends in a number.
set -euo pipefail
cd "$(dirname "$0")/../.."
set -a; . ./cluster.env; set +a
sql() { psql -X -h "$POSTGRES_SOCKET" -p "$POSTGRES_PORT" -U postgres -d mintyard -Atc "$1"; }
pg_ctl() { "$POSTGRES_BIN/pg_ctl" -D "$POSTGRES_DATA" -s -w "$@"; }

if [ -e "$POSTGRES_DATA" ]; then
  if pg_ctl status >/dev/null; then echo "PostgreSQL runs here: stop Patroni first" >&2; exit 1; fi
  "$POSTGRES_BIN/pg_controldata" -D "$POSTGRES_DATA" | sed -n "s/^Latest checkpoint's TimeLineID: */the former database is of TIMELINE /p"
  mv "$POSTGRES_DATA" "$POSTGRES_DATA.$(date +%s)"
fi
if [ -n "${MOMENT:-}" ]; then
  pgbackrest restore --type=time --target="$MOMENT" --target-timeline="${TIMELINE:-latest}" --target-action=promote
else
  pgbackrest restore
fi
# Nobody reaches it but this script, and a setting that was raised since the backup does not hold it up.
: >restore.log
pg_ctl -t 86400 -l restore.log -o "-c listen_addresses='' -c unix_socket_directories=$POSTGRES_SOCKET -c hot_standby=off" start
until [ "$(sql 'SELECT pg_is_in_recovery()' 2>/dev/null)" = f ]; do
  if ! pg_ctl status >/dev/null; then
    echo "PostgreSQL has ended; restore.log has the whole of it:" >&2
    grep -E "FATAL|PANIC" restore.log | grep -v "the database system is" >&2
    exit 1
  fi
  sleep 1
done
sql 'ALTER SYSTEM RESET ALL' >/dev/null
pg_ctl stop
# Patroni makes a cluster of what it finds here.
printf 'mintyard\nYes I am aware\n' | patronictl -c patroni.yml remove mintyard >/dev/null
echo "restored: start Patroni here"
