package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// cacheVersion is a part of every key. Change it when a field of cacheInput gets another meaning, so that no call
// gets a value that was stored under the earlier meaning.
const cacheVersion = "pawl result cache 1"

// cacheInput has everything on which a cached value depends. Two calls share a value only if all
// fields are equal.
type cacheInput struct {
	tenant string
	// scope separates values that are shared per actor from values that are shared per tenant. For
	// a value of the whole tenant, actor, subject and session are empty.
	scope                   toolspec.CacheScope
	actor, subject, session string
	// virtualKey is Context.VirtualKeyID, an id that the caller chooses. A tool may get other implementations of its
	// capabilities under another id, and may then return another value.
	virtualKey string
	// generation is hook.Connection.Generation: it rises when the connection may have become another account.
	connection, generation string
	tool, toolDigest       string
	policyDigest           string
	// args are the canonical arguments, before secrets are injected.
	args []byte
}

// newCacheInput returns the cacheInput of a call. If the call has a connection, it uses the scope
// per actor instead of the scope per tenant: each actor has separate rights to a connection, so an
// actor must not get a value that another actor may see.
func newCacheInput(c toolspec.Context, scope toolspec.CacheScope, toolID, toolDigest, policyDigest string, n hook.Connection, args json.RawMessage) (cacheInput, error) {
	canonical, err := strictjson.Canonical(args)
	if err != nil {
		return cacheInput{}, err
	}
	if scope == toolspec.PerTenant && c.ConnectionID != "" {
		scope = toolspec.PerActor
	}
	in := cacheInput{
		tenant: c.TenantID, scope: scope, virtualKey: c.VirtualKeyID, connection: c.ConnectionID,
		tool: toolID, toolDigest: toolDigest, policyDigest: policyDigest, args: canonical,
	}
	if c.ConnectionID != "" {
		in.generation = strconv.Itoa(n.Generation)
	}
	if scope != toolspec.PerTenant {
		in.actor, in.subject = c.ActorID, c.SubjectID
	}
	if scope == toolspec.PerSession {
		in.session = c.SessionID
	}
	return in, nil
}

// preimage returns the fields, each with its length before it, so that different inputs have
// different preimages.
func (in cacheInput) preimage() []byte {
	var out []byte
	for _, field := range [][]byte{
		[]byte(cacheVersion), []byte(in.tenant), []byte(in.scope), []byte(in.actor), []byte(in.subject), []byte(in.session),
		[]byte(in.virtualKey), []byte(in.connection), []byte(in.generation), []byte(in.tool), []byte(in.toolDigest), []byte(in.policyDigest),
		in.args,
	} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(field)))
		out = append(out, field...)
	}
	return out
}

// key is the hexadecimal SHA-256 of the preimage.
func (in cacheInput) key() string {
	sum := sha256.Sum256(in.preimage())
	return hex.EncodeToString(sum[:])
}
