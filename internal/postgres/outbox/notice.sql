-- name: HappenNotices
-- Marks reminders and escalations as happened when they are due. If the request is closed,
-- decided or expired, it deletes them.
WITH due AS MATERIALIZED (
    SELECT n.notice_id, n.kind, n.number, n.at, a.approval_id, a.rule, i.invocation_id, i.month, i.tenant_id, i.workflow_id,
        a.state = 'open' AND a.expires_at > now() AS is_open
    FROM notices n JOIN approvals a USING (approval_id) JOIN invocations i USING (invocation_id)
    WHERE NOT n.happened AND n.at <= now()
    ORDER BY n.at LIMIT @batch
    FOR NO KEY UPDATE OF n, a SKIP LOCKED
), happened AS (
    UPDATE notices n SET happened = true FROM due d WHERE n.notice_id = d.notice_id AND d.is_open
), dropped AS (
    DELETE FROM notices n USING due d WHERE n.notice_id = d.notice_id AND NOT d.is_open
), audited AS (
    INSERT INTO events (month, at, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT month, at, 'approval_' || kind, tenant_id, invocation_id, workflow_id, CASE kind
        WHEN 'escalated' THEN json_build_object('approvalId', approval_id, 'step', number, 'approvers', rule -> 'escalate' -> (number - 1) -> 'approvers')
        ELSE json_build_object('approvalId', approval_id)
    END
    FROM due WHERE is_open
)
SELECT count(*) AS looked FROM due;

-- name: SpreadNotices
-- Schedules new notices for the notifiers of this worker and for notifiers that other workers
-- had recently. Once a minute it records that this worker's notifiers exist.
WITH seen AS (
    INSERT INTO notifiers (name)
    SELECT own FROM unnest(@notifiers::text[]) AS own WHERE NOT EXISTS (SELECT FROM notifiers WHERE name = own AND seen_at > now() - interval '1 minute')
    ON CONFLICT (name) DO UPDATE SET seen_at = now()
), fresh AS MATERIALIZED (
    SELECT notice_id FROM notices WHERE happened AND spread_at IS NULL AND at > now() - @life::interval ORDER BY at LIMIT @batch
    FOR NO KEY UPDATE SKIP LOCKED
), spread AS (
    UPDATE notices n SET spread_at = now() FROM fresh f WHERE n.notice_id = f.notice_id
), planned AS (
    INSERT INTO notice_deliveries (notice_id, notifier)
    SELECT notice_id, name FROM fresh, (
        SELECT unnest(@notifiers::text[]) AS name UNION SELECT name FROM notifiers WHERE seen_at > now() - @life::interval
    ) n
    ON CONFLICT DO NOTHING
)
SELECT count(*) AS looked FROM fresh;

-- name: TakeNotices
-- A notice that was taken and not sent is due again after the lease, for example if its worker
-- died.
WITH due AS MATERIALIZED (
    SELECT notice_id FROM notice_deliveries
    WHERE notifier = @notifier AND sent_at IS NULL AND given_up_at IS NULL AND next_at <= now()
    ORDER BY next_at LIMIT @batch FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE notice_deliveries d SET attempts = d.attempts + 1, next_at = now() + @lease::interval
    FROM due WHERE d.notice_id = due.notice_id AND d.notifier = @notifier
    RETURNING d.notice_id, d.attempts
)
SELECT n.notice_id, n.kind, n.number AS nth, n.at, n.approver AS decided_by, n.decision, n.reason, n.remark, t.attempts,
    a.approval_id, a.tenant_id, a.invocation_id::text, i.workflow_id, a.tool_id, a.effect, a.risk, a.safe_args, a.digest, a.message, a.requested_by, a.on_behalf_of,
    a.approvers_text, a.rule, a.preview, coalesce(a.granted ->> 'previewDigest', '') AS preview_digest, a.parked, a.expires_at, a.created_at
FROM taken t JOIN notices n USING (notice_id) JOIN approvals a USING (approval_id) JOIN invocations i USING (invocation_id)
ORDER BY n.at, n.notice_id;

-- name: MarkNoticeSent
UPDATE notice_deliveries SET sent_at = now(), last_error = NULL WHERE notice_id = @notice_id AND notifier = @notifier AND given_up_at IS NULL;

-- name: MarkNoticeFailed
-- Delivery is given up if the next try would come after the notice's life.
UPDATE notice_deliveries d SET
    next_at = now() + @delay::interval, last_error = @last_error,
    given_up_at = CASE WHEN n.at + @life::interval <= now() + @delay::interval THEN now() END
FROM notices n
WHERE n.notice_id = d.notice_id AND d.notice_id = @notice_id AND d.notifier = @notifier AND d.sent_at IS NULL
RETURNING given_up_at IS NOT NULL AS given_up;

-- name: PruneNotices
DELETE FROM notices WHERE happened AND at < now() - @keep::interval;
