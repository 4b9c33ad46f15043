#!/bin/sh
# Makes the database and the role that Waypost uses: owner of its tables, but no superuser and
# without BYPASSRLS, so that row-level security holds for it.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$WAYPOST_PASSWORD" --username postgres <<'SQL'
CREATE ROLE waypost LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE waypost OWNER waypost;
\connect waypost
CREATE EXTENSION IF NOT EXISTS vector;
SQL
