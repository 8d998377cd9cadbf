package agentruns

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/pawl-run/pawl/agent"
)

// console is where a person talks to a run.
type console interface {
	io.Writer
	// ask shows prompt and lets the person write a line. lines returns the channel that gets this line.
	ask(prompt string)
	// cancel ends the question of ask before the person has answered it. If cancel returns true, one more line comes
	// from the channel of lines, and the caller must ignore it.
	cancel() bool
	// lines returns the channel of the lines of the person. The channel is closed at the end of the input.
	lines() <-chan string
	// failed returns the error that ended the input, or nil. It may be called when the channel of lines is closed.
	failed() error
	// over returns a channel that is closed when the input has ended and the chat has received all its lines. It is
	// nil for a terminal.
	over() <-chan struct{}
	// interrupts returns a channel that gets a value if the person presses Ctrl-C while the run is busy.
	interrupts() <-chan struct{}
	// setBusy says whether the run is busy: then Ctrl-C interrupts it.
	setBusy(bool)
	close()
}

// openConsole returns the console for the streams of a command: a terminal with a line editor if both streams are a
// terminal, and a pipe otherwise.
func openConsole(in io.Reader, out io.Writer) (console, error) {
	stdin, isFile := in.(*os.File)
	stdout, alsoFile := out.(*os.File)
	if isFile && alsoFile && term.IsTerminal(int(stdin.Fd())) && term.IsTerminal(int(stdout.Fd())) {
		return openTerminal(stdin, stdout)
	}
	p := &pipe{Writer: out, read: make(chan string), end: make(chan struct{}), done: make(chan struct{})}
	go p.scan(in)
	return p, nil
}

// pipe is a console that is no terminal, such as a file: each line of the input is a message, or the decision on the
// approval request that was shown.
type pipe struct {
	io.Writer

	read  chan string
	end   chan struct{}
	fault error
	done  chan struct{}
}

func (p *pipe) scan(in io.Reader) {
	defer close(p.end)
	defer close(p.read)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, agent.MaxMessage+len("\r\n"))
	for lines.Scan() {
		select {
		case p.read <- lines.Text():
		case <-p.done:
			return
		}
	}
	p.fault = lines.Err()
	if errors.Is(p.fault, bufio.ErrTooLong) {
		p.fault = fmt.Errorf("a line of standard input is longer than a message can be: %d bytes", agent.MaxMessage)
	}
}

func (p *pipe) ask(string)                  {}
func (p *pipe) cancel() bool                { return false }
func (p *pipe) lines() <-chan string        { return p.read }
func (p *pipe) failed() error               { return p.fault }
func (p *pipe) over() <-chan struct{}       { return p.end }
func (p *pipe) interrupts() <-chan struct{} { return nil }
func (p *pipe) setBusy(bool)                {}
func (p *pipe) close()                      { close(p.done) }

// ctrlC is a key that terminal handles itself. The other keys are what terminal sends to the line editor.
const (
	ctrlC = 0x03
	// clearLine is Ctrl-E and Ctrl-U: go to the end of the line, and delete the whole line.
	clearLine = "\x05\x15"
	// endOfInput is Ctrl-D: it ends the input if the current line is empty.
	endOfInput = "\x04"
)

// terminal is a console with a line editor.
type terminal struct {
	*term.Terminal

	in, out *os.File
	before  *term.State
	keys    *keys
	prompts chan string
	read    chan string
	stop    chan struct{}
	pressed chan struct{}

	mu     sync.Mutex
	isBusy bool
	// lineUnhandled says that the person has ended a line with Enter, and the chat has not handled it yet.
	lineUnhandled bool
	// ctrlCPending says that the person has pressed Ctrl-C after this line. If the line makes the run busy, this Ctrl-C
	// interrupts the run. If the chat asks for another line instead, this Ctrl-C ends the input.
	ctrlCPending bool
}

func openTerminal(in, out *os.File) (console, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	t := &terminal{in: in, out: out, before: before, prompts: make(chan string), read: make(chan string), stop: make(chan struct{}), pressed: make(chan struct{}, 1), keys: newKeys()}
	t.Terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{t.keys, out}, "")
	t.SetBracketedPasteMode(true)
	go t.readKeys(in)
	go t.edit()
	return t, nil
}

