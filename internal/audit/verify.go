package audit

import (
	"bytes"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/proof"
)

// MaxFindings bounds the findings that a report lists. Found counts the others too.
const MaxFindings = 100

// Finding is a difference between the sealed rows and the record.
type Finding struct {
	// N is the number of the row that the finding is about, or of the first of them; 0 if it is about the whole chain.
	N int64 `json:"n"`
	// EventID is the id of the event, if it is known.
	EventID string `json:"eventId,omitempty"`
	// Text is a sentence.
	Text string `json:"text"`
}

// Report is the result of the verification of the chain of one tenant.
type Report struct {
	TenantID string `json:"tenantId"`
	// From and To are the numbers of the first and the last seal; both are 0 without seals.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Rows counts the events that are as they were sealed. Removed counts seals whose events retention has deleted, and RemovedTo is the
	// number of the last one.
	Rows      int64 `json:"rows"`
	Removed   int64 `json:"removed"`
	RemovedTo int64 `json:"removedTo,omitempty"`
	// FirstHead and LastHead are the times of the heads. Signed counts the heads that one of the given keys has signed.
	FirstHead time.Time `json:"firstHead,omitzero"`
	LastHead  time.Time `json:"lastHead,omitzero"`
	Heads     int64     `json:"heads"`
	Signed    int64     `json:"signed"`
	// Found counts the findings; Findings has the first MaxFindings of them.
	Found    int64     `json:"found"`
	Findings []Finding `json:"findings"`
	// Notes say what could not be verified.
	Notes []string `json:"notes,omitempty"`
}

// Terms are what a chain is verified against.
type Terms struct {
	// Keys are the public keys of the workers. Without one, signatures are not verified.
	Keys []proof.Key
	// UnsignedUntil is the N of the last head that needs no signature of Keys.
	UnsignedUntil int64
	// Exported are heads that were kept outside of the database.
	Exported []Head
	// RetentionDays is the shortest retention that the heads of the chain have.
	RetentionDays int
	// Now is the time of the database.
	Now time.Time
}

// Verifier verifies the chain of one tenant. Call Begin once, then Seal for each seal in the order of the numbers, Head for each head
// after the seal of its number, and End.
type Verifier struct {
	terms    Terms
	report   Report
	link     []byte
	head     int64
	exported map[int64]Head
	// unsignedFrom to unsignedTo is the last range of rows whose heads have no signature of a given key, for the reason unsignedWhy.
	unsignedFrom, unsignedTo int64
	unsignedWhy              string
}

// NewVerifier returns a verifier. It uses the exported heads of the tenant and leaves the others out.
func NewVerifier(tenantID string, terms Terms) *Verifier {
	v := &Verifier{terms: terms, report: Report{TenantID: tenantID, Findings: []Finding{}}, link: Start(tenantID), exported: map[int64]Head{}}
	for _, h := range terms.Exported {
		if h.TenantID != tenantID {
			continue
		}
		if other, twice := v.exported[h.N]; twice && !bytes.Equal(other.Link, h.Link) {
			v.find(h.N, "", "two exported heads say something different of row %d: one key has signed two chains", h.N)
		}
		v.exported[h.N] = h
		if len(terms.Keys) > 0 && v.signer(h) != "" && h.N > terms.UnsignedUntil {
			v.find(h.N, "", "the exported head at row %d is %s", h.N, v.signer(h))
		}
	}
	return v
}

// Begin says that the seals begin with the number first, and that anchor is the head at the number before. For a whole chain first is 1
// and anchor is nil.
func (v *Verifier) Begin(first int64, anchor *Head) {
	v.report.To = first - 1
	switch {
	case first == 1:
		return
	case anchor == nil:
		v.find(1, "", "the seals of rows 1 to %d are gone, and no head says what they were", first-1)
		v.link = nil
		return
	}
	if !anchor.At.AddDate(0, 0, v.terms.RetentionDays).Before(v.terms.Now) {
		v.find(1, "", "the seals of rows 1 to %d were deleted before the %d days of the retention", anchor.N, v.terms.RetentionDays)
	}
	v.link, v.head = anchor.Link, anchor.N
	v.report.Removed, v.report.RemovedTo = anchor.N, anchor.N
	v.judge(*anchor)
	v.matchExported(anchor.N, anchor.Link)
}

// Seal verifies a seal and its row; row is nil if the record has none.
func (v *Verifier) Seal(s Seal, row *Row) {
	r := &v.report
	if want := r.To + 1; s.N != want {
		v.find(want, "", "the seals of rows %d to %d are gone", want, s.N-1)
		v.link = nil
	}
	if r.From == 0 {
		r.From = s.N
	}
	r.To = s.N
	// After a gap the link before is not known, and one finding is enough.
	if v.link != nil && !bytes.Equal(s.LinkAfter(v.link), s.Link) {
		v.find(s.N, s.EventID, "the chain is broken at row %d (event %s of %s): its seal does not follow from the seal before; it was changed, moved or inserted", s.N, s.EventID, s.Month)
	}
	v.link = s.Link
	v.row(s, row)
	v.matchExported(s.N, s.Link)
}

