-- name: OwnsRun
-- A call counts from its first event on: no event of it is shown before. The primary key of run_events finds the calls of a run.
SELECT coalesce(bool_and(i.actor_id = @identity OR i.subject_id IS NOT DISTINCT FROM @identity), false) AS owns
FROM (SELECT DISTINCT invocation_id FROM run_events WHERE tenant_id = @tenant_id AND run_id = @run_id AND invocation_id IS NOT NULL) e
JOIN invocations i USING (invocation_id);
