package audit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/proof"
)

var (
	now    = time.Date(2026, 11, 27, 4, 0, 0, 0, time.UTC)
	signer = newSigner()
)

func newSigner() proof.Signer {
	s, err := proof.NewSigner()
	if err != nil {
		panic(err)
	}
	return s
}

// trail is what a database has of one tenant. rows are by the number of the seal; nil is a deleted one.
type trail struct {
	rows  []*Row
	seals []Seal
	heads []Head
}

// newTrail has n rows with a head after each five.
func newTrail(n int, sign *proof.Signer) *trail {
	t := &trail{}
	for i := range n {
		t.rows = append(t.rows, &Row{
			ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Month: "2026-11-01", At: "2026-11-20T00:00:00.000000Z", Kind: "decision",
			TenantID: "acme", InvocationID: fmt.Sprint(i), WorkflowID: "w", Detail: json.RawMessage(fmt.Sprintf(`{"a" : "<&%d", "n": 1.0}`, i)),
		})
	}
	t.seal(sign)
	return t
}

// seal writes all seals and heads.
func (t *trail) seal(sign *proof.Signer) {
	t.seals, t.heads = nil, nil
	link, before := Start("acme"), Head{}
	for i := 0; i < len(t.rows); i += 5 {
		var rows []Row
		for _, r := range t.rows[i:min(i+5, len(t.rows))] {
			rows = append(rows, *r)
		}
		seals := Extend(int64(i), link, rows)
		before = Next(before, "acme", seals, now.Add(time.Duration(i)*time.Minute-24*time.Hour), 30)
		if sign != nil {
			before = before.Sign(*sign)
		}
		link, t.seals, t.heads = before.Link, append(t.seals, seals...), append(t.heads, before)
	}
}

func (t *trail) remove(i int) {
	t.rows, t.seals = slices.Delete(t.rows, i, i+1), slices.Delete(t.seals, i, i+1)
}

// verify does what the store does.
func (t *trail) verify(terms Terms) Report {
	terms.RetentionDays, terms.Now = 30, now
	v := NewVerifier("acme", terms)
	first, heads := int64(1), t.heads
	if len(t.seals) > 0 {
		first = t.seals[0].N
	} else if len(heads) > 0 {
		first = heads[len(heads)-1].N + 1
	}
	for len(heads) > 0 && heads[0].N < first-1 {
		heads = heads[1:]
	}
	var anchor *Head
	if first > 1 && len(heads) > 0 && heads[0].N == first-1 {
		anchor, heads = &heads[0], heads[1:]
	}
	v.Begin(first, anchor)
	for i, s := range t.seals {
		for len(heads) > 0 && heads[0].N < s.N {
			v.Head(heads[0])
			heads = heads[1:]
		}
		v.Seal(s, t.rows[i])
	}
	for _, h := range heads {
		v.Head(h)
	}
	return v.End()
}

func signed() Terms { return Terms{Keys: []proof.Key{signer.Key()}} }

