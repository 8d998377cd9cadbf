package remotetool

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

type (
	node  = yaml.Node
	field = strictyaml.Field
	// readInto reads one key.
	readInto = func(n *node, path string)
)

type reader struct{ *strictyaml.Reader }

// Read reads a document in YAML or JSON, and checks it. The error is strictyaml.Errors: each fault has a line and
// the path of a key. file is the name of the document in errors.
func Read(file string, source []byte) (Document, error) {
	r := &reader{strictyaml.NewReader(file)}
	r.Limit(MaxDocument)
	var d Document
	if root := r.Load(source); root != nil {
		d = r.document(root)
	}
	if faults := r.Faults(); len(faults) > 0 {
		return Document{}, faults.Sorted()
	}
	return d, nil
}

func (r *reader) document(n *node) (d Document) {
	// The tools are read after the workers, whatever the order of the keys is.
	var tools readInto
	var toolsAt *node
	r.Mapping(n, "",
		field{Name: "format", Required: "is missing: write format: 1", Read: func(n *node, path string) { d.Format = int(r.Number(n, path, 1)) }},
		field{Name: "workers", Required: "is missing", Read: func(n *node, path string) {
			r.List(n, path, MaxWorkers, func(n *node, path string) {
				w, ok := r.worker(n, path)
				if ok && slices.ContainsFunc(d.Workers, func(o Worker) bool { return o.Name == w.Name }) {
					r.Fail(n, path, "the document has two workers with the name %s", w.Name)
				}
				d.Workers = append(d.Workers, w)
			})
		}},
		field{Name: "tools", Required: "is missing", Read: func(n *node, _ string) {
			toolsAt, tools = n, func(n *node, path string) {
				t, ok := r.tool(n, path)
				switch {
				case !ok:
				case !slices.ContainsFunc(d.Workers, func(w Worker) bool { return w.Name == t.Worker }):
					r.Fail(n, path, "the document has no worker with the name %s", t.Worker)
				case slices.ContainsFunc(d.Tools, func(o Tool) bool { return o.ID == t.ID }):
					r.Fail(n, path, "the document has two tools with the id %s", t.ID)
				}
				d.Tools = append(d.Tools, t)
			}
		}},
	)
	if tools != nil {
		r.List(toolsAt, "tools", MaxTools, tools)
	}
	return d
}

func (r *reader) worker(n *node, path string) (w Worker, ok bool) {
	before := len(r.Faults())
	r.Mapping(n, path,
		field{Name: "name", Required: "is missing", Read: r.line(&w.Name)},
		field{Name: "url", Required: "is missing", Read: r.line(&w.URL)},
		field{Name: "key", Required: "is missing: the id of a key in PAWL_REMOTE_KEYS", Read: r.line(&w.Key)},
	)
	return w, r.checked(n, path, before, w.Check)
}

// checked calls check if the reader has no more faults than before, and reports whether it has no
// more after that.
func (r *reader) checked(n *node, path string, before int, check func() error) bool {
	if len(r.Faults()) == before {
		if err := check(); err != nil {
			r.Fail(n, path, "%v", err)
		}
	}
	return len(r.Faults()) == before
}

func (r *reader) tool(n *node, path string) (t Tool, ok bool) {
	before := len(r.Faults())
	t.Result = JSONResult
	r.Mapping(n, path,
		field{Name: "id", Required: "is missing", Read: func(n *node, path string) {
			t.ID, _ = r.Text(n, path, maxText)
			if err := toolspec.CheckToolID(t.ID); t.ID != "" && err != nil {
				r.Fail(n, path, "%v", err)
			}
		}},
		field{Name: "worker", Required: "is missing: the name of a worker", Read: r.line(&t.Worker)},
		field{Name: "title", Read: r.line(&t.Title)},
		field{Name: "description", Required: "is missing", Read: func(n *node, path string) {
			t.Description, _ = r.Scalar(n, path, "!!str", "text")
			if len(t.Description) > maxText {
				r.Fail(n, path, "has more than %d bytes", maxText)
			}
		}},
		field{Name: "version", Required: "is missing: quote it, as in \"1\"", Read: r.line(&t.Version)},
		field{Name: "effect", Required: "is missing", Read: func(n *node, path string) {
			t.Effect = strictyaml.OneOf(r.Reader, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect)
		}},
		field{Name: "risk", Required: "is missing", Read: func(n *node, path string) {
			t.Risk = strictyaml.OneOf(r.Reader, n, path, toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk)
		}},
		field{Name: "idempotent", Read: r.flag(&t.Idempotent)},
		field{Name: "probe", Read: r.flag(&t.Probe)},
		field{Name: "fences", Read: r.flag(&t.Fences)},
		field{Name: "connection", Read: func(n *node, path string) {
			t.Connection = strictyaml.OneOf(r.Reader, n, path, "required", "none") == "required"
		}},
		field{Name: "scopes", Read: r.list(&t.Scopes)},
		field{Name: "timeoutSeconds", Read: r.number(&t.TimeoutSeconds, int64(toolspec.MaxTimeout.Seconds()))},
		field{Name: "maxArgsBytes", Read: r.number(&t.MaxArgsBytes, toolspec.MaxInline)},
		field{Name: "maxResultBytes", Read: r.number(&t.MaxResultBytes, toolspec.MaxResult)},
		field{Name: "tags", Read: r.list(&t.Tags)},
		field{Name: "harmlessNames", Read: r.list(&t.HarmlessNames)},
		field{Name: "redaction", Required: "is missing", Read: func(n *node, path string) {
			r.Mapping(n, path,
				field{Name: "allow", Required: "is missing: list the parts of the value that may be shown", Read: r.pointers(&t.Redaction.Allow)},
				field{Name: "maskInput", Read: r.pointers(&t.Redaction.MaskInput)},
			)
		}},
		field{Name: "result", Read: func(n *node, path string) {
			t.Result = strictyaml.OneOf(r.Reader, n, path, JSONResult, TextResult, PartsResult)
		}},
		field{Name: "input", Required: "is missing: the JSON Schema of the arguments", Read: r.json(&t.Input)},
		field{Name: "output", Read: r.json(&t.Output)},
	)
	return t, r.checked(n, path, before, t.Check)
}

func (r *reader) line(into *string) readInto {
	return func(n *node, path string) {
		text, _ := r.Text(n, path, 2048)
		*into = strings.TrimSpace(text)
	}
}

func (r *reader) flag(into *bool) readInto {
	return func(n *node, path string) { *into = r.Flag(n, path) }
}

func (r *reader) number(into *int, limit int64) readInto {
	return func(n *node, path string) { *into = int(r.Number(n, path, limit)) }
}

func (r *reader) list(into *[]string) readInto {
	return func(n *node, path string) {
		r.List(n, path, maxName, func(n *node, path string) {
			v, _ := r.Text(n, path, 200)
			*into = append(*into, v)
		})
	}
}

// pointers reads JSON pointers, which can be empty.
func (r *reader) pointers(into *[]string) readInto {
	return func(n *node, path string) {
		r.List(n, path, MaxTools, func(n *node, path string) {
			v, _ := r.Scalar(n, path, "!!str", "a JSON pointer")
			*into = append(*into, v)
		})
	}
}

func (r *reader) json(into *json.RawMessage) readInto {
	return func(n *node, path string) {
		if value, ok := r.JSON(n, path); ok {
			*into = value
		}
	}
}
