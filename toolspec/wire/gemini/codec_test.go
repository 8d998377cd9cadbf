package gemini_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
)

func TestGolden(t *testing.T) { codectest.Golden(t, gemini.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, gemini.Codec{}) }