// readKeys reads the keys that the person types. Ctrl-C interrupts a busy run. Otherwise it clears the line, or ends the input at an empty
// line.
func (t *terminal) readKeys(in io.Reader) {
	buffer := make([]byte, 4096)
	isEmpty := true
	for {
		n, err := in.Read(buffer)
		for _, key := range buffer[:n] {
			isEmpty = t.pressKey(key, isEmpty)
		}
		if err != nil {
			t.keys.end()
			return
		}
	}
}

// pressKey takes a key, and reports whether the line is empty after it.
func (t *terminal) pressKey(key byte, isEmpty bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case key != ctrlC:
		endsLine := key == '\r' || key == '\n'
		t.lineUnhandled = t.lineUnhandled || endsLine && !isEmpty
		t.keys.add(string(key))
		return endsLine
	case t.isBusy:
		t.keys.drop()
		t.keys.add(clearLine)
		t.interrupt()
	case isEmpty && t.lineUnhandled:
		t.ctrlCPending = true
	case isEmpty:
		t.keys.add(endOfInput)
	default:
		t.keys.add(clearLine)
	}
	return true
}

func (t *terminal) interrupt() {
	select {
	case t.pressed <- struct{}{}:
	default:
	}
}

// edit reads a line for each prompt, and sends it to t.read. If the person pastes several lines, they and the line
// that the person ends with Enter are one message.
func (t *terminal) edit() {
	defer close(t.read)
	for prompt := range t.prompts {
		if width, height, err := term.GetSize(int(t.out.Fd())); err == nil && width > 0 {
			_ = t.SetSize(width, height) // after an error, lines wrap at the earlier width
		}
		t.SetPrompt(prompt)
		var text strings.Builder
		for {
			line, err := t.ReadLine()
			text.WriteString(line)
			if errors.Is(err, term.ErrPasteIndicator) {
				text.WriteByte('\n')
				continue
			}
			if err != nil {
				t.SetPrompt("")
				return
			}
			break
		}
		t.SetPrompt("")
		select {
		case t.read <- text.String():
		case <-t.stop:
			return
		}
	}
}

// ask gives the line editor a prompt. It ends the input if the person has pressed Ctrl-C after the last line, and this
// line has not made the run busy.
func (t *terminal) ask(prompt string) {
	t.mu.Lock()
	if t.ctrlCPending {
		t.keys.add(endOfInput)
	}
	t.lineUnhandled, t.ctrlCPending = false, false
	t.mu.Unlock()
	select {
	case t.prompts <- prompt:
	case <-t.stop:
	}
}

func (t *terminal) cancel() bool {
	t.keys.drop()
	t.keys.add(clearLine + "\r")
	return true
}

func (t *terminal) lines() <-chan string        { return t.read }
func (t *terminal) failed() error               { return nil }
func (t *terminal) over() <-chan struct{}       { return nil }
func (t *terminal) interrupts() <-chan struct{} { return t.pressed }

func (t *terminal) setBusy(busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isBusy = busy; busy && t.ctrlCPending {
		t.ctrlCPending = false
		t.interrupt()
	}
}

// dropTyped drops the keys that the person has typed before a question, because they are no answer to it.
func (t *terminal) dropTyped() { t.keys.drop() }

func (t *terminal) close() {
	close(t.stop)
	t.SetBracketedPasteMode(false)
	_ = term.Restore(int(t.in.Fd()), t.before) // a terminal that is gone cannot be restored
}

// keys are the keystrokes that the line editor has not read yet.
type keys struct {
	mutex   sync.Mutex
	changed *sync.Cond
	typed   []byte
	ended   bool
}

func newKeys() *keys {
	k := &keys{}
	k.changed = sync.NewCond(&k.mutex)
	return k
}

func (k *keys) change(f func()) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	f()
	k.changed.Broadcast()
}

func (k *keys) add(text string) { k.change(func() { k.typed = append(k.typed, text...) }) }
func (k *keys) drop()           { k.change(func() { k.typed = nil }) }
func (k *keys) end()            { k.change(func() { k.ended = true }) }

// Read implements io.Reader for the line editor. It returns at most one line: the line editor would buffer the keys of
// the next line, and drop could not remove them.
func (k *keys) Read(into []byte) (int, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for len(k.typed) == 0 && !k.ended {
		k.changed.Wait()
	}
	if len(k.typed) == 0 {
		return 0, io.EOF
	}
	line := k.typed
	if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end+1]
	}
	n := copy(into, line)
	k.typed = k.typed[n:]
	return n, nil
}
