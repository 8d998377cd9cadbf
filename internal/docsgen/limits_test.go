package docsgen

import (
	"context"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// TestToolLimitsAreThoseOfCheck: a definition at each bound is taken, and a definition one step
// beyond the bound is not. A definition that says nothing has the default.
func TestToolLimitsAreThoseOfCheck(t *testing.T) {
	t.Parallel()
	for _, l := range toolLimits {
		for beyond, want := range map[int64]bool{0: true, 1: false} {
			if err := defined(l.field, l.bound+beyond).Check(); (err == nil) != want {
				t.Errorf("%s is %d more than the bound in docs/limits.md, and Check says %v", l.field, beyond, err)
			}
		}
		name, _, _ := strings.Cut(l.field, ",")
		got := reflect.ValueOf(defined(l.field, 0)).FieldByName(name).Int()
		if l.unit == "s" {
			got /= int64(time.Second)
		}
		if got != l.standard {
			t.Errorf("%s has the default %d, docs/limits.md says %d", l.field, got, l.standard)
		}
	}
}

// defined is the definition of a tool with one limit, with defaults for the others.
func defined(field string, n int64) toolspec.Definition {
	def := toolspec.Definition{
		ID: "test__tool", Description: "A tool.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/a"}},
	}
	switch field {
	case "Timeout, with Fast":
		def.Fast, def.Timeout = true, time.Duration(n)*time.Second
	case "Timeout":
		def.Timeout = time.Duration(n) * time.Second
	default:
		reflect.ValueOf(&def).Elem().FieldByName(field).SetInt(n)
	}
	return toolspec.Define(def, func(context.Context, struct{}, toolspec.Call) (struct{}, error) { return struct{}{}, nil }).Definition()
}

// TestLimitsNeedTheirOwnComment: a limit does not take the comment of the constant above it, or of its group.
func TestLimitsNeedTheirOwnComment(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"// MaxA bounds a.\nconst MaxA = 1":                                  true,
		"const (\n// MaxA bounds a.\nMaxA = 1\n// MaxB bounds b.\nMaxB = 2)": true,
		"const (\n// MaxA bounds a.\nMaxA = 1\nMaxB = 2)":                    false,
		"// MaxA and others.\nconst (\nMaxA = 1)":                            false,
		"const (\n// Bounds.\nMaxA = 1)":                                     false,
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "p.go"), []byte("package p\n"+source), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := (&checker{root: root, files: token.NewFileSet(), seen: map[string]*checked{}}).check(".")
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := limitsOf(p); (err == nil) != want {
			t.Errorf("%s: got %v, %v", source, rows, err)
		}
	}
}

func TestZerosOfDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30s", time.Minute: "1m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 10*time.Minute + 30*time.Second: "10m30s",
	} {
		if got := zeros.ReplaceAllString(d.String(), "$1"); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}
