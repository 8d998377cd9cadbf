// Command openai answers a question with a model that speaks OpenAI's Chat
// Completions, as most servers do, and with the tools that policy lets it use. It
// is a worker too, so that one command is all it takes:
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/openai -model gpt-5-mini 'Which files are here?'
//
// OPENAI_API_KEY is the key, if the server wants one; -url names another server.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	m := model{key: os.Getenv("OPENAI_API_KEY")}
	flag.StringVar(&m.url, "url", "https://api.openai.com/v1", "where the server's API begins")
	flag.StringVar(&m.name, "model", "gpt-5-mini", "the model")
	name := flag.String("run", "run-"+rand.Text()[:12], "names this conversation: calls belong to it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := worker.LoadConfig()
	if err != nil {
		return err
	}
	// The worker runs for as long as the conversation does.
	ctx, end := context.WithCancel(ctx)
	defer end()
	pawl, ended := make(chan *client.Client, 1), make(chan error, 1)
	go func() { ended <- worker.Run(ctx, config, worker.Started(func(c *client.Client) { pawl <- c })) }()
	select {
	case err := <-ended:
		return err
	case c := <-pawl:
		answer, err := conversation{model: m, pawl: c, run: *name}.ask(ctx, strings.Join(flag.Args(), " "))
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	end()
	return <-ended
}
