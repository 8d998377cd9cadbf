package tools

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// TestNewToolNames: namesOf makes the names in the files of a tool from its id, and refuses ids that it cannot use. docs/authoring.md compiles
// and tests the files.
func TestNewToolNames(t *testing.T) {
	t.Parallel()
	got, err := namesOf("shop__find_order", "order_store")
	want := newTool{
		ID: "shop__find_order", Title: "Find order", Func: "FindOrder", Var: "findOrder",
		Capability: "OrderStore", CapabilityName: "order_store", Adapter: "HTTPOrderStore", AdapterVar: "httpOrderStore",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, c := range [][2]string{
		{"find", ""}, {"shop__", ""}, {"shop__Find", ""}, {"shop__find-order", ""}, {"shop__../x", ""}, {"shop__1st", ""}, {"shop__find_test", ""},
		{"shop__find", "../x"}, {"shop__find", "Orders"}, {"shop__find", "find"}, {"shop__find", "x_test"},
		// The go tool builds these files on one system or processor only.
		{"web__lint_js", ""}, {"shop__list_windows", ""}, {"shop__scan_ios", ""}, {"shop__sign_arm", ""}, {"shop__run_linux_amd64", ""}, {"shop__find", "my_js"},
		// These declare a name twice.
		{"shop__new_order", "order"}, {"shop__order_key", "order"}, {"shop__h_t_t_p_order", "order"}, {"shop__err_order_not_found", "order"},
		{"shop__a_1", "a1"}, {"shop__find", "test_find"}, {"shop__or_key", "test_or"},
	} {
		if got, err := namesOf(c[0], c[1]); err == nil {
			t.Errorf("%q: %+v", c, got)
		}
	}
	for _, c := range [][2]string{{"shop__js", ""}, {"shop__linux", "arm"}, {"shop__list_js_files", ""}, {"shop__new_order", "orders"}} {
		if _, err := namesOf(c[0], c[1]); err != nil {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// TestNewToolOverwritesNothing: if one of the files exists, even as a symbolic link without a target, no file is written.
func TestNewToolOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, taken := range []string{"find.go", "find_test.go", "orders.go"} {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, taken)); err != nil {
			t.Fatal(err)
		}
		tool, err := namesOf("shop__find", "orders")
		if err != nil {
			t.Fatal(err)
		}
		tool.Package = "shop"
		if _, err := tool.write(dir); err == nil || !strings.Contains(err.Error(), taken+" exists already") {
			t.Errorf("%s exists: %v", taken, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s exists: %v, %v", taken, entries, err)
		}
	}
}

// TestPackageOf: a new tool is in the package of the directory.
func TestPackageOf(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "My-Shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, text, want string }{
		{"", "", "myshop"}, {"a_test.go", "package shop_test\n", "myshop"}, {"b.go", "package shop\n", "shop"},
	} {
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := packageOf(dir); err != nil || got != c.want {
			t.Errorf("with %q the package is %s, %v", c.file, got, err)
		}
	}
}

// TestNewToolOfPawlWithIO: the parts of a built-in tool that does I/O are in other directories, so no file is written.
func TestNewToolOfPawlWithIO(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd := newToolsNew(&app.App{Streams: app.Streams{Out: io.Discard}})
	cmd.SetArgs([]string{"core__find", "--io", "texts", "--package", "tools"})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "toolspec/capability") {
		t.Errorf("the command ends with %v", err)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("the command wrote %v, %v", entries, err)
	}
}
