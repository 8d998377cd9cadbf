package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Bounds of a trigger.
const (
	// MaxName bounds the name and the version of a trigger, in characters.
	MaxName = 64
	// MaxPrompt bounds the prompt, in bytes.
	MaxPrompt = 16 << 10
	// MaxValues bounds the different paths of a prompt.
	MaxValues = 32
	// MaxTools bounds the tools that a trigger names.
	MaxTools = 1024
	// MaxConnections bounds the connections that a trigger names.
	MaxConnections = 64
	// MaxFilter bounds each list of names in OwnOptions.
	MaxFilter = 64
	// MinEverySeconds is the shortest interval of a schedule.
	MinEverySeconds = 60
	// MaxEverySeconds is the longest interval of a schedule.
	MaxEverySeconds = 30 * 24 * 60 * 60
	// MaxTokens bounds the tokens of a quota.
	MaxTokens = 10000
	// MaxWaiting bounds the events of a trigger that wait for their runs, except for events of Pawl. Migration 39 has it too.
	MaxWaiting = 10000
)

// Source is where the events of a trigger come from.
type Source string

// The sources.
const (
	// Webhook is a signed HTTP request of another service.
	Webhook Source = "webhook"
	// Schedule is a clock: each set time is an event.
	Schedule Source = "schedule"
	// Own is an event of Pawl itself, in the tenant of the trigger.
	Own Source = "pawl"
	// Postgres is a transaction in a database, which calls a function or sends a notification.
	Postgres Source = "postgres"
	// Files is a change of a file in the workspace of the workers.
	Files Source = "files"
)

// Change is a kind of changes of files.
type Change string

// The changes.
const (
	Created  Change = "created"
	Modified Change = "changed"
	Removed  Change = "removed"
)

var defaultChanges = []Change{Created, Modified}

// Happening is a kind of events of Pawl itself.
type Happening string

// The kinds of events of Pawl.
const (
	// RunEnded is the end of a run of an agent.
	RunEnded Happening = "run_ended"
	// CallEnded is the end of a call of a tool.
	CallEnded Happening = "call_ended"
	// ApprovalRequested is a request for an approval.
	ApprovalRequested Happening = "approval_requested"
)

// Signature is how the sender of a webhook signs it.
type Signature string

// The signatures.
const (
	// Standard is the signature of the Standard Webhooks specification, with an id and a time.
	Standard Signature = "standard"
	// GitHub is the header X-Hub-Signature-256 over the body.
	GitHub Signature = "github"
)

// Document is one version of a trigger. Its JSON is the canonical form of the YAML that people write.
type Document struct {
	// Name names the trigger in its tenant: 1 to 64 characters of a-z 0-9 _ -, the first a letter.
	Name string `json:"name"`
	// Version is the author's name for this version: 1 to 64 characters of A-Z a-z 0-9 _ . -
	Version string `json:"version"`
	// TenantID and ActorID are the tenant and the actor of every run. No event changes them.
	TenantID string `json:"tenant"`
	ActorID  string `json:"actor"`
	// Agent is the name of the agent. AgentVersion is one of its versions; empty means the active one.
	Agent        string `json:"agent"`
	AgentVersion string `json:"agentVersion,omitempty"`
	// On is the source of the events.
	On Source `json:"on"`
	// Webhook is set if the source is a webhook, Times if it is a schedule, and Own if it is Pawl itself. Postgres is set if the trigger
	// takes notifications, and Files if the source is a change of a file.
	Webhook  *WebhookOptions  `json:"webhook,omitempty"`
	Times    *Times           `json:"schedule,omitempty"`
	Own      *OwnOptions      `json:"pawl,omitempty"`
	Postgres *PostgresOptions `json:"postgres,omitempty"`
	Files    *FilesOptions    `json:"files,omitempty"`
	// Quota bounds the runs that events start. A Schedule has none. Without it there is no bound.
	Quota *Quota `json:"quota,omitempty"`
	// Prompt is the message that starts a run. {{a.b}} stands for a value of the event.
	Prompt string `json:"prompt"`
	// SessionID is the session of every run.
	SessionID string `json:"session,omitempty"`
	// Tools are the tools of the agent that the runs may use. Without an entry, the runs may use all tools of the agent.
	Tools []string `json:"tools,omitempty"`
	// Connections maps ids of tools to the connections that their calls use.
	Connections map[string]string `json:"connections,omitempty"`
}

// WebhookOptions say how a webhook is verified.
type WebhookOptions struct {
	// Secret is the id of a connection of the tenant to the provider `webhook`. Its credential is the secret that verifies the
	// signatures.
	Secret string `json:"secret"`
	// Signature is the form of the signatures. Empty means Standard.
	Signature Signature `json:"signature,omitempty"`
}

// Times says when a schedule starts runs: by Cron or each EverySeconds.
type Times struct {
	// Cron has five fields: minute, hour, day of the month, month, day of the week.
	Cron string `json:"cron,omitempty"`
	// Zone is the time zone of Cron, such as Europe/Berlin; empty means UTC.
	Zone         string `json:"zone,omitempty"`
	EverySeconds int    `json:"everySeconds,omitempty"`
}

// OwnOptions say which events of Pawl start runs. An empty list excludes nothing.
type OwnOptions struct {
	Event Happening `json:"event"`
	// Agents are names of agents, for RunEnded.
	Agents []string `json:"agents,omitempty"`
	// Tools are ids of tools, for CallEnded and ApprovalRequested.
	Tools []string `json:"tools,omitempty"`
	// Outcomes are those of a run, as agent.Outcome has them, for RunEnded, and "ok" and codes of toolspec for CallEnded.
	Outcomes []string `json:"outcomes,omitempty"`
}

// PostgresOptions say which notifications are events.
type PostgresOptions struct {
	// Channel is the channel of the notifications, in the database that the workers listen to.
	Channel string `json:"channel"`
	// ID is the path of the id of an event in the payload. Empty means that the id is the digest of the payload.
	ID string `json:"id,omitempty"`
}

// FilesOptions say which changes of files are events.
type FilesOptions struct {
	// Include and Exclude are globs of paths in the workspace, as capability.WalkOptions has them.
	Include string `json:"include"`
	Exclude string `json:"exclude,omitempty"`
	// Changes are the kinds of changes. Empty means Created and Modified.
	Changes []Change `json:"changes,omitempty"`
}

// Takes reports whether a kind of changes is an event.
func (o FilesOptions) Takes(c Change) bool {
	if len(o.Changes) == 0 {
		return slices.Contains(defaultChanges, c)
	}
	return slices.Contains(o.Changes, c)
}

// Quota is a bucket of tokens, as in a policy: each event takes one before it starts its run, and an event without a token waits. An empty bucket
// is full after EverySeconds.
type Quota struct {
	Tokens       int `json:"tokens"`
	EverySeconds int `json:"everySeconds"`
}

// Canonical returns the document as RFC 8785 JSON. This text is stored, and Digest is its digest.
func (d Document) Canonical() ([]byte, error) {
	raw, err := json.Marshal(d)
	if err == nil {
		raw, err = strictjson.Canonical(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("trigger: %w", err)
	}
	return raw, nil
}

// Digest returns the SHA-256 of the canonical text, in hexadecimal.
func (d Document) Digest() (string, error) {
	text, err := d.Canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
