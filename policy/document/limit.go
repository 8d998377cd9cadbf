package document

import "fmt"

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

// Limit limits some calls together: a quota, or a maximum of concurrent calls.
type Limit struct {
	Tool       Pattern  `json:"tool" jsonschema:"required"`
	Per        []Scope  `json:"per,omitempty" jsonschema:"minItems=1,maxItems=4,uniqueItems=true,enum=tenant,enum=tool,enum=actor,enum=connection" jsonschema_description:"What is counted apart."`
	Quota      Quota    `json:"quota,omitzero" jsonschema:"oneof_required=quota"`
	Concurrent int64    `json:"concurrent,omitempty" jsonschema:"oneof_required=concurrent,minimum=1,maximum=10000"`
	Then       Then     `json:"then" jsonschema:"enum=wait,enum=fail"`
	WaitFor    Duration `json:"waitFor,omitempty" jsonschema_description:"With then: wait."`
}

// Quota is a bucket of tokens: each call takes one.
type Quota struct {
	Tokens int64    `json:"tokens" jsonschema:"required,minimum=1,maximum=1000000"`
	Every  Duration `json:"every" jsonschema:"required"`
}

// Kind returns "every 1m0s" for a quota with that time, and "concurrent" for a maximum of concurrent calls. It
// distinguishes limits with the same tool and scope.
func (l Limit) Kind() string {
	if l.Quota.Every != "" {
		return "every " + string(l.Quota.Every)
	}
	return "concurrent"
}

// counts returns a key that is equal for two entries that count the same calls in the same way.
func (l Limit) counts() string { return fmt.Sprint(l.Tool, "\x00", l.Kind(), "\x00", l.Per) }
