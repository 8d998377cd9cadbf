// Command toolhook is a worker with a hook for one tool: core__read_file reads no
// hidden files here. Other tools do not know the hook.
//
//	pawl dev -- go run ./examples/toolhook
//
// and, in another terminal, in the same directory:
//
//	pawl invoke core__read_file --args '{"path":".git/config"}'
package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	os.Exit(worker.Main(worker.ToolHooks("core__read_file", noHiddenFiles())))
}

// noHiddenFiles judges arguments that the tool's schema has accepted. It aborts:
// the caller reads the reason, and the hook's own code in details.code.
func noHiddenFiles() hook.Hook {
	return hook.New("no-hidden-files", hook.WillValidateInput.Do(func(_ context.Context, v *hook.Input) error {
		var in struct {
			Path string `json:"path"`
		}
		if err := json.Unmarshal(v.Args(), &in); err != nil {
			return err
		}
		hidden := func(name string) bool { return strings.HasPrefix(name, ".") && name != "." && name != ".." }
		if slices.ContainsFunc(strings.Split(in.Path, "/"), hidden) {
			return v.Abort("hidden files are not read here", hook.Code("hidden_file"), hook.HTTPStatus(403))
		}
		return nil
	}))
}
