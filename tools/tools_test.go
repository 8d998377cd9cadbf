package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run makes an attempt of a tool in a workspace, as a worker does. An answer of the tool that is no
// value is a *toolspec.SafeError.
func run[Out any](t *testing.T, tool toolspec.Tool, dir string, args map[string]any) (out Out, err error) {
	t.Helper()
	got := pawltest.Call{Tool: tool, Args: args, Workspace: dir}.Run(t)
	if got.Result.OK {
		return out, json.Unmarshal(got.Value, &out)
	}
	text, answered := strings.CutPrefix(got.Result.SafeMessage, toolspec.ErrorPrefix)
	if got.Result.ErrorCode != toolspec.CodeExecution || !answered {
		return out, fmt.Errorf("%s: %s", got.Result.ErrorCode, got.Result.SafeMessage)
	}
	return out, toolspec.Safef("%s", text)
}

// runWith calls the function of a tool without the worker around it, for tests of its errors and of
// its time, which a worker hides. The redaction of the tool must leave the value as it is.
func runWith[Out any](ctx context.Context, t *testing.T, tool toolspec.Tool, files capability.Files, args map[string]any) (out Out, err error) {
	t.Helper()
	caps, err := toolspec.NewCapabilities(capability.FilesKey.Provide(files))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	value, err := tool.Run(ctx, raw, toolspec.Call{ToolID: tool.Definition().ID}.WithCapabilities(caps))
	if err != nil {
		return out, err
	}
	redacted, err := tool.Definition().Redaction.Output(value)
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, value, redacted) {
		t.Errorf("redaction takes something away:\n%s\n%s", value, redacted)
	}
	return out, json.Unmarshal(redacted, &out)
}

func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// wantSafe checks that err is an answer with exactly this text.
func wantSafe(t *testing.T, what string, err error, text string) {
	t.Helper()
	var safe *toolspec.SafeError
	if !errors.As(err, &safe) || safe.Error() != text {
		t.Errorf("%s: %v, want the safe message %q", what, err, text)
	}
}

func TestDefinitions(t *testing.T) {
	all := append(tools.All(), tools.WriteMemoryDump())
	pawltest.Conforms(t, all...)
	for _, tool := range all {
		if d := tool.Definition(); len(d.Description) < 80 || !strings.HasSuffix(d.Description, ".") || !strings.HasPrefix(d.ID, "core__") {
			t.Errorf("%s: description %q", d.ID, d.Description)
		}
	}
}

// Every field of a value is listed on purpose, and nothing else is.
func TestRedactionListsEveryField(t *testing.T) {
	for _, tool := range tools.All() {
		_, out := tool.Types()
		if tool.Kind() == toolspec.KindParts {
			continue // its fields are those of every part
		}
		fields := leaves(out, "")
		if out == reflect.TypeFor[toolspec.Parts]() {
			continue // a tool allows the fields of the parts that it makes
		}
		allowed := tool.Definition().Redaction.Allow
		slices.Sort(fields)
		slices.Sort(allowed)
		if !slices.Equal(fields, allowed) {
			t.Errorf("%s has %v and allows %v", tool.Definition().ID, fields, allowed)
		}
	}
}

func leaves(typ reflect.Type, at string) []string {
	switch {
	case typ == reflect.TypeFor[toolspec.Parts]() || typ == reflect.TypeFor[json.RawMessage]():
		return []string{at}
	case typ.Kind() == reflect.Struct:
		var all []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			all = append(all, leaves(typ.Field(i).Type, at+"/"+name)...)
		}
		return all
	case typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map:
		return leaves(typ.Elem(), at+"/*")
	case typ.Kind() == reflect.Pointer:
		return leaves(typ.Elem(), at)
	default:
		return []string{at}
	}
}

// given are names of arguments that the specification of the tools gives.
var given = []string{"ref_id", "max_matches", "byte_offset", "byte_limit"}

// Names are camelCase, optional ones may be left out, none asks for a secret,
// and every argument is explained.
func TestFields(t *testing.T) {
	for _, tool := range tools.All() {
		in, out := tool.Types()
		for _, typ := range []reflect.Type{in, out} {
			if typ.Kind() != reflect.Struct {
				continue // a text or parts: a value without fields
			}
			for i := range typ.NumField() {
				f := typ.Field(i)
				name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				switch {
				case name == "" || strings.ToLower(name[:1]) != name[:1] || strings.ContainsAny(name, "_-") && !slices.Contains(given, name):
					t.Errorf("%s: field %q is not camelCase", tool.Definition().ID, name)
				case toolspec.SecretName(name) || strings.EqualFold(name, "connectionId"):
					t.Errorf("%s: field %q is not for arguments", tool.Definition().ID, name)
				case options != "" && options != "omitempty":
					t.Errorf("%s: field %q has the options %q", tool.Definition().ID, name, options)
				case !strings.HasSuffix(f.Tag.Get("jsonschema_description"), "."):
					t.Errorf("%s: field %q is not explained", tool.Definition().ID, name)
				}
			}
		}
	}
}

// No tool runs without the capabilities that it declares.
func TestToolsAreUnbound(t *testing.T) {
	for _, tool := range tools.All() {
		d := tool.Definition()
		if len(d.Capabilities) == 0 || len(d.Examples) == 0 {
			continue
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s runs without capabilities", d.ID)
				}
			}()
			_, err := tool.Run(t.Context(), json.RawMessage(d.Examples[0].Args), toolspec.Call{})
			t.Logf("%s: %v", d.ID, err)
		}()
	}
}

// The ways to go wrong that all file tools share, each with its message, which
// never repeats an argument.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	write(t, filepath.Join(dir, "dir", "file"), "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	const outside, invalid, missing, isDir, notDir = "the path leads outside the workspace", "the path is not valid",
		"the file does not exist", "the path is a directory", "the path is not a directory"
	for _, c := range []struct {
		path                   string
		ls, grep, reads, write string
	}{
		{"../x", outside, outside, outside, outside},
		{"/etc/passwd", outside, outside, outside, outside},
		{"out", outside, outside, outside, outside},
		{strings.Repeat("n", 300), invalid, invalid, invalid, invalid},
		{".pawl-tmp-x", invalid, invalid, invalid, invalid},
		{"missing/x", missing, missing, missing, "the parent directory does not exist: create it with createDirs"},
		{"dir", "", "", isDir, isDir},
		{"file/x", notDir, notDir, notDir, notDir},
		{"file", notDir, "", "", ""},
	} {
		for _, tool := range []struct {
			tool toolspec.Tool
			args map[string]any
			want string
		}{
			{tools.List(), map[string]any{}, c.ls},
			{tools.Glob(), map[string]any{"pattern": "x"}, c.grep},
			{tools.Grep(), map[string]any{"pattern": "x"}, c.grep},
			{tools.ReadFile(), map[string]any{}, c.reads},
			{tools.WriteFile(), map[string]any{"content": "x"}, c.write},
		} {
			tool.args["path"] = c.path
			what := fmt.Sprintf("%s %.20q", tool.tool.Definition().ID, c.path)
			_, err := run[any](t, tool.tool, dir, tool.args)
			if tool.want != "" {
				wantSafe(t, what, err, tool.want)
			} else if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
