package sandbox

import "golang.org/x/sys/unix"

// modalOfMachine are the calls of this architecture, besides those of all, that give a file a mode.
var modalOfMachine = []modalCall{{unix.SYS_CHMOD, -1, 1}, {unix.SYS_CREAT, -1, 1}, {unix.SYS_MKNOD, -1, 1}, {unix.SYS_OPEN, 1, 2}}
