package devstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/internal/devstack"
)

// ownerEnv makes this test binary a program that owns a stack and waits for Ctrl-C, or until it is
// killed.
const ownerEnv = "DEVSTACK_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		os.Exit(own())
	}
	goleak.VerifyTestMain(m)
}

// owned describes the stack of the owner program, as one line of JSON.
type owned struct {
	Address, Database string
}

func own() int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	stack, err := devstack.Start(ctx, devstack.Options{UI: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	err = json.NewEncoder(os.Stdout).Encode(owned{
		Address: stack.TemporalAddress(), Database: stack.DatabaseURL(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-ctx.Done()
	if err := stack.Stop(context.WithoutCancel(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
