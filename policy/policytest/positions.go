package policytest

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/strictyaml"
)

// CheckPositions reports an error unless err is a list of faults that point into the document.
func CheckPositions(t *testing.T, err error, doc string) {
	t.Helper()
	var list strictyaml.Errors
	if !errors.As(err, &list) || len(list) == 0 || len(list) > strictyaml.MaxErrors {
		t.Fatalf("not a list of errors: %T", err)
	}
	lines := strings.Count(doc, "\n") + 1
	for _, e := range list {
		if e.Line < 1 || e.Line > lines+1 || e.Column < 1 || e.Reason == "" || e.File != "policy.yaml" {
			t.Errorf("%+v is not positioned", e)
		}
	}
	var one *strictyaml.Error
	if !errors.As(err, &one) || one != list[0] {
		t.Error("errors.As does not find the first")
	}
}
