-- name: OwnsRun
-- A call counts from its first event on, because no event of the call is shown before. last_seq is the number of the last event that counts.
SELECT coalesce(max(e.seq), 0) AS last_seq, coalesce(bool_and(
    CASE WHEN e.kind = 'text_delta' THEN e.owner_id = @identity ELSE i.actor_id = @identity OR i.subject_id IS NOT DISTINCT FROM @identity END
), false) AS owns
FROM run_events e LEFT JOIN invocations i ON i.invocation_id = e.invocation_id AND i.tenant_id = e.tenant_id AND i.run_id = e.run_id
WHERE e.tenant_id = @tenant_id AND e.run_id = @run_id AND e.seq > @after
    AND (e.kind = 'text_delta' OR e.kind IN ('tool_call_start', 'approval_requested') AND i.invocation_id IS NOT NULL);
