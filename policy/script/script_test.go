package script_test

import (
	"errors"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/script"
)

func patterns(t testing.TB, texts ...string) (list []script.Pattern) {
	t.Helper()
	for _, text := range texts {
		p, err := script.ParsePattern(text)
		if err != nil {
			t.Fatalf("%q %v", text, err)
		}
		list = append(list, p)
	}
	return list
}

// allowed are the patterns of both tables.
var allowed = []string{"git status", "git log *", "go test *", "cd *", "cat *", "echo *", "head *"}

func TestCovers(t *testing.T) {
	t.Parallel()
	p := patterns(t, allowed...)
	for _, text := range []string{
		"git status", " git   status ", "git status\n", "\n\ngit status\n\n", "git status;", "'git' status", `"git" status`, `gi't' "status"`,
		"git log", "git log -1", "git log --format=%H -n 3", "go test ./...", "go test -run 'TestA|TestB' ./a", `go test -run "^TestA"`,
		"git status && go test ./...", "git status || go test", "git status; git log", "git status\ngit log", "git log | head -3", "cd sub && go test ./... | head -20",
		"cat 'a b' \"c d\" e", "echo 'a;b' 'rm -rf /' '$(x)' '`x`' '>f' '*'", "echo a=b", "echo ''", "cat 'ä'", "cat ../x", "cat /etc/passwd",
	} {
		if !script.Covers(p, text) {
			t.Errorf("not covered: %q", text)
		}
	}
}

// TestNotCovered: nothing that runs more than the allowed commands, or other words than those that are compared, is covered (fault 62).
func TestNotCovered(t *testing.T) {
	t.Parallel()
	p := patterns(t, allowed...)
	for _, text := range []string{
		// Other commands.
		"", " ", "\n", "git", "git push", "git statusx", "git status x", "gitstatus", "git  'status x'", "GIT status", "/usr/bin/git status", "./git status",
		"git status; rm -rf x", "git status && rm x", "git status || rm x", "git status | sh", "git status\nrm x", "git status;rm x", "rm x; git status",
		"rm x\ngit status", "git status & rm x", "git status |& sh", "git log | tee f",
		// Expansions and substitutions.
		"git log $(x)", "git log `x`", "git log $x", "git log ${x}", "git log \"$(x)\"", "git log \"$x\"", "git log \"`x`\"", "git log $((1+1))", "git $'status'",
		`git $"status"`, "git log <(x)", "git log >(x)", "git log {a,b}", "git log {1..3}", "git log ~", "git log ~root", "git log *", "git log ?", "git log [ab]", "cat *", "g* status",
		"git log !x", "git log !!", "git log @(a|b)", "git log a#b", "git log ^x",
		// Redirections, background, and other syntax.
		"git status > f", "git status >> f", "git status < f", "git status 2>&1", "git status &> f", "git status <<< x", "git status << E\nx\nE", "git log 3<&0", "git status >| f", "> f", "git status &",
		"{ git status; }", "(git status)", "! git status", "time git status", "if git status; then git log; fi", "while git status; do git log; done",
		"for x in a; do git status; done", "case a in a) git status;; esac", "f() { git status; }", "f() { rm x; }; git status", "git() { rm x; }; git status", "function git { rm x; }\ngit status",
		"coproc git status", "[[ a ]]", "((1))", "let a=1", "declare x", "export A=b", "A=b git status", "A=b", "A+=b git status", "PATH=. git status", "A[0]=b git status",
		// Words that bash evaluates.
		"printf -v 'a[$(rm -rf x)]' y", "test -v 'a[$(x)]'", "git status && test -v 'a[$(x)]'", "read 'a[$(x)]'", "unset 'a[$(x)]'", "'declare' 'a[$(x)]=1'",
		"git status # x", "# x", "git status ;; git log", "alias git=rm; git status", "eval git status", "exec git status", "command git status", ". ./x", "source x", "trap 'rm x' EXIT; git status",
		// Characters that shells, terminals and readers take for others.
		"git\\ status", "git stat\\us", "git sta\\\ntus", "git status\\", "git log \\$x", "git log \"\\$x\"", "git status\r", "git\u00a0status", "git status\u2028rm x", "git log \u202e", "git log\x00x",
		"git log \x1b[31m", "git log \xff", "git\tlog", "git log ä", "git log 'a\nb'", "git log \"a\nb\"", "git log 'a", "git log \"a", "git log )", "git status;;", "&& git status", "git status &&", "git status |",
		"git log '" + strings.Repeat("x", script.MaxScript) + "'", strings.Repeat("git status;", 100),
	} {
		if script.Covers(p, text) {
			t.Errorf("covered: %q", text)
		}
	}
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "*", "* x", "git  status", " git", "git ", "git st*", "git * x", "git *x", "git 'status'", "git $x", "git;ls", "A=b git", "eval *", "eval", ". x", "exec *", "command *", "source x", "trap *", "alias *", "builtin *",
		"git|x", "git\nstatus", "git\tstatus", "ä *", "printf *", "printf -v", "test *", "[ *", "read *", "unset *", "declare *", "typeset *", "let *", "export *", "set *", "wait *", "mapfile *", "kill *", "test",
	} {
		if p, err := script.ParsePattern(text); err == nil {
			t.Errorf("%q is a pattern: %v", text, p)
		}
	}
	patterns(t, "cd *", "echo *", "false", "pwd", "true", ": *", "/usr/bin/printf *", "ls *")
}

