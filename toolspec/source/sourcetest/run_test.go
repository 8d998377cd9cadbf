package sourcetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// made is a source with a function for each method.
type made struct {
	info func() source.Info
	run  func(ctx context.Context, offer func(source.Offer)) error
}

func (m made) Info() source.Info { return m.info() }

func (m made) Run(ctx context.Context, offer func(source.Offer)) error { return m.run(ctx, offer) }

func good() source.Info { return source.Info{Kind: source.Extension, Name: "good"} }

func tool(id string) toolspec.Tool {
	type value struct {
		Text string `json:"text"`
	}
	return toolspec.Define(toolspec.Definition{
		ID: id, Description: "A tool of a test.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Capabilities: []toolspec.CapabilityName{"clock"},
	}, func(_ context.Context, in value, _ toolspec.Call) (value, error) { return in, nil })
}

// offering is a source that offers and waits.
func offering(tools ...toolspec.Tool) source.Source {
	return made{good, func(ctx context.Context, offer func(source.Offer)) error {
		offer(source.Offer{Tools: tools})
		<-ctx.Done()
		return ctx.Err()
	}}
}

func TestAGoodSource(t *testing.T) {
	Run(t, func(*testing.T) source.Source { return offering(tool("good__one"), tool("good__two")) })
}

// TestBrokenSources: each part of the contract is missed if a source breaks it.
func TestBrokenSources(t *testing.T) {
	names := []string{"good", "better"}
	for _, tc := range []struct {
		name   string
		source source.Source
		check  func(context.Context, source.Source) error
		want   string
	}{
		{"no kind", made{func() source.Info { return source.Info{} }, offering().Run}, offersAndStops, "the kind"},
		{"another name each time", made{func() source.Info {
			names = []string{names[1], names[0]}
			return source.Info{Kind: source.Extension, Name: names[0]}
		}, offering().Run}, offersAndStops, "Info was"},
		{"a tool without an id", offering(tool("")), offersAndStops, "no worker takes"},
		{"two tools of one id", offering(tool("good__one"), tool("good__one")), offersAndStops, "two tools"},
		{"a fault", made{good, func(ctx context.Context, offer func(source.Offer)) error {
			offer(source.Offer{Fault: "away"})
			<-ctx.Done()
			return nil
		}}, offersAndStops, `the fault "away"`},
		{"it returns early", made{good, func(_ context.Context, _ func(source.Offer)) error { return errors.New("no") }}, offersAndStops, "before its context ended"},
	} {
		err := tc.check(t.Context(), tc.source)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestLateOffers: an offer after the end of Run, and the goroutine that makes it, are found.
func TestLateOffers(t *testing.T) {
	before := goleak.IgnoreCurrent()
	again, offered := make(chan struct{}), make(chan struct{})
	r := start(t.Context(), made{good, func(ctx context.Context, offer func(source.Offer)) error {
		go func() {
			<-again
			offer(source.Offer{})
			close(offered)
		}()
		<-ctx.Done()
		return nil
	}})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if goleak.Find(before) == nil {
		t.Error("the goroutine is not found")
	}
	close(again)
	<-offered
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "after Run returned") {
		t.Errorf("the offer after the end: %v", err)
	}
	if err := leaks(before); err != nil {
		t.Error(err)
	}
}
