package calls

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/web"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/worker"
)

// modes has the permission modes of a policy. TestBuiltins has a tenant with the name of each mode.
var modes = []string{"yolo", "auto", "ask"}

// builtin has a call of a built-in tool, and the expected results of the shipped policy and of the tool.
type builtin struct {
	tool string
	// args may contain MODE for the mode, PAGE and OTHER for the addresses of two hosts, GOAL for the goal that before returns, and REF for a reference to the
	// result of core__done.
	args string
	// asks has the modes in which the call needs an approval. For a call that policy denies in every mode it has only the text denied.
	asks []string
	// before prepares the call. It returns the id of a goal, or "".
	before func(p *place) string
	// effect returns an error until the tool has run.
	effect func(p *place) error
	// value has parts that the value must have.
	value []string
	// fails is a part of the error message of a call that cannot succeed in this test.
	fails string
}

const denied = "denied"

// place has the surroundings in which a call of a builtin runs.
type place struct {
	*e2etest.World
	web  *localWeb
	mode string
	// dir is the directory of the mode in the workspace, and by is the caller whose session the call has.
	dir string
	by  capability.MemoryCaller
}

var (
	inAsk  = []string{"ask"}
	inAuto = []string{"auto", "ask"}
	always = modes
)

// image begins as a PNG does.
var image = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR the fox")

// builtins has at least one call of every tool with a capability. A person has decided which calls need an approval, and a change is reviewed here.
var builtins = []builtin{
	{tool: "core__glob", args: `{"pattern":"*.txt","path":"MODE"}`, asks: inAsk, value: []string{`"MODE/notes.txt"`}},
	{tool: "core__grep", args: `{"pattern":"fox","path":"MODE"}`, asks: inAsk, value: []string{`"path":"MODE/notes.txt"`, `"line":2`}},
	{tool: "core__ls", args: `{"path":"MODE"}`, asks: inAsk, value: []string{`"name":"notes.txt"`}},
	{tool: "core__read_file", args: `{"path":"MODE/notes.txt","offset":2}`, asks: inAsk, value: []string{`"startLine":2`, `the MODE fox`}},
	{tool: "core__read_many_files", args: `{"paths":["MODE/notes.txt","MODE/none"]}`, asks: inAsk, value: []string{`the MODE fox`, `"failed":1`}},
	{tool: "core__read_image", args: `{"path":"MODE/image"}`, asks: inAsk, value: []string{`"type":"image"`, base64.StdEncoding.EncodeToString(image)}},
	{tool: "core__write_file", args: `{"path":"MODE/new/file","content":"the fox\n","createDirs":true}`, asks: inAuto, effect: holds("new/file", "the fox\n")},
	{tool: "core__edit_file", args: `{"path":"MODE/edited","edits":[{"oldText":"b","newText":"B"}]}`, asks: inAuto, effect: holds("edited", "a\nB\n")},
	{tool: "core__delete_file", args: `{"path":"MODE/deleted"}`, asks: inAuto, effect: isGone("deleted")},
	{tool: "core__shell", args: `{"command":"echo made > made; echo shown; exit 3","cwd":"MODE"}`, asks: inAuto, effect: holds("made", "made\n"), value: []string{`"exitCode":3`, `"tail":"shown\n"`}},
	{tool: "core__web_fetch", args: `{"url":"PAGE/page?MODE"}`, asks: inAsk, effect: isFetched("/page?MODE"), value: []string{"The fox jumps over /page?MODE."}},
	{tool: "core__web_fetch", args: `{"url":"OTHER/page?other-MODE"}`, asks: always, effect: isFetched("/page?other-MODE"), value: []string{"The fox jumps over /page?other-MODE."}},
	{tool: "core__web_search", args: `{"query":"MODE"}`, asks: inAsk, effect: isFetched("/search?MODE"), value: []string{`"url":"https://fox.test/"`}},
	{tool: "core__memory", args: `{"action":"create","path":"/notes/a","content":"the fox"}`, asks: inAsk, effect: remembers("/notes/a", "the fox")},
	{tool: "core__remember", args: `{"text":"the fox"}`, asks: inAsk, effect: remembers("/remembered", "the fox")},
	{tool: "core__write_memory_dump", args: `{"title":"A dump","content":"the fox"}`, asks: inAsk, effect: remembers("/dumps", "the fox")},
	{tool: "core__read_reasoning", args: `{}`, asks: inAsk, before: reasoning, value: []string{`"text":"the fox"`}},
	{tool: "core__write_todos", args: `{"todos":[{"text":"the fox","status":"pending"}]}`, asks: inAsk, effect: remembers("/todos", `"the fox"`)},
	{tool: "core__create_goal", args: `{"title":"Catch the fox"}`, asks: inAsk, effect: remembers("/goals", "goal Catch the fox, open true")},
	{tool: "core__switch_goal", args: `{"goalId":"GOAL"}`, asks: inAsk, before: twoGoals, effect: remembers("/goals", "goal Catch the fox, open true")},
	{tool: "core__complete_goal", args: `{"goalId":"GOAL"}`, asks: inAsk, before: twoGoals, effect: remembers("/goals", "goal Catch the fox, completed false")},
	{tool: "core__create_checkpoint", args: `{"label":"It is seen"}`, asks: inAsk, before: twoGoals, effect: remembers("/goals", "checkpoint It is seen")},
	{tool: "core__record_decision", args: `{"decision":"Wait","rationale":"It is quick."}`, asks: inAsk, before: twoGoals, effect: remembers("/goals", "decision Wait")},
	{tool: "core__get_current_time", args: `{"timezone":"Asia/Tokyo"}`, asks: inAsk, value: []string{`+09:00"`}},
	{tool: "core__done", args: `{"message":"The fox of MODE is caught."}`, asks: inAsk, value: []string{`"The fox of MODE is caught."`}},
	{tool: "core__tool_output_cache", args: `{"ref_id":"REF"}`, asks: inAsk, value: []string{"The fox of MODE is caught."}},
	{tool: "core__tool_output_cache_grep", args: `{"ref_id":"REF","pattern":"fox"}`, asks: inAsk, value: []string{"1:The fox of MODE is caught."}},
	{tool: "core__run_agent", args: `{"agent":"research","task":"Find the fox."}`, asks: inAsk, fails: "only an open call of a running agent"},
	{tool: "core__trigger_hot_swap", args: `{"source":"policy"}`, asks: []string{denied}},
}

