//go:build unix

package tools_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// outsideSecret is in every file outside of the workspace, and in none inside.
const outsideSecret = "what-stands-outside"

// escapeWorkspace is a workspace with ways out, and files outside.
type escapeWorkspace struct{ dir, parent string }

func newEscapeWorkspace(t *testing.T) escapeWorkspace {
	t.Helper()
	parent := t.TempDir()
	p := escapeWorkspace{dir: filepath.Join(parent, "workspace"), parent: parent}
	write(t, filepath.Join(parent, "secret"), outsideSecret)
	write(t, filepath.Join(parent, "outside", "file"), outsideSecret)
	write(t, filepath.Join(parent, "outside", "deep", "file"), outsideSecret)
	write(t, filepath.Join(parent, "shared"), "shared")
	write(t, filepath.Join(p.dir, "in", "file"), "inside")
	write(t, filepath.Join(p.dir, "sparse"), "begin\n")
	errs := []error{
		os.Truncate(filepath.Join(p.dir, "sparse"), 1<<40), os.Link(filepath.Join(parent, "shared"), filepath.Join(p.dir, "hard")),
		syscall.Mkfifo(filepath.Join(p.dir, "fifo"), 0o666),
	}
	for name, target := range map[string]string{
		"up": "../secret", "updir": "../outside", "absolute": parent + "/secret", "absdir": parent + "/outside", "absinside": p.dir + "/in/file",
		"proc": "/proc/self/root" + parent + "/secret", "procdir": "/proc/self/root" + parent, "cwd": "/proc/self/cwd", "fd": "/proc/self/fd/0",
		"dangling": "../new", "danglingdir": "../newdir", "chain": "in/chain", "in/chain": "../up", "in/winding": "../in/../../secret", "dotdot": "..",
		"loop": "loop", "loopa": "loopb", "loopb": "loopa", "self": ".", "tofifo": "fifo", "zero": "/dev/zero", "todir": "updir",
	} {
		errs = append(errs, os.Symlink(target, filepath.Join(p.dir, name)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(p.dir, "device"), syscall.S_IFCHR|0o666, 1<<8|5); err != nil && !errors.Is(err, syscall.EPERM) {
		t.Fatal(err)
	}
	// The path of a socket is at most about 100 bytes.
	t.Chdir(p.dir)
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return p
}

// digest is one of everything outside of the workspace.
func (p escapeWorkspace) digest(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	if err := filepath.WalkDir(p.parent, func(path string, e fs.DirEntry, err error) error {
		if path == p.dir {
			return filepath.SkipDir
		}
		if err != nil || path == p.parent {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, path, info.Mode(), info.ModTime())
		if e.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%q\n", content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// refused are paths that no tool takes.
func (p escapeWorkspace) refused() []string {
	return []string{
		"..", "../", "../secret", "../outside", "../SECRET", "in/../../secret", "./../secret", "in/./../../outside/file", "../workspace/../secret", "../workspace/in/file",
		"/", "//secret", "//server/share/x", "/etc/passwd", p.parent + "/secret", p.dir + "/in/file", "/proc/self/root/etc/passwd", "/proc/self/cwd/in/file", "/proc/self/environ",
		"/dev/zero", "/dev/stdin", "up", "up/", "./up", "in/../up", "updir", "updir/", "updir/file", "updir//deep/file", "updir/new", "updir/new/deep", "todir/file",
		"absolute", "absdir", "absdir/file", "absdir/new", "absinside", "proc", "procdir", "procdir/secret", "procdir/new", "cwd", "cwd/in/file", "fd",
		"dangling", "danglingdir/new", "chain", "in/winding", "dotdot", "dotdot/secret", "dotdot/outside/file", "dotdot/workspace/in/file", "self/self/self/up",
		"loop", "loop/file", "loopa", strings.Repeat("self/", 50) + "in/file", "fifo", "tofifo", "fifo/below", "socket", "socket/below", "device", "zero",
		"", "in/fi\x00le", "up\x00.txt", strings.Repeat("n", 256), strings.Repeat("é", 200), strings.Repeat("a/", 3000), "in/file/..//../../secret", ".pawl-tmp-x", "in/.pawl-tmp-x/file",
	}
}

// harmless are paths that a tool may take for a file of the workspace.
func (p escapeWorkspace) harmless() []string {
	return []string{
		`..\secret`, `in\..\..\secret`, `C:\Windows\win.ini`, "C:/Windows/win.ini", "C:secret", `\\?\C:\secret`, `\\server\share\secret`, `\secret`,
		"CON", "NUL", "aux.txt", "COM1", "LPT1.log", "in/CON", "secret::$DATA", "in/file:stream", "secret.", "secret ",
		"SECRET", "In/File", "Workspace", "．．/secret", "..／secret", "..∕secret", "‥/secret", "%2e%2e/secret", "..%2fsecret", "..%c0%afsecret", "in/..\u200b/../../secret",
		"sec\u0301ret", "\u202etxt.terces", "~/secret", "~root", "$HOME/secret", "${PWD}/../x", "file:///etc/passwd", "-rf", "--help", "-", "--output=made", "-o made", "$(touch ../made)", "`touch ../made`", "in/file; touch ../made", "in/file\ntouch ../made", "in/file\u00a0-rf\u2003..", "in/*", "in/file\n", "hard", "sparse", "...", ".../secret", ". ./secret",
	}
}

// filesTools are the tools with an argument that names files.
func filesTools() (all []toolspec.Tool) {
	for _, tool := range tools.All() {
		if slices.Contains(tool.Definition().Capabilities, capability.FilesKey.Name()) && len(pathFields(tool)) > 0 {
			all = append(all, tool)
		}
	}
	return all
}

// pathFields are the names of those arguments, with whether they are lists.
func pathFields(tool toolspec.Tool) map[string]bool {
	in, _ := tool.Types()
	fields := map[string]bool{}
	for i := range in.NumField() {
		name, _, _ := strings.Cut(in.Field(i).Tag.Get("json"), ",")
		if kind := in.Field(i).Type.Kind(); strings.Contains(strings.ToLower(name), "path") && (kind == reflect.String || kind == reflect.Slice) {
			fields[name] = kind == reflect.Slice
		}
	}
	return fields
}

// attempt calls a tool with its first example, and path for every file.
// It fails the test if the other arguments are not valid, since then the path is not looked at.
func attempt(t *testing.T, tool toolspec.Tool, dir, path string) (refused bool, answer string) {
	t.Helper()
	args := map[string]any{}
	if err := json.Unmarshal([]byte(tool.Definition().Examples[0].Args), &args); err != nil {
		t.Fatal(err)
	}
	for name, list := range pathFields(tool) {
		if args[name] = path; list {
			args[name] = []string{path}
		}
	}
	in, _ := tool.Types()
	for i := range in.NumField() {
		switch name, _, _ := strings.Cut(in.Field(i).Tag.Get("json"), ","); name {
		case "createDirs", "includeIgnored":
			args[name] = true
		case "pattern": // what would be found outside
			args[name] = outsideSecret[:8]
			if tool.Definition().ID == "core__glob" {
				args[name] = "*"
			}
		case "include", "exclude":
			delete(args, name)
		}
	}
	got := pawltest.Call{Tool: tool, Args: args, Workspace: dir}.Run(t)
	if got.Result.ErrorCode == toolspec.CodeValidation && path == "in/file" {
		t.Fatalf("the first example of %s is not valid: %s", tool.Definition().ID, got.Result.SafeMessage)
	}
	var value struct{ Failed int }
	_ = json.Unmarshal(got.Value, &value)
	return !got.Result.OK || value.Failed > 0, string(got.Value) + string(got.Result.Value) + got.Result.SafeMessage
}

// TestEscapes: no tool that names files leads out of the workspace, whatever it is given (faults 60).
func TestEscapes(t *testing.T) {
	if n := len(newEscapeWorkspace(t).refused()) + len(newEscapeWorkspace(t).harmless()); n < 100 {
		t.Errorf("%d attempts", n)
	}
	if len(filesTools()) < 7 {
		t.Errorf("%d tools have an argument that names files", len(filesTools()))
	}
	for _, tool := range filesTools() {
		t.Run(tool.Definition().ID, func(t *testing.T) {
			p := newEscapeWorkspace(t)
			before := p.digest(t)
			attempt(t, tool, p.dir, "in/file")
			for path, mustRefuse := range p.attempts() {
				if tool.Definition().ID == "core__delete_file" {
					// It deletes a link, and not where the link leads.
					p = newEscapeWorkspace(t)
					before = p.digest(t)
					info, err := os.Lstat(filepath.Join(p.dir, path))
					mustRefuse = mustRefuse && (err != nil || info.Mode()&fs.ModeSymlink == 0)
				}
				refused, answer := attempt(t, tool, p.dir, path)
				if mustRefuse && !refused {
					t.Errorf("%.40q is taken: %.200s", path, answer)
				}
				if strings.Contains(answer, outsideSecret) || strings.Contains(answer, "root:x:") {
					t.Errorf("%.40q shows what is outside: %.200s", path, answer)
				}
				if after := p.digest(t); after != before {
					t.Fatalf("%.40q has changed what is outside", path)
				}
			}
		})
	}
}

func (p escapeWorkspace) attempts() map[string]bool {
	all := map[string]bool{}
	for _, path := range p.harmless() {
		all[path] = false
	}
	for _, path := range p.refused() {
		// A default may stand for no path, and there may be no device.
		if _, err := os.Lstat(filepath.Join(p.dir, path)); path == "device" && err != nil {
			continue
		}
		all[path] = path != ""
	}
	return all
}

// TestEscapesBySwapping: a path whose parts become links outside between the look and the use.
func TestEscapesBySwapping(t *testing.T) {
	for _, tool := range filesTools() {
		t.Run(tool.Definition().ID, func(t *testing.T) {
			p := newEscapeWorkspace(t)
			write(t, filepath.Join(p.dir, "real", "file"), "inside")
			before := p.digest(t)
			stop := swap(t, map[string][]string{
				filepath.Join(p.dir, "link"):    {"real", "../outside", "real", p.parent + "/outside"},
				filepath.Join(p.dir, "in/link"): {"../real/file", "../../secret", "file", "../../new"},
			})
			defer stop()
			for range 15 {
				for _, path := range []string{"link", "link/file", "in/link", "in"} {
					if _, answer := attempt(t, tool, p.dir, path); strings.Contains(answer, outsideSecret) {
						t.Fatalf("%s shows what is outside: %.200s", path, answer)
					}
				}
			}
			stop()
			if after := p.digest(t); after != before {
				t.Error("something outside has changed")
			}
		})
	}
}

// swap makes each name a link to its targets in turn, until stop.
func swap(t *testing.T, links map[string][]string) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			for name, targets := range links {
				next := name + ".next"
				if err := errors.Join(os.Symlink(targets[i%len(targets)], next), os.Rename(next, name)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		group.Wait()
	})
}
