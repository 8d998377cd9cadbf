package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pawl-run/pawl/internal/cli/terminaltest"
)

// exits STATUS PROGRAM ARGUMENTS… runs a program, which must end with this status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ended with status %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// json FILE PATH [= VALUE | -> NAME] checks a file with one JSON document. It must have a value at the path, such as
// checks.0.ok; + is the length of a list. With =, the value must be VALUE. With ->, the value goes into the environment
// variable NAME. With ! before the command, there must be no value at the path.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	ts.Check(dec.Decode(&v))
	if dec.More() {
		ts.Fatalf("more than one document")
	}
	found := true
	for step := range strings.SplitSeq(args[1], ".") {
		switch node := v.(type) {
		case map[string]any:
			v, found = node[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(node) {
				v = node[i]
			} else {
				v, found = len(node), step == "+"
			}
		default:
			found = step == "" // the document itself
		}
		if !found {
			break
		}
	}
	text, err := json.Marshal(v)
	ts.Check(err)
	switch {
	case neg && found && len(args) == 2:
		ts.Fatalf("%s holds %s", args[1], text)
	case neg:
	case !found:
		ts.Fatalf("nothing at %s", args[1])
	case len(args) == 4 && args[2] == "->":
		ts.Setenv(args[3], fmt.Sprint(v))
	case len(args) == 4 && args[3] != fmt.Sprint(v) && args[3] != string(text):
		ts.Fatalf("%s holds %s, not %s", args[1], text, args[3])
	}
}

// clean FILE… fails if a file has characters that control a terminal or that a terminal hides.
func clean(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		if wrong := terminaltest.Unclean(ts.ReadFile(file)); wrong != "" {
			ts.Fatalf("%s holds %s", file, wrong)
		}
	}
}

// larger FILE BYTES fails unless the file has more bytes than this number.
func larger(ts *testscript.TestScript, _ bool, args []string) {
	bound, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := len(ts.ReadFile(args[0])); got <= bound {
		ts.Fatalf("%s holds %d bytes", args[0], got)
	}
}
