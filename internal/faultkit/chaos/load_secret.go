package chaos

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	rows "github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/internal/verify"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// secret is the credential of a connection, which must appear nowhere.
type secret struct {
	token        string
	connectionID string
	ring         *seal.Ring
}

func newSecret() (*secret, error) {
	ring, err := seal.New()
	return &secret{token: rand.Text() + rand.Text(), connectionID: "load-" + rand.Text(), ring: ring}, err
}

// attach makes a call use the connection.
func (s *secret) attach(inv *toolspec.Invocation) {
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = s.connectionID, []string{s.connectionID}
}

// connect adds the connection, and gives the workers of the servers the key ring.
func (s *secret) connect(ctx context.Context, on *servers) error {
	text, err := s.ring.Encode(nil)
	if err != nil {
		return err
	}
	on.more = append(on.more, "PAWL_KEYRING="+string(text))
	p := broker.Provider{ID: "load", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(s.token))})
	defer credential.Destroy()
	sealed, err := broker.New(on.store, s.ring, broker.Options{}).Seal(credential, broker.At(tenant, s.connectionID, p, p.Hosts, 1), time.Time{})
	if err != nil {
		return err
	}
	if err := on.store.AddConnection(ctx, rows.AddRow{Provider: p, Hosts: p.Hosts, Sealed: sealed, SignedIn: true}, "pawl load"); err != nil {
		return err
	}
	_, err = on.store.GrantConnection(ctx, tenant, s.connectionID, actor, nil, 0, "pawl load")
	return err
}

// SecretSearch says where the token of the connection was searched for, and found.
type SecretSearch struct {
	// Leaked is the number of places that have the token, Unread the number of places that could not be read.
	Leaked int `json:"leaked"`
	Unread int `json:"unread"`
	// Places are some of them.
	Places []string `json:"places"`
	// Histories, Rows and LogBytes count what was searched: the histories of calls that had the token, all rows of Pawl's database, and what
	// the workers wrote.
	Histories int `json:"histories"`
	Rows      int `json:"rows"`
	LogBytes  int `json:"logBytes"`
}

// searchSecret searches for the token in every form that package fingerprint knows.
func (l *load) searchSecret(ctx context.Context) (SecretSearch, error) {
	set, found := &fingerprint.Set{}, SecretSearch{Places: []string{}}
	if err := set.Add("the token of the connection", []byte(l.secret.token)); err != nil {
		return found, err
	}
	note := func(place string) {
		if len(found.Places) < maxPlaces {
			found.Places = append(found.Places, place)
		}
	}
	v := verify.New(set, verify.Options{
		Found: func(f verify.Finding) { note(f.Place.String()) }, Unread: func(p verify.Place) { note("not read: " + p.String()) },
	})
	service, namespace := l.servers.temporal.WorkflowService(), l.servers.stack.Namespace()
	if err := v.Histories(ctx, service, namespace, fmt.Sprintf("PawlTool = '%s'", ledger.Account)); err != nil {
		return found, err
	}
	if err := v.Tables(ctx, l.servers.store); err != nil {
		return found, err
	}
	r := v.Report()
	found.Leaked, found.Unread, found.Histories, found.Rows = r.Findings, r.Unread, r.Workflows, r.Rows
	text, dropped := l.log.text()
	if dropped > 0 {
		found.Unread++
		note(fmt.Sprintf("not read: the last %d bytes of the log of the workers", dropped))
	}
	if found.LogBytes = len(text); len(set.Find(text)) > 0 {
		found.Leaked++
		note("the log of a worker")
	}
	return found, nil
}

// maxPlaces is the number of places of a leak that a report names.
const maxPlaces = 10

// maxLog bounds the part of the workers' output that is searched, in bytes.
const maxLog = 32 << 20

// workerLog keeps the output of the workers, to be searched.
type workerLog struct {
	copyTo io.Writer
	mu     sync.Mutex
	kept   []byte
	// dropped counts the bytes that were not kept.
	dropped int
}

func (w *workerLog) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keep := min(len(text), maxLog-len(w.kept))
	w.kept, w.dropped = append(w.kept, text[:keep]...), w.dropped+len(text)-keep
	if w.copyTo != nil {
		return w.copyTo.Write(text)
	}
	return len(text), nil
}

func (w *workerLog) text() (kept []byte, dropped int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept, w.dropped
}

// graceOfPlaces is how long a place of a lost attempt may stay taken: longer than the timeout of every tool.
const graceOfPlaces = 2 * time.Minute

// leakedPlaces returns how many places and waits stay taken although every call has ended. The place of a lost attempt is free only when its
// tool has certainly stopped, so the function waits for that.
func (s *servers) leakedPlaces(ctx context.Context, calls []oracle.Call, grace time.Duration) (int, error) {
	for until := time.Now().Add(grace); ; {
		var taking []oracle.Call
		left := 0
		for _, c := range calls {
			if c.Record == nil {
				continue
			}
			if n := placesOf(c.Record); n > 0 {
				left += n
				taking = append(taking, c)
			}
		}
		if left == 0 || time.Now().After(until) || !pause(ctx, tryAgain) {
			return left, ctx.Err()
		}
		for i := range taking {
			record, err := s.store.Show(ctx, tenant, taking[i].InvocationID)
			if err != nil {
				return left, err
			}
			taking[i].Record = &record
		}
		calls = taking
	}
}

// placesOf counts what a call holds or waits for, besides quotas, which are not given back.
func placesOf(record *reads.Detail) (n int) {
	for _, c := range record.Capacity {
		if c.Kind != "quota" && c.State != "lost" && c.At.After(time.Now()) {
			n++
		}
	}
	return n
}