// allBuiltins returns builtins and an example of each tool that is not in builtins. Such a tool has no capability and can only compute.
func allBuiltins(t *testing.T) []builtin {
	t.Helper()
	all := slices.Clone(builtins)
	for _, tool := range append(tools.All(), tools.WriteMemoryDump()) {
		d := tool.Definition()
		switch {
		case slices.ContainsFunc(builtins, func(b builtin) bool { return b.tool == d.ID }):
		case len(d.Capabilities) > 0:
			t.Errorf("%s takes %v: add a call of it to builtins, which says in which modes it asks and what it does", d.ID, d.Capabilities)
		default:
			all = append(all, builtin{tool: d.ID, args: d.Examples[0].Args, asks: inAsk})
		}
	}
	return all
}

func holds(name, want string) func(*place) error {
	return func(p *place) error {
		if got, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(got) != want {
			return fmt.Errorf("%s holds %q", name, got)
		}
		return nil
	}
}

func isGone(name string) func(*place) error {
	return func(p *place) error {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); !os.IsNotExist(err) {
			return fmt.Errorf("%s is there", name)
		}
		return nil
	}
}

func isFetched(uri string) func(*place) error {
	return func(p *place) error {
		if uri := strings.ReplaceAll(uri, "MODE", p.mode); p.web.requests(uri) != 1 {
			return fmt.Errorf("%d requests for %s", p.web.requests(uri), uri)
		}
		return nil
	}
}

// remembers returns a check that the session has an entry, at or below a path, with this text as its content or description.
func remembers(path, want string) func(*place) error {
	return func(p *place) error {
		list, _, err := p.Store.ListMemory(p.T.Context(), p.by, path, "")
		if err != nil {
			return err
		}
		for _, e := range list {
			if e, err = p.Store.MemoryEntry(p.T.Context(), p.by, e.Path); err != nil {
				return err
			}
			description := fmt.Sprintf("%s %s", e.Kind, e.Title)
			if e.Status != "" {
				description += fmt.Sprintf(", %s %v", e.Status, e.Active)
			}
			if strings.Contains(e.Content, want) || description == want {
				return nil
			}
		}
		return fmt.Errorf("no entry %q in %+v", want, list)
	}
}

