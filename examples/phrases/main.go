// Command phrases is a worker with a source of tools: one tool for each phrase of a file. The tools change with the file.
//
//	echo '{"hello":"Good morning."}' > phrases.json
//	pawl dev --policy examples/policy.yaml -- go run ./examples/phrases
//
// and, in another terminal, in the same directory:
//
//	pawl invoke phrase__hello
//	echo '{"bye":"Good night."}' > phrases.json
//	pawl tools list
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/worker"
)

func main() { os.Exit(worker.Main(worker.Sources(Phrases{File: "phrases.json"}))) }

// Phrases is a source with a tool for each phrase of a file, such as {"hello":"Good morning."}.
type Phrases struct{ File string }

// Info names the source in lists and logs.
func (Phrases) Info() source.Info { return source.Info{Kind: source.Extension, Name: "phrases"} }

// Run reads the file every ten seconds.
func (p Phrases) Run(ctx context.Context, offer func(source.Offer)) error {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	var known []toolspec.Tool
	for {
		tools, err := p.read()
		if err != nil {
			// The tools of before stay. Operators read the fault.
			offer(source.Offer{Tools: known, Fault: "the file of phrases cannot be read"})
		} else {
			known = tools
			offer(source.Offer{Tools: known})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (p Phrases) read() (tools []toolspec.Tool, err error) {
	text, err := os.ReadFile(p.File)
	if err != nil {
		return nil, err
	}
	var phrases map[string]string
	if err := json.Unmarshal(text, &phrases); err != nil {
		return nil, err
	}
	for name, phrase := range phrases {
		tools = append(tools, say(name, phrase))
	}
	return tools, nil
}

type sayIn struct{}

// The version of the tool is its phrase: if the phrase changes, approvals of the old phrase do not count.
func say(name, phrase string) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "phrase__" + name, Description: "Says the phrase " + name + ".", Version: phrase,
		Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{""}},
	}, func(context.Context, sayIn, toolspec.Call) (string, error) { return phrase, nil })
}
