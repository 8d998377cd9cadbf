package capability

import (
	"context"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// MemoryKey is the typed name of Memory.
var MemoryKey = toolspec.NewCapability[Memory]("memory")

// These bounds apply to every implementation of Memory.
const (
	// MaxMemoryEntry bounds the content of an entry, in bytes.
	MaxMemoryEntry = 32 << 10
	// MaxMemoryPath bounds the path of an entry, in bytes.
	MaxMemoryPath = 256
	// MaxMemoryList bounds the entries of one list, and of one page of reasoning.
	MaxMemoryList = 100
	// MaxMemoryHits bounds the entries that one search finds.
	MaxMemoryHits = 20
	// MaxMemoryKeep is the longest time that an entry of a session is kept after its last write, and the
	// default.
	MaxMemoryKeep = 365 * 24 * time.Hour
	// MaxRunMemoryKeep is this time for an entry of a run without a session. No call reads such an
	// entry after the end of the run.
	MaxRunMemoryKeep = 30 * 24 * time.Hour
)

// Memory keeps entries for the calls of one session. Each method takes the caller, and reads and
// writes the entries of the tenant and the session of the caller only.
//
// A path begins with a slash and has segments that are separated by slashes, such as /notes/a. If a
// caller makes a mistake, the error is one of the errors of this package. Its text holds no path
// and no content.
type Memory interface {
	// MemoryEntry returns the entry at a path. It fails with ErrNoMemory if there is none.
	MemoryEntry(ctx context.Context, by MemoryCaller, path string) (MemoryEntry, error)
	// ListMemory returns the entries at and below a directory in the order of their paths, without
	// their contents, up to MaxMemoryList. The list begins with the first path that is greater than
	// after. more reports that the list is longer.
	ListMemory(ctx context.Context, by MemoryCaller, under, after string) (entries []MemoryEntry, more bool, err error)
	// SearchMemory returns the entries that have all words of a query, up to MaxMemoryHits, the best
	// ones first. The query may have quoted phrases, OR and -word. It also finds entries that have the
	// query as a part of their text.
	SearchMemory(ctx context.Context, by MemoryCaller, query string) ([]MemoryHit, error)
	// WriteMemory changes one entry and returns it, without its content. A second write with the Key
	// of the caller changes nothing and returns what the first one did.
	WriteMemory(ctx context.Context, by MemoryCaller, w MemoryWrite) (MemoryEntry, error)
	// Reasoning returns the reasoning that is recorded for the run of the caller, oldest first: the
	// entries whose Number is greater than after. It returns at most limit entries, and at most 32 KiB
	// of content, but at least one entry. more reports that there are further entries.
	Reasoning(ctx context.Context, by MemoryCaller, after int64, limit int) (entries []MemoryEntry, more bool, err error)
}

// MemoryCaller says whose entries a call sees, and who writes.
type MemoryCaller struct {
	TenantID string
	// Session is the name of the session or of the run: see SessionName and RunName.
	Session string
	// ActorID, RunID and ToolCallID are kept with an entry that the caller writes. A person has an
	// ActorID only.
	ActorID, RunID, ToolCallID string
	// Key identifies the write. It is the idempotency key of the call, or empty for a write that is
	// never repeated.
	Key string
	// Trust is what the entries of the caller deserve; empty is TrustModel.
	Trust MemoryTrust
}

// MemoryCallerOf returns the caller of a call. The calls of a session share their entries. A call
// without a session shares them with the calls of its run that have none either.
func MemoryCallerOf(call toolspec.Call) MemoryCaller {
	c := call.Context
	session := RunName(c.RunID)
	if c.SessionID != "" {
		session = SessionName(c.SessionID)
	}
	return MemoryCaller{
		TenantID: c.TenantID, Session: session, ActorID: c.ActorID, RunID: c.RunID, ToolCallID: call.ToolCallID,
		Key: call.IdempotencyKey, Trust: TrustModel,
	}
}

// SessionName returns the Session of the calls with this sessionId. It differs from the RunName of
// every run.
func SessionName(sessionID string) string { return "session:" + sessionID }

// runPrefix begins the Session of the calls of a run.
const runPrefix = "run:"

// RunName returns the Session of the calls of a run that have no sessionId.
func RunName(runID string) string { return runPrefix + runID }

// LongestMemoryKeep returns how long an entry of a Session is kept after its last write, at most and by
// default: MaxRunMemoryKeep for the Session of a run, MaxMemoryKeep for others.
func LongestMemoryKeep(session string) time.Duration {
	if strings.HasPrefix(session, runPrefix) {
		return MaxRunMemoryKeep
	}
	return MaxMemoryKeep
}

// MemoryTrust says who wrote a content, and so how far it can be trusted.
type MemoryTrust string

// The levels of trust.
const (
	// TrustModel is content that a tool call has written or changed. It may repeat what a web page, a
	// file or a tool said, so it is data and no instruction.
	TrustModel MemoryTrust = "model"
	// TrustPerson is content that a person has written by the command line, as a whole.
	TrustPerson MemoryTrust = "person"
)

// MemoryKind says which tool an entry belongs to.
type MemoryKind string

// The kinds of entries. Calls can write MemoryNote by WriteMemory at any path that is not reserved.
const (
	MemoryNote       MemoryKind = "note"
	MemoryDump       MemoryKind = "dump"
	MemoryReasoning  MemoryKind = "reasoning"
	MemoryGoal       MemoryKind = "goal"
	MemoryCheckpoint MemoryKind = "checkpoint"
	MemoryDecision   MemoryKind = "decision"
	MemoryTodos      MemoryKind = "todos"
)

// MemoryEntry is an entry with its author. Times are those of the store.
type MemoryEntry struct {
	Path string `json:"path"`
	// Session is the name of the session: see MemoryCaller.
	Session string     `json:"session"`
	Kind    MemoryKind `json:"kind"`
	// Number counts the entries of a session in the order of their creation, from 1.
	Number int64 `json:"number"`
	// Title is the title of a goal, a checkpoint, a decision or a dump.
	Title   string `json:"title,omitempty"`
	Content string `json:"content,omitempty"`
	// Status is open or completed for a goal; Active says that it is the active goal of its session.
	Status string `json:"status,omitempty"`
	Active bool   `json:"active,omitempty"`
	// Bytes is the length of the content.
	Bytes int `json:"bytes"`
	// Version grows with each write. No two writes of a session give the same Version, also if an entry
	// is deleted and created again.
	Version int64       `json:"version"`
	Trust   MemoryTrust `json:"trust"`
	// ActorID, RunID and ToolCallID are those of the MemoryCaller that wrote the entry last. RunID and ToolCallID are
	// empty if a person wrote it.
	ActorID    string    `json:"actorId"`
	RunID      string    `json:"runId,omitempty"`
	ToolCallID string    `json:"toolCallId,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// GoalID returns the id of the goal that the entry is or belongs to, or "".
func (e MemoryEntry) GoalID() string {
	rest, isGoal := strings.CutPrefix(e.Path, "/goals/")
	id, _, _ := strings.Cut(rest, "/")
	if !isGoal {
		return ""
	}
	return id
}

// MemoryHit is an entry that a search has found, without its content.
type MemoryHit struct {
	MemoryEntry
	// Excerpt is the part of the content that has the words of the query, up to about 300 characters.
	Excerpt string `json:"excerpt"`
}

// MemoryAction is what a write does.
type MemoryAction string

// The actions of a write.
const (
	// MemoryCreate makes an entry. It fails with ErrMemoryExists if the path has one.
	MemoryCreate MemoryAction = "create"
	// MemoryAdd makes an entry of the Kind below the directory Path. Its name is its Number.
	MemoryAdd MemoryAction = "add"
	// MemoryReplace replaces the content, or the one occurrence of Old in it.
	MemoryReplace MemoryAction = "replace"
	// MemoryAppend adds the content to the end of the content. It fails with ErrNoMemory if there is
	// no entry. No append is lost, whatever others write at the same time.
	MemoryAppend MemoryAction = "append"
	// MemoryDelete deletes the entry.
	MemoryDelete MemoryAction = "delete"
	// MemoryPut creates or replaces an entry.
	MemoryPut MemoryAction = "put"
)

// MemoryWrite is one change of one entry.
type MemoryWrite struct {
	Action MemoryAction
	Path   string
	// Kind is MemoryNote if it is empty. Only MemoryAdd takes other kinds.
	Kind           MemoryKind
	Title, Content string
	// Old is the text that a MemoryReplace replaces; empty is the whole content.
	Old string
	// IfVersion, if not 0, is the Version that the entry must have. Otherwise the write fails with
	// ErrMemoryChanged.
	IfVersion int64
	// Keep is how long the entry is kept after this write. The maximum is LongestMemoryKeep of the
	// session, and so is the default.
	Keep time.Duration
}
