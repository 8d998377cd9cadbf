package verify

import (
	"slices"
	"strings"
	"sync"

	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// Options say what a Verifier reports, and how it reads. All fields may be nil.
type Options struct {
	// Codec decodes payloads that are encrypted.
	Codec converter.PayloadCodec
	// Found is called with each finding, one at a time.
	Found func(Finding)
	// Unread is called with each place of a payload that could not be decoded, one
	// at a time.
	Unread func(Place)
}

// Verifier searches for secrets. Its memory is bounded by the largest event, or
// row, that it meets.
type Verifier struct {
	secrets *fingerprint.Set
	options Options

	mu     sync.Mutex
	counts Report
}

// New makes a verifier that searches for what is in the set.
func New(secrets *fingerprint.Set, o Options) *Verifier {
	return &Verifier{secrets: secrets, options: o}
}

// Report is what was read and found so far; it may be asked for at any time.
func (v *Verifier) Report() Report {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts
}

func (v *Verifier) count(add func(*Report)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	add(&v.counts)
}

// search reports what it finds in a text, and returns the labels.
func (v *Verifier) search(p Place, text []byte, known ...string) (labels []string) {
	v.count(func(r *Report) {
		r.Values++
		r.Bytes += int64(len(text))
	})
	return v.report(p, v.secrets.Find(text), known...)
}

// report reports matches, except for the secrets with the labels known, and returns the
// labels of the others.
func (v *Verifier) report(p Place, found []fingerprint.Match, known ...string) (labels []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range found {
		if slices.Contains(known, m.Label) {
			continue
		}
		labels = append(labels, m.Label)
		v.counts.Findings++
		if v.options.Found != nil {
			v.options.Found(Finding{Place: v.shown(p), Secret: m.Label, Form: m.Form})
		}
	}
	return labels
}

func (v *Verifier) unread(p Place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts.Unread++
	if v.options.Unread != nil {
		v.options.Unread(v.shown(p))
	}
}

// shown returns the place as a report may show it, because an id or a name may contain a
// secret. It removes secrets before it cuts long texts: half a secret would not be found.
func (v *Verifier) shown(p Place) Place {
	for _, text := range []*string{&p.WorkflowID, &p.RunID, &p.Event, &p.Path, &p.Table, &p.Column, &p.Key} {
		*text = v.secrets.Redact(*text)
	}
	p.Path, p.Key = cut(p.Path, maxPath), cut(p.Key, maxKey)
	return p
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
