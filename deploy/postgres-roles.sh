#!/bin/sh
# Run once by the image of PostgreSQL on an empty volume: the login of the service, which owns its database and nothing
# else, and the roles of requests and analysts.
set -eu
psql --username "${POSTGRES_USER:-postgres}" -v password="$SERVICE_PASSWORD" -f /roles.sql