func TestAttacks(t *testing.T) {
	exported := newTrail(23, &signer).heads
	other := newSigner()
	for _, c := range []struct {
		name string
		do   func(*trail)
		with Terms
		n    int64
		// text is part of the sentence.
		text string
	}{
		{"a row is changed", func(d *trail) { d.rows[6].Detail = json.RawMessage(`{"a":"other"}`) }, signed(), 7, "row 7 (event 00000000-0000-4000-8000-000000000006, decision of 2026-11-20T00:00:00.000000Z) was changed"},
		{"a row goes to another tenant", func(d *trail) { d.rows[6].TenantID = "evil" }, signed(), 7, "row 7 "},
		{"a row and its leaf are changed", func(d *trail) { d.rows[6].Kind = "x"; d.seals[6].Leaf = d.rows[6].Leaf() }, signed(), 7, "the chain is broken at row 7 "},
		{"a row, its leaf and its link are changed", func(d *trail) {
			d.rows[6].Kind = "x"
			d.seals[6].Leaf = d.rows[6].Leaf()
			d.seals[6].Link = d.seals[6].LinkAfter(d.seals[5].Link)
		}, signed(), 8, "the chain is broken at row 8 "},
		{"a row is deleted", func(d *trail) { d.rows[6] = nil }, signed(), 7, "row 7 (event 00000000-0000-4000-8000-000000000006 of 2026-11-01) was deleted: the retention of 30 days keeps it"},
		{"a row and its seal are deleted", func(d *trail) { d.remove(6) }, signed(), 7, "the seals of rows 7 to 7 are gone"},
		{"a row of a month that is over is deleted with a forged month", func(d *trail) { d.rows[6] = nil; d.seals[6].Month = "2026-01-01" }, signed(), 7, "the chain is broken at row 7 "},
		{"two rows change places", func(d *trail) { d.rows[6], d.rows[7] = d.rows[7], d.rows[6] }, signed(), 7, "row 7 "},
		{"two seals change places", func(d *trail) {
			d.rows[6], d.rows[7] = d.rows[7], d.rows[6]
			d.seals[6], d.seals[7] = d.seals[7], d.seals[6]
			d.seals[6].N, d.seals[7].N = 7, 8
		}, signed(), 7, "the chain is broken at row 7 "},
		{"a row is inserted", func(d *trail) {
			row := *d.rows[6]
			row.ID = "00000000-0000-4000-8000-ffffffffffff"
			d.rows = slices.Insert(d.rows, 7, &row)
			d.seals = slices.Insert(d.seals, 7, Extend(7, d.seals[6].Link, []Row{row})...)
			for i := 8; i < len(d.seals); i++ {
				d.seals[i].N++
			}
		}, signed(), 9, "the chain is broken at row 9 "},
		{"rows are appended without a head", func(d *trail) {
			row := *d.rows[0]
			d.rows, d.seals = append(d.rows, &row), append(d.seals, Extend(23, d.seals[22].Link, []Row{row})...)
		}, signed(), 24, "rows 24 to 24 have seals and no head"},
		{"the whole chain is written anew without a key", func(d *trail) { d.rows[6].Kind = "x"; d.seal(nil) }, signed(), 1, "the heads of rows 1 to 23 are not signed"},
		{"the whole chain is written anew with another key", func(d *trail) { d.rows[6].Kind = "x"; d.seal(&other) }, signed(), 1, "the heads of rows 1 to 23 are signed by the key"},
		{"the whole chain is written anew under the old signatures", func(d *trail) {
			d.rows[6].Kind = "x"
			old := d.heads
			d.seal(nil)
			for i := range d.heads {
				d.heads[i].KeyID, d.heads[i].Signature = old[i].KeyID, old[i].Signature
			}
		}, signed(), 6, "the heads of rows 6 to 23 are not signed by the key that they name"},
		{"the whole chain is written anew, without a key to verify", func(d *trail) { d.rows[6].Kind = "x"; d.seal(nil) }, Terms{Exported: exported[4:]}, 23, "row 23 is not that of the exported head"},
		{"a head is deleted", func(d *trail) { d.heads = slices.Delete(d.heads, 1, 2) }, signed(), 10, "the head at row 15 continues a head at row 10, and the head before it is at row 5"},
		{"the tail is cut off", func(d *trail) { d.rows, d.seals, d.heads = d.rows[:15], d.seals[:15], d.heads[:3] }, Terms{Keys: signed().Keys, Exported: exported}, 16, "rows 16 to 23 were cut off"},
		{"everything is deleted", func(d *trail) { *d = trail{} }, Terms{Keys: signed().Keys, Exported: exported}, 1, "rows 1 to 23 were cut off"},
		{"the beginning is cut off", func(d *trail) { d.rows, d.seals = d.rows[5:], d.seals[5:] }, signed(), 1, "the seals of rows 1 to 5 were deleted before"},
		{"the beginning and its head are cut off", func(d *trail) { d.rows, d.seals, d.heads = d.rows[5:], d.seals[5:], d.heads[1:] }, signed(), 1, "no head says what they were"},
		{"the time of a head is changed", func(d *trail) { d.heads[1].At = d.heads[1].At.AddDate(-1, 0, 0) }, signed(), 6, "the heads of rows 6 to 10 are not signed by the key that they name"},
		{"the retention of a head is changed", func(d *trail) { d.heads[1].RetentionDays = 1 }, signed(), 6, "the heads of rows 6 to 10 are not signed by the key that they name"},
		{"a link is cut short", func(d *trail) { d.seals[6].Link = nil }, signed(), 7, "the chain is broken at row 7 "},
		{"an exported head is forged", func(d *trail) {}, Terms{Keys: signed().Keys, Exported: []Head{{TenantID: "acme", N: 5, Link: make([]byte, HashSize)}}}, 5, "the exported head at row 5 is not signed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTrail(23, &signer)
			c.do(d)
			r := d.verify(c.with)
			if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.N == c.n && strings.Contains(f.Text, c.text) }) || r.Found == 0 {
				t.Errorf("found %+v, not %q of row %d", r.Findings, c.text, c.n)
			}
		})
	}
}

