-- name: AllTables
-- Returns every table, from the system catalog, so that it includes new tables. The rows of a
-- partitioned table are those of its partitions.
SELECT n.nspname::text AS schema, c.relname::text AS name, coalesce((
    SELECT array_agg(a.attname::text ORDER BY k.place)
    FROM pg_index i, unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (number, place), pg_attribute a
    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number
), '{}') AS key
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname = ANY (current_schemas(false))
ORDER BY n.nspname, c.relname;
