package agentfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	secretFault = "has the shape of a credential: keep credentials in a connection, and write its id"
	secretName  = "has the name of a credential: keep credentials in a connection, and write its id" //nolint:gosec // a message
)

// holdsNoSecret reports whether no text of the document is a credential. It runs before the other checks, whose
// faults may repeat a text. A document is stored, shown and sent to models.
func (r *reader) holdsNoSecret(root *node) bool {
	r.search(root, "")
	return len(r.Faults()) == 0
}

func (r *reader) search(n *node, path string) {
	switch n.Kind {
	case yaml.ScalarNode:
		if toolspec.SecretValue(n.Value) {
			r.Fail(n, path, secretFault)
		}
	case yaml.SequenceNode:
		for i, entry := range n.Content {
			r.search(entry, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			here := strictyaml.Join(path, key.Value)
			switch {
			case toolspec.SecretValue(key.Value):
				r.Fail(key, path, secretFault)
				continue
			case isRequest(path) && toolspec.SecretName(key.Value):
				r.Fail(key, here, secretName)
			}
			r.search(value, here)
		}
	default: // an alias, which the reader refuses
	}
}

// isRequest says whether the keys below path go into requests.
func isRequest(path string) bool {
	return slices.ContainsFunc([]string{"model.members", "fallback.members", "summary.members"}, func(m string) bool { return strings.HasPrefix(path, m) })
}
