package tools

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/openapi"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

func newToolsImport(a *app.App) *cobra.Command {
	var o openapi.Options
	var connection, output string
	var effects []string
	cmd := &cobra.Command{
		Use: "import-openapi FILE", Short: "Make HTTP tools of an OpenAPI document", Args: app.ExactArgs(1, "the file of an OpenAPI document"),
		Long: "Make a tool of each operation of an OpenAPI document (Swagger 2.0, OpenAPI 3.0 and 3.1) and write them into a file.\n" +
			"Review the file before a worker reads it: risk, effect, and redaction.allow. The report lists the operations that could\n" +
			"not be mapped, and what was left out of the others. The command reads FILE only: it connects to nothing.",
		Example: `  pawl tools import-openapi shop.json --namespace shop -o shop.yaml
  pawl tools import-openapi github.json --namespace github --connection required --include 'issues/*' -o github.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Connection = httptool.Connection(connection)
			if connection != "" && o.Connection != httptool.Required && o.Connection != httptool.None {
				return app.Usage(fmt.Errorf("--connection %q is none of required, none", connection))
			}
			if output == "" {
				return app.Usage(errors.New("name the file for the tools: -o FILE"))
			}
			for _, text := range effects {
				glob, effect, found := strings.Cut(text, "=")
				if !found {
					glob, effect = "*", text
				}
				o.Effects = append(o.Effects, openapi.EffectOf{Glob: glob, Effect: toolspec.Effect(effect)})
			}
			return importOpenAPI(a, args[0], output, o)
		},
	}
	cmd.Flags().StringVar(&o.Namespace, "namespace", "", "the `namespace` of the tool ids: github of github__issues_get")
	cmd.Flags().StringVar(&connection, "connection", "", "required or none, for all operations; by default the security of the operation decides")
	cmd.Flags().StringVar(&o.Server, "server", "", "the `URL` of the service, in place of the servers of the document")
	cmd.Flags().StringArrayVar(&o.Include, "include", nil, "only operations whose tool id or operation id matches a `glob`; can be repeated")
	cmd.Flags().StringArrayVar(&effects, "effect", nil, "the effect of all operations, or of those that match: `[GLOB=]EFFECT`; can be repeated")
	cmd.Flags().StringArrayVar(&o.Harmless, "harmless", nil, "the `name` of an argument that looks like a credential and is none; can be repeated")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `file` for the tools, which must not exist")
	return cmd
}

// importOpenAPI writes the tools of a document, and prints the report.
func importOpenAPI(a *app.App, input, output string, o openapi.Options) error {
	source, err := readBounded(input, openapi.MaxDocument)
	if err != nil {
		return err
	}
	document, report, err := openapi.Import(source, o)
	if err != nil {
		return fmt.Errorf("%s: %w", input, err)
	}
	if len(document.Tools) > 0 {
		text, err := httptool.Write(document)
		if err != nil {
			return err
		}
		if err := create(output, text); err != nil {
			return err
		}
	}
	if a.JSON {
		report.Imported, report.Skipped, report.Notes = app.NonNil(report.Imported), app.NonNil(report.Skipped), app.NonNil(report.Notes)
		return app.PrintJSON(a.Out, report)
	}
	printReport(a.Out, report, output)
	return nil
}

// readBounded reads a file of at most limit bytes.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return text, nil
}

func printReport(out io.Writer, r *openapi.Report, output string) {
	fmt.Fprintf(out, "OpenAPI %s: %s\n", app.OneLine(r.Version, 20), app.OneLine(r.Title, 200))
	fmt.Fprintf(out, "%d operations, %d imported, %d skipped\n", r.Operations, len(r.Imported), len(r.Skipped))
	if len(r.Imported) > 0 {
		fmt.Fprintf(out, "wrote %s: review risk, effect and redaction.allow of each tool, then set PAWL_HTTP_TOOLS\n", output)
	}
	for _, list := range []struct {
		title    string
		findings []openapi.Finding
	}{{"skipped", r.Skipped}, {"left out", r.Notes}} {
		if len(list.findings) > 0 {
			fmt.Fprintf(out, "\n%s:\n", list.title)
		}
		for _, f := range list.findings { // the texts come from the document, so they are made printable
			fmt.Fprintf(out, "  %s: %s\n    at %s\n", app.OneLine(f.Operation, 300), app.OneLine(f.Reason, 500), app.OneLine("#"+f.Pointer, 500))
		}
	}
	var rows [][]string
	for _, s := range r.Schemes {
		where := s.Reason
		switch {
		case s.Header != "":
			where = "place: {header: " + s.Header + "}"
		case s.Query != "":
			where = "place: {query: " + s.Query + "}"
		}
		rows = append(rows, []string{s.Name, s.Kind, where})
	}
	if len(rows) > 0 {
		fmt.Fprintf(out, "\ncredentials, as kinds of providers:\n")
		app.PrintTable(out, "", []string{"SCHEME", "KIND", "DETAIL"}, rows)
	}
}
