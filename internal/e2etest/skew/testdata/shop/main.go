// Command shop is a program with its own tools, as users of Pawl write it. The tests of package skew build this file twice, with
// the last release and with the checkout, so it uses only identifiers that both have.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/command"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

func main() { os.Exit(command.Main(worker.Tools(tools()...))) }

type in struct {
	Note string `json:"note,omitempty"`
}

type out struct {
	Text string `json:"text"`
}

// tools returns one tool for each way in which Pawl runs a tool.
func tools() []toolspec.Tool {
	define := func(name string, change func(*toolspec.Definition)) toolspec.Tool {
		d := toolspec.Definition{
			ID: "test__" + name, Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Timeout: 20 * time.Second,
		}
		change(&d)
		return toolspec.Define(d, enter)
	}
	return []toolspec.Tool{
		define("fast", func(d *toolspec.Definition) { d.Fast, d.Timeout = true, 2*time.Second }),
		define("write", func(d *toolspec.Definition) { d.Effect, d.Idempotent, d.MaxAttempts = toolspec.StateChange, true, 5 }),
		define("send", func(d *toolspec.Definition) { d.Effect = toolspec.ExternalSideEffect }),
		define("asked", func(d *toolspec.Definition) { d.Effect, d.Risk = toolspec.ExternalSideEffect, toolspec.MediumRisk }),
	}
}

// enter adds a line with the release of its program to the file of the call. With the note "busy" the first attempt asks for another
// attempt.
func enter(_ context.Context, v in, call toolspec.Call) (out, error) {
	path := filepath.Join(os.Getenv("PAWL_TEST_LEDGER"), call.ToolCallID)
	_, unknown := os.Stat(path)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return out{}, err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, os.Getenv("PAWL_TEST_RELEASE")); err != nil {
		return out{}, err
	}
	if v.Note == "busy" && unknown != nil {
		return out{}, toolspec.RetryAfter(time.Second, "busy")
	}
	return out{Text: "done"}, nil
}
