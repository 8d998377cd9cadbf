-- name: LockSemaphores
-- Creates missing semaphores and locks all of them, in one order for all callers. It updates
-- used_at at most once an hour, so that most of these writes touch no index.
INSERT INTO semaphores (tenant_id, key)
SELECT @tenant_id, w.key FROM unnest(@keys::text[]) AS w (key) ORDER BY w.key
ON CONFLICT (tenant_id, key) DO UPDATE
    SET used_at = CASE WHEN semaphores.used_at < now() - interval '1 hour' THEN now() ELSE semaphores.used_at END;

-- name: LapseSlots
-- Runs between LockSemaphores and TakeSlots. Expired leases of other calls become "lost"; those
-- calls find out before they dispatch. RenewLeases locks no semaphore, so it may renew an expired
-- lease at the same time. Then this statement waits for the renewal and leaves the lease as it is.
-- TakeSlots is a statement of its own, so its snapshot has the renewal.
UPDATE leases l SET state = 'lost'
FROM invocations i
WHERE i.invocation_id = @invocation_id::uuid AND i.tenant_id = @tenant_id AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
    AND l.kind = 'semaphore' AND l.tenant_id = i.tenant_id AND l.key = ANY (@keys::text[]) AND l.state IN ('held', 'waiting')
    AND l.expires_at <= now() AND l.invocation_id <> i.invocation_id;

-- name: TakeSlots
-- Takes a slot of every semaphore or joins its queue. If a semaphore is full and the call may not
-- wait for it, the call takes no slot and joins no queue. If this call was given a slot while it
-- waited, it keeps that slot. If it has lost one of its leases, it gives up all of them and joins
-- the queues again: with one ticket for all queues, two calls never wait for each other. The
-- semaphores are locked throughout.
WITH current AS (
    SELECT FROM invocations WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), wanted AS (
    SELECT w.key, w.most, w.waits FROM unnest(@keys::text[], @mosts::integer[], @waits::boolean[]) AS w (key, most, waits)
    WHERE EXISTS (SELECT FROM current)
), dropped AS (
    -- The policy no longer has this limit.
    DELETE FROM leases
    WHERE invocation_id = @invocation_id::uuid AND kind = 'semaphore' AND state <> 'held' AND key <> ALL (@keys::text[]) AND EXISTS (SELECT FROM current)
), lost AS (
    SELECT FROM leases WHERE invocation_id = @invocation_id::uuid AND kind = 'semaphore' AND state = 'lost' AND key IN (SELECT key FROM wanted)
), judged AS (
    SELECT w.key, w.most, w.waits, a.ahead, coalesce(o.state = 'held', false) OR h.held + a.ahead < w.most AS free
    FROM wanted w
    LEFT JOIN leases o ON o.invocation_id = @invocation_id::uuid AND o.kind = 'semaphore' AND o.key = w.key AND NOT EXISTS (SELECT FROM lost)
    CROSS JOIN LATERAL (
        SELECT count(*) AS held FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = @tenant_id AND l.key = w.key AND l.state = 'held'
            AND l.expires_at > now() AND l.invocation_id <> @invocation_id::uuid
    ) h
    CROSS JOIN LATERAL (
        SELECT count(*) AS ahead FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = @tenant_id AND l.key = w.key AND l.state = 'waiting'
            AND l.expires_at > now() AND l.invocation_id <> @invocation_id::uuid AND (o.ticket IS NULL OR l.ticket < o.ticket)
    ) a
), refused AS (
    SELECT key FROM judged WHERE NOT free AND NOT waits
), drawn AS MATERIALIZED (
    SELECT nextval('lease_tickets') AS ticket WHERE EXISTS (SELECT FROM wanted)
), taken AS (
    INSERT INTO leases (invocation_id, kind, tenant_id, key, state, ticket, most, round, epoch, expires_at)
    SELECT @invocation_id::uuid, 'semaphore', @tenant_id, j.key, CASE WHEN j.free THEN 'held' ELSE 'waiting' END, d.ticket, j.most, @round, @epoch,
        now() + CASE WHEN j.free THEN @hold::interval ELSE @queue::interval END
    FROM judged j, drawn d WHERE NOT EXISTS (SELECT FROM refused)
    ON CONFLICT (invocation_id, kind, key) DO UPDATE SET
        state = excluded.state, most = excluded.most, round = excluded.round, epoch = excluded.epoch, expires_at = excluded.expires_at,
        ticket = CASE WHEN EXISTS (SELECT FROM lost) THEN excluded.ticket ELSE leases.ticket END
)
SELECT
    CASE
        WHEN NOT EXISTS (SELECT FROM current) THEN 'superseded'
        WHEN EXISTS (SELECT FROM refused) THEN 'refused'
        WHEN EXISTS (SELECT FROM judged WHERE NOT free) THEN 'waiting'
        ELSE 'done'
    END AS outcome,
    -- The semaphore with the longest wait.
    coalesce(l.key, '') AS key, coalesce(l.ahead, 0) AS ahead
FROM (SELECT) one LEFT JOIN LATERAL (SELECT key, ahead FROM judged WHERE NOT free ORDER BY waits, ahead DESC, key LIMIT 1) l ON true;