func (v *Verifier) row(s Seal, row *Row) {
	if row == nil {
		if !v.expired(s.Month) {
			v.find(s.N, s.EventID, "row %d (event %s of %s) was deleted: the retention of %d days keeps it", s.N, s.EventID, s.Month, v.terms.RetentionDays)
			return
		}
		v.report.Removed++
		v.report.RemovedTo = s.N
		return
	}
	if row.ID != s.EventID || row.Month != s.Month || row.TenantID != v.report.TenantID || !bytes.Equal(row.Leaf(), s.Leaf) {
		v.find(s.N, s.EventID, "row %d (event %s, %s of %s) was changed after it was sealed", s.N, s.EventID, row.Kind, row.At)
		return
	}
	v.report.Rows++
}

// expired reports whether retention may have deleted the events of a month: RetentionDays must have passed since the end of the month.
func (v *Verifier) expired(month string) bool {
	begin, err := time.Parse(time.DateOnly, month)
	until := v.terms.Now.UTC().AddDate(0, 0, -v.terms.RetentionDays)
	return err == nil && !begin.AddDate(0, 1, 0).After(until)
}

func (v *Verifier) matchExported(n int64, link []byte) {
	h, ok := v.exported[n]
	if !ok {
		return
	}
	delete(v.exported, n)
	if !bytes.Equal(h.Link, link) {
		v.find(n, "", "row %d is not that of the exported head of %s: rows up to %d were changed, and the chain was written anew", n, h.At.UTC().Format(time.RFC3339), n)
	}
}

// Head verifies a head of the chain.
func (v *Verifier) Head(h Head) {
	switch {
	case h.N != v.report.To || v.link == nil:
		v.find(h.N, "", "the head at row %d has no seal", h.N)
	case !bytes.Equal(h.Link, v.link):
		v.find(v.head+1, "", "rows %d to %d are not those of the head at row %d", v.head+1, h.N, h.N)
	}
	if h.After != v.head {
		v.find(h.After, "", "the head at row %d continues a head at row %d, and the head before it is at row %d: a head was deleted or written by somebody else", h.N, h.After, v.head)
	}
	v.head = h.N
	v.judge(h)
}

// judge verifies the signature of a head and counts it.
func (v *Verifier) judge(h Head) {
	r := &v.report
	r.Heads++
	if r.FirstHead.IsZero() {
		r.FirstHead = h.At
	}
	r.LastHead = h.At
	if len(v.terms.Keys) == 0 {
		return
	}
	why := v.signer(h)
	if why != "" && h.N <= v.terms.UnsignedUntil {
		return
	}
	if why != v.unsignedWhy {
		v.findUnsigned()
		v.unsignedWhy, v.unsignedFrom = why, h.After+1
	}
	v.unsignedTo = h.N
	if why == "" {
		r.Signed++
	}
}

// findUnsigned adds one finding for successive heads that lack a signature for the same reason.
func (v *Verifier) findUnsigned() {
	if v.unsignedWhy != "" {
		v.find(v.unsignedFrom, "", "the heads of rows %d to %d are %s", v.unsignedFrom, v.unsignedTo, v.unsignedWhy)
	}
}

// signer returns what is wrong with the signature of a head, or "".
func (v *Verifier) signer(h Head) string {
	if h.KeyID == "" {
		return "not signed: a worker without a key has sealed them, or somebody has written them anew"
	}
	for _, key := range v.terms.Keys {
		if key.ID() != h.KeyID {
			continue
		}
		if h.IsSignedBy(key) {
			return ""
		}
		return "not signed by the key that they name: they were changed"
	}
	return fmt.Sprintf("signed by the key %.60q, which is not among the given ones", h.KeyID)
}

// ReportUnsealed reports the events of the tenant that have no seal. waiting is the number of events in the queue for a seal. lost is the
// number of events that are not in the queue, and id is the id of one of them. Only lost events are findings.
func (v *Verifier) ReportUnsealed(waiting, lost int64, id string) {
	if waiting > 0 {
		v.note("%d newer rows wait for a seal; they can still be changed", waiting)
	}
	if lost > 0 {
		v.find(0, id, "%d rows were never sealed and do not wait for it, such as event %s: somebody has inserted them, or has emptied the queue", lost, id)
	}
}

// End returns the report.
func (v *Verifier) End() Report {
	r := &v.report
	v.findUnsigned()
	if r.To > v.head {
		v.find(v.head+1, "", "rows %d to %d have seals and no head: somebody has appended them", v.head+1, r.To)
	}
	for n, h := range v.exported {
		if n > r.To {
			v.find(r.To+1, "", "rows %d to %d were cut off: the exported head of %s has %d rows", r.To+1, n, h.At.UTC().Format(time.RFC3339), n)
		} else {
			v.note("the exported head at row %d is older than the seals that are kept", n)
		}
	}
	if r.Heads > 0 && len(v.terms.Keys) == 0 {
		v.note("no --key: the signatures of the heads were not verified, so somebody who can write to the database could have written the whole chain anew")
	}
	return *r
}

func (v *Verifier) find(n int64, eventID, format string, args ...any) {
	if v.report.Found++; len(v.report.Findings) < MaxFindings {
		v.report.Findings = append(v.report.Findings, Finding{N: n, EventID: eventID, Text: fmt.Sprintf(format, args...)})
	}
}

func (v *Verifier) note(format string, args ...any) {
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}
