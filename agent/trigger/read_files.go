package trigger

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/strictyaml"
)

// maxPattern bounds a pattern of files, in characters.
const maxPattern = 256

// files reads which changes of files are events.
func (r *reader) files(n *node, path string) {
	o := &FilesOptions{}
	r.Mapping(n, path,
		field{Name: "include", Required: "is missing: a pattern of paths in the workspace, such as inbox/**/*.csv", Read: r.pattern(&o.Include)},
		field{Name: "exclude", Read: r.pattern(&o.Exclude)},
		field{Name: "changes", Read: func(n *node, path string) {
			r.List(n, path, len(defaultChanges)+1, func(n *node, path string) {
				change := strictyaml.OneOf(r.Reader, n, path, Created, Modified, Removed)
				if slices.Contains(o.Changes, change) {
					r.Fail(n, path, "is there twice")
				}
				o.Changes = append(o.Changes, change)
			})
			r.NotEmpty(n, path, "leave it out for created and changed")
		}},
	)
	r.doc.Files = o
}

func (r *reader) pattern(into *string) func(n *node, path string) {
	return func(n *node, path string) {
		v, ok := r.Text(n, path, maxPattern)
		if !ok {
			return
		}
		if v == "" || strings.HasPrefix(v, "/") || slices.Contains(strings.Split(v, "/"), "..") {
			r.Fail(n, path, "must be a pattern of paths in the workspace, such as inbox/**/*.csv")
			return
		}
		*into = v
	}
}
