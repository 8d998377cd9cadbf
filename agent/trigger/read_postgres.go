package trigger

import (
	"errors"
	"regexp"
	"strings"
)

// channelForm is an identifier that needs no quotes in Postgres: NOTIFY makes other letters small.
var channelForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// postgres reads which notifications are events.
func (r *reader) postgres(n *node, path string) {
	o := &PostgresOptions{}
	r.Mapping(n, path,
		field{Name: "channel", Required: "is missing: the channel of the notifications; leave out postgres if only fire_trigger makes events", Read: r.checked(&o.Channel, func(v string) error {
			switch {
			case !channelForm.MatchString(v):
				return errors.New("must have 1 to 63 of a-z, 0-9 and _, and not begin with a digit")
			case strings.HasPrefix(v, "pawl_"):
				return errors.New("is a channel of Pawl itself: choose a name that does not begin with pawl_")
			}
			return nil
		})},
		field{Name: "id", Read: r.checked(&o.ID, func(v string) error {
			if !pathForm.MatchString(v) {
				return errors.New("must be a path of 1 to 16 names between dots, such as order.id")
			}
			return nil
		})},
	)
	r.doc.Postgres = o
}

// quota reads how many runs the events of a trigger start in a time.
func (r *reader) quota(n *node, path string) {
	q := &Quota{}
	r.Mapping(n, path,
		field{Name: "tokens", Required: "is missing: how many runs start at once if the bucket is full", Read: func(n *node, path string) {
			q.Tokens = int(r.Number(n, path, MaxTokens))
		}},
		field{Name: "every", Required: "is missing: the time in which an empty bucket fills, such as 1h", Read: r.seconds(&q.EverySeconds)},
	)
	r.doc.Quota = q
}
