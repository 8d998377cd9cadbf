package devcli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// defaultModelAddress is where `pawl dev model` listens.
const defaultModelAddress = "127.0.0.1:8231"

// newDevModel makes the command `pawl dev model`.
func newDevModel(a devApp) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "model", Short: "Serve a scripted model, to try agents without a provider",
		Long: "Serve a model with the API of OpenAI (chat completions) until Ctrl-C, and print the URL of the API. If a message is the\n" +
			"id of a tool and JSON, the model calls the tool with this JSON as its arguments. The model answers every other message,\n" +
			"and the result of a call, by repeating it.",
		Example: "  pawl dev model\n  PAWL_MODEL_URLS=http://" + defaultModelAddress + "/v1 pawl dev",
		Args:    app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := modelserver.Listen("openai", address, echoModel)
			if err != nil {
				return err
			}
			defer s.Close()
			fmt.Fprintln(a.Out, s.URL)
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "listen", defaultModelAddress, "`HOST:PORT` to listen at")
	return cmd
}

// echoModel is the model of `pawl dev model`.
func echoModel(r modelserver.Request) modelserver.Reply {
	if len(r.Messages) == 0 {
		return modelserver.Reply{Text: "Nobody has said anything."}
	}
	last := r.Messages[len(r.Messages)-1]
	if len(last.Results) > 0 {
		return modelserver.Reply{Text: "The tool answered: " + last.Results[len(last.Results)-1].Text}
	}
	tool, args, _ := strings.Cut(strings.TrimSpace(last.Text), " ")
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	if slices.Contains(r.Tools, tool) && json.Valid([]byte(args)) {
		return modelserver.Reply{Text: "I call " + tool + ".", Calls: []modelserver.Call{{Name: tool, Args: args}}}
	}
	return modelserver.Reply{Text: "You said: " + last.Text}
}
