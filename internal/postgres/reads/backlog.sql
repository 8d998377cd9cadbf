-- name: NoticeBacklog
-- late marks failed notices that are more than five minutes old. Younger failures are normal,
-- for example while a receiver restarts.
SELECT notifier, count(*) FILTER (WHERE given_up_at > now() - interval '1 day') AS given_up,
    count(*) FILTER (WHERE late) AS late, min(at) FILTER (WHERE late) AS since,
    coalesce((array_agg(last_error ORDER BY at DESC) FILTER (WHERE late OR given_up_at > now() - interval '1 day'))[1], '') AS last_error
FROM (
    SELECT d.*, n.at, sent_at IS NULL AND given_up_at IS NULL AND last_error IS NOT NULL 
        AND n.at < now() - interval '5 minutes' AND n.at > now() - interval '2 days' AS late
    FROM notice_deliveries d JOIN notices n USING (notice_id)
) d
GROUP BY notifier ORDER BY notifier;

-- name: EndingBacklog
SELECT count(*) AS calls, min(i.settled_at) AS since, coalesce(max(e.tries), 0) AS tries
FROM endings e JOIN invocations i USING (invocation_id)
WHERE e.namespace = @namespace;

-- name: Backlogs
-- Counts waiting rows, for metrics. Each part reads at most @most rows of a partial index, so that
-- the statement stays fast when many rows wait. The tables of capacity need no such index: beside the rows
-- of calls that wait, they have those of calls that run.
WITH messages AS MATERIALIZED (
    (SELECT created_at FROM outbox WHERE sent_at IS NULL AND namespace = '' ORDER BY next_at LIMIT @most)
    UNION ALL (SELECT created_at FROM outbox WHERE sent_at IS NULL AND namespace = @namespace ORDER BY next_at LIMIT @most)
    LIMIT @most
), deliveries AS MATERIALIZED (
    SELECT n.at FROM (
        SELECT notice_id FROM notice_deliveries WHERE sent_at IS NULL AND given_up_at IS NULL LIMIT @most
    ) d JOIN notices n USING (notice_id)
), asked AS MATERIALIZED (
    SELECT created_at, parked FROM approvals WHERE state = 'open' LIMIT @most
), open AS MATERIALIZED (
    SELECT created_at FROM invocations WHERE state = 'open' AND namespace = @namespace ORDER BY created_at LIMIT @most
), unsealed AS MATERIALIZED (
    SELECT e.at FROM (SELECT month, event_id FROM audit_pending LIMIT @most) p JOIN events e ON e.id = p.event_id AND e.month = p.month
), fired AS MATERIALIZED (
    SELECT queued_at FROM trigger_queue WHERE namespace IN ('', @namespace) LIMIT @most
), tokens AS MATERIALIZED (
    SELECT d.invocation_id FROM debits d JOIN invocations i USING (invocation_id)
    WHERE d.ready_at > now() AND i.state = 'open' AND i.namespace = @namespace LIMIT @most
), queued AS MATERIALIZED (
    SELECT l.invocation_id, l.kind FROM leases l JOIN invocations i USING (invocation_id)
    WHERE l.kind IN ('semaphore', 'single_flight') AND l.state = 'waiting' AND l.expires_at > now() AND i.state = 'open' AND i.namespace = @namespace LIMIT @most
)
SELECT
    (SELECT count(*) FROM unsealed) AS unsealed, (SELECT min(at) FROM unsealed) AS unsealed_since,
    (SELECT count(*) FROM fired) AS trigger_events, (SELECT min(queued_at) FROM fired) AS trigger_events_since,
    (SELECT count(*) FROM messages) AS messages, (SELECT min(created_at) FROM messages) AS messages_since,
    (SELECT count(*) FROM deliveries) AS notices, (SELECT min(at) FROM deliveries) AS notices_since,
    (SELECT count(*) FROM asked WHERE parked = '') AS approvals, (SELECT min(created_at) FROM asked WHERE parked = '') AS approvals_since,
    (SELECT count(*) FROM asked WHERE parked <> '') AS unknown, (SELECT min(created_at) FROM asked WHERE parked <> '') AS unknown_since,
    (SELECT count(DISTINCT invocation_id) FROM tokens) AS quota,
    (SELECT count(DISTINCT invocation_id) FROM queued WHERE kind = 'semaphore') AS places,
    (SELECT count(DISTINCT invocation_id) FROM queued WHERE kind = 'single_flight') AS shared,
    (SELECT count(*) FROM open) AS calls, (SELECT min(created_at) FROM open) AS calls_since,
    (SELECT count(*) FROM (SELECT FROM endings WHERE namespace = @namespace LIMIT @most) e) AS endings,
    now() AS now;
