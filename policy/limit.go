package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Scope says which calls share the count of a limit. A limit never counts calls of different
// tenants together.
type Scope string

// The scopes.
const (
	PerTenant     Scope = "tenant"
	PerTool       Scope = "tool"
	PerActor      Scope = "actor"
	PerConnection Scope = "connection"
)

// Then says what happens to a call that reaches a limit.
type Then string

// The call fails, or it waits.
const (
	ThenFail Then = "fail"
	ThenWait Then = "wait"
)

// Bounds of a limit.
const (
	maxTokens     = 1_000_000
	maxConcurrent = 10_000
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
	tool Pattern
	per  []Scope
	// kind distinguishes limits with the same tool and scope.
	kind string
	base Limit
}

func compileLimit(doc limitDoc, source string) limit {
	every, _ := duration(doc.Quota.Every) // checked by the reader
	waitFor, _ := duration(doc.WaitFor)
	return limit{tool: doc.Tool, per: doc.Per, kind: doc.kind(), base: Limit{
		Tokens: doc.Quota.Tokens, Every: every, Concurrent: int(doc.Concurrent),
		Wait: doc.Then == ThenWait, WaitFor: waitFor, Source: source,
	}}
}

func (d limitDoc) kind() string {
	if d.Quota.Every != "" {
		return "every " + d.Quota.Every
	}
	return "concurrent"
}

// counts returns a key that is equal for two entries that count the same calls in the same way.
func (d limitDoc) counts() string { return fmt.Sprint(d.Tool, "\x00", d.kind(), "\x00", d.Per) }

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

// key returns a JSON array of strings with the limit and the values of its scopes. Because it is
// JSON, different values always give different keys.
func (l limit) key(f Facts) string {
	parts := []string{string(l.tool), l.kind}
	for _, scope := range l.per {
		value := ""
		switch scope {
		case PerTool:
			value = f.ToolID
		case PerActor:
			value = f.ActorID
		case PerConnection:
			value = f.ConnectionID
		case PerTenant:
			continue
		}
		parts = append(parts, string(scope), value)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(parts); err != nil {
		panic(fmt.Sprintf("policy: texts cannot be written as JSON: %v", err))
	}
	key := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(key) > maxKey {
		sum := sha256.Sum256(key)
		return hex.EncodeToString(sum[:])
	}
	return string(key)
}
