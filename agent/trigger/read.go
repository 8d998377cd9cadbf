package trigger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/sanitize"
)

type (
	node  = yaml.Node
	field = strictyaml.Field
)

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	versionForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	// Temporal refuses some texts that the parser takes, such as "1," and "*-5".
	cronForm = regexp.MustCompile(`^` + cronField + `( ` + cronField + `){4}$`)
)

const (
	cronItem  = `(\*|[0-9A-Za-z]+(-[0-9A-Za-z]+)?)(/[0-9]+)?`
	cronField = cronItem + `(,` + cronItem + `)*`
)

// digestVersion is the length of a version that the author did not name: so many digits of the digest.
const digestVersion = 12

type reader struct {
	*strictyaml.Reader
	doc Document
}

// Read reads a document of at most strictyaml.MaxDocument bytes, in YAML or JSON, and checks it. The error is
// strictyaml.Errors: each fault has a line and the path of a key. file is the name of the document in errors. No fault
// repeats a text that has the shape of a credential.
func Read(file string, source []byte) (Document, error) {
	r := &reader{Reader: strictyaml.NewReader(file)}
	root := r.Load(source)
	if root != nil && r.holdsNoSecret(root, "") {
		r.document(root)
		if len(r.Faults()) == 0 {
			r.check(root)
		}
	}
	if faults := r.Faults(); len(faults) > 0 {
		return Document{}, faults.Sorted()
	}
	if r.doc.Version == "" {
		digest, err := r.doc.Digest()
		if err != nil {
			return Document{}, err
		}
		r.doc.Version = digest[:digestVersion]
	}
	return r.doc, nil
}

func (r *reader) document(n *node) {
	d := &r.doc
	r.Mapping(n, "",
		field{Name: "name", Required: "is missing: a name for the trigger", Read: r.formed(&d.Name, nameForm, "must have 1 to 64 of a-z, 0-9, _ and -, and begin with a letter")},
		field{Name: "version", Read: r.formed(&d.Version, versionForm, "must have 1 to 64 of letters, digits, _ . and -")},
		field{Name: "tenant", Required: "is missing: the tenant of the runs", Read: r.checked(&d.TenantID, func(v string) error {
			return toolspec.Identity{TenantID: v, RunID: "any", ToolCallID: "any"}.Check()
		})},
		field{Name: "actor", Required: "is missing: who runs the agent, such as service:triage", Read: r.checked(&d.ActorID, toolspec.CheckActorID)},
		field{Name: "agent", Required: "is missing: the name of an agent", Read: r.formed(&d.Agent, nameForm, "must be the name of an agent: 1 to 64 of a-z, 0-9, _ and -, and begin with a letter")},
		field{Name: "agentVersion", Read: r.formed(&d.AgentVersion, versionForm, "must have 1 to 64 of letters, digits, _ . and -")},
		field{Name: "on", Required: "is missing: where the events come from", Read: func(n *node, path string) {
			d.On = strictyaml.OneOf(r.Reader, n, path, Webhook, Schedule, Own, Postgres, Files)
		}},
		field{Name: "webhook", Read: r.webhook},
		field{Name: "schedule", Read: r.schedule},
		field{Name: "pawl", Read: r.own},
		field{Name: "postgres", Read: r.postgres},
		field{Name: "files", Read: r.files},
		field{Name: "quota", Read: r.quota},
		field{Name: "prompt", Required: "is missing: the message that starts a run", Read: r.prompt},
		field{Name: "session", Read: r.checked(&d.SessionID, func(v string) error { return toolspec.CheckVisible("a session", v, MaxEventID) })},
		field{Name: "tools", Read: func(n *node, path string) {
			r.List(n, path, MaxTools, func(n *node, path string) {
				var id string
				r.checked(&id, toolspec.CheckToolID)(n, path)
				d.Tools = append(d.Tools, id)
			})
			// An empty list would not narrow at all.
			r.NotEmpty(n, path, "leave it out to allow the tools of the agent")
		}},
		field{Name: "connections", Read: func(n *node, path string) {
			r.Entries(n, path, MaxConnections, func(tool string, at, value *node) {
				here := strictyaml.Join(path, tool)
				if err := toolspec.CheckToolID(tool); err != nil {
					r.Fail(at, here, "the id of a tool %v", err)
				}
				var id string
				r.checked(&id, toolspec.CheckConnectionID)(value, here)
				if d.Connections == nil {
					d.Connections = map[string]string{}
				}
				d.Connections[tool] = id
			})
		}},
	)
}

