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