func reasoning(p *place) string {
	if _, err := p.Store.AddReasoning(p.T.Context(), p.by, "the fox"); err != nil {
		p.T.Fatal(err)
	}
	return ""
}

// twoGoals creates two goals and returns the id of the first one, which is the inactive one.
func twoGoals(p *place) (first string) {
	for _, title := range []string{"Catch the fox", "Rest"} {
		goal, err := p.Store.CreateGoal(p.T.Context(), p.by, title, "")
		if err != nil {
			p.T.Fatal(err)
		}
		if first == "" {
			first = goal.GoalID()
		}
	}
	return first
}

// shippedForModes is the shipped policy, for a tenant of each mode, and for a tenant ops whose operators may reload the policy. The host PAGE is
// in the list of its rule for core__web_fetch.
func shippedForModes(t *testing.T, page string) string {
	t.Helper()
	head, tenant, ok := strings.Cut(policy.DevelopmentYAML(), "\n  acme:\n")
	for _, text := range []string{"\n    mode: auto\n", `in ["go.dev"`, "core__trigger_hot_swap\n        decision: deny\n"} {
		if !ok || strings.Count(tenant, text) != 1 {
			t.Fatalf("the shipped policy has another form: %q", text)
		}
	}
	tenant = strings.Replace(tenant, `"go.dev"`, fmt.Sprintf(`"go.dev", %q`, page), 1)
	rules := head
	for _, mode := range modes {
		rules += "\n  " + mode + ":\n" + strings.Replace(tenant, "mode: auto", "mode: "+mode, 1)
	}
	return rules + "\n  ops:\n" + strings.Replace(tenant, "decision: deny", "decision: require_approval", 1)
}

// TestBuiltins (PO-14, PO-20): in each mode, the shipped policy requires an approval for exactly the calls of built-in tools that builtins says. A call has no
// effect before its approval, and has its effect after it.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	rows := allBuiltins(t)
	served := newLocalWeb(t)
	w := e2etest.NewWorld(t, shippedForModes(t, served.page.Hostname()))
	for _, mode := range modes {
		prepare(t, filepath.Join(w.Workspace, mode), mode)
	}
	config := w.Config()
	config.Web = worker.Web{Search: "searxng", SearchURL: served.page.String()}
	config.Shell = shellOf(t, w.Workspace)
	token := provide.NewToken[capability.Web]("local-web")
	fetcher := web.NewLocalFetcher(served.ports()...)
	t.Cleanup(fetcher.Close)
	w.WorkWith(config, worker.Tools(tools.WriteMemoryDump()), worker.Providers(provide.Singleton[capability.Web](token, fetcher), provide.Backs(token, capability.WebKey)))

	// The calls of a round run at the same time. The calls of the second round read a result of the first round.
	for _, second := range []bool{false, true} {
		var started []func()
		for i, b := range rows {
			if strings.Contains(b.args, "REF") != second || b.tool == "core__shell" && !config.Shell.On {
				continue
			}
			for _, mode := range modes {
				p := &place{World: w, web: served, mode: mode, dir: filepath.Join(w.Workspace, mode)}
				started = append(started, p.start(b, fmt.Sprintf("%s-%d", b.tool, i)))
			}
		}
		for _, end := range started {
			end()
		}
	}
	reloads(w)
}

// invocation returns a call of a tenant in a session.
func invocation(tenant, session, tool, args string) toolspec.Invocation {
	inv := e2etest.Invocation(session, tool, args)
	inv.Context.TenantID, inv.Context.SessionID = tenant, session
	return inv
}

