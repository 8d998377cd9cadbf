package tools

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

//go:embed templates/*.tmpl
var templates embed.FS

var parsedTemplates = template.Must(template.ParseFS(templates, "templates/*.tmpl"))

// newTool has the names in the files of a new tool.
type newTool struct {
	Package, ID, Title, Func, Var string
	// The names of the capability of a tool that does I/O.
	Capability, CapabilityName, Adapter, AdapterVar string
}

// BuiltIn reports whether the tool is one of Pawl's own. Its test is in a package of its own, because pawltest imports package tools.
func (t newTool) BuiltIn() bool { return t.Package == "tools" && strings.HasPrefix(t.ID, "core__") }

func newToolsNew(a *app.App) *cobra.Command {
	var packageName, capability string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Write the files of a new tool into the current directory", Args: app.ExactArgs(1, "the id of the new tool, such as text__count_words"),
		Long: "Write a tool and its test into the current directory. NAME is the id of the tool: a namespace, two underscores and a name.\n" +
			"The code compiles and its test passes: change both into your tool. With --io, the tool takes a capability, which is\n" +
			"declared beside it, and a third file has an adapter for an HTTP service and its factory. No file is overwritten.",
		Example: `  pawl tools new text__count_words
  pawl tools new shop__find_order --io orders --package shop`,
		RunE: func(_ *cobra.Command, args []string) error {
			tool, err := namesOf(args[0], capability)
			if err != nil {
				return app.Usage(err)
			}
			if tool.Package = packageName; packageName == "" {
				if tool.Package, err = packageOf("."); err != nil {
					return err
				}
			}
			if !token.IsIdentifier(tool.Package) {
				return app.Usage(fmt.Errorf("%q is not the name of a Go package: say with --package which one", tool.Package))
			}
			if tool.BuiltIn() && capability != "" {
				return app.Usage(errors.New("--io is for your own tools: the capability of a built-in tool is an interface in toolspec/capability, and its adapter is a package in internal/. " +
					"Leave out --io, and see docs/authoring.md"))
			}
			written, err := tool.write(".")
			if err != nil {
				return err
			}
			return app.PrintList(a, written, "", func(names []string) {
				for _, name := range names {
					fmt.Fprintf(a.Out, "wrote %s\n", name)
				}
				if tool.BuiltIn() {
					fmt.Fprintf(a.Out, "next: go test . -run 'Test%s$', then go generate . and, for docs/tools.md, go test ../internal/docsgen -update\n", tool.Func)
					return
				}
				fmt.Fprintf(a.Out, "next: go mod tidy, then go test . -run 'Test%s$', and docs/authoring.md of Pawl\n", tool.Func)
			})
		},
	}
	cmd.Flags().StringVar(&packageName, "package", "", "the Go package; default the package of the directory")
	cmd.Flags().StringVar(&capability, "io", "", "write a tool that does I/O, with a capability of this `name`, such as orders")
	return cmd
}

// snakeCase is a name that becomes names of files and of Go.
var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// namesOf returns a new tool without its package: the names in its files follow from its id, and from the name of its
// capability, which is empty for a pure tool.
func namesOf(id, capability string) (newTool, error) {
	if err := toolspec.CheckToolID(id); err != nil {
		return newTool{}, fmt.Errorf("the id of a tool %w: %q", err, id)
	}
	name := toolspec.BareName(id)
	if !isFileName(name) {
		return newTool{}, fmt.Errorf("%q: give a name of lower-case letters and digits, with _ between words, such as count_words. It must not end with _test, or with an operating system or a processor "+
			"such as _linux: the go tool builds files of such names only for tests or only there", name)
	}
	if capability != "" && !isFileName(capability) {
		return newTool{}, fmt.Errorf("--io %q: give a name of lower-case letters and digits that does not end with _test, or with an operating system or a "+
			"processor, such as orders", capability)
	}
	t := newTool{ID: id, Func: camelCase(name), Capability: camelCase(capability), CapabilityName: capability}
	t.Var = strings.ToLower(t.Func[:1]) + t.Func[1:]
	t.Title = strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
	t.Adapter, t.AdapterVar = "HTTP"+t.Capability, "http"+t.Capability
	if capability != "" && t.hasCollision() {
		return newTool{}, fmt.Errorf("--io %q: the tool and the capability would declare the same name in Go: give another name, such as orders", capability)
	}
	return t, nil
}

// isFileName reports whether the files of a new tool, or of a capability, can have this name. The go tool leaves out a file
// whose name ends with another operating system or processor than that of the build, for example lint_js.go.
func isFileName(name string) bool {
	if !snakeCase.MatchString(name) || strings.HasSuffix(name, "_test") {
		return false
	}
	other := build.Context{GOOS: "other", GOARCH: "other", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package other\n")), nil
	}}
	isBuilt, err := other.MatchFile("", name+".go")
	return err == nil && isBuilt
}

// hasCollision reports whether the files of the tool would declare a name twice: a name of the tool and of its test is also
// one of its capability. For example, the factory of the capability order has the name of a tool new_order.
func (t newTool) hasCollision() bool {
	declared := []string{t.Capability, t.Capability + "Key", "New" + t.Capability, t.Adapter, "Err" + t.Capability + "NotFound"}
	return slices.Contains(declared, t.Func) || slices.Contains(declared, "Test"+t.Func)
}

// camelCase returns a name in camel case: CountWords for count_words.
func camelCase(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// packageOf returns the name of the package in a directory: of its Go files or, without any, of the directory.
func packageOf(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly); err == nil {
			return f.Name.Name, nil
		}
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return strings.ToLower(strings.ReplaceAll(filepath.Base(absolute), "-", "")), nil
}

// write writes the files of the tool, or none if one exists already. It returns their names.
func (t newTool) write(dir string) (names []string, err error) {
	base := toolspec.BareName(t.ID)
	made := map[string]string{base + ".go": "pure.go.tmpl", base + "_test.go": "pure_test.go.tmpl"}
	names = []string{base + ".go", base + "_test.go"}
	if t.Capability != "" {
		made = map[string]string{base + ".go": "io.go.tmpl", base + "_test.go": "io_test.go.tmpl", t.CapabilityName + ".go": "adapter.go.tmpl"}
		names = append(names, t.CapabilityName+".go")
	}
	texts := make([][]byte, len(names))
	for i, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists already: choose another name, or move the file away", name)
		}
		var b bytes.Buffer
		if err := parsedTemplates.ExecuteTemplate(&b, made[name], t); err != nil {
			return nil, err
		}
		if texts[i], err = format.Source(b.Bytes()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, name := range names {
		if err := create(filepath.Join(dir, name), texts[i]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// create writes a file that does not exist yet.
func create(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
