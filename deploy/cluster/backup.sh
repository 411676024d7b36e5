#!/bin/bash
# Takes a backup if this host's PostgreSQL leads (docs/cluster.md): of all on Sundays, of what has changed on other days.
set -euo pipefail
cd "$(dirname "$0")/../.."
set -a; . ./cluster.env; set +a
sql() { psql -X -h "$POSTGRES_SOCKET" -p "$POSTGRES_PORT" -U postgres -d mintyard -Atc "$1"; }

follows=$(sql 'SELECT pg_is_in_recovery()')
[ "$follows" = f ] || exit 0
[ "$(date +%u)" = 7 ] && type=full || type=incr
pgbackrest backup --type=$type
# For mintyard_backup_age_seconds, once the service has made its tables.
[ -z "$(sql "SELECT to_regproc('service.record_backup')")" ] || sql 'SELECT service.record_backup()' >/dev/null
