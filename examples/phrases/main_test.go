package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/toolspec/source/sourcetest"
)

func TestPhrases(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) source.Source {
		file := filepath.Join(t.TempDir(), "phrases.json")
		if err := os.WriteFile(file, []byte(`{"hello":"Good morning."}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return Phrases{File: file}
	})
}
