package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Scope is what a limit counts apart, always within the tenant.
type Scope string

// The scopes.
const (
	PerTenant     Scope = "tenant"
	PerTool       Scope = "tool"
	PerActor      Scope = "actor"
	PerConnection Scope = "connection"
)

// Then is what becomes of a call that meets a limit.
type Then string

// What becomes of it.
const (
	ThenFail Then = "fail"
	ThenWait Then = "wait"
)

// Bounds of a limit.
const (
	maxTokens     = 1_000_000
	maxConcurrent = 10_000
)

// Limit bounds a call together with all others that have its key: a quota, which
// has Tokens, or a number of calls at once, which has Concurrent.
type Limit struct {
	// Key names what is counted. It is unique within the tenant only.
	Key string
	// Tokens is how many calls a full bucket lets through; it fills evenly, in
	// Every.
	Tokens int64
	Every  time.Duration
	// Concurrent is how many calls may run at once.
	Concurrent int
	// Wait says that the call waits, for WaitFor at the most; 0 is the call's
	// deadline. Else it fails.
	Wait    bool
	WaitFor time.Duration
	// Source is where the limit stands: tenants.acme.limits[0].
	Source string
}

// limit is one compiled entry.
type limit struct {
	tool Pattern
	per  []Scope
	// kind keeps limits of one tool and scope apart.
	kind string
	base Limit
}

func compileLimit(doc limitDoc, source string) limit {
	every, _ := duration(doc.Quota.Every) // read before
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

// counts names what the entry counts, whatever the call.
func (d limitDoc) counts() string { return fmt.Sprint(d.Tool, "\x00", d.kind(), "\x00", d.Per) }

// Limits returns the limits that hold for a call, in the order of the document.
// They do not depend on its arguments.
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

// maxKey bounds a key in bytes; a longer one is replaced by its digest.
const maxKey = 1000

// key writes the limit and whom it counts as a JSON array of texts, in which no
// name can pass for another.
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
