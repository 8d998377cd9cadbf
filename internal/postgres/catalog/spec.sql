-- name: PublishSpecs
-- Sorted, so that two workers that start at once lock the rows in the same order.
INSERT INTO tool_specs (tool_id, digest, spec)
SELECT s.tool_id, s.digest, s.spec::json
FROM unnest(@tool_ids::text[], @digests::text[], @specs::text[]) AS s (tool_id, digest, spec)
ORDER BY s.tool_id, s.digest
ON CONFLICT (tool_id, digest) DO UPDATE SET spec = excluded.spec, seen_at = now();

-- name: Specs
SELECT DISTINCT ON (tool_id) spec FROM tool_specs ORDER BY tool_id, seen_at DESC, published_at DESC;