-- name: RenewLeases
-- Runs before a claim. It extends the leases that the call holds to the time limit of the
-- attempt. The row locks keep other calls from taking them between this statement and the claim.
UPDATE leases l SET expires_at = greatest(l.expires_at, now() + @hold::interval)
FROM invocations i
WHERE i.invocation_id = @invocation_id::uuid AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
    AND l.invocation_id = i.invocation_id AND l.kind = 'semaphore' AND l.state = 'held';

-- name: LockCapacity
-- Locks the buckets, semaphores and keys that Release gives back, in the order in which calls
-- take them. A call that took nothing has no rows here.
WITH buckets AS (
    SELECT q.key FROM debits d JOIN quotas q ON q.tenant_id = d.tenant_id AND q.key = d.key
    WHERE d.invocation_id = @invocation_id::uuid ORDER BY q.key FOR UPDATE OF q
), places AS (
    SELECT s.key FROM leases l JOIN semaphores s ON s.tenant_id = l.tenant_id AND s.key = l.key
    WHERE l.invocation_id = @invocation_id::uuid AND l.kind = 'semaphore' ORDER BY s.key FOR UPDATE OF s
), flights AS (
    -- The same lock as LockFlight takes.
    SELECT pg_advisory_xact_lock(hashtextextended(key, 0)) FROM leases WHERE invocation_id = @invocation_id::uuid AND kind = 'single_flight'
)
SELECT (SELECT count(*) FROM buckets) + (SELECT count(*) FROM places) + (SELECT count(*) FROM flights) AS locked;

-- name: LapseReleased
-- Runs between LockCapacity and Release. Release counts an expired slot as free, so the slot must be
-- lost for its holder. It is a statement of its own for the reason that LapseSlots has.
UPDATE leases l SET state = 'lost'
FROM leases o JOIN invocations i USING (invocation_id)
WHERE i.invocation_id = @invocation_id::uuid AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
    AND o.kind = 'semaphore' AND o.round <= @last_round AND NOT (o.state = 'held' AND @grace::interval > interval '0')
    AND l.kind = 'semaphore' AND l.tenant_id = o.tenant_id AND l.key = o.key AND l.state = 'held'
    AND l.expires_at <= now() AND l.invocation_id <> i.invocation_id;

-- name: Release
-- Gives back all capacity of the call, in the same round trip and under the same guard as the
-- statement that settles it. A slot passes directly to the head of its queue, and the outbox gets a
-- recheck signal for that workflow; no other call can take the slot in between. Calls that wait for
-- the cached value that this call was to read also get a recheck: they find the value, or the first
-- of them reads it. A token returns to its bucket if no attempt was made. If the workflow was ended
-- from outside, its tool may run until it misses a heartbeat. In that case a held slot is not given
-- back, and expires after the grace.
WITH current AS (
    SELECT FROM invocations WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), left_behind AS (
    UPDATE leases SET expires_at = least(expires_at, now() + @grace::interval)
    WHERE invocation_id = @invocation_id::uuid AND kind = 'semaphore' AND state = 'held' AND @grace::interval > interval '0' AND EXISTS (SELECT FROM current)
), released AS (
    -- An approval request that arrives late must not free what the call acquired after the wait, in a
    -- later round.
    DELETE FROM leases
    WHERE invocation_id = @invocation_id::uuid AND round <= @last_round AND EXISTS (SELECT FROM current)
        AND NOT (kind = 'semaphore' AND state = 'held' AND @grace::interval > interval '0')
    RETURNING kind, tenant_id, key, state
), heads AS (
    SELECT w.invocation_id, w.key
    FROM (SELECT DISTINCT tenant_id, key FROM released WHERE kind = 'semaphore') r
    CROSS JOIN LATERAL (
        SELECT count(*) AS held FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = r.tenant_id AND l.key = r.key AND l.state = 'held'
            AND l.expires_at > now() AND l.invocation_id <> @invocation_id::uuid
    ) h
    CROSS JOIN LATERAL (
        SELECT l.invocation_id, l.key, l.most, row_number() OVER (ORDER BY l.ticket) AS place FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = r.tenant_id AND l.key = r.key AND l.state = 'waiting'
            AND l.expires_at > now() AND l.invocation_id <> @invocation_id::uuid
        ORDER BY l.ticket LIMIT 16
    ) w
    WHERE h.held + w.place <= w.most
), handed AS (
    UPDATE leases l SET state = 'held', expires_at = now() + @hold::interval
    FROM heads h WHERE l.invocation_id = h.invocation_id AND l.kind = 'semaphore' AND l.key = h.key
    RETURNING l.invocation_id
), returned AS (
    DELETE FROM debits WHERE invocation_id = @invocation_id::uuid AND round <= @last_round AND EXISTS (SELECT FROM current)
    RETURNING tenant_id, key, cost
), refunded AS (
    UPDATE quotas q SET full_at = q.full_at - r.cost
    FROM returned r
    WHERE q.tenant_id = r.tenant_id AND q.key = r.key AND @attempts::integer = 0
        AND NOT EXISTS (SELECT FROM claims WHERE invocation_id = @invocation_id::uuid AND kind = 'claim')
), waiters AS (
    SELECT invocation_id FROM handed
    UNION
    SELECT l.invocation_id
    FROM released r
    JOIN leases l ON l.kind = 'single_flight' AND l.tenant_id = r.tenant_id AND l.key = r.key AND l.state = 'waiting' AND l.invocation_id <> @invocation_id::uuid
    WHERE r.kind = 'single_flight' AND r.state <> 'waiting'
), rechecked AS (
    INSERT INTO outbox (kind, workflow_id, signal, namespace)
    SELECT 'signal', i.workflow_id, 'recheck', i.namespace FROM waiters t JOIN invocations i ON i.invocation_id = t.invocation_id
    RETURNING id
)
SELECT count(pg_notify('pawl_outbox', '')) AS handed FROM rechecked;

