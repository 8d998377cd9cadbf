// Command openai answers a question with a model that speaks OpenAI's Chat
// Completions, as most servers do, and with the tools that policy lets it use. It
// is a worker too, so that one command is all it takes:
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/openai -key-file key 'Which files are here?'
//
// -key-file names the file with the API key; -url names another server, such as
// http://localhost:11434/v1.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	m := model{http: &http.Client{}}
	base := flag.String("url", "https://api.openai.com/v1", "where the server's API begins")
	flag.StringVar(&m.name, "model", "gpt-5-mini", "the model")
	key := flag.String("key-file", "", "file with the API key, if the server wants one")
	name := flag.String("run", "run-"+rand.Text()[:12], "names this conversation: its calls belong to it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *key != "" {
		text, err := os.ReadFile(*key)
		if err != nil {
			log.Fatal(err) //nolint:gocritic // nothing has started
		}
		m.http.Transport = withKey(strings.TrimSpace(string(text)))
	}
	var err error
	if m.base, err = url.Parse(*base); err != nil {
		log.Fatal(err)
	}
	if err := answer(ctx, m, *name, strings.Join(flag.Args(), " "), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// answer runs a worker for as long as the conversation takes.
func answer(ctx context.Context, m model, name, question string, to io.Writer) error {
	config, err := worker.LoadConfig()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	pawl, ended := make(chan *client.Client, 1), make(chan error, 1)
	go func() { ended <- worker.Run(ctx, config, worker.Started(func(c *client.Client) { pawl <- c })) }()
	select {
	case err := <-ended:
		return err
	case c := <-pawl:
		said, err := conversation{model: m, pawl: c, run: name}.ask(ctx, question)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(to, said); err != nil {
			return err
		}
	}
	end()
	return <-ended
}
