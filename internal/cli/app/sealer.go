package app

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
)

// KeyRingFlag defines the flag --keyring for the file of a key ring.
func KeyRingFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "keyring", "", "file of the key ring (PAWL_KEYRING_FILE, PAWL_KEYRING)")
}

// OpenSealer opens the key ring in file. If file is empty, it opens the key ring of the
// environment or of a running `pawl dev`. It returns an error if there is no key ring.
func (a *App) OpenSealer(s *Session, file string) (broker.Sealer, error) {
	ring := s.Config.KeyRing
	ring.Wrapper = a.Wrapper
	if file != "" {
		ring.File, ring.Text = file, nil
	}
	sealer, err := ring.Open()
	if err == nil && sealer == nil {
		err = errors.New("no key ring: name the key ring file of the workers with --keyring or PAWL_KEYRING_FILE; `pawl keyring new FILE` creates one")
	}
	return sealer, err
}
