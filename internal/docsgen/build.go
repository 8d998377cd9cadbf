package docsgen

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Build returns the files of docs/ that are generated, in whole or in part, by
// their paths below root, the root of the repository. run makes the calls whose values the pages show.
func Build(root string, run Runner) (map[string]string, error) {
	src, err := readSource(root)
	if err != nil {
		return nil, err
	}
	files, err := schemas(src)
	if err != nil {
		return nil, err
	}
	if files[schemaPath("policy")], err = policySchema(); err != nil {
		return nil, fmt.Errorf("schema of a policy: %w", err)
	}
	blocks, err := allBlocks(root, src, run)
	if err != nil {
		return nil, err
	}
	for page, names := range pages {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			return nil, err
		}
		if files[page], err = fill(page, string(text), names, blocks); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// pages are the pages with generated blocks, and which.
var pages = map[string][]string{
	"docs/contract.md": {
		"id vectors", "input digest vectors", "approval digest vectors",
		"invocation fields", "result fields", "state fields", "decision fields", "answer fields",
	},
	"docs/errors.md":    {"codes", "kinds"},
	"docs/lifecycle.md": {"stages", "views", "rights"},
	"docs/cli.md":       {"commands"},
	"docs/logs.md":      {"log lines"},
	"docs/limits.md":    {"tool limits", "limits"},
	"docs/tags.md":      {"tags"},
	"docs/tools.md":     {"tools"},
}

func allBlocks(root string, src *source, run Runner) (map[string]string, error) {
	blocks := map[string]string{}
	for _, more := range []func() (map[string]string, error){
		func() (map[string]string, error) { return fieldTables(src) },
		func() (map[string]string, error) { return codeTables(src) },
		func() (map[string]string, error) { return stageTables(src) },
		func() (map[string]string, error) { return vectorTables(root) },
		func() (map[string]string, error) { return limitTables(root) },
		func() (map[string]string, error) { return tagTables(root) },
		func() (map[string]string, error) { return logLines(root) },
		commandPages,
		func() (map[string]string, error) { return toolPages(run) },
	} {
		made, err := more()
		if err != nil {
			return nil, err
		}
		maps.Copy(blocks, made)
	}
	return blocks, nil
}

// fill puts the blocks between their marks and leaves everything else as it is.
func fill(page, text string, names []string, blocks map[string]string) (string, error) {
	for _, name := range names {
		block, ok := blocks[name]
		if !ok {
			return "", fmt.Errorf("%s: there is no block %q", page, name)
		}
		before, after, ok := cutMark(text, "<!-- generated: "+name+" -->")
		if !ok {
			return "", fmt.Errorf("%s: the mark of the block %q is missing or stands twice", page, name)
		}
		_, after, ok = cutMark(after, "<!-- end: "+name+" -->")
		if !ok {
			return "", fmt.Errorf("%s: the end of the block %q is missing or stands twice", page, name)
		}
		text = before + "<!-- generated: " + name + " -->\n\n" + strings.TrimSpace(block) + "\n\n<!-- end: " + name + " -->" + after
	}
	if marks := strings.Count(text, "<!-- generated: "); marks != len(names) {
		return "", fmt.Errorf("%s: %d marks for %d blocks", page, marks, len(names))
	}
	return text, nil
}

func cutMark(text, mark string) (before, after string, ok bool) {
	before, after, ok = strings.Cut(text, mark)
	return before, after, ok && !strings.Contains(after, mark)
}

// table writes a Markdown table.
func table(headings []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(headings)
	line(strings.Split(strings.Repeat("---,", len(headings)-1)+"---", ","))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// code writes s as inline code of a table cell.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
}

func schemaPath(name string) string { return path.Join("docs", "schema", name+".schema.json") }
