//go:build unix

package failpoint

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// signalSelf sends the signal to the own process. It returns only once the
// signal has had its effect.
func signalSelf(by By) {
	switch by {
	case Kill:
		send(syscall.SIGKILL)
		select {} // until it arrives
	case Stop:
		// Another thread may be the one that the kernel picks, and this one would run
		// on for a moment: it waits for the signal that ends the stop.
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
