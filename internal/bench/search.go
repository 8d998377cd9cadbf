package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// windowMB is the size of the file of which FileFigures reads a window, and windowLine is the first line of the window.
	windowMB   = 200
	windowLine = 900_000
	windowRows = 100
)

// FileFigures is the report of Files: calls of the file tools beside other programs that do the same.
type FileFigures struct {
	Server string    `json:"server"`
	Tree   string    `json:"tree"`
	Rounds int       `json:"rounds"`
	Rows   []FileRow `json:"rows"`
	// Missing are programs that are not installed, so that their ratios are absent.
	Missing []string `json:"missing,omitempty"`
}

// FileRow is a call of a tool, from the client to its result, and the same work of another program.
type FileRow struct {
	Name string `json:"name"`
	// Found is how many lines or files both have found.
	Found int `json:"found"`
	// Ms and OtherMs are medians, and Ratio is the median of the ratios of the rounds.
	Ms      float64 `json:"ms"`
	Other   string  `json:"other,omitempty"`
	OtherMs float64 `json:"other_ms,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
}

// fileCase is the work of a row. Without other, there is nothing to compare it with.
type fileCase struct {
	name, tool, args string
	other            []string
	// count reads from the output of the other program what it has found.
	count func([]byte) (int, error)
}

// Files measures core__grep and core__glob over a tree, and core__read_file deep in a large file. tree is
// a directory; empty is the Go module cache.
func Files(ctx context.Context, o Options, tree string) (*FileFigures, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if tree == "" {
		out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
		if err != nil {
			return nil, fmt.Errorf("bench: find the Go module cache: %w", err)
		}
		tree = strings.TrimSpace(string(out))
	}
	f := &FileFigures{Tree: tree, Rounds: o.Rounds}
	if err := f.measure(ctx, o, tree, f.searches(ctx)); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pawl-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeLines(filepath.Join(dir, "large.log")); err != nil {
		return nil, err
	}
	return f, f.measure(ctx, o, dir, []fileCase{{
		name: fmt.Sprintf("read: %d lines from line %d of a file of %d MiB", windowRows, windowLine, windowMB), tool: "core__read_file",
		args: fmt.Sprintf(`{"path":"large.log","offset":%d,"limit":%d}`, windowLine, windowRows),
	}})
}

// searches returns the cases that search a tree. The other programs search by the rules of Pawl's tools: they
// include hidden files, leave out directories of version control, and read only the ignore files of the tree.
func (f *FileFigures) searches(ctx context.Context) []fileCase {
	skipped := []string{".git", ".hg", ".svn", "node_modules"}
	rg, err := exec.LookPath("rg")
	if err != nil {
		f.Missing = append(f.Missing, "rg (ripgrep)")
	}
	fd, err := exec.LookPath("fdfind")
	if err != nil {
		fd, err = exec.LookPath("fd")
	}
	if err != nil {
		f.Missing = append(f.Missing, "fd")
	}
	ripgrep := func(args ...string) []string {
		if rg == "" {
			return nil
		}
		args = append([]string{rg, "--no-config", "--no-messages", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent"}, args...)
		for _, dir := range skipped {
			args = append(args, "-g", "!"+dir)
		}
		return append(args, "-g", "*.go")
	}
	find := func(args ...string) []string {
		if fd == "" {
			return nil
		}
		args = append([]string{fd, "--type", "f", "--hidden", "--no-global-ignore-file", "--no-ignore-parent"}, args...)
		for _, dir := range skipped {
			args = append(args, "--exclude", dir)
		}
		return append(args, "--glob", "*.go", ".")
	}
	cases := []fileCase{
		{"grep: a literal that is nowhere", "core__grep", `{"pattern":"zzqqxxzz","include":"*.go"}`, ripgrep("-F", "-c", "-e", "zzqqxxzz"), countMatches},
		{"grep: a literal", "core__grep", `{"pattern":"func main()","include":"*.go"}`, ripgrep("-F", "-c", "-e", "func main()"), countMatches},
		{"glob: files that are not ignored", "core__glob", `{"pattern":"*.go","sort":"path"}`, ripgrep("--files"), countLines},
		{"glob: all files", "core__glob", `{"pattern":"*.go","sort":"path","includeIgnored":true}`, find("--no-ignore"), countLines},
	}
	// fd before 8.7 reads .gitignore in repositories only, and the tree need not be one.
	if fd != "" && exec.CommandContext(ctx, fd, "--no-require-git", "--max-depth", "0", ".", "/").Run() == nil {
		cases[2].other = find("--no-require-git")
	}
	return cases
}

// measure makes the calls of some cases in a workspace.
func (f *FileFigures) measure(ctx context.Context, o Options, workspace string, cases []fileCase) error {
	s, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	s.workspace = workspace
	if err := s.servePawl(ctx); err != nil {
		return err
	}
	if f.Server, err = serverOf(ctx, s, o); err != nil {
		return err
	}
	for _, c := range cases {
		o.Progress(c.name)
		row, err := c.row(ctx, s, o.Rounds)
		if err != nil {
			return fmt.Errorf("bench: %s: %w", c.name, err)
		}
		f.Rows = append(f.Rows, row)
	}
	return nil
}

// row alternates between the tool and the other program. Both run once before, so that the files are in
// memory.
func (c fileCase) row(ctx context.Context, s *stand, rounds int) (FileRow, error) {
	row := FileRow{Name: c.name}
	var ours, others, ratios []float64
	if c.other != nil {
		if _, _, err := c.run(ctx, s.workspace); err != nil {
			return row, err
		}
	}
	if _, _, err := c.call(ctx, s); err != nil && !errors.Is(err, errIncomplete) {
		return row, err
	}
	for range rounds {
		took, found, err := c.call(ctx, s)
		if err != nil {
			return row, err
		}
		row.Found = found
		var other time.Duration
		if c.other != nil {
			row.Other = filepath.Base(c.other[0])
			if other, found, err = c.run(ctx, s.workspace); err != nil {
				return row, err
			}
			if found != row.Found {
				return row, fmt.Errorf("%s finds %d, and %s finds %d: the work is not the same", c.tool, row.Found, row.Other, found)
			}
		}
		ours, others, ratios = append(ours, ms(took)), append(others, ms(other)), append(ratios, float64(took)/float64(max(other, 1)))
	}
	row.Ms = median(ours)
	if c.other != nil {
		row.OtherMs, row.Ratio = median(others), median(ratios)
	}
	return row, nil
}

var errIncomplete = errors.New("the tree is too large: give a smaller one")

// call calls the tool and returns what it has found.
func (c fileCase) call(ctx context.Context, s *stand) (took time.Duration, found int, err error) {
	began := time.Now()
	r, err := s.pawl.Invoke(ctx, toolspec.Invocation{
		ToolID: c.tool, ToolCallID: fmt.Sprintf("files-%d", time.Now().UnixNano()), Args: json.RawMessage(c.args),
		Context: toolspec.Context{TenantID: tenant, RunID: runID, ActorID: actor},
	})
	took = time.Since(began)
	if err != nil {
		return 0, 0, err
	}
	var value struct {
		Total, StartLine, EndLine int
		Remark                    string
		Incomplete                bool
	}
	if err := json.Unmarshal(r.Value, &value); err != nil {
		return 0, 0, errors.New("the value is not that of the tool")
	}
	if value.Incomplete {
		return 0, 0, fmt.Errorf("%w: %s", errIncomplete, value.Remark)
	}
	if value.StartLine > 0 {
		value.Total = value.EndLine - value.StartLine + 1
	}
	return took, value.Total, nil
}

// run runs the other program.
func (c fileCase) run(ctx context.Context, dir string) (took time.Duration, found int, err error) {
	cmd := exec.CommandContext(ctx, c.other[0], c.other[1:]...)
	cmd.Dir = dir
	began := time.Now()
	out, err := cmd.Output()
	took = time.Since(began)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // nothing was found
		err = nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", filepath.Base(c.other[0]), err)
	}
	found, err = c.count(out)
	return took, found, err
}

func countLines(out []byte) (int, error) { return bytes.Count(out, []byte("\n")), nil }

// countMatches adds up lines of the form path:count.
func countMatches(out []byte) (total int, err error) {
	for line := range bytes.Lines(out) {
		n, err := strconv.Atoi(string(bytes.TrimSpace(line[bytes.LastIndexByte(line, ':')+1:])))
		if err != nil {
			return 0, fmt.Errorf("a count of rg cannot be read: %w", err)
		}
		total += n
	}
	return total, nil
}

// writeLines writes the file of the window: long lines before it, and in it lines of which the tool shows
// 100 in full.
func writeLines(path string) error {
	text := make([]byte, 0, windowMB<<20)
	for i := 1; len(text) < windowMB<<20-256; i++ {
		width := 220
		if i >= windowLine {
			width = 90
		}
		begin := len(text)
		text = fmt.Appendf(text, "%09d a line of a log", i)
		text = append(text, bytes.Repeat([]byte("."), width-1-(len(text)-begin))...)
		text = append(text, '\n')
	}
	return os.WriteFile(path, text, 0o600)
}
