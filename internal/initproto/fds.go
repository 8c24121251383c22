package initproto

import "github.com/coop-dev/coop/internal/linux/fdpass"

// fdList holds descriptors that arrived with a message that is not whole yet.
type fdList []int

// discard closes them all and passes err on: descriptors of a broken message
// must not stay open.
func (l fdList) discard(err error) error {
	fdpass.CloseAll(l)
	return err
}