// check needs the whole document.
func (r *reader) check(root *node) {
	d := r.doc
	switch {
	case d.On == Webhook && d.Webhook == nil:
		r.Fail(root, "webhook", "is missing: how webhooks are verified, as in {secret: CONNECTION}")
	case d.On != Webhook && d.Webhook != nil:
		r.Fail(root, "webhook", "is only for on: webhook")
	case d.On == Schedule && d.Times == nil:
		r.Fail(root, "schedule", "is missing: when runs start, as in {every: 1h} or {cron: \"0 6 * * 1-5\"}")
	case d.On != Schedule && d.Times != nil:
		r.Fail(root, "schedule", "is only for on: schedule")
	case d.On == Own && d.Own == nil:
		r.Fail(root, "pawl", "is missing: which event starts a run, as in {event: run_ended}")
	case d.On != Own && d.Own != nil:
		r.Fail(root, "pawl", "is only for on: pawl")
	case d.On != Postgres && d.Postgres != nil:
		r.Fail(root, "postgres", "is only for on: postgres")
	case d.On == Files && d.Files == nil:
		r.Fail(root, "files", "is missing: which files are watched, as in {include: \"inbox/**\"}")
	case d.On != Files && d.Files != nil:
		r.Fail(root, "files", "is only for on: files")
	case d.On == Schedule && d.Quota != nil:
		r.Fail(root, "quota", "is not for on: schedule, which says itself when runs start")
	}
	for i, tool := range d.Tools {
		if slices.Contains(d.Tools[:i], tool) {
			r.Fail(root, "tools", "has %s twice", tool)
		}
	}
	if len(r.Faults()) > 0 {
		return
	}
	d.Prompt = "x" // the values of an event are not known yet
	if _, err := d.Input(Event{ID: "x", Data: []byte("{}")}); err != nil {
		r.Fail(root, "", "%v", err)
	}
}

func (r *reader) webhook(n *node, path string) {
	w := &WebhookOptions{}
	r.Mapping(n, path,
		field{Name: "secret", Required: "is missing: the id of the connection that has the secret", Read: r.checked(&w.Secret, toolspec.CheckConnectionID)},
		field{Name: "signature", Read: func(n *node, path string) {
			if w.Signature = strictyaml.OneOf(r.Reader, n, path, Standard, GitHub); w.Signature == Standard {
				w.Signature = ""
			}
		}},
	)
	r.doc.Webhook = w
}

func (r *reader) schedule(n *node, path string) {
	t := &Times{}
	r.Mapping(n, path,
		field{Name: "cron", Read: func(n *node, path string) {
			v, ok := r.Text(n, path, 200)
			if !ok {
				return
			}
			if _, err := cron.ParseStandard(v); err != nil || !cronForm.MatchString(v) {
				r.Fail(n, path, "must have five fields between single spaces: minute, hour, day of the month, month and day of the week, such as 0 6 * * 1-5")
			}
			t.Cron = v
		}},
		field{Name: "zone", Read: r.checked(&t.Zone, func(v string) error {
			if _, err := time.LoadLocation(v); err != nil || v == "Local" {
				return fmt.Errorf("must be a time zone, such as Europe/Berlin")
			}
			return nil
		})},
		field{Name: "every", Read: r.seconds(&t.EverySeconds)},
	)
	switch {
	case (t.Cron == "") == (t.EverySeconds == 0):
		r.Fail(n, path, "must have either cron or every")
	case t.Zone != "" && t.Cron == "":
		r.Fail(n, path, "has a zone, which only cron needs")
	}
	r.doc.Times = t
}

// seconds reads a duration.
func (r *reader) seconds(into *int) func(n *node, path string) {
	return func(n *node, path string) {
		v, ok := r.Text(n, path, 32)
		if !ok {
			return
		}
		d := document.Duration(v).Value()
		if *into = int(d / time.Second); *into < MinEverySeconds || *into > MaxEverySeconds || d%time.Second != 0 {
			r.Fail(n, path, "must be a duration in whole seconds from 1m to 30d, such as 15m or 2h")
		}
	}
}

// prompt reads a text of several lines. Nobody who reviews a file sees hidden characters, but a model does.
func (r *reader) prompt(n *node, path string) {
	v, ok := r.Scalar(n, path, "!!str", "text")
	if !ok {
		return
	}
	_, hidden := sanitize.Text(v)
	hidden = slices.DeleteFunc(hidden, func(kind string) bool { return kind == sanitize.RoleMarkers })
	_, _, err := pieces(v)
	switch {
	case strings.TrimSpace(v) == "" || len(v) > MaxPrompt:
		r.Fail(n, path, "must have 1 to %d bytes", MaxPrompt)
	case len(hidden) > 0:
		r.Fail(n, path, "has characters that are not shown (%s): remove them", strings.Join(hidden, ", "))
	case err != nil:
		r.Fail(n, path, "%v", err)
	}
	r.doc.Prompt = v
}

func (r *reader) formed(into *string, form *regexp.Regexp, otherwise string) func(n *node, path string) {
	return r.checked(into, func(v string) error {
		if !form.MatchString(v) {
			return fmt.Errorf("%s", otherwise)
		}
		return nil
	})
}

// checked reads a line of text and checks it.
func (r *reader) checked(into *string, check func(string) error) func(n *node, path string) {
	return func(n *node, path string) {
		v, ok := r.Text(n, path, MaxEventID)
		if !ok {
			return
		}
		if err := check(v); err != nil {
			r.Fail(n, path, "%v", err)
			return
		}
		*into = v
	}
}

// holdsNoSecret looks at every text of the document, before another fault can repeat one. A document is stored, shown
// and sent to models.
func (r *reader) holdsNoSecret(n *node, path string) bool {
	if n.Kind == yaml.ScalarNode && toolspec.SecretValue(n.Value) {
		r.Fail(n, path, "has the shape of a credential: keep credentials in a connection, and write its id")
		return false
	}
	for _, child := range n.Content {
		if !r.holdsNoSecret(child, path) {
			return false
		}
	}
	return true
}
