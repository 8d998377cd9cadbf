//go:build unix && !linux

package faultkit_test

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
