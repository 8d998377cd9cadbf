-- +goose Up

-- Every worker asks which registrations are in use at each change and every 30 seconds, so the question must cost as much as there are open calls
-- and recent versions, and not as much as there is history. Rows of registrations are few until now, and only open calls of registered tools are
-- in the new index of invocations, so the locks are short.
SET LOCAL lock_timeout = '5s';

-- Versions by the time of their end: of all tenants those of the last hour, of a tenant the newest.
CREATE INDEX tool_registrations_ended ON tool_registrations (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tool_registrations_ended_by_tenant ON tool_registrations (tenant_id, ended_at DESC) WHERE ended_at IS NOT NULL;

-- Open calls of registered tools.
CREATE INDEX invocations_open_registered ON invocations (tenant_id, tool_id, created_at)
    WHERE state = 'open' AND (starts_with(tool_id, 'tenant-') OR starts_with(tool_id, 'mcp__tenant-'));