// TestBuiltins: no pattern names a command that bash has built in, but for those that evaluate none of their words.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("bash", "-c", "compgen -b").Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no bash")
	}
	if err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for name := range strings.FieldsSeq(string(list)) {
		if _, err := script.ParsePattern(name + " *"); err == nil {
			allowed = append(allowed, name)
		}
	}
	slices.Sort(allowed)
	if want := []string{":", "cd", "echo", "false", "pwd", "true"}; !slices.Equal(allowed, want) {
		t.Errorf("patterns may name %q of bash, want %q", allowed, want)
	}
}

// TestShellsAgree: shells of this machine find the same words in plain scripts.
func TestShellsAgree(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"f a b", "f 'a b' \"c d\"e'f'", "f ''", "f 'a;b' '$(x)' '*'", "f a=b --c=d,e @f %g +h", "f \"a!b'c\"", "f a | f b && f c\nf d;f e"} {
		want, ok := script.Plain(text)
		if !ok {
			t.Fatalf("not plain: %q", text)
		}
		for _, shell := range []string{"sh", "bash"} {
			path, err := exec.LookPath(shell)
			if err != nil {
				continue
			}
			// In a pipeline the order is open, so the function writes each command in one write, and the lines are sorted.
			out, err := exec.Command(path, "-c", "f() { s=f; for w; do s=\"$s\x01$w\"; done; printf '%s\\n' \"$s\" >&2; }\n"+text).CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			var got [][]string
			for line := range strings.Lines(string(out)) {
				got = append(got, strings.Split(strings.TrimSuffix(line, "\n"), "\x01"))
			}
			sort := func(list [][]string) [][]string { slices.SortFunc(list, slices.Compare[[]string]); return list }
			if want := sort(slices.Clone(want)); !reflect.DeepEqual(sort(got), want) {
				t.Errorf("%s finds %q in %q, want %q", shell, got, text, want)
			}
		}
	}
}

// FuzzPlain: a script is plain only if it is what its commands are when they are written with every word in quotes and joined again, but
// for quotes, spaces and operators. So no character of it means anything but itself.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"git status", "a 'b c' | d \"e\" && f; g\nh", "a $(b)", "a > b", "a\\ b", "a {b,c}", "if a; then b; fi", "a <<E\nE", "a #b", "A=b c", "a&"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		commands, ok := script.Plain(text)
		if !ok {
			return
		}
		var written []string
		for _, words := range commands {
			quoted := make([]string, len(words))
			for i, w := range words {
				// A word without single quotes is written in them; otherwise double quotes were around it.
				if quoted[i] = "'" + w + "'"; strings.Contains(w, "'") {
					quoted[i] = ""
					for part := range strings.SplitSeq(w, "'") {
						quoted[i] += "'" + part + "'\"'\""
					}
					quoted[i] = strings.TrimSuffix(quoted[i], "\"'\"")
				}
			}
			written = append(written, strings.Join(quoted, " "))
		}
		again, ok := script.Plain(strings.Join(written, "\n"))
		if !ok || !reflect.DeepEqual(again, commands) {
			t.Fatalf("%q is %q, and written again %q", text, commands, again)
		}
		bare := tokens(text)
		if want := tokens(strings.Join(written, "\n")); !slices.Equal(bare, want) {
			t.Fatalf("%q has the words %q, want %q", text, bare, want)
		}
	})
}

// tokens is a second reader of plain scripts: words between blanks and operators, without their quotes.
func tokens(text string) (words []string) {
	var word strings.Builder
	in, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range text {
		switch {
		case in != 0 && r == in:
			in = 0
		case in != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in, begun = r, true
		case strings.ContainsRune(" \n;&|", r):
			end()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}
