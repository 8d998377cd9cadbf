package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// plant admits the calls of a table and gives them its leases, in this order of tickets. A line has the call, semaphore or single_flight, the key behind
// its tenant, the state, how long the lease lasts (over or live), and its round. Two calls may have a semaphore.
func (b bench) plant(table string) {
	b.t.Helper()
	admitted := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		if !admitted[f[0]] {
			b.admit(f[0])
			admitted[f[0]] = true
		}
		owner, key, _ := strings.Cut(f[2], "/")
		b.sql(`INSERT INTO leases (invocation_id, kind, tenant_id, key, state, most, epoch, expires_at, round)
			VALUES ($1, $2, $3, $4, $5, 2, 1, now() + CASE $6 WHEN 'live' THEN interval '1 hour' ELSE '0' END, $7::text::integer)`,
			id(f[0]), f[1], owner, key, f[3], f[4], f[5])
	}
	b.sql(`INSERT INTO semaphores (tenant_id, key) SELECT DISTINCT tenant_id, key FROM leases WHERE kind = 'semaphore'`)
}

// wantLeases compares all leases with a table in the form of plant. A lease that ends within a minute lasts soon.
func (b bench) wantLeases(table string) {
	b.t.Helper()
	var want []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	got := value[string](b, `SELECT coalesce(string_agg(concat_ws(' ', tool_call_id, kind, l.tenant_id || '/' || key, l.state,
			CASE WHEN l.expires_at <= clock_timestamp() THEN 'over' WHEN l.expires_at < now() + interval '1 minute' THEN 'soon' ELSE 'live' END, round), E'\n' ORDER BY ticket), '')
		FROM leases l JOIN invocations USING (invocation_id)`)
	if got != strings.Join(want, "\n") {
		b.t.Errorf("the leases are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// crowded has every kind of lease beside those of the call gives.
const crowded = `
	sixth      single_flight acme/s   waiting live 1
	first      single_flight acme/s   waiting live 1
	second     single_flight acme/s   held    live 1
	foreign    semaphore     globex/s waiting live 1
	elsewhere  semaphore     globex/s held    over 1
	somewhere  semaphore     globex/s held    live 1
	lapsed     semaphore     acme/s   held    over 1
	holds      semaphore     acme/s   held    live 1
	gives      semaphore     acme/s   held    live 1
	stale      semaphore     acme/s   waiting over 1
	first      semaphore     acme/s   waiting live 1
	second     semaphore     acme/s   waiting live 1
	lapsed     semaphore     acme/t   held    over 1
	holds      semaphore     acme/t   held    live 1
	first      semaphore     acme/t   waiting live 1
	reader     single_flight acme/t   held    over 1
	gives      single_flight acme/f   held    live 1
	third      single_flight acme/f   waiting live 1
	fifth      single_flight globex/f waiting live 1
	sixth      single_flight acme/h   waiting live 1
	lapsed     semaphore     acme/f   held    over 1
	reader     semaphore     acme/f   waiting live 1
	reader     single_flight acme/g   held    live 1
	gives      single_flight acme/g   waiting live 1
	fourth     single_flight acme/g   waiting live 1
	later      semaphore     acme/u   held    over 1
	gives      semaphore     acme/u   held    live 2
	second     semaphore     acme/u   waiting live 1
	lapsed     semaphore     acme/w   held    over 1
	holds      semaphore     acme/w   held    live 1
	gives      semaphore     acme/w   waiting live 1
	fourth     semaphore     acme/w   waiting live 1`

// TestTakingLeavesOthers: a call that takes places keeps those that it has, leaves the queues that its policy does not name any more, and changes no other
// lease. Only the places and the queues of the same semaphore count.
func TestTakingLeavesOthers(t *testing.T) {
	const before = `
		asks    semaphore     acme/gone  waiting live 1
		asks    single_flight acme/gone  waiting live 1
		asks    semaphore     acme/kept  held    live 1
		asks    semaphore     acme/lost  lost    over 1
		other   semaphore     acme/gone  waiting live 1
		asks    semaphore     acme/own   held    over 1
		asks    single_flight acme/own   lost    over 1
		other   semaphore     acme/own   held    live 1
		second  semaphore     acme/own   waiting live 1
		other   semaphore     acme/new   held    live 1
		other   single_flight acme/new   held    live 1
		stale   semaphore     acme/new   waiting over 1
		second  single_flight acme/new   waiting live 1
		foreign semaphore     globex/new waiting live 1
		asks    single_flight acme/new   held    live 1`
	taking := []capacity.Slot{slot("own", 2), slot("new", 2)}
	b := open(t)
	b.plant(before)
	if a := b.slots("asks", 2, taking...); a.State != capacity.Superseded {
		t.Errorf("in another epoch: %+v", a)
	}
	b.wantLeases(before)
	if a := b.slots("asks", 1, taking...); a.State != capacity.Taken || a.Key != "" {
		t.Errorf("%+v", a)
	}
	b.wantLeases(changed(before, "asks semaphore acme/gone, asks semaphore acme/lost", `
		asks semaphore acme/own held live 1
		stale semaphore acme/new lost over 1`) + "\nasks semaphore acme/new held live 1")
}

// TestReleaseLeavesOthers: a call that gives back what it has passes its places to the heads of their queues, takes them from calls whose places have
// expired, and sends a recheck to the calls that wait for its read. All other leases stay as they are. A statement that refuses the call changes no lease.
func TestReleaseLeavesOthers(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(b bench)
		gone     string // the leases that the call loses
		now      string // the leases that become others
		rechecks []string
	}{
		"settle": {
			do:   func(b bench) { b.ends("gives", 1, 0) },
			gone: "gives",
			now: `
				lapsed semaphore acme/s lost over 1
				first semaphore acme/s held live 1
				later semaphore acme/u lost over 1
				second semaphore acme/u held live 1
				lapsed semaphore acme/w lost over 1
				fourth semaphore acme/w held live 1`,
			rechecks: []string{"first", "fourth", "second", "third"},
		},
		"request of the first round": {
			do: func(b bench) {
				row := requestRow("gives", 1)
				row.GivesBack, row.Capacity = true, 1
				b.request(row)
			},
			gone: "gives semaphore acme/s, gives semaphore acme/w, gives single_flight",
			now: `
				lapsed semaphore acme/s lost over 1
				first semaphore acme/s held live 1
				lapsed semaphore acme/w lost over 1
				fourth semaphore acme/w held live 1`,
			rechecks: []string{"first", "fourth", "third"},
		},
		"sweep": {
			do:   func(b bench) { b.sweep("gives", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled) },
			gone: "gives semaphore acme/w, gives single_flight",
			now: `
				gives semaphore acme/s held soon 1
				gives semaphore acme/u held soon 2
				lapsed semaphore acme/w lost over 1
				fourth semaphore acme/w held live 1`,
			rechecks: []string{"fourth", "third"},
		},
		"settle of a newer epoch": {do: func(b bench) {
			in := holding("gives")
			in.Epoch = 2
			b.settle(in)
		}},
		"settle of another run": {do: func(b bench) {
			if out, err := b.Settle(executes(t.Context(), "another-run"), holding("gives")); err != nil || out.Outcome != contract.Superseded {
				t.Errorf("%+v, %v", out, err)
			}
		}},
		"sweep of a newer epoch": {do: func(b bench) {
			code, err := b.Sweep(t.Context(), upkeep.SweepRow{InvocationID: id("gives"), Namespace: namespace, RunID: ownRun, Epoch: 2, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled})
			if err != nil || code != "" {
				t.Errorf("%s, %v", code, err)
			}
		}},
		"settle of a settled call": {do: func(b bench) {
			b.settle(settleIn("gives", 1)) // gives nothing back
			b.settle(holding("gives"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.plant(crowded)
			b.tokens("gives", 1, bucket("q", 1, time.Hour, 0))
			b.sql(`INSERT INTO quotas (tenant_id, key, full_at) VALUES ('globex', 'q', now() + interval '1 hour'), ('acme', 'r', now() + interval '1 hour')`)
			b.sql(`INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'claim', 1), ($2, 1, 'tombstone', 1)`,
				id("holds"), id("gives"))
			c.do(b)
			b.wantLeases(changed(crowded, c.gone, c.now))
			b.wantRechecks(c.rechecks...)
			// The token goes back too, and no other.
			taken := "acme/q, acme/r, globex/q"
			if c.gone != "" {
				taken = "acme/r, globex/q"
			}
			if got := value[string](b, `SELECT string_agg(tenant_id || '/' || key, ', ' ORDER BY tenant_id, key) FROM quotas WHERE full_at > now() + interval '1 minute'`); got != taken {
				t.Errorf("tokens are taken from %s, want %s", got, taken)
			}
		})
	}
}

// TestReleaseExpiredLeavesOthers: the sweeper takes expired places of a bounded number of semaphores, also those of calls that have ended, and gives them
// to the heads of their queues. All other leases stay as they are.
func TestReleaseExpiredLeavesOthers(t *testing.T) {
	b := open(t)
	const before = `
		second    single_flight acme/s waiting live 1
		first     single_flight acme/s waiting live 1
		holds     single_flight acme/s held    live 1
		nobody    semaphore     abc/s  waiting live 1
		somewhere semaphore     abc/s  held    live 1
		elsewhere semaphore     zzz/s  held    over 1
		foreign   semaphore     zzz/s  waiting live 1
		closed    semaphore     zzz/s  waiting over 1
		ended     semaphore     acme/s held    over 1
		expired   semaphore     acme/s held    over 1
		older     semaphore     acme/s lost    over 1
		holds     semaphore     acme/s held    live 1
		stale     semaphore     acme/s waiting over 1
		first     semaphore     acme/s waiting live 1
		second    semaphore     acme/s waiting live 1
		expired   single_flight acme/s held    over 1
		ended     single_flight acme/s held    over 1
		expired   semaphore     acme/r lost    over 1
		first     semaphore     acme/r waiting live 1
		ended     semaphore     acme/r held    live 1
		expired   single_flight acme/r held    over 1
		ended     semaphore     acme/y waiting over 1
		expired   semaphore     acme/z held    over 1
		first     semaphore     acme/z waiting live 1`
	b.plant(before)
	b.settle(settleIn("ended", 1))
	b.settle(settleIn("closed", 1))
	gone, now := "", ""
	for _, step := range []struct {
		taken     int
		gone, now string
		rechecks  []string
	}{
		{2, "ended semaphore acme/s", "expired semaphore acme/s lost over 1\nfirst semaphore acme/s held live 1", []string{"first"}},
		{2, "closed semaphore zzz/s", "elsewhere semaphore zzz/s lost over 1\nforeign semaphore zzz/s held live 1", []string{"foreign"}},
		{1, "ended semaphore acme/y", "", []string{}},
		{1, "", "expired semaphore acme/z lost over 1\nfirst semaphore acme/z held live 1", []string{"first"}},
		{0, "", "", []string{}},
	} {
		if n, err := b.ReleaseExpired(t.Context(), 1); n != step.taken || err != nil {
			t.Errorf("%d places were taken, %v; want %d", n, err, step.taken)
		}
		gone, now = gone+", "+step.gone, now+"\n"+step.now
		b.wantLeases(changed(before, gone, now))
		b.wantRechecks(step.rechecks...)
	}
}

// TestRenewalLeavesOthers: a claim renews the places that the call has, and no other lease. If the call may not claim, it renews none.
func TestRenewalLeavesOthers(t *testing.T) {
	const before = `
		claims semaphore     acme/s held    over 1
		claims semaphore     acme/q waiting over 1
		claims semaphore     acme/l lost    over 1
		claims single_flight acme/f held    over 1
		other  semaphore     acme/s held    over 1`
	for name, c := range map[string]struct {
		epoch   int
		run     string
		settled bool
		now     string
	}{
		"a claim":           {epoch: 1, run: ownRun, now: "claims semaphore acme/s held live 1"},
		"of a newer epoch":  {epoch: 2, run: ownRun},
		"of another run":    {epoch: 1, run: "another-run"},
		"of a settled call": {epoch: 1, run: ownRun, settled: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.plant(before)
			if c.settled {
				b.settle(settleIn("claims", 1))
			}
			row := claimRow("claims", c.epoch, 1)
			row.Runtime = time.Hour
			if out, err := b.Claim(executes(t.Context(), c.run), row); err != nil || out == contract.Done {
				t.Errorf("%+v, %v", out, err)
			}
			b.wantLeases(changed(before, "", c.now))
		})
	}
}

// TestIdleSemaphores: a semaphore is deleted if it was not used for a day and no call has a lease of it.
func TestIdleSemaphores(t *testing.T) {
	b := open(t)
	b.plant(`
		holds semaphore     acme/held   held    live 1
		holds semaphore     acme/over   lost    over 1
		holds semaphore     globex/free held    live 1
		holds single_flight acme/free   waiting live 1`)
	b.sql(`INSERT INTO semaphores (tenant_id, key) VALUES ('acme', 'free'), ('acme', 'other'), ('acme', 'recent')`)
	b.sql(`UPDATE semaphores SET used_at = now() - CASE key WHEN 'recent' THEN interval '23 hours' ELSE '25 hours' END`)
	for _, want := range []int{1, 1, 0} {
		if n, err := b.DeleteIdleCapacity(t.Context(), 1); n != want || err != nil {
			t.Errorf("%d rows deleted, %v; want %d", n, err, want)
		}
	}
	if got := value[string](b, `SELECT string_agg(tenant_id || '/' || key, ' ' ORDER BY tenant_id, key) FROM semaphores`); got != "acme/held acme/over acme/recent globex/free" {
		t.Errorf("left are %s", got)
	}
}

// changed returns a table of leases without the lines that begin as gone says, and with the lines of now in place of those with the same call, kind and key.
func changed(table, gone, now string) string {
	lease := func(line string) string { return strings.Join(strings.Fields(line)[:3], " ") }
	becomes := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(now)) {
		if line = strings.TrimSpace(line); line != "" {
			becomes[lease(line)] = line
		}
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		line = strings.Join(strings.Fields(line), " ")
		leaves := slices.ContainsFunc(strings.Split(gone, ", "), func(prefix string) bool { return prefix != "" && strings.HasPrefix(line, prefix+" ") })
		if other, changes := becomes[lease(line)]; changes {
			lines = append(lines, other)
		} else if !leaves {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
