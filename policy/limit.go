package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Limit limits all calls with the same key together. It is a quota, which has Tokens, or a
// maximum of concurrent calls, which has Concurrent.
type Limit struct {
	// Key identifies the count. It is unique only within the tenant.
	Key string
	// Tokens is the number of calls that a full bucket allows. An empty bucket fills evenly
	// within Every.
	Tokens int64
	Every  time.Duration
	// Concurrent is the maximum number of calls that run at the same time.
	Concurrent int
	// Wait says that a call at the limit waits, for at most WaitFor; 0 means until the deadline
	// of the call. Without Wait the call fails.
	Wait    bool
	WaitFor time.Duration
	// Source is the path of the limit: tenants.acme.limits[0].
	Source string
}

// limit is one compiled entry.
type limit struct {
	tool document.Pattern
	per  []document.Scope
	// kind distinguishes limits with the same tool and scope.
	kind string
	base Limit
}

func compileLimit(doc document.Limit, source string) limit {
	return limit{tool: doc.Tool, per: doc.Per, kind: doc.Kind(), base: Limit{
		Tokens: doc.Quota.Tokens, Every: doc.Quota.Every.Value(), Concurrent: int(doc.Concurrent),
		Wait: doc.Then == document.ThenWait, WaitFor: doc.WaitFor.Value(), Source: source,
	}}
}

// Limits returns the limits that apply to a call, in the order of the document. They do not
// depend on its arguments.
func (p *Policy) Limits(f Facts) []Limit {
	t := p.tenant(f.TenantID)
	if t == nil {
		return nil
	}
	var limits []Limit
	for _, l := range t.limits {
		if l.tool.Matches(f.ToolID) {
			held := l.base
			held.Key = l.key(f)
			limits = append(limits, held)
		}
	}
	return limits
}

// maxKey is the maximum length of a key, in bytes. A longer key is replaced by its digest.
const maxKey = 1000

// key returns the limit and the values of its scopes as a JSON array: ["core__*","concurrent","actor","user:ann"].
// Because it is JSON, different values always give different keys.
func (l limit) key(f Facts) string {
	parts := []string{string(l.tool), l.kind}
	for _, scope := range l.per {
		value := ""
		switch scope {
		case document.PerTool:
			value = f.ToolID
		case document.PerActor:
			value = f.ActorID
		case document.PerConnection:
			value = f.ConnectionID
		case document.PerTenant: // the reader of the document drops it, because each key belongs to one tenant
		}
		parts = append(parts, string(scope), value)
	}
	key, err := strictjson.Encode(parts)
	if err != nil {
		panic(fmt.Sprintf("policy: texts cannot be written as JSON: %v", err))
	}
	if len(key) > maxKey {
		sum := sha256.Sum256(key)
		return hex.EncodeToString(sum[:])
	}
	return string(key)
}
