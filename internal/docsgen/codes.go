package docsgen

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

var codeUse = regexp.MustCompile(`\btoolspec\.(Code[A-Z]\w*)`)

// producers are the packages that end calls.
var producers = []string{"activities", "workflows", "client", "toolspec/hook", "toolspec/hydrate"}

// codeTables writes the closed table of codes, and says which of them this
// version produces: those that the source of the producers names.
func codeTables(root string, src *source) (map[string]string, error) {
	used, err := codesIn(root)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, c := range src.sets["Code"] {
		names[c.value] = c.name
	}
	var rows [][]string
	for _, info := range toolspec.Codes() {
		again, produced := "", "yes"
		if info.Retryable {
			again = "yes"
		}
		if !used[names[string(info.Code)]] {
			produced = "no"
		}
		rows = append(rows, []string{
			code(string(info.Code)), string(info.Kind), again, strconv.Itoa(info.HTTP), strconv.Itoa(info.Exit), produced, info.Meaning, info.Message,
		})
	}
	var kinds [][]string
	for _, c := range src.sets["Kind"] {
		if c.comment == "" {
			return nil, fmt.Errorf("the kind %s has no comment", c.name)
		}
		kinds = append(kinds, []string{c.value, strings.ToUpper(c.comment[:1]) + c.comment[1:] + "."})
	}
	return map[string]string{
		"codes": table([]string{"code", "kind", "another attempt may help", "HTTP", "exit", "produced", "meaning", "default message"}, rows),
		"kinds": table([]string{"kind", "meaning"}, kinds),
	}, nil
}

func codesIn(root string) (map[string]bool, error) {
	used := map[string]bool{}
	for _, dir := range producers {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, m := range codeUse.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return used, nil
}
