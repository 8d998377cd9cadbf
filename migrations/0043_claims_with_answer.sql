-- +goose NO TRANSACTION
-- +goose Up

-- Upkeep deletes the answers that a worker of release 0.1.0 leaves behind when it settles a call. The index is built while calls write claims. A build that
-- fails leaves an invalid index, so the migration removes the index before it begins.
DROP INDEX CONCURRENTLY IF EXISTS claims_with_answer;
CREATE INDEX CONCURRENTLY claims_with_answer ON claims (invocation_id) WHERE answer IS NOT NULL;
