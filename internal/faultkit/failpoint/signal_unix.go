//go:build unix

package failpoint

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// signalSelf sends the signal to its own process. It returns after the signal has taken effect.
func signalSelf(by By) {
	switch by {
	case Kill:
		send(syscall.SIGKILL)
		select {} // until the signal arrives
	case Stop:
		// The kernel may stop another thread first, and this thread would run for a moment longer.
		// So it waits for SIGCONT.
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		send(syscall.SIGSTOP)
		<-continued
	case Term:
		send(syscall.SIGTERM)
	}
}

func send(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		panic(fmt.Sprintf("failpoint: %v", err))
	}
}
