package httptool

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

type (
	node  = yaml.Node
	field = strictyaml.Field
)

// reader reads a document.
type reader struct {
	*strictyaml.Reader
	checks []func(Tool) error
}

// Read reads a document in YAML or JSON, and checks it. The error is strictyaml.Errors: each fault
// has a line and the path of a key. file is the name of the document in errors. An error of one of the
// checks is a fault of the tool.
func Read(file string, source []byte, checks ...func(Tool) error) (Document, error) {
	r := &reader{strictyaml.NewReader(file), checks}
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
	seen := map[string]bool{}
	r.Mapping(n, "",
		field{Name: "format", Required: "is missing: write format: 1", Read: func(n *node, path string) { d.Format = int(r.Number(n, path, 1)) }},
		field{Name: "name", Required: "is missing: a name for the place that the tools come from", Read: func(n *node, path string) { d.Name, _ = r.Text(n, path, MaxName) }},
		field{Name: "tools", Required: "is missing", Read: func(n *node, path string) {
			r.List(n, path, MaxTools, func(n *node, path string) {
				before := len(r.Faults())
				t := r.tool(n, path)
				if len(r.Faults()) > before {
					return
				}
				for _, check := range append([]func(Tool) error{Tool.Check}, r.checks...) {
					if err := check(t); err != nil {
						r.Fail(n, path, "%v", err)
						break
					}
				}
				if seen[t.ID] {
					r.Fail(n, path, "the document has two tools with the id %s", t.ID)
				}
				seen[t.ID] = true
				d.Tools = append(d.Tools, t)
			})
		}},
	)
	return d
}

func (r *reader) tool(n *node, path string) (t Tool) {
	r.Mapping(n, path,
		field{Name: "id", Required: "is missing", Read: func(n *node, path string) {
			t.ID, _ = r.Text(n, path, MaxName)
			if err := toolspec.CheckToolID(t.ID); t.ID != "" && err != nil {
				r.Fail(n, path, "%v", err)
			}
		}},
		field{Name: "title", Read: r.line(&t.Title)},
		field{Name: "description", Required: "is missing", Read: r.lines(&t.Description)},
		field{Name: "version", Required: "is missing: quote it, as in \"1\"", Read: r.line(&t.Version)},
		field{Name: "effect", Required: "is missing", Read: func(n *node, path string) {
			t.Effect = strictyaml.OneOf(r.Reader, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect)
		}},
		field{Name: "risk", Required: "is missing", Read: func(n *node, path string) {
			t.Risk = strictyaml.OneOf(r.Reader, n, path, toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk)
		}},
		field{Name: "idempotent", Read: r.flag(&t.Idempotent)},
		field{Name: "connection", Required: "is missing: required or none", Read: func(n *node, path string) {
			t.Connection = strictyaml.OneOf(r.Reader, n, path, Required, None)
		}},
		field{Name: "host", Read: r.line(&t.Host)},
		field{Name: "scopes", Read: r.list(&t.Scopes, 64)},
		field{Name: "timeoutSeconds", Read: r.number(&t.TimeoutSeconds, int64(toolspec.MaxTimeout.Seconds()))},
		field{Name: "maxArgsBytes", Read: r.number(&t.MaxArgsBytes, toolspec.MaxInline)},
		field{Name: "maxResultBytes", Read: r.number(&t.MaxResultBytes, toolspec.MaxResult)},
		field{Name: "tags", Read: r.list(&t.Tags, 64)},
		field{Name: "harmlessNames", Read: r.list(&t.HarmlessNames, MaxParameters)},
		field{Name: "redaction", Required: "is missing", Read: func(n *node, path string) { t.Redaction = r.redaction(n, path) }},
		field{Name: "input", Required: "is missing", Read: r.json(&t.Input)},
		field{Name: "request", Required: "is missing", Read: func(n *node, path string) { t.Request = r.request(n, path) }},
		field{Name: "response", Required: "is missing", Read: func(n *node, path string) { t.Response = r.response(n, path) }},
	)
	return t
}

func (r *reader) redaction(n *node, path string) (x Redaction) {
	r.Mapping(n, path,
		field{Name: "allow", Required: "is missing: list the parts of the value that may be shown", Read: r.pointers(&x.Allow)},
		field{Name: "maskInput", Read: r.pointers(&x.MaskInput)},
	)
	return x
}

func (r *reader) request(n *node, path string) (x Request) {
	r.Mapping(n, path,
		field{Name: "method", Required: "is missing", Read: r.line(&x.Method)},
		field{Name: "path", Required: "is missing", Read: r.line(&x.Path)},
		field{Name: "parameters", Read: func(n *node, path string) {
			r.List(n, path, MaxParameters, func(n *node, path string) { x.Parameters = append(x.Parameters, r.parameter(n, path)) })
		}},
		field{Name: "body", Read: func(n *node, path string) { x.Body = r.body(n, path) }},
		field{Name: "idempotencyKey", Read: r.line(&x.IdempotencyKey)},
	)
	return x
}

