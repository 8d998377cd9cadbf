-- name: EnsurePartitions
-- Creates the partitions of this month and of the months ahead for one table, as the owner of the table.
SELECT ensure_partitions(@parent, @months::integer);
