package tools

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Times of a command, and the most that it may write, in bytes.
const (
	shellTime      = 2 * time.Minute
	shellMaxTime   = 10 * time.Minute
	shellMaxOutput = 100 << 20
)

type shellIn struct {
	Command   string `json:"command" jsonschema:"minLength=1,maxLength=8192" jsonschema_description:"Script for /bin/sh: one command, or several."`
	Cwd       string `json:"cwd,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Directory to run it in, relative to the workspace. Default: the workspace."`
	TimeoutMs int    `json:"timeoutMs,omitempty" jsonschema:"minimum=1,maximum=600000" jsonschema_description:"Kill the command after this time, in milliseconds. Default: 120000."`
}

type shellOut struct {
	ExitCode    int      `json:"exitCode" jsonschema_description:"Exit status of the command; -1 if it was killed. 0 usually means success."`
	Signal      string   `json:"signal,omitempty" jsonschema_description:"Signal that ended the command."`
	Tail        string   `json:"tail" jsonschema_description:"Standard output and standard error in the order of their arrival: all of up to 10 KiB, of more the last 5 KiB."`
	Truncated   bool     `json:"truncated" jsonschema_description:"True if tail is not all of the output."`
	OutputBytes int64    `json:"outputBytes" jsonschema_description:"Length of the whole output in bytes."`
	DurationMs  int64    `json:"durationMs" jsonschema_description:"How long the command ran, in milliseconds."`
	StoppedBy   string   `json:"stoppedBy,omitempty" jsonschema_description:"Limit for which the command was killed: time, output, memory or disk."`
	Limits      []string `json:"limits,omitempty" jsonschema_description:"Limits that the command reached: time, output, memory or processes. With processes it could not start more processes."`
	Protections []string `json:"protections" jsonschema_description:"Protections of the sandbox that were on."`
}

// Shell is core__shell: a script of the shell in a sandbox. It needs capability.Commands and capability.Progress.
func Shell() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__shell",
		Title: "Run a shell command",
		Description: "Runs a script with /bin/sh in the workspace and waits for its end. Use it to build, to test and to use programs that have no tool of their own; " +
			"to read, search and write files, use the tools for files. It runs in a sandbox: only the workspace and /tmp can be written, /tmp is empty at each call, " +
			"there is usually no network but a loopback device, standard input is empty, and there is no terminal. Processes in the background are killed when the script ends. " +
			"A command that fails is a result with its exitCode. It may take 10 minutes, write 100 MiB, use 2 GiB of memory and 256 processes: " +
			"stoppedBy and limits say which limit it reached. Of more than 10 KiB of output you get the last 5 KiB in tail, and truncated is true: read and search the whole output by the outputRef of the result.",
		Version:   "1",
		Effect:    toolspec.ExternalSideEffect,
		Risk:      toolspec.HighRisk,
		ScriptArg: "command",
		// The sandbox ends a command at its time limit. The extra minute is for starting and ending the
		// command.
		Timeout: shellMaxTime + time.Minute,
		Stream:  toolspec.TextStream,
		Redaction: toolspec.Redaction{Allow: []string{
			"/exitCode", "/signal", "/tail", "/truncated", "/outputBytes", "/durationMs", "/stoppedBy", "/limits/*", "/protections/*",
		}},
		Capabilities: []toolspec.CapabilityName{capability.CommandsKey.Name(), capability.ProgressKey.Name()},
		Tags:         []string{"shell"},
		Examples: []toolspec.Example{
			{Title: "Run the tests of a package", Args: `{"command":"go test ./parser/..."}`},
			{Title: "Build in a directory, in at most a minute", Args: `{"command":"make clean && make","cwd":"server","timeoutMs":60000}`},
		},
	}, shell)
}

func shell(ctx context.Context, in shellIn, call toolspec.Call) (shellOut, error) {
	c := capability.Command{Script: in.Command, Dir: in.Cwd, Timeout: shellTime, MaxOutput: shellMaxOutput}
	if in.TimeoutMs > 0 {
		c.Timeout = time.Duration(in.TimeoutMs) * time.Millisecond
	}
	out := shellWriter{ctx: ctx, stream: call.Output(), progress: capability.ProgressKey.From(call)}
	end, err := capability.CommandsKey.From(call).Run(ctx, c, &out)
	if err != nil {
		return shellOut{}, explain(err)
	}
	v := shellOut{
		ExitCode: end.ExitCode, Signal: end.Signal, StoppedBy: string(end.StoppedBy), OutputBytes: out.total,
		DurationMs: end.Duration.Milliseconds(), Protections: end.Protections,
	}
	for _, l := range end.Reached {
		v.Limits = append(v.Limits, string(l))
	}
	v.Tail, v.Truncated = out.tail()
	return v, nil
}

// shellWriter stores the output of a command, keeps its end, and reports its last line.
type shellWriter struct {
	ctx      context.Context
	stream   toolspec.OutputStream
	progress capability.Progress
	// last is the end of the output: at least as much as a result shows in full.
	last  []byte
	total int64
	lines int64
}

// Write implements io.Writer.
func (w *shellWriter) Write(p []byte) (int, error) {
	if _, err := w.stream.Write(p); err != nil {
		return 0, err
	}
	w.total += int64(len(p))
	whole, _, _, _, _ := toolspec.ShellOutput.Limits()
	w.last = append(w.last, p...)
	if extra := len(w.last) - whole; extra > whole {
		w.last = append(w.last[:0], w.last[extra:]...)
	}
	text := string(p)
	w.lines += int64(strings.Count(text, "\n"))
	if line := lastLine(text); line != "" {
		w.progress.Report(w.ctx, toolspec.Progress{Done: w.lines, Text: line})
	}
	return len(p), nil
}

// tail returns what a result shows of the output. It begins at the start of a line if a line starts in its first half.
func (w *shellWriter) tail() (text string, truncated bool) {
	whole, shown, _, _, _ := toolspec.ShellOutput.Limits()
	last := w.last
	if w.total > int64(whole) {
		truncated = true
		last = last[len(last)-shown:]
		for len(last) > 0 && !utf8.RuneStart(last[0]) {
			last = last[1:]
		}
		if end := bytes.IndexByte(last[:len(last)/2], '\n'); end >= 0 {
			last = last[end+1:]
		}
	}
	return strings.ToValidUTF8(string(last), string(utf8.RuneError)), truncated
}

// terminalControl matches sequences that control a terminal.
var terminalControl = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[P^_X][^\x1b]*(\x1b\\)?|[ -/]*[0-~])`) //nolint:gocritic // the ranges are those of ECMA-48

// lastLine returns the last line of a text in which a person can see something, without characters that control a terminal.
// It looks at the last bytes of the text, at most 10 times toolspec.MaxProgressText of them.
func lastLine(text string) string {
	const most = 10 * toolspec.MaxProgressText
	text = text[max(0, len(text)-most):]
	text = terminalControl.ReplaceAllString(strings.ToValidUTF8(text, ""), "")
	text = strings.TrimRight(text, "\r\n\t ")
	text = text[strings.LastIndexAny(text, "\r\n")+1:]
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}