func (r *reader) parameter(n *node, path string) (p Parameter) {
	r.Mapping(n, path,
		field{Name: "in", Required: "is missing", Read: func(n *node, path string) {
			p.In = strictyaml.OneOf(r.Reader, n, path, InPath, InQuery, InHeader, InCookie)
		}},
		field{Name: "name", Required: "is missing", Read: r.line(&p.Name)},
		field{Name: "arg", Read: r.line(&p.Arg)},
		field{Name: "value", Read: func(n *node, path string) {
			if v, ok := r.Scalar(n, path, "!!str", "text; quote what looks like something else"); ok {
				p.Value = &v
			}
		}},
		field{Name: "style", Read: r.style(&p.Style)},
		field{Name: "explode", Read: r.optionalFlag(&p.Explode)},
		field{Name: "allowReserved", Read: r.flag(&p.AllowReserved)},
		field{Name: "encodedSlash", Read: r.flag(&p.EncodedSlash)},
	)
	return p
}

func (r *reader) body(n *node, path string) *Body {
	b := new(Body)
	r.Mapping(n, path,
		field{Name: "arg", Required: "is missing", Read: r.line(&b.Arg)},
		field{Name: "type", Required: "is missing", Read: func(n *node, path string) {
			b.Type = strictyaml.OneOf(r.Reader, n, path, BodyJSON, BodyForm, BodyText)
		}},
		field{Name: "mediaType", Read: r.line(&b.MediaType)},
		field{Name: "fields", Read: func(n *node, path string) {
			r.List(n, path, maxEntries, func(n *node, path string) {
				var f Field
				r.Mapping(n, path,
					field{Name: "name", Required: "is missing", Read: r.line(&f.Name)},
					field{Name: "style", Required: "is missing", Read: r.style(&f.Style)},
					field{Name: "explode", Read: r.optionalFlag(&f.Explode)},
				)
				b.Fields = append(b.Fields, f)
			})
		}},
	)
	return b
}

func (r *reader) response(n *node, path string) (x Response) {
	r.Mapping(n, path,
		field{Name: "type", Required: "is missing", Read: func(n *node, path string) {
			x.Type = strictyaml.OneOf(r.Reader, n, path, ResponseJSON, ResponseText, ResponseBytes)
		}},
		field{Name: "results", Read: r.list(&x.Results, 64)},
		field{Name: "pointer", Read: r.line(&x.Pointer)},
		field{Name: "empty", Read: r.flag(&x.Empty)},
		field{Name: "maxBytes", Read: r.number(&x.MaxBytes, MaxBody)},
		field{Name: "schema", Read: r.json(&x.Schema)},
		field{Name: "errors", Read: func(n *node, path string) {
			r.List(n, path, 64, func(n *node, path string) {
				var f Failure
				r.Mapping(n, path,
					field{Name: "status", Required: "is missing", Read: r.line(&f.Status)},
					field{Name: "is", Required: "is missing", Read: func(n *node, path string) {
						f.Is = strictyaml.OneOf(r.Reader, n, path, Final, Busy, Transient)
					}},
					field{Name: "message", Read: r.line(&f.Message)},
				)
				x.Errors = append(x.Errors, f)
			})
		}},
	)
	return x
}

// readInto reads one key.
type readInto = func(n *node, path string)

func (r *reader) line(into *string) readInto {
	return func(n *node, path string) { *into, _ = r.Text(n, path, 2048) }
}

func (r *reader) lines(into *string) readInto {
	return func(n *node, path string) {
		v, ok := r.Scalar(n, path, "!!str", "text")
		if ok && (len(v) > maxText || strings.TrimSpace(v) == "") {
			r.Fail(n, path, "must have 1 to %d bytes", maxText)
		}
		*into = v
	}
}

func (r *reader) flag(into *bool) readInto {
	return func(n *node, path string) { *into = r.Flag(n, path) }
}

func (r *reader) optionalFlag(into **bool) readInto {
	return func(n *node, path string) {
		v := r.Flag(n, path)
		*into = &v
	}
}

func (r *reader) number(into *int, limit int64) readInto {
	return func(n *node, path string) { *into = int(r.Number(n, path, limit)) }
}

func (r *reader) list(into *[]string, limit int) readInto {
	return func(n *node, path string) {
		r.List(n, path, limit, func(n *node, path string) {
			v, _ := r.Text(n, path, MaxName)
			*into = append(*into, v)
		})
	}
}

// pointers reads JSON pointers, which can be empty.
func (r *reader) pointers(into *[]string) readInto {
	return func(n *node, path string) {
		r.List(n, path, maxEntries, func(n *node, path string) {
			v, _ := r.Scalar(n, path, "!!str", "a JSON pointer")
			*into = append(*into, v)
		})
	}
}

func (r *reader) style(into *Style) readInto {
	return func(n *node, path string) {
		*into = strictyaml.OneOf(r.Reader, n, path, Simple, Label, Matrix, Form, SpaceDelimited, PipeDelimited, DeepObject, JSONStyle)
	}
}

// json reads a JSON value.
func (r *reader) json(into *json.RawMessage) readInto {
	return func(n *node, path string) {
		if value, ok := r.JSON(n, path); ok {
			*into = value
		}
	}
}
