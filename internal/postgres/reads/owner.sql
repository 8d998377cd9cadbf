-- name: OwnsRun
SELECT coalesce(bool_and(actor_id = @identity OR subject_id IS NOT DISTINCT FROM @identity), false) AS owns
FROM invocations WHERE tenant_id = @tenant_id AND run_id = @run_id;
