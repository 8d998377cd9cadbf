package policy

import "time"

// never is how a document forbids that values are kept.
const never = "never"

// cacheRule is one compiled entry: the values of a tool may be kept for at most
// limit, or not at all.
type cacheRule struct {
	tool  Pattern
	limit time.Duration
}

func compileCache(doc cacheDoc) cacheRule {
	limit, _ := duration(doc.For) // read before; never is none
	return cacheRule{tool: doc.Tool, limit: limit}
}

// CacheFor is how long values of a tool may be kept that declares the given time,
// 0 for none: the shorter of what the tool and the first entry for it say. An
// entry keeps values of a tool that says nothing itself. 0 means that nothing is
// kept, and so does a negative declaration.
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
