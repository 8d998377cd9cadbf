package policy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of a document.
const (
	// MaxDocument is in bytes.
	MaxDocument = 1 << 20
	// These bounds are in entries.
	MaxRules        = 1024
	MaxApprovers    = 256
	MaxLimits       = 64
	MaxCacheEntries = 256
	MaxRoles        = 256
	MaxFeatures     = 256
	MaxOverrides    = 256
	// maxMessage and maxIdentity are in characters.
	maxMessage  = 500
	maxIdentity = 200
)

// docVersion is the version of the documents that this package reads.
const docVersion = 1

// document is the written document with every default filled in. A stored document therefore
// keeps its meaning if a later release has other defaults.
type document struct {
	Version int                  `json:"version"`
	Tenants map[string]tenantDoc `json:"tenants"`
}

type tenantDoc struct {
	AllowedTools []Pattern         `json:"allowedTools"`
	Mode         Mode              `json:"mode"`
	AskFor       []toolspec.Effect `json:"requireApprovalForEffects,omitempty"`
	Rules        []ruleDoc         `json:"rules,omitempty"`
	Budgets      Budgets           `json:"budgets,omitzero"`
	Limits       []limitDoc        `json:"limits,omitempty"`
	Cache        []cacheDoc        `json:"cache,omitempty"`
	Approvals    approvalsDoc      `json:"approvals"`
	// Roles maps the name of a role to patterns of identities.
	Roles     map[string][]Pattern  `json:"roles,omitempty"`
	Features  map[string]featureDoc `json:"features,omitempty"`
	Overrides []overrideDoc         `json:"overrides,omitempty"`
	// Repair are patterns of tools. NoSchema is empty for deny.
	Repair   []Pattern             `json:"repair,omitempty"`
	NoSchema toolspec.NoSchemaMode `json:"noSchemaMode,omitempty"`
	// Basis is empty for policy, so that documents from before this key keep their digest.
	Basis authz.Basis `json:"permissions,omitempty"`
}

type ruleDoc struct {
	Tool     Pattern           `json:"tool"`
	Roles    []string          `json:"roles,omitempty"`
	Effects  []toolspec.Effect `json:"effects,omitempty"`
	Risks    []toolspec.Risk   `json:"risks,omitempty"`
	When     string            `json:"when,omitempty"`
	Decision Verb              `json:"decision,omitempty"`
	Risk     toolspec.Risk     `json:"risk,omitempty"`
	Message  string            `json:"message,omitempty"`
	// Approvals says who approves the calls of a rule with require_approval.
	Approvals approversDoc `json:"approvals,omitzero"`
	// when is the compiled When. at is the position of the rule in the file.
	when *whenCondition
	at   origin
}

type limitDoc struct {
	Tool       Pattern  `json:"tool"`
	Per        []Scope  `json:"per,omitempty"`
	Quota      quotaDoc `json:"quota,omitzero"`
	Concurrent int64    `json:"concurrent,omitempty"`
	Then       Then     `json:"then"`
	WaitFor    string   `json:"waitFor,omitempty"`
}

type featureDoc struct {
	Tools   []Pattern `json:"tools"`
	Enabled bool      `json:"enabled"`
	Roles   []string  `json:"roles,omitempty"`
	Message string    `json:"message,omitempty"`
}

// overrideDoc holds the settings that differ for some tools.
type overrideDoc struct {
	Tool    Pattern `json:"tool"`
	Mode    Mode    `json:"mode,omitempty"`
	Budgets Budgets `json:"budgets,omitzero"`

	Approvals approversDoc `json:"approvals,omitzero"`
}

type quotaDoc struct {
	Tokens int64  `json:"tokens"`
	Every  string `json:"every"`
}

// cacheDoc says how long values of a tool may be cached: a duration, or never.
type cacheDoc struct {
	Tool Pattern `json:"tool"`
	For  string  `json:"for"`
}

// approversDoc says who approves and how long a request stays open, for a tenant, for the tools
// of an override, or for the calls of a rule.
type approversDoc struct {
	ExpiresAfter string    `json:"expiresAfter,omitempty"`
	Approvers    []Pattern `json:"approvers,omitempty"`
	Quorum       int64     `json:"quorum,omitempty"`
	Chain        []seatDoc `json:"chain,omitempty"`
}

func (a approversDoc) isZero() bool {
	return a.ExpiresAfter == "" && a.Approvers == nil && a.Quorum == 0 && a.Chain == nil
}

type approvalsDoc struct {
	approversDoc

	Enabled           bool      `json:"enabled"`
	AllowSelfApproval bool      `json:"allowSelfApproval"`
	AllowUnsigned     bool      `json:"allowUnsigned"`
	Remember          memoryDoc `json:"remember,omitzero"`
	ParkUnknown       string    `json:"parkUnknown,omitempty"`
	RemindAfter       string    `json:"remindAfter,omitempty"`

	Escalate []escalationDoc `json:"escalate,omitempty"`
}

type escalationDoc struct {
	After     string    `json:"after"`
	Approvers []Pattern `json:"approvers"`
}

type memoryDoc struct {
	For      string `json:"for"`
	AnyArgs  bool   `json:"anyArgs,omitempty"`
	AnyActor bool   `json:"anyActor,omitempty"`
}

type seatDoc struct {
	Name      string    `json:"name,omitempty"`
	Approvers []Pattern `json:"approvers,omitempty"`
	Quorum    int64     `json:"quorum,omitempty"`
}

// canonical returns v as RFC 8785 JSON. It works for plain data only: ASCII keys, whole numbers
// below 2^53 and printable text. For such data, Go's JSON with sorted keys is RFC 8785 JSON.
func canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("policy: plain data cannot be written as JSON: %v", err))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		panic(fmt.Sprintf("policy: JSON just written cannot be read: %v", err))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		panic(fmt.Sprintf("policy: plain data cannot be written as JSON: %v", err))
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
