package docsgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/cli"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devcli"
)

// Defaults of this moment and of this person, which pages must not hold.
var moments = map[*regexp.Regexp]string{
	regexp.MustCompile(`\(default "call-[a-z0-9]+"\)`): "(default a random one)",
	regexp.MustCompile(`((?:as the approver|for the audit trail|kept with the entry|for the record) \(PAWL_APPROVER\)) \(default "[^"]*"\)`): `$1 (default user: and the name of the login)`,
	regexp.MustCompile(`(tenant \(PAWL_TENANT\)) \(default "[^"]*"\)`):                                                                       `$1 (default "acme")`,
}

var listed = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +(\S.*)$`)

// commandPages asks every command for its help, as a person would.
func commandPages() (map[string]string, error) {
	var rows [][]string
	var b strings.Builder
	if err := command(nil, "", &rows, &b); err != nil {
		return nil, err
	}
	return map[string]string{"commands": table([]string{"command", "does"}, rows) + "\n" + b.String()}, nil
}

func command(path []string, short string, rows *[][]string, b *strings.Builder) error {
	var out, errs bytes.Buffer
	args := slices.Concat(path, []string{"--help"})
	if status := cli.Main(context.Background(), args, app.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, devcli.Commands()); status != 0 {
		return fmt.Errorf("pawl %s: status %d: %s", strings.Join(args, " "), status, errs.String())
	}
	help := strings.TrimSpace(out.String())
	for pattern, stable := range moments {
		help = pattern.ReplaceAllString(help, stable)
	}
	name := strings.Join(append([]string{"pawl"}, path...), " ")
	if len(path) > 0 {
		*rows = append(*rows, []string{"[" + code(name) + "](#" + strings.ReplaceAll(name, " ", "-") + ")", short})
	}
	fmt.Fprintf(b, "## %s\n\n```text\n%s\n```\n\n", name, help)
	_, list, found := strings.Cut(help, "Available Commands:\n")
	if !found {
		return nil
	}
	list, _, found = strings.Cut(list, "\n\n")
	if !found {
		return errors.New(name + ": its commands do not end")
	}
	for _, m := range listed.FindAllStringSubmatch(list, -1) {
		// These two are the command library's own.
		if m[1] == "help" || m[1] == "completion" {
			continue
		}
		if err := command(slices.Concat(path, m[1:2]), m[2], rows, b); err != nil {
			return err
		}
	}
	return nil
}
