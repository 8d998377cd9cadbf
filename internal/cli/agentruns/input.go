package agentruns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// inputFlags are the flags for the input of a run.
type inputFlags struct {
	version, runID, actor, session, graphRun string
	tools                                    []string
	connections                              map[string]string
}

func (f *inputFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.version, "version", "", "version of the agent; default the active one")
	flags.StringVar(&f.runID, "run", "", "`id` of the run, in 1 to 64 characters; default a new one. The same id with the same input is the same run")
	app.ActorVar(flags, &f.actor, "actor", "", "the actor of the calls; default agent:NAME")
	flags.StringVar(&f.session, "session", "", "`id` of the session of the calls")
	flags.StringVar(&f.graphRun, "graph-run", "", "your `id` of the run of the graph that this run belongs to; the agent needs a graph")
	flags.StringSliceVar(&f.tools, "tools", nil, "`ids` of the only tools of the agent that this run may call")
	flags.StringToStringVar(&f.connections, "connection", nil, "`TOOL=ID`: the connection that a tool uses; may be repeated")
}

// startFlags are the flags of a command that starts a run and follows it.
type startFlags struct {
	inputFlags
	stays, detach bool
}

func (f *startFlags) define(flags *pflag.FlagSet) {
	f.inputFlags.define(flags)
	flags.BoolVar(&f.stays, "stay", false, "let the run wait for messages after each answer; the command ends after the first one")
	flags.BoolVar(&f.detach, "detach", false, "start the run, print its id, and do not follow it")
}

// input returns the input of a run without its messages.
func (f *inputFlags) input(tenant, name, word string) agent.Input {
	in := agent.Input{
		Agent: name, Version: f.version, Connections: f.connections, GraphRunID: f.graphRun,
		Context: toolspec.Context{TenantID: tenant, RunID: f.runID, ActorID: f.actor, SessionID: f.session, ToolIDs: f.tools},
	}
	if in.Context.RunID == "" {
		in.Context.RunID = newID(word)
	}
	if in.Context.ActorID == "" {
		in.Context.ActorID = "agent:" + name
	}
	return in
}

// userMessage returns a message of a person.
func userMessage(text string) conversation.Message {
	return conversation.Message{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: text}}}
}

// readText returns the text of an argument. - is standard input.
func readText(a *app.App, argument string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.In, agent.MaxInput+1))
	if err != nil {
		return "", err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "", errors.New("standard input has no text")
	}
	return string(text), nil
}

// readMessages reads a conversation: a JSON list of messages, or an object with the member messages.
func readMessages(a *app.App, file string) (messages []conversation.Message, err error) {
	in := a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, agent.MaxInput+1))
	if err != nil {
		return nil, err
	}
	if len(text) > agent.MaxInput {
		return nil, fmt.Errorf("the conversation is larger than %d bytes", agent.MaxInput)
	}
	var whole conversation.Conversation
	if err := json.Unmarshal(text, &whole.Messages); err != nil {
		if err := json.Unmarshal(text, &whole); err != nil {
			return nil, fmt.Errorf("%s is not a conversation: a JSON list of messages, each {\"role\":…,\"content\":…}", file)
		}
	}
	return whole.Messages, nil
}
