package openapi

import (
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

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
		all[i].toolID = prefix + base
		if count[base] > 1 || toolspec.CheckToolID(all[i].toolID) != nil {
			all[i].toolID = toolspec.HashedToolID(prefix, base, all[i].name())
		}
	}
}