func TestUntouched(t *testing.T) {
	d := newTrail(23, &signer)
	r := d.verify(Terms{Keys: signed().Keys, Exported: d.heads})
	if r.Found != 0 || r.Rows != 23 || r.From != 1 || r.To != 23 || r.Heads != 5 || r.Signed != 5 || len(r.Notes) != 0 {
		t.Errorf("untouched: %+v", r)
	}
	if r := newTrail(23, nil).verify(Terms{}); r.Found != 0 || r.Signed != 0 || len(r.Notes) != 1 {
		t.Errorf("without keys: %+v", r)
	}
	// Workers got their key after row 10.
	d = newTrail(23, &signer)
	for i := range d.heads[:2] {
		d.heads[i].KeyID, d.heads[i].Signature = "", nil
	}
	if r := d.verify(signed()); r.Found != 1 || !strings.Contains(r.Findings[0].Text, "the heads of rows 1 to 10 are not signed: ") {
		t.Errorf("an unsigned beginning: %+v", r.Findings)
	}
	if r := d.verify(Terms{Keys: signed().Keys, UnsignedUntil: 10}); r.Found != 0 || r.Signed != 3 {
		t.Errorf("an unsigned beginning that is known: %+v", r)
	}
}

// TestRetention: rows of old months go first, not in the order of the chain, and then their seals up to a head.
func TestRetention(t *testing.T) {
	d := newTrail(23, &signer)
	for i := range d.rows {
		if i < 12 && i != 3 {
			d.rows[i].Month = "2026-09-01"
		}
	}
	d.seal(&signer)
	for i := range d.heads {
		d.heads[i].At = now.AddDate(0, 0, i-32)
		d.heads[i] = d.heads[i].Sign(signer)
	}
	for i, r := range d.rows {
		if r.Month == "2026-09-01" {
			d.rows[i] = nil
		}
	}
	if r := d.verify(signed()); r.Found != 0 || r.Removed != 11 || r.RemovedTo != 12 || r.Rows != 12 {
		t.Errorf("rows: %+v", r)
	}
	d.rows, d.seals = d.rows[5:], d.seals[5:]
	if r := d.verify(Terms{Keys: signed().Keys, Exported: d.heads}); r.Found != 0 || r.From != 6 || r.Removed != 12 || r.RemovedTo != 12 || r.Rows != 11 {
		t.Errorf("seals: %+v", r)
	}
	d.rows, d.seals, d.heads = nil, nil, d.heads[4:]
	d.heads[0].At = now.AddDate(0, 0, -31)
	d.heads[0] = d.heads[0].Sign(signer)
	if r := d.verify(signed()); r.Found != 0 || r.To != 23 || r.Removed != 23 {
		t.Errorf("all seals: %+v", r)
	}
}

