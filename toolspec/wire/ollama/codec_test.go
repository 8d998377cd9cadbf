package ollama_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
)

func TestGolden(t *testing.T) { codectest.Golden(t, ollama.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, ollama.Codec{}) }
