//go:build unix

package devstack

import (
	"os"
	"syscall"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// mayEnter reports whether the account may traverse a directory, by its mode bits. The account has no further groups.
func mayEnter(account *supervise.Account, dir os.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	if !ok || !dir.IsDir() {
		return false
	}
	perm := dir.Mode().Perm()
	switch {
	case stat.Uid == account.UID:
		return perm&0o100 != 0
	case stat.Gid == account.GID:
		return perm&0o010 != 0
	}
	return perm&0o001 != 0
}

func ownerOf(info os.FileInfo) (uid uint32, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
