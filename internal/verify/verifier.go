package verify

import (
	"slices"
	"sync"

	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// Options say what a Verifier tells, and how it reads. All may be nil.
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
	report Report
}

// New makes a verifier that searches for what is in the set.
func New(secrets *fingerprint.Set, o Options) *Verifier {
	return &Verifier{secrets: secrets, options: o}
}

// Report is what was read and found so far; it may be asked for at any time.
func (v *Verifier) Report() Report {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.report
}

func (v *Verifier) count(add func(*Report)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	add(&v.report)
}

// search reports what it finds in a text, and returns the labels.
func (v *Verifier) search(p Place, text []byte, known ...string) (labels []string) {
	found := v.secrets.Find(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Values++
	v.report.Bytes += int64(len(text))
	for _, m := range found {
		if slices.Contains(known, m.Label) {
			continue
		}
		labels = append(labels, m.Label)
		v.report.Findings++
		if v.options.Found != nil {
			v.options.Found(Finding{Place: v.shown(p), Secret: m.Label, Form: m.Form})
		}
	}
	return labels
}

func (v *Verifier) unread(p Place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Unread++
	if v.options.Unread != nil {
		v.options.Unread(v.shown(p))
	}
}

// shown is a place as it may be told: a secret may stand in an id or in a name.
func (v *Verifier) shown(p Place) Place {
	for _, text := range []*string{&p.WorkflowID, &p.RunID, &p.Event, &p.Path, &p.Table, &p.Column, &p.Key} {
		*text = v.secrets.Redact(*text)
	}
	return p
}
