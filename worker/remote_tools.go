package worker

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/remote"
	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/remotetool"
	"github.com/pawl-run/pawl/toolspec/source"
)

// readRemoteKeys reads the file of PAWL_REMOTE_KEYS. Without remote tools it reads no file.
func readRemoteKeys(c Config) (remote.Keys, error) {
	switch {
	case c.RemoteTools == "":
		return remote.Keys{}, nil
	case c.RemoteKeysFile == "":
		return remote.Keys{}, fmt.Errorf("config: PAWL_REMOTE_TOOLS needs PAWL_REMOTE_KEYS: a file with the keys that the remote workers have too")
	}
	keys, err := remote.ReadKeys(c.RemoteKeysFile)
	if err != nil {
		return remote.Keys{}, fmt.Errorf("config: PAWL_REMOTE_KEYS: %w", err)
	}
	return keys, nil
}

// serveLeases serves the leases of remote tools until stop is called. Without PAWL_REMOTE_LISTEN it serves no leases.
func serveLeases(c Config, keys remote.Keys) (leases *remote.Leases, stop func(), err error) {
	if c.RemoteTools == "" || c.RemoteListen == "" {
		return nil, func() {}, nil
	}
	if leases, stop, err = remote.Listen(keys, c.RemoteListen, c.RemoteURL); err != nil {
		return nil, nil, fmt.Errorf("config: PAWL_REMOTE_LISTEN, PAWL_REMOTE_URL: %w", err)
	}
	return leases, stop, nil
}

// remoteSources returns the source of PAWL_REMOTE_TOOLS, if there is one.
func remoteSources(c Config, keys remote.Keys, leases *remote.Leases) []source.Source {
	if c.RemoteTools == "" {
		return nil
	}
	client := remote.New(keys)
	return []source.Source{sources.Files(source.Remote, "PAWL_REMOTE_TOOLS", c.RemoteTools, func(name string) ([]toolspec.Tool, error) {
		return readRemoteTools(name, keys, client, leases)
	})}
}

// readRemoteTools reads the tools of a file.
func readRemoteTools(name string, keys remote.Keys, client *remote.Client, leases *remote.Leases) ([]toolspec.Tool, error) {
	text, err := readFile(name, remotetool.MaxDocument)
	if err != nil {
		return nil, err
	}
	d, err := remotetool.Read(filepath.Base(name), text)
	if err != nil {
		return nil, err
	}
	for _, w := range d.Workers {
		if !keys.Has(w.Key) {
			return nil, fmt.Errorf("the worker %s: PAWL_REMOTE_KEYS has no key %s", w.Name, w.Key)
		}
	}
	if leases == nil && d.NeedsLeases() {
		return nil, errors.New("a tool needs a connection: set PAWL_REMOTE_LISTEN, so that its worker can redeem leases")
	}
	return d.Bind(client, leases), nil
}

// remoteSecrets returns the keys of remote workers. A remote worker knows its key, so the worker searches its
// answers for the key.
func remoteSecrets(keys remote.Keys) (all []fingerprint.Credential) {
	keys.Each(func(id string, forms ...[]byte) {
		for i, form := range forms {
			all = append(all, fingerprint.Credential{Label: fmt.Sprintf("the key %s of PAWL_REMOTE_KEYS (%d)", id, i+1), Secret: form})
		}
	})
	return all
}
