package connections

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/secretfile"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxSecretFile is the maximum size of the file of a secret, in bytes. It is enough for the
// largest part of a credential.
const maxSecretFile = 64 << 10

// secretFlags say where to read the parts of a credential. A secret is never an argument of the
// command, because arguments are visible in the history of the shell and in the list of
// processes.
type secretFlags struct {
	files, variables []string
	stdin            string
	keep             []string
}

func (f *secretFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.files, "secret-file", nil, "PART=FILE, or FILE if the credential has one part. Only its owner may have access to the file. May be repeated")
	cmd.Flags().StringArrayVar(&f.variables, "secret-env", nil, "PART=VARIABLE, or VARIABLE if the credential has one part: an environment variable. May be repeated")
	cmd.Flags().StringVar(&f.stdin, "secret-stdin", "", "PART to read from standard input; - if the credential has one part")
}

// read reads the parts of a credential from the places that the flags name. It refuses a part that is neither required
// nor optional. It accepts every part if required is empty: then only the user's own worker knows the parts. The
// caller must destroy the credential.
func (f *secretFlags) read(a *app.App, required, optional []string) (_ broker.Credential, err error) {
	parts := map[string]broker.Secret{}
	defer func() {
		if err != nil {
			broker.NewCredential(parts).Destroy()
		}
	}()
	take := func(flag, part string, read func() ([]byte, error)) error {
		if part == "" {
			if len(required) != 1 || len(optional) > 0 {
				return app.Usage(fmt.Errorf("%s: name the part of the credential: it consists of %s", flag, partsText(required, optional)))
			}
			part = required[0]
		}
		if len(required) > 0 && !slices.Contains(required, part) && !slices.Contains(optional, part) {
			return app.Usage(fmt.Errorf("%s: the credential has no part %q: it consists of %s", flag, part, partsText(required, optional)))
		}
		if _, twice := parts[part]; twice || slices.Contains(f.keep, part) {
			return app.Usage(fmt.Errorf("the part %s is given twice", part))
		}
		value, err := read()
		if err != nil {
			return err
		}
		value = withoutNewline(value)
		if len(value) == 0 {
			return fmt.Errorf("%s: the part %s is empty", flag, part)
		}
		parts[part] = capability.NewSecret(value)
		return nil
	}
	for _, text := range f.files {
		part, file := splitPart(text)
		if err := take("--secret-file", part, func() ([]byte, error) {
			value, err := secretfile.ReadPiped(file, maxSecretFile)
			if err != nil {
				return nil, fmt.Errorf("--secret-file: %w", err)
			}
			return value, nil
		}); err != nil {
			return broker.Credential{}, err
		}
	}
	for _, text := range f.variables {
		part, name := splitPart(text)
		if err := take("--secret-env", part, func() ([]byte, error) {
			value, set := os.LookupEnv(name)
			if !set {
				return nil, fmt.Errorf("--secret-env: %s is not set", app.Printable(name))
			}
			return []byte(value), nil
		}); err != nil {
			return broker.Credential{}, err
		}
	}
	if f.stdin != "" {
		part := f.stdin
		if part == "-" {
			part = ""
		}
		if err := take("--secret-stdin", part, func() ([]byte, error) { return secretfile.Limited(a.In, "the input", maxSecretFile) }); err != nil {
			return broker.Credential{}, err
		}
	}
	return broker.NewCredential(parts), nil
}

// none reports whether no flag gives a secret.
func (f *secretFlags) none() bool {
	return len(f.files) == 0 && len(f.variables) == 0 && f.stdin == "" && len(f.keep) == 0
}

func partsText(required, optional []string) string {
	text := strings.Join(required, ", ")
	if len(optional) > 0 {
		text += " and, if there are, " + strings.Join(optional, ", ")
	}
	return text
}

// splitPart splits PART=REST. The part is "" if the text has no =.
func splitPart(text string) (part, rest string) {
	if part, rest, found := strings.Cut(text, "="); found {
		return part, rest
	}
	return "", text
}

// withoutNewline returns the text without one line break at its end.
func withoutNewline(text []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
}

// errNoSecret returns the usage error that lists the missing parts.
func errNoSecret(required, optional []string) error {
	return app.Usage(errors.New("no secret: give its parts with --secret-file, --secret-env or --secret-stdin; the credential consists of " +
		partsText(required, optional)))
}
