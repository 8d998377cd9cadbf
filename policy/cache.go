package policy

import "time"

// never is the text with which a document forbids to cache values.
const never = "never"

// cacheRule is one compiled entry: the values of a tool may be cached for at most limit. A limit
// of 0 forbids it.
type cacheRule struct {
	tool  Pattern
	limit time.Duration
}

func compileCache(doc cacheDoc) cacheRule {
	limit, _ := duration(doc.For) // checked by the reader; the text "never" gives 0
	return cacheRule{tool: doc.Tool, limit: limit}
}

// CacheFor returns how long the values of a tool may be cached; declared is the time that the
// tool declares, or 0 if it declares none. The result is the shorter of declared and the first
// entry for the tool. If the tool declares no time, the entry alone decides. The result 0, like a
// negative declaration, means that no value is cached.
func (p *Policy) CacheFor(tenantID, toolID string, declared time.Duration) time.Duration {
	t := p.tenant(tenantID)
	if t == nil || declared < 0 {
		return 0
	}
	for _, r := range t.cache {
		if !r.tool.Matches(toolID) {
			continue
		}
		if declared == 0 {
			return r.limit
		}
		return min(declared, r.limit)
	}
	return declared
}
