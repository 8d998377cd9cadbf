package policy

import (
	"time"

	"github.com/pawl-run/pawl/policy/document"
)

// cacheRule is one compiled entry: the values of a tool may be cached for at most limit. A limit
// of 0 forbids it.
type cacheRule struct {
	tool  document.Pattern
	limit time.Duration
}

func compileCache(doc document.Cache) cacheRule {
	return cacheRule{tool: doc.Tool, limit: doc.For.Value()}
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
