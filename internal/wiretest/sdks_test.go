package wiretest

// Clients whose formats have no test here yet: the pins stand, so that go mod
// tidy keeps them. A test that uses one takes its line away.
import (
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "github.com/ollama/ollama/api"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/openai/openai-go/v3/responses"
	_ "google.golang.org/genai"

	_ "github.com/pawl-run/pawl/toolspec/wire"
)
