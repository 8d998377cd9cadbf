-- +goose NO TRANSACTION
-- +goose Up

-- Upkeep deletes the answers that a worker of release 0.1.0 leaves behind when it settles a call. The index is built while calls write claims. A build that
-- fails leaves an invalid index, so the migration removes the index before it begins.
-- Both statements wait for each transaction that began before, such as that of pg_dump, and calls do not wait behind them.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS claims_with_answer;
CREATE INDEX CONCURRENTLY claims_with_answer ON claims (invocation_id) WHERE answer IS NOT NULL;
SET lock_timeout = '5s';
