-- name: KillOn
WITH made AS (
    INSERT INTO kill_switches (tenant_id, tool, effect, reason, on_by) VALUES (@tenant_id, @tool, @effect, @reason, @by)
    ON CONFLICT (tenant_id, tool, effect) WHERE off_at IS NULL DO NOTHING
    RETURNING id
)
INSERT INTO events (kind, tenant_id, detail)
SELECT 'kill_switch_on', nullif(@tenant_id, ''), json_build_object(
    'id', id, 'tenant', @tenant_id, 'tool', @tool, 'effect', @effect, 'reason', @reason, 'by', @by)
FROM made;

-- name: KillSwitchOf
-- Returns the switch that is on for exactly this scope. changed says that this transaction
-- inserted it.
SELECT id, on_at = now() AS changed, tenant_id, tool, effect, reason, on_by, on_at, coalesce(off_by, '') AS off_by, off_at
FROM kill_switches WHERE off_at IS NULL AND tenant_id = @tenant_id AND tool = @tool AND effect = @effect;

-- name: KillOff
-- Selects the switch by its id, or by its exact scope if the id is 0.
WITH lifted AS (
    UPDATE kill_switches SET off_by = @by, off_at = now()
    WHERE off_at IS NULL AND CASE WHEN @id = 0 THEN tenant_id = @tenant_id AND tool = @tool AND effect = @effect ELSE id = @id END
    RETURNING id, tenant_id, tool, effect, reason, on_by, on_at, off_by, off_at
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'kill_switch_off', nullif(tenant_id, ''), json_build_object(
        'id', id, 'tenant', tenant_id, 'tool', tool, 'effect', effect, 'reason', reason, 'by', @by)
    FROM lifted
)
SELECT id, true AS changed, tenant_id, tool, effect, reason, on_by, on_at, off_by, off_at FROM lifted;

-- name: ListKillSwitches
SELECT id, false AS changed, tenant_id, tool, effect, reason, on_by, on_at, coalesce(off_by, '') AS off_by, off_at
FROM kill_switches WHERE (@off::boolean OR off_at IS NULL) AND (@tenant_id = '' OR tenant_id IN ('', @tenant_id))
ORDER BY off_at IS NULL DESC, id DESC LIMIT @max;