// FuzzChange changes any byte of what a database has of a chain. Nothing goes unnoticed.
func FuzzChange(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // which change a test makes
		d := newTrail(23, &signer)
		row, seal, head := d.rows[r.IntN(23)], &d.seals[r.IntN(23)], &d.heads[r.IntN(5)]
		flip := func(b []byte) []byte {
			b = bytes.Clone(b)
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			return b
		}
		text := func(s *string) { *s += string(rune('a' + r.IntN(26))) }
		changes := []func(){
			func() { text(&row.ID) }, func() { text(&row.Month) }, func() { text(&row.At) }, func() { text(&row.Kind) }, func() { text(&row.TenantID) },
			func() { text(&row.InvocationID) }, func() { text(&row.WorkflowID) }, func() { text(&row.AuditID) }, func() { row.Seq++ },
			func() { row.Detail = nil }, func() { row.Detail = json.RawMessage(`{"n": 1.0, "a": "<&0"}`) }, func() { row.Detail = json.RawMessage("{") },
			func() { seal.Leaf = flip(seal.Leaf) }, func() { seal.Link = flip(seal.Link) }, func() { text(&seal.Month) }, func() { text(&seal.EventID) },
			func() { head.Link = flip(head.Link) }, func() { head.Signature = flip(head.Signature) }, func() { text(&head.KeyID) }, func() { head.After++ },
			func() { head.RetentionDays++ }, func() { head.At = head.At.Add(time.Microsecond) }, func() { text(&head.TenantID) }, func() { head.N++ },
			func() { d.remove(r.IntN(22)) }, func() { i := r.IntN(4); d.heads = slices.Delete(d.heads, i, i+1) },
		}
		changes[r.IntN(len(changes))]()
		if report := d.verify(signed()); report.Found == 0 {
			t.Errorf("seed %d: nothing was found", seed)
		}
	})
}

// TestForm: the hashes of a release are those of every other. A row that was sealed must be verified for years.
func TestForm(t *testing.T) {
	d := newTrail(1, nil)
	if got, want := string(d.rows[0].Canonical()), `{"id":"00000000-0000-4000-8000-000000000000","month":"2026-11-01","at":"2026-11-20T00:00:00.000000Z","kind":"decision","tenantId":"acme","invocationId":"0","workflowId":"w","auditId":"","seq":0,"detail":{"a":"<&0","n":1.0}}`; got != want {
		t.Errorf("the row is\n%s, not\n%s", got, want)
	}
	if got := hex.EncodeToString(d.seals[0].Link); got != wantLink {
		t.Errorf("the link is %s", got)
	}
	h := d.heads[0]
	if got, want := string(h.signed()), "pawl audit head 1\n"+`{"tenantId":"acme","n":1,"link":"`+wantBase64+`","at":"2026-11-26T04:00:00Z","retentionDays":30,"after":0,"keyId":""}`; got != want {
		t.Errorf("what is signed is\n%s, not\n%s", got, want)
	}
}

func TestParseHeads(t *testing.T) {
	heads := newTrail(23, &signer).heads
	lines, list := canonical(heads[0]), canonical(heads)
	for text, want := range map[string]int{"": 0, string(lines): 1, string(lines) + "\n" + string(lines): 2, string(list): 5, "[]": 0} {
		if got, err := ParseHeads([]byte(text)); err != nil || len(got) != want {
			t.Errorf("%.40s: %d, %v", text, len(got), err)
		}
	}
	for _, text := range []string{"{}", "[{}]", "x", "null", `{"n":1}`, `{"n":1,"link":"AAAA"}`, "[[]]", `"head"`} {
		if got, err := ParseHeads([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	got, err := ParseHeads(lines)
	if err != nil || !got[0].IsSignedBy(signer.Key()) {
		t.Errorf("a head that was written and read is not signed: %v", err)
	}
}

const (
	wantLink   = "87629f83f4433843f5475be022e8b0755aea45c94a54164a63af982b74cad44a"
	wantBase64 = "h2Kfg/RDOEP1R1vgIuiwdVrqRclKVBZKY6+YK3TK1Eo="
)
