package tools

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/openapi"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

const shopOpenAPI = `
openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example.com/api"}]
security: [{token: []}]
paths:
  /items/{id}:
    get: {operationId: getItem, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {"200": {description: x}}}
    delete: {operationId: removeItem, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {"204": {description: x}}}
    trace: {responses: {"200": {description: x}}}
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
`

// importWith runs the command on a document in a new directory.
func importWith(t *testing.T, asJSON bool, args ...string) (out, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(shopOpenAPI), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	cmd := newToolsImport(&app.App{JSON: asJSON, Streams: app.Streams{Out: &b}})
	cmd.SetArgs(append([]string{filepath.Join(dir, "shop.yaml"), "-o", filepath.Join(dir, "tools.yaml")}, args...))
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.Execute()
	return b.String(), dir, err
}

// TestImportOpenAPI: the command writes a file that a worker can read, and reports the operations that are not in it. It overwrites no file.
func TestImportOpenAPI(t *testing.T) {
	t.Parallel()
	out, dir, err := importWith(t, false, "--namespace", "shop", "--effect", "*Item=state_change")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 operations, 2 imported, 1 skipped", "TRACE /items/{id}: the method TRACE is not supported", "at #/paths/~1items~1{id}/trace", "token", "bearer"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q:\n%s", want, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "tools.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := httptool.Read("tools.yaml", text)
	if err != nil || len(d.Tools) != 2 || d.Tools[0].ID != "shop__getItem" || d.Tools[0].Effect != "state_change" || d.Tools[0].Request.Path != "/api/items/{id}" {
		t.Errorf("%v\n%s", err, text)
	}
	cmd := newToolsImport(&app.App{Streams: app.Streams{Out: &bytes.Buffer{}}})
	cmd.SetArgs([]string{filepath.Join(dir, "shop.yaml"), "--namespace", "shop", "-o", filepath.Join(dir, "tools.yaml")})
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetErr(&bytes.Buffer{})
	if err := cmd.Execute(); err == nil {
		t.Error("the command has overwritten a file")
	}
}

// TestImportOpenAPIAsJSON: with --json the command prints the report as JSON. Wrong options are refused, and no file is written.
func TestImportOpenAPIAsJSON(t *testing.T) {
	t.Parallel()
	out, _, err := importWith(t, true, "--namespace", "shop", "--include", "getItem")
	var r openapi.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Operations != 1 || r.Excluded != 2 || len(r.Imported) != 1 || r.Skipped == nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, args := range [][]string{{}, {"--namespace", "core"}, {"--namespace", "shop", "--connection", "maybe"}, {"--namespace", "shop", "--effect", "none"}, {"--namespace", "shop", "--include", "["}} {
		if out, dir, err := importWith(t, false, args...); err == nil {
			t.Errorf("%q: %s", args, out)
		} else if _, err := os.Stat(filepath.Join(dir, "tools.yaml")); err == nil {
			t.Errorf("%q has written a file", args)
		}
	}
}