-- name: LockExpired
-- Locks a batch of semaphores with expired slots. It sets used_at to the time of this transaction,
-- so that the next statements find exactly these semaphores.
WITH due AS MATERIALIZED (
    SELECT s.tenant_id, s.key FROM semaphores s
    WHERE EXISTS (
        SELECT FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = s.tenant_id AND l.key = s.key AND l.expires_at <= now()
            AND (l.state = 'held' OR EXISTS (SELECT FROM invocations i WHERE i.invocation_id = l.invocation_id AND i.state = 'settled'))
    )
    ORDER BY s.key, s.tenant_id LIMIT @batch FOR UPDATE OF s
)
UPDATE semaphores s SET used_at = now() FROM due d WHERE s.tenant_id = d.tenant_id AND s.key = d.key;

-- name: LapseExpired
-- Runs between LockExpired and ReleaseExpired, and is a statement of its own for the reason that
-- LapseSlots has. It sets expires_at to the time of this transaction, so that the next statement
-- finds exactly these leases.
UPDATE leases l SET state = 'lost', expires_at = now()
FROM semaphores s
WHERE s.used_at = now() AND l.kind = 'semaphore' AND l.tenant_id = s.tenant_id AND l.key = s.key AND l.state = 'held' AND l.expires_at <= now();

-- name: ReleaseExpired
-- Gives expired slots to the heads of the queues, as Release does with returned slots. If the call
-- of a slot is still open, its lease stays "lost" until the call ends. This is for calls that no
-- worker handles: calls that the sweeper settled, and calls whose workers are away for a long time.
WITH expired AS MATERIALIZED (
    SELECT l.invocation_id, l.tenant_id, l.key, i.state = 'settled' AS over
    FROM semaphores s
    JOIN leases l ON l.kind = 'semaphore' AND l.tenant_id = s.tenant_id AND l.key = s.key AND l.expires_at <= now()
    JOIN invocations i ON i.invocation_id = l.invocation_id
    WHERE s.used_at = now() AND (i.state = 'settled' OR l.state = 'lost' AND l.expires_at = now())
), ended AS (
    DELETE FROM leases l USING expired e WHERE e.over AND l.invocation_id = e.invocation_id AND l.kind = 'semaphore' AND l.key = e.key
), heads AS (
    SELECT w.invocation_id, w.key
    FROM (SELECT DISTINCT tenant_id, key FROM expired) r
    CROSS JOIN LATERAL (
        SELECT count(*) AS held FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = r.tenant_id AND l.key = r.key AND l.state = 'held' AND l.expires_at > now()
    ) h
    CROSS JOIN LATERAL (
        SELECT l.invocation_id, l.key, l.most, row_number() OVER (ORDER BY l.ticket) AS place FROM leases l
        WHERE l.kind = 'semaphore' AND l.tenant_id = r.tenant_id AND l.key = r.key AND l.state = 'waiting' AND l.expires_at > now()
        ORDER BY l.ticket LIMIT 16
    ) w
    WHERE h.held + w.place <= w.most
), handed AS (
    UPDATE leases l SET state = 'held', expires_at = now() + @hold::interval
    FROM heads h WHERE l.invocation_id = h.invocation_id AND l.kind = 'semaphore' AND l.key = h.key
    RETURNING l.invocation_id
), rechecked AS (
    INSERT INTO outbox (kind, workflow_id, signal, namespace)
    SELECT DISTINCT 'signal', i.workflow_id, 'recheck', i.namespace FROM handed h JOIN invocations i ON i.invocation_id = h.invocation_id
    RETURNING id
)
SELECT (SELECT count(*) FROM expired) AS expired, (SELECT count(pg_notify('pawl_outbox', '')) FROM rechecked) AS handed;

-- name: DeleteIdleSemaphores
-- Deletes semaphores that were not used for a day and have no leases.
DELETE FROM semaphores WHERE ctid = ANY (ARRAY (
    SELECT s.ctid FROM semaphores s
    WHERE s.used_at < now() - interval '1 day' AND NOT EXISTS (
        SELECT FROM leases l WHERE l.kind = 'semaphore' AND l.tenant_id = s.tenant_id AND l.key = s.key
    ) LIMIT @batch FOR UPDATE SKIP LOCKED
));
