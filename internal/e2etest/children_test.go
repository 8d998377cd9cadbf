package e2etest

func serveAsChild() int { return 0 }
