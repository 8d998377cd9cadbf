package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/registry"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

func newToolsRegister(a *app.App) *cobra.Command {
	var kind, by string
	cmd := &cobra.Command{
		Use: "register FILE", Short: "Register the tools of a file for the tenant; running workers have them within a second",
		Args: app.ExactArgs(1, "the file of a document of tools"),
		Long: "Register HTTP tools, or with --kind mcp one MCP server over HTTP, for the tenant of --tenant and for no other. The ids\n" +
			"of the tools begin with the namespace of the tenant, such as tenant-acme__. The command checks the file as workers do.\n" +
			"A file with the name of a registration is its next version. Policy must allow the tools before anybody can call them.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readBounded(args[0], registry.MaxDocument)
			if err != nil {
				return err
			}
			return withRegistry(cmd.Context(), func(r *registry.Registry) error {
				done, err := r.Register(cmd.Context(), registry.Registration{
					TenantID: a.Tenant, Kind: registry.Kind(kind), File: filepath.Base(args[0]), Document: text, By: by,
				})
				return printRegistered(a, done, err)
			})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", string(registry.HTTP), "http for HTTP tools, mcp for an MCP server")
	asFlag(cmd, &by)
	return cmd
}

func newToolsRollback(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "rollback NAME VERSION", Short: "Make an earlier version of a registration the version in force, with a new number",
		Args: app.ExactArgs(2, "the name of a registration and a version; `pawl tools versions NAME` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.Atoi(args[1])
			if err != nil || version < 1 {
				return app.Usage(errors.New("a version is a number; `pawl tools versions NAME` shows them"))
			}
			return withRegistry(cmd.Context(), func(r *registry.Registry) error {
				done, err := r.Rollback(cmd.Context(), a.Tenant, args[0], version, by)
				return printRegistered(a, done, err)
			})
		},
	}
	asFlag(cmd, &by)
	return cmd
}

func newToolsUnregister(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "unregister NAME", Short: "Remove the tools of a registration; calls that wait or run finish",
		Args: app.ExactArgs(1, "the name of a registration; `pawl tools versions` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRegistry(cmd.Context(), func(r *registry.Registry) error {
				version, err := r.Unregister(cmd.Context(), a.Tenant, args[0], by)
				switch {
				case errors.Is(err, client.ErrNotFound):
					return unknownRegistration(a, args[0])
				case err != nil:
					return err
				case a.JSON:
					return app.PrintJSON(a.Out, map[string]any{"name": args[0], "version": version})
				}
				fmt.Fprintf(a.Out, "removed %s, version %d\n", args[0], version)
				return nil
			})
		},
	}
	asFlag(cmd, &by)
	return cmd
}

func newToolsVersions(a *app.App) *cobra.Command {
	var document int
	cmd := &cobra.Command{
		Use: "versions [NAME]", Short: "List the registrations of the tenant, or the versions of one of them",
		Args: app.AtMostOneArg("at most the name of a registration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if document != 0 && len(args) == 0 {
				return app.Usage(errors.New("--document needs the name of a registration"))
			}
			return withRegistry(cmd.Context(), func(r *registry.Registry) error {
				if document != 0 {
					return printDocument(cmd.Context(), a, r, args[0], document)
				}
				versions, err := r.List(cmd.Context(), a.Tenant)
				if len(args) > 0 {
					versions, err = r.Versions(cmd.Context(), a.Tenant, args[0])
				}
				if errors.Is(err, client.ErrNotFound) {
					return unknownRegistration(a, args[0])
				}
				if err != nil {
					return err
				}
				headings := []string{"NAME", "VERSION", "KIND", "TOOLS", "SINCE", "BY", "ENDED"}
				return app.PrintRows(a, versions, "tenant "+a.Tenant+" has no registered tools", headings, func(v registry.Version) []string {
					ended := ""
					if v.EndedAt != nil {
						ended = app.FormatTime(*v.EndedAt) + " by " + app.QuoteName(v.EndedBy)
					}
					return []string{v.Name, strconv.Itoa(v.Version), string(v.Kind), toolsOf(v), app.FormatTime(v.RegisteredAt), app.QuoteName(v.RegisteredBy), ended}
				})
			})
		},
	}
	cmd.Flags().IntVar(&document, "document", 0, "print the document of this `version`")
	return cmd
}

// toolsOf returns the first tool of a registration and the number of its other tools.
func toolsOf(v registry.Version) string {
	if len(v.Tools) < 2 {
		return strings.Join(v.Tools, "")
	}
	return fmt.Sprintf("%s and %d more", v.Tools[0], len(v.Tools)-1)
}

func printDocument(ctx context.Context, a *app.App, r *registry.Registry, name string, version int) error {
	text, err := r.Document(ctx, a.Tenant, name, version)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return unknownRegistration(a, name)
	case err != nil:
		return err
	case a.JSON:
		return app.PrintJSON(a.Out, map[string]any{"name": name, "version": version, "document": text})
	}
	for line := range strings.Lines(text) { // the document may have characters that control a terminal
		fmt.Fprintln(a.Out, app.OneLine(strings.TrimRight(line, "\r\n"), registry.MaxDocument))
	}
	return nil
}

func printRegistered(a *app.App, done registry.Registered, err error) error {
	switch {
	case errors.Is(err, client.ErrNotFound):
		return fmt.Errorf("tenant %s has no such version; `pawl tools versions` shows the registrations", a.Tenant)
	case err != nil:
		return err
	case a.JSON:
		return app.PrintJSON(a.Out, done)
	case !done.Changed:
		fmt.Fprintf(a.Out, "%s, version %d, says the same already\n", done.Name, done.Version)
		return nil
	}
	fmt.Fprintf(a.Out, "registered %s, version %d: %s\n", done.Name, done.Version, strings.Join(done.Tools, ", "))
	fmt.Fprintf(a.Out, "tenant %s may call what its allowedTools name, such as %s\n", a.Tenant, allowingPattern(a.Tenant, done.Tools))
	return nil
}

// allowingPattern returns a pattern for allowedTools that has the tools of a registration: the namespace of the tenant for
// HTTP tools, such as tenant-acme__*, and the server for an MCP server, such as mcp__tenant-acme_docs__*.
func allowingPattern(tenantID string, registered []string) string {
	namespace := toolspec.TenantNamespace(tenantID) + "__"
	for _, id := range registered {
		if !strings.HasPrefix(id, namespace) {
			return id // of an MCP server, the registration has one pattern
		}
	}
	return namespace + "*"
}

func unknownRegistration(a *app.App, name string) error {
	return fmt.Errorf("tenant %s has no registration or version %s; `pawl tools versions` shows the registrations", a.Tenant, toolspec.Quoted(name))
}

func asFlag(cmd *cobra.Command, by *string) {
	app.IdentityVar(cmd.Flags(), by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
}

func withRegistry(ctx context.Context, f func(*registry.Registry) error) error {
	return app.WithStore(ctx, func(s *app.Session) error { return f(registry.Of(s.Store)) })
}
