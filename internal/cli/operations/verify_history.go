package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/verify"
)

// progressEvery is the interval at which a long search prints its progress.
const progressEvery = 5 * time.Second

// searched holds the flags of `verify-history` that say what to search.
type searched struct {
	secrets, query, workflow  string
	ring                      string
	byTenant                  bool
	skipTables, skipHistories bool
	connections               bool
}

func newVerifyHistory(a *app.App) *cobra.Command {
	var o searched
	cmd := &cobra.Command{
		Use:   "verify-history",
		Short: "Search histories, tables and stored outputs for secrets that leaked",
		Long: "Read every workflow history of the namespace, every row of the database and every stored output, also those\n" +
			"in the bucket of PAWL_OUTPUT_BUCKET, and search them for secrets:\n" +
			"as they are, reversed, cut into pieces, and under up to six layers of encoding (entities, percent signs,\n" +
			"backslashes, quoted-printable, base64, hexadecimal, lists of bytes, UTF-16, gzip). The command prints the place\n" +
			"of a secret and its name or its number in the list, and never the secret. The exit status is 1 if a secret was\n" +
			"found, or if something could not be read. Secrets of fewer than 8 bytes are not searched for.",
		Example: `  pawl verify-history --connections
  pawl verify-history --secrets planted.txt
  pass show github/token | pawl verify-history --secrets -
  pawl verify-history --secrets planted.txt --query 'CloseTime > "2026-11-01T00:00:00Z"' --skip-tables`,
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.byTenant = cmd.Flags().Changed("tenant")
			return verifyHistory(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.secrets, "secrets", "", "file of mode 0600 with the secrets to search for: one per line, or each ended by a zero byte; - reads standard input")
	cmd.Flags().BoolVar(&o.connections, "connections", false, "search for every live credential of all connections; needs the key ring")
	app.KeyRingFlag(cmd, &o.ring)
	cmd.Flags().StringVar(&o.query, "query", "", "only histories of workflows that this visibility query lists")
	cmd.Flags().StringVar(&o.workflow, "workflow", "", "only the histories of this workflow id")
	cmd.Flags().BoolVar(&o.skipTables, "skip-tables", false, "do not search the database and the stored outputs")
	cmd.Flags().BoolVar(&o.skipHistories, "skip-histories", false, "do not search Temporal")
	return cmd
}

func verifyHistory(ctx context.Context, a *app.App, o searched) error {
	if o.secrets == "" && !o.connections {
		return app.Usage(errors.New("no secrets to search for: give --secrets FILE, or --connections for every live credential"))
	}
	if o.skipTables && o.skipHistories {
		return app.Usage(errors.New("--skip-tables and --skip-histories leave nothing to search"))
	}
	s, err := app.Connect(ctx, app.Servers{Temporal: !o.skipHistories, Database: !o.skipTables || o.connections})
	if err != nil {
		return err
	}
	defer s.Close()
	secrets, err := loadSecrets(ctx, a, s, o)
	if err != nil {
		return err
	}
	codec, err := s.Config.Codec.PayloadCodec()
	if err != nil {
		return err
	}
	v := verify.New(secrets, verify.Options{
		Codec: codec,
		Found: func(f verify.Finding) { printFinding(a, f) },
		Unread: func(p verify.Place) {
			fmt.Fprintln(a.Err, "not read:", app.OneLine(p.String(), 600))
		},
	})
	stop := startProgress(a, v)
	err = search(ctx, s, v, o, a.Tenant)
	stop()
	if err != nil {
		return err
	}
	return printReport(a, v.Report(), secrets.Len())
}

func loadSecrets(ctx context.Context, a *app.App, s *app.Session, o searched) (*fingerprint.Set, error) {
	var sources []fingerprint.Source
	if o.secrets != "" {
		list, err := readSecrets(o.secrets, a.In)
		if err != nil {
			return nil, err
		}
		defer clear(list.text)
		sources = append(sources, list)
	}
	if o.connections {
		sealer, err := a.OpenSealer(s, o.ring)
		if err != nil {
			return nil, err
		}
		sources = append(sources, broker.New(s.Store, sealer, broker.Options{}))
	}
	secrets := &fingerprint.Set{}
	plain, err := secrets.Load(ctx, sources...)
	if err != nil {
		return nil, err
	}
	if len(plain) > 0 {
		fmt.Fprintf(a.Err, "not searched for, because they are too short or have too few different bytes: %s\n", app.OneLine(strings.Join(plain, ", "), 600))
	}
	if secrets.Len() == 0 {
		return nil, errors.New("no secret to search for")
	}
	return secrets, nil
}

func search(ctx context.Context, s *app.Session, v *verify.Verifier, o searched, tenant string) error {
	if !o.skipHistories {
		namespace := s.Config.Temporal.Namespace
		if namespace == "" {
			namespace = temporal.DefaultNamespace
		}
		service, query := s.Temporal.WorkflowService(), queryOf(o, tenant)
		if err := v.Histories(ctx, service, namespace, query); err != nil {
			return err
		}
		if query == "" {
			if err := v.Schedules(ctx, service, namespace); err != nil {
				return err
			}
		}
	}
	if o.skipTables {
		return nil
	}
	if err := v.Tables(ctx, s.Store); err != nil {
		return err
	}
	return v.Outputs(ctx, s.Store)
}

// queryOf builds the visibility query from the flags. With --tenant it selects the calls and the runs of agents by the
// beginning of their workflow ids, because workers may run without search attributes.
func queryOf(o searched, tenant string) string {
	var parts []string
	if o.query != "" {
		parts = append(parts, "("+o.query+")")
	}
	if o.workflow != "" {
		parts = append(parts, "WorkflowId = "+quoted(o.workflow))
	}
	if o.byTenant {
		parts = append(parts, "(WorkflowId STARTS_WITH "+quoted("tool:"+tenant+":")+" OR WorkflowId STARTS_WITH "+quoted(agent.WorkflowID(tenant, ""))+")")
	}
	return strings.Join(parts, " AND ")
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// printFinding prints a finding at once, because a search may take long.
func printFinding(a *app.App, f verify.Finding) {
	if a.JSON {
		_ = printLine(a.Out, f)
		return
	}
	fmt.Fprintf(a.Out, "secret %s (%s) found in %s\n", app.OneLine(f.Secret, 200), f.Form, app.OneLine(f.String(), 600))
}

// startProgress prints the progress for people until stop is called. It prints nothing with
// --json.
func startProgress(a *app.App, v *verify.Verifier) (stop func()) {
	if a.JSON {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				r := v.Report()
				fmt.Fprintf(a.Err, "searched %d workflows, %d events, %d rows, %d outputs; %d findings\n", r.Workflows, r.Events, r.Rows, r.Outputs, r.Findings)
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

func printReport(a *app.App, r verify.Report, secrets int) error {
	if a.JSON {
		if err := printLine(a.Out, struct {
			verify.Report
			Secrets int  `json:"secrets"`
			Clean   bool `json:"clean"`
		}{r, secrets, r.Clean()}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Out, "searched for %d secrets in %d workflows (%d events), %d rows of %d tables and %d stored outputs: %d found, %d not read\n",
			secrets, r.Workflows, r.Events, r.Rows, r.Tables, r.Outputs, r.Findings, r.Unread)
	}
	if !r.Clean() {
		return app.Silent(errors.New("not clean"))
	}
	return nil
}

// printLine prints v as JSON on one line.
func printLine(w io.Writer, v any) error {
	out, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, app.Printable(string(out)))
	return err
}
