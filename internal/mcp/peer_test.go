package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

// message is a message that a scripted server got.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Cursor    string          `json:"cursor"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token string `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Error *struct {
		Code int `json:"code"`
	} `json:"error"`
	Result json.RawMessage `json:"result"`
}

// peer is a scripted server in its conversation with the client.
type peer struct {
	// send sends a text as it is.
	send func(text string)
	// done is closed when the client is gone.
	done <-chan struct{}
	// state is what the behaviours of one server share.
	state *state
}

type state struct {
	mu    sync.Mutex
	lists int
	got   []string
}

func (p *peer) reply(id json.RawMessage, result string) {
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (p *peer) fail(id json.RawMessage, code int, text string) {
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted(text)))
}

// quoted returns a text as JSON.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// exit ends the process of a server.
func exit(code int) { os.Exit(code) } //nolint:revive // it is the end of a main function: see TestMain

func (p *peer) hang() { <-p.done }

// behaviour handles a message in its own way, or returns false.
type behaviour func(p *peer, m message) bool

const (
	goodInit = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}`
	echoTool = `{"name":"echo","description":"Returns its text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`
)

// answerWell is what a good server does.
func answerWell(p *peer, m message) {
	switch m.Method {
	case "initialize":
		p.reply(m.ID, goodInit)
	case "ping":
		p.reply(m.ID, `{}`)
	case "tools/list":
		p.reply(m.ID, `{"tools":[`+echoTool+`]}`)
	case "tools/call":
		var args struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(m.Params.Arguments, &args)
		p.reply(m.ID, `{"content":[{"type":"text","text":`+quoted(args.Text)+`}]}`)
	default:
		if m.ID != nil && m.Method != "" {
			p.fail(m.ID, -32601, "method not found")
		}
	}
}

func handle(p *peer, act behaviour, m message) {
	if !act(p, m) {
		answerWell(p, m)
	}
}

// serveStdio is the main function of a stdio server.
func serveStdio(name string) {
	c, ok := findCase(name)
	if !ok {
		fmt.Fprintln(os.Stderr, "no such behaviour")
		exit(2)
	}
	if c.begin != nil {
		c.begin()
	}
	var mu sync.Mutex
	done := make(chan struct{})
	p := &peer{state: &state{}, done: done, send: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := io.WriteString(os.Stdout, text+"\n"); err != nil {
			exit(3)
		}
	}}
	in := bufio.NewReader(os.Stdin)
	var running sync.WaitGroup
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		switch err := json.Unmarshal(line, &m); {
		case err != nil:
		case c.inTurn:
			handle(p, c.act, m)
		default:
			running.Go(func() { handle(p, c.act, m) })
		}
	}
	close(done)
	running.Wait()
	if c.end != nil {
		c.end()
	}
}

// webServer is a scripted server over streamable HTTP.
func webServer(act behaviour) http.Handler {
	st := &state{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m message
		if json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Mcp-Session-Id", "session-1")
		if m.ID == nil || m.Method == "" {
			act(&peer{state: st, done: r.Context().Done(), send: func(string) {}}, m)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		p := &peer{state: st, done: r.Context().Done(), send: func(text string) {
			_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(text, "\n", "\ndata: ")+"\n\n")
			w.(http.Flusher).Flush()
		}}
		handle(p, act, m)
	})
}
