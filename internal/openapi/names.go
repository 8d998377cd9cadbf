package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// maxID bounds a tool id.
const maxID = 64

var (
	notID     = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	separates = regexp.MustCompile(`_{2,}`)
)

// nameAll gives each operation the id of its tool: the namespace and the operation id, or the method and
// path. If two operations would have the same id, or an id would be too long, it ends with a part
// of the SHA-256 of method and path. So an id depends on no other operation but its namesakes.
func nameAll(all []operation, namespace string) {
	count := map[string]int{}
	bases := make([]string, len(all))
	for i, op := range all {
		base := op.id
		if base == "" {
			base = strings.ToLower(op.method) + "_" + op.path
		}
		base = strings.Trim(separates.ReplaceAllString(notID.ReplaceAllString(base, "_"), "_"), "_")
		bases[i] = base
		count[base]++
	}
	for i := range all {
		prefix, base := namespace+"__", bases[i]
		if count[base] > 1 || base == "" || len(prefix)+len(base) > maxID {
			sum := sha256.Sum256([]byte(all[i].name()))
			suffix := "_" + hex.EncodeToString(sum[:4])
			base = base[:min(len(base), maxID-len(prefix)-len(suffix))] + suffix
		}
		all[i].toolID = prefix + base
	}
}
