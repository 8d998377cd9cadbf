package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// hashed is the number of characters of base32 at the end of a name that is not the tool id itself:
// 80 bits.
const hashed = 16

// SentName returns the name under which a tool is offered. It is the tool id if every provider
// accepts it as a name. Otherwise it is the accepted part of the id, `_` and the first 16
// characters of the lower-case base32 SHA-256 of the id. It depends on the id only. An id that
// looks like such a name is hashed too, so that no tool can get the name of another tool.
func SentName(toolID string) string {
	if SafeName(toolID) && begins(toolID[0]) && !looksHashed(toolID) {
		return toolID
	}
	sum := sha256.Sum256([]byte(toolID))
	suffix := "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashed]
	name := Repeatable(toolID)
	if !begins(name[0]) {
		name = "_" + name
	}
	return name[:min(len(name), MaxName-len(suffix))] + suffix
}

// begins reports whether a name may begin with c: Gemini refuses names that begin with a digit or a hyphen.
func begins(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func looksHashed(name string) bool {
	at := len(name) - hashed - 1
	return at >= 0 && name[at] == '_' && strings.Trim(name[at+1:], "abcdefghijklmnopqrstuvwxyz234567") == ""
}
