// Command ownloop answers a question with a loop of its own: a plain Temporal workflow asks a model in an activity, and
// makes the calls of the model with package pawlflow. The workers of Pawl run the calls, and policy judges them:
//
//	pawl dev
//	eval "$(pawl dev env)" && go run ./examples/ownloop -url http://localhost:11434/v1 -model qwen3 'Which files are here?'
//
// -key-file names the file with the API key, if the server wants one. If the program is stopped, start it again with the same
// -run: the workflow continues, at the latest after the two minutes that an activity has.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	pawl "github.com/pawl-run/pawl/worker"
)

// queue is the task queue of this program. The calls are on the task queue of Pawl.
const queue = "ownloop"

func main() {
	a := activities{http: &http.Client{}}
	base := flag.String("url", "https://api.openai.com/v1", "where the server's API begins")
	flag.StringVar(&a.model, "model", "gpt-5-mini", "the model")
	key := flag.String("key-file", "", "file with the API key, if the server wants one")
	run := flag.String("run", "run-"+rand.Text()[:12], "names this conversation: its calls belong to it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *key != "" {
		text, err := os.ReadFile(*key)
		if err != nil {
			log.Fatal(err) //nolint:gocritic // nothing has started
		}
		a.http.Transport = withKey(strings.TrimSpace(string(text)))
	}
	var err error
	if a.base, err = url.Parse(*base); err == nil {
		err = answer(ctx, a, *run, strings.Join(flag.Args(), " "), os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// answer runs the worker of the loop until the workflow of the run has an answer, and prints it.
func answer(ctx context.Context, a activities, run, question string, to io.Writer) error {
	config, err := pawl.LoadConfig()
	if err != nil {
		return err
	}
	// The client offers the tools that workers have published.
	pawlClient, closed, err := pawl.Connect(ctx, config)
	if err != nil {
		return err
	}
	defer closed()
	a.pawl = pawlClient
	config.Temporal.Logger = sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	c, err := temporal.Dial(config.Temporal)
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(Loop)
	w.RegisterActivity(&a)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	started, err := c.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
		ID: "ownloop:" + run, TaskQueue: queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, Loop, run, question)
	if err != nil {
		return err
	}
	var said string
	if err := started.Get(ctx, &said); err != nil {
		return err
	}
	_, err = fmt.Fprintln(to, said)
	return err
}

// withKey sends a key with each request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}
