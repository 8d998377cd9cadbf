package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/cli/app"
	postgresaudit "github.com/pawl-run/pawl/internal/postgres/audit"
)

// The formats of an export.
const (
	formatLines  = "jsonl"
	formatEvents = "cloudevents"
)

func newExport(a *app.App) *cobra.Command {
	var after int64
	var format string
	var noTenant bool
	cmd := &cobra.Command{
		Use: "export", Short: "Print the sealed events of the tenant, oldest first", Args: app.ExactArgs(0, "no arguments"),
		Long: "Print the sealed events of the tenant, one JSON object in each line, without those that retention has deleted.\n" +
			"jsonl: the number in the chain, the link, and the row that the chain has the hash of. cloudevents: CloudEvents 1.0\n" +
			"in JSON; sequence is the number. The last number goes to standard error; --after continues from it. Arguments and\n" +
			"results of calls are not part of the audit trail.",
		Example: "  pawl audit export --tenant acme > acme.jsonl\n  pawl audit export --tenant acme --after 1200 --format cloudevents",
		RunE: func(cmd *cobra.Command, _ []string) error {
			line := exportLine
			switch {
			case format == formatEvents:
				line = cloudEvent
			case format != formatLines:
				return app.Usage(fmt.Errorf("--format is %s or %s", formatLines, formatEvents))
			case after < 0:
				return app.Usage(errors.New("--after is the number of an event, or 0"))
			}
			tenant := a.Tenant
			if noTenant {
				tenant = ""
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				out := bufio.NewWriter(a.Out)
				last, err := s.Store.ExportAudit(cmd.Context(), tenant, after, func(e postgresaudit.Sealed) error { return printLine(out, line(e)) })
				if err := errors.Join(err, out.Flush()); err != nil {
					return err
				}
				fmt.Fprintf(a.Err, "the last event of %s has the number %d\n", nameOf(tenant), last)
				return nil
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "only events with a larger number")
	cmd.Flags().StringVar(&format, "format", formatLines, formatLines+" or "+formatEvents)
	cmd.Flags().BoolVar(&noTenant, "no-tenant", false, "the events that belong to no tenant")
	return cmd
}

// printLine prints a value as one line of JSON. app.Printable replaces characters that could control a terminal by
// escapes of JSON, so the value stays the same.
func printLine(w io.Writer, v any) error {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, app.Printable(string(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))+"\n")
	return err
}

func exportLine(e postgresaudit.Sealed) any {
	return struct {
		N    int64     `json:"n"`
		Link []byte    `json:"link"`
		Row  audit.Row `json:"row"`
	}{e.N, e.Link, e.Row}
}

// event is a CloudEvent 1.0 in the JSON format. Its field Sequence is the extension attribute `sequence` of
// CloudEvents.
type event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            string    `json:"time,omitempty"`
	DataContentType string    `json:"datacontenttype"`
	Sequence        string    `json:"sequence"`
	Data            eventData `json:"data"`
}

type eventData struct {
	TenantID     string          `json:"tenantId,omitempty"`
	InvocationID string          `json:"invocationId,omitempty"`
	WorkflowID   string          `json:"workflowId,omitempty"`
	AuditID      string          `json:"auditId,omitempty"`
	Link         []byte          `json:"link"`
	Detail       json.RawMessage `json:"detail,omitempty"`
}

func cloudEvent(e postgresaudit.Sealed) any {
	r := e.Row
	at := r.At
	if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
		at = ""
	}
	source := "/pawl"
	if r.TenantID != "" {
		source += "/tenants/" + url.PathEscape(r.TenantID)
	}
	return event{
		SpecVersion: "1.0", ID: r.ID, Source: source, Type: "pawl.audit." + r.Kind, Subject: r.InvocationID, Time: at,
		DataContentType: "application/json", Sequence: strconv.FormatInt(e.N, 10),
		Data: eventData{r.TenantID, r.InvocationID, r.WorkflowID, r.AuditID, e.Link, r.Detail},
	}
}
