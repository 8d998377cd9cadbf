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

// cacheVersion changes with the meaning of the fields below.
const cacheVersion = "pawl result cache 1"

// cacheInput is everything that a kept value depends on. Two calls share a value
// only where all of it is the same.
type cacheInput struct {
	tenant string
	// scope keeps what is shared per actor apart from what is shared per tenant.
	// Of a value for the whole tenant, actor, subject and session are empty.
	scope                   toolspec.CacheScope
	actor, subject, session string
	// virtualKey can choose other implementations of what the tool uses.
	virtualKey string
	// generation is that of the connection.
	connection, generation string
	tool, toolDigest       string
	policyDigest           string
	// args are canonical, as they stand before secrets come in.
	args []byte
}

// newCacheInput reads what a value depends on off a call. The narrower scope wins
// where a call has a connection: it is somebody's right, and an actor who has it
// must not be answered with what another one was let see.
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

// preimage writes every field with its length ahead, so that no two inputs have
// the same one.
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
