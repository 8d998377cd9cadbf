package anthropic_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
)

func TestGolden(t *testing.T) { codectest.Golden(t, anthropic.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, anthropic.Codec{}) }
