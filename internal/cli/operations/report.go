package operations

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/report"
)

const (
	// minReport and maxReport bound --for, the period that a report shows. A graph has at most one value for each
	// second.
	minReport, maxReport = 10 * time.Second, 366 * 24 * time.Hour
	// maxToken bounds a file with a token, in bytes.
	maxToken = 16 << 10
)

func newReport(a *app.App) *cobra.Command {
	var o report.Options
	var span, out, tokenFile string
	cmd := &cobra.Command{
		Use: "report", Short: "Write a page of HTML with the alerts and the graphs of the last hours", Args: app.ExactArgs(0, "no arguments"),
		Long: "Ask a Prometheus that reads the metrics of workers, and write one page of HTML: which alerts fired and when, and the\n" +
			"graphs of the board for Grafana. The page has its drawings inside and loads nothing, so it can be mailed. It has names\n" +
			"of tools and of workers, and no argument or result. Names of tools of one tenant have the name of the tenant.",
		Example: "  pawl report --prometheus http://localhost:9090 --for 6h -o report.html",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Prometheus == "" {
				return app.Usage(errors.New("give --prometheus URL, such as http://localhost:9090"))
			}
			if o.For, err = app.ParseTimespan("--for", span); err != nil {
				return err
			}
			if o.For < minReport || o.For > maxReport {
				return app.Usage(errors.New("--for is a time from 10s to 366d"))
			}
			if tokenFile != "" {
				if o.Token, err = readToken(tokenFile); err != nil {
					return err
				}
			}
			o.Now = time.Now()
			var page bytes.Buffer // a report that fails must not replace an old one
			if err := report.Write(cmd.Context(), &page, o); err != nil {
				return err
			}
			if out == "-" {
				_, err := page.WriteTo(a.Out)
				return err
			}
			if err := os.WriteFile(out, page.Bytes(), 0o600); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "wrote %s\n", app.Printable(out))
			return nil
		},
	}
	cmd.Flags().StringVar(&o.Prometheus, "prometheus", "", "address of the Prometheus server")
	cmd.Flags().StringVar(&span, "for", "6h", "how much time, up to now, such as 6h or 7d")
	cmd.Flags().StringVarP(&out, "out", "o", "report.html", "file to write; - writes to standard output")
	cmd.Flags().StringVar(&o.Job, "job", ".+", "regular expression of the jobs of Prometheus that are Pawl's")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with a bearer token for Prometheus")
	return cmd
}

// readToken reads the file of a token.
func readToken(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > maxToken || strings.ContainsAny(token, " \r\n\t") {
		return "", fmt.Errorf("%s does not have one token", app.Printable(name))
	}
	return token, nil
}
