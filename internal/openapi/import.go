package openapi

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

const (
	// MaxDocument bounds an OpenAPI document, in bytes.
	MaxDocument = 64 << 20
	// MaxOperations bounds the operations of a document.
	MaxOperations = 4000
)

// Options say how a document is imported.
type Options struct {
	// Namespace begins the ids of the tools, such as github in github__issues_get.
	Namespace string
	// Connection says whether the tools use a connection. If it is empty, the security of each
	// operation decides.
	Connection httptool.Connection
	// Server replaces the servers of the document: a URL with https.
	Server string
	// Include selects operations by globs (path.Match) of tool ids and operation ids. nil selects all.
	Include []string
	// Effects change the effect of operations that a glob selects. The last entry that matches counts.
	Effects []EffectOf
	// Harmless are names of arguments that look like credentials and are none.
	Harmless []string
}

// EffectOf is the effect of the operations that a glob selects.
type EffectOf struct {
	Glob   string
	Effect toolspec.Effect
}

// doc is a document that is imported.
type doc struct {
	root    place
	version string
	options Options
	report  *Report
	// found are the places that references lead to.
	found map[string]place
}

// is31 reports whether schemas are JSON Schema 2020-12.
func (d *doc) is31() bool {
	return !d.isSwagger() && !strings.HasPrefix(d.version, "3.0")
}

func (d *doc) isSwagger() bool { return strings.HasPrefix(d.version, "2.") }

// fault is a reason that names a place of the document.
type fault struct{ at, reason string }

func (f *fault) Error() string { return f.reason }

// Import makes a document of the operations that can be mapped. The report has the others. An error
// says that the source is no OpenAPI document.
func Import(source []byte, o Options) (httptool.Document, *Report, error) {
	if len(source) > MaxDocument {
		return httptool.Document{}, nil, fmt.Errorf("the document has more than %d bytes", MaxDocument)
	}
	if err := o.check(); err != nil {
		return httptool.Document{}, nil, err
	}
	root, version, err := read(source)
	if err != nil {
		return httptool.Document{}, nil, err
	}
	d := &doc{root: place{n: root}, version: version, options: o, report: &Report{}, found: map[string]place{}}
	d.report.Version, d.report.Title = d.version, oneLine(d.root.get("info").get("title").text(), 200)
	return d.tools()
}

func (o Options) check() error {
	if err := toolspec.CheckServerID(o.Namespace); err != nil {
		return fmt.Errorf("the namespace %w", err)
	}
	if slices.Contains([]string{"core", "mcp", toolspec.UnknownNamespace}, o.Namespace) {
		return fmt.Errorf("the namespace %s is Pawl's own", o.Namespace)
	}
	globs := slices.Clone(o.Include)
	for _, e := range o.Effects {
		if globs = append(globs, e.Glob); !e.Effect.Valid() {
			return fmt.Errorf("effect %q is none of read_only, state_change, external_side_effect", e.Effect)
		}
	}
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is no glob", glob)
		}
	}
	return nil
}

// operation is an operation of the document.
type operation struct {
	place
	item         place // its path item
	method, path string
	id           string // operationId
	toolID       string
}

func (op operation) name() string { return op.method + " " + op.path }

// matches reports whether a glob selects an operation.
func (op operation) matches(glob string) bool {
	byTool, _ := path.Match(glob, op.toolID)
	byID, _ := path.Match(glob, op.id)
	return byTool || byID
}

// tools maps the operations.
func (d *doc) tools() (out httptool.Document, report *Report, err error) {
	all := d.operations()
	if len(all) > MaxOperations {
		return out, nil, fmt.Errorf("the document has %d operations, of at most %d", len(all), MaxOperations)
	}
	nameAll(all, d.options.Namespace)
	d.readSchemes()
	out = httptool.Document{Format: 1, Name: d.options.Namespace}
	for _, op := range all {
		if len(d.options.Include) > 0 && !slices.ContainsFunc(d.options.Include, op.matches) {
			d.report.Excluded++
			continue
		}
		d.report.Operations++
		tool, err := d.tool(op)
		if err != nil {
			d.skip(op, err)
			continue
		}
		out.Tools = append(out.Tools, tool)
		d.report.Imported = append(d.report.Imported, Imported{Operation: op.name(), Pointer: op.at, ToolID: op.toolID})
	}
	return out, d.report, nil
}

func (d *doc) skip(op operation, err error) {
	at, f := op.at, (*fault)(nil)
	if errors.As(err, &f) {
		at = f.at
	}
	d.report.Skipped = append(d.report.Skipped, Finding{Operation: op.name(), Pointer: at, Reason: err.Error()})
}

// note adds what an imported operation lacks.
func (d *doc) note(op operation, at, format string, args ...any) {
	d.report.Notes = append(d.report.Notes, Finding{Operation: op.name(), Pointer: at, Reason: fmt.Sprintf(format, args...)})
}

// operations returns the operations, in the order of the document.
func (d *doc) operations() (all []operation) {
	for name, item := range d.root.get("paths").members() {
		target, err := d.follow(item)
		if err != nil {
			d.report.Operations++
			d.report.Skipped = append(d.report.Skipped, Finding{Operation: name, Pointer: item.at, Reason: err.Error()})
			continue
		}
		for method, at := range target.members() {
			switch method {
			case "get", "head", "options", "post", "put", "patch", "delete", "trace":
				all = append(all, operation{place: at, item: target, method: strings.ToUpper(method), path: name, id: at.get("operationId").text()})
			}
		}
	}
	return all
}