// start starts a call in a new session, and returns a function that checks the call until its end.
func (p *place) start(b builtin, session string) (end func()) {
	p.T.Helper()
	inv := invocation(p.mode, session, b.tool, "")
	p.by = capability.MemoryCaller{TenantID: p.mode, Session: capability.SessionName(session), ActorID: e2etest.Actor, RunID: inv.Context.RunID}
	goal := ""
	if b.before != nil {
		goal = b.before(p)
	}
	done := invocation(p.mode, fmt.Sprint("core__done-", slices.IndexFunc(builtins, func(b builtin) bool { return b.tool == "core__done" })), "", "")
	fill := strings.NewReplacer("MODE", p.mode, "PAGE", p.web.page.String(), "OTHER", p.web.other.String(), "GOAL", goal, "REF", toolspec.ResultRef(done.Identity().InvocationID()))
	inv.Args = []byte(fill.Replace(b.args))
	if b.effect != nil && b.effect(p) == nil {
		p.T.Fatalf("%s in the mode %s: the effect is there before the call", session, p.mode)
	}
	call := p.Start(inv)
	return func() {
		asked := p.approve(call, b, session)
		r := p.Result(call)
		if got := p.Record(inv); len(got.Approvals) != map[bool]int{true: 1}[asked] {
			p.T.Errorf("%s in the mode %s: the record has the requests %+v", session, p.mode, got.Approvals)
		}
		if slices.Contains(b.asks, denied) {
			if r.OK || r.ErrorCode != toolspec.CodePolicyDenied {
				p.T.Errorf("%s in the mode %s: %+v, want it denied", session, p.mode, r)
			}
			return
		}
		if b.fails != "" {
			if r.OK || !strings.Contains(r.SafeMessage, b.fails) {
				p.T.Errorf("%s in the mode %s: %+v, want it to fail with %q", session, p.mode, r, b.fails)
			}
			return
		}
		if !r.OK {
			p.T.Errorf("%s in the mode %s: %+v, %+v", session, p.mode, r, r.Details)
			return
		}
		if b.effect != nil {
			if err := b.effect(p); err != nil {
				p.T.Errorf("%s in the mode %s: after the call, %v", session, p.mode, err)
			}
		}
		for _, part := range b.value {
			if part = fill.Replace(part); !strings.Contains(string(r.Value), part) {
				p.T.Errorf("%s in the mode %s: the value %s has no %q", session, p.mode, r.Value, part)
			}
		}
	}
}

// approve waits until a call ends or needs an approval, and gives the approval. It checks that the call needs one exactly if it should, and that the tool
// has not run before.
func (p *place) approve(call *pawl.Call, b builtin, name string) (asked bool) {
	p.T.Helper()
	var view *toolspec.ApprovalView
	p.Until(func() bool {
		state := p.State(call.WorkflowID)
		view = state.Approval
		return view != nil || state.Status == toolspec.StatusSettled
	}, call.WorkflowID+" asks or ends")
	if asked = view != nil; asked != slices.Contains(b.asks, p.mode) {
		p.T.Errorf("%s in the mode %s asks: %v", name, p.mode, asked)
	}
	if asked {
		if b.effect != nil && b.effect(p) == nil {
			p.T.Errorf("%s in the mode %s: the effect is there before the approval", name, p.mode)
		}
		p.WantAnswer(call, e2etest.Approving(view.ApprovalID, e2etest.Ann), "")
	}
	return asked
}

// reloads checks core__trigger_hot_swap for a tenant whose policy does not deny it.
func reloads(w *e2etest.World) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "LISTEN pawl_policy"); err != nil {
		w.T.Fatal(err)
	}
	call := w.Start(invocation("ops", "reload", "core__trigger_hot_swap", `{"source":"policy"}`))
	w.Approve(call.WorkflowID)
	active, _, err := w.Store.ActivePolicy(ctx)
	if r := w.Result(call); err != nil || !r.OK || !strings.Contains(string(r.Value), active.Digest) {
		w.T.Errorf("the reload ended with %+v, %v; the policy is %s", r, err, active.Digest)
	}
	if _, err := conn.WaitForNotification(ctx); err != nil {
		w.T.Errorf("no worker is told: %v", err)
	}
}

// prepare writes the files for the calls of a mode.
func prepare(t *testing.T, dir, mode string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"notes.txt": "first\nthe " + mode + " fox\n", "image": string(image), "edited": "a\nb\n", "deleted": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
