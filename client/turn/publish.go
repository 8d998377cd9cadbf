package turn

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

const (
	// publishEvery is the least time between two events of a text, so that the tokens of a model do not
	// become an event each.
	publishEvery = 50 * time.Millisecond
	// publishTime bounds the time to write one event. The calls of a response start only after its text is
	// written.
	publishTime = 5 * time.Second
)

// publisher writes the text of a response into the events of its run while it arrives.
type publisher struct {
	turn   Turn
	client *client.Client

	arrived chan struct{} // has room for one
	ended   chan struct{}
	stopped chan struct{}

	mu sync.Mutex
	// raw is the text that has arrived; cleaner has got the first seen bytes of it. text is what cleaner has
	// returned: the text without credentials, which watchers may see.
	raw     strings.Builder
	seen    int
	cleaner cleaner
	text    strings.Builder
	// written is the number of bytes of text that have an event.
	written int
}

// startPublisher starts a goroutine that writes the text that add receives. finish ends it.
func (t Turn) startPublisher(ctx context.Context, c *client.Client) *publisher {
	p := &publisher{turn: t, client: c, cleaner: cleaner{secrets: t.Secrets}, arrived: make(chan struct{}, 1), ended: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		p.run(ctx)
	}()
	return p
}

// add appends to the text. It does not wait for the database.
func (p *publisher) add(text string) {
	if text == "" {
		return
	}
	p.mu.Lock()
	p.raw.WriteString(text)
	p.mu.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// run writes until the response has ended. If a write fails, run writes its text again together with the next
// text.
func (p *publisher) run(ctx context.Context) {
	for {
		select {
		case <-p.ended:
			return
		case <-p.arrived:
		}
		_ = p.flush(ctx, false) // finish tries again, and returns the error
		select {
		case <-p.ended:
			return
		case <-time.After(publishEvery):
		}
	}
}

// flush writes the text that has no event yet and may be shown. last says that no text follows.
func (p *publisher) flush(ctx context.Context, last bool) error {
	for {
		p.mu.Lock()
		p.text.WriteString(p.cleaner.push(p.raw.String()[p.seen:], last))
		p.seen = p.raw.Len()
		text := p.text.String()[p.written:]
		p.mu.Unlock()
		if text == "" {
			return nil
		}
		text = text[:read.RuneStart(text, client.MaxTurnText)]
		e := client.TurnEvent{Key: cmp.Or(p.turn.TextKey, p.turn.Key), Text: text, Offset: int64(p.written), OwnerID: cmp.Or(p.turn.Context.SubjectID, p.turn.Context.ActorID)}
		if err := p.turn.publish(ctx, p.client, e); err != nil {
			return fmt.Errorf("its text could not be published: %w", err)
		}
		p.written += len(text)
	}
}

// finish writes the rest of a text. whole is the text of the response, or empty if it did not arrive. A text that is cut can end in the
// middle of a credential, so finish does not write the last words that cleaner holds back.
func (p *publisher) finish(ctx context.Context, whole string, cut bool) error {
	close(p.ended)
	<-p.stopped
	// A response that was not streamed has all its text here. If the whole text does not begin with the streamed
	// text, nothing is added, and watchers keep what they have seen.
	if rest, ok := strings.CutPrefix(whole, p.raw.String()); ok {
		p.raw.WriteString(rest)
	}
	return p.flush(ctx, !cut)
}

// publishEnd ends the turn for the watchers of its run.
func (t Turn) publishEnd(ctx context.Context, c *client.Client) error {
	if err := t.publish(ctx, c, client.TurnEvent{Key: t.Key, Done: true}); err != nil {
		return fmt.Errorf("its end could not be published: %w", err)
	}
	return nil
}

func (t Turn) publish(ctx context.Context, c *client.Client, e client.TurnEvent) error {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	return c.Append(ctx, t.Context.TenantID, t.Context.RunID, e)
}
