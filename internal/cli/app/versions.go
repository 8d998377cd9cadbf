package app

import (
	"fmt"
	"os"
)

// ReadDocument reads the document in a file.
func ReadDocument[D any](file string, read func(file string, source []byte) (D, error)) (d D, err error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return d, err
	}
	return read(file, source)
}

// PrintDocument prints a stored document: with --json in the stored form, otherwise in the form
// that the function write returns.
func PrintDocument[D interface{ Canonical() ([]byte, error) }](a *App, d D, write func(D) ([]byte, error)) error {
	if a.JSON {
		text, err := d.Canonical()
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, FormatJSON(text, ""))
		return nil
	}
	text, err := write(d)
	if err != nil {
		return err
	}
	fmt.Fprint(a.Out, Printable(string(text)))
	return nil
}

// VersionState describes a version of an agent or a trigger after a command, as --json prints it.
type VersionState struct {
	// Tenant is the tenant of a trigger. Agents have none.
	Tenant  string `json:"tenant,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest,omitempty"`
	State   string `json:"state"`
	// Before is the version that was active before.
	Before string `json:"before,omitempty"`
	// Path is the path of the webhooks of a trigger.
	Path string `json:"path,omitempty"`
	// Diff is the unified diff from the active version, as YAML.
	Diff     string   `json:"diff,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// PrintState prints the state of a version after a command.
func PrintState(a *App, done VersionState) error {
	if a.JSON {
		return PrintJSON(a.Out, done)
	}
	line := done.Name + " " + done.Version
	switch {
	case done.Tenant != "":
		line += " of " + done.Tenant
	case done.Digest != "":
		line = done.Digest + "  " + line
	}
	fmt.Fprintln(a.Out, Printable(line+"  "+done.State))
	if done.Path != "" {
		fmt.Fprintln(a.Out, Printable("  webhooks: POST "+done.Path))
	}
	for _, w := range done.Warnings {
		fmt.Fprintln(a.Out, "  ! "+Printable(w))
	}
	fmt.Fprint(a.Out, Printable(done.Diff))
	return nil
}
